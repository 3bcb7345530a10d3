"""Processes, ports, readiness and stopping of engines."""
