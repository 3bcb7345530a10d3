"""Executes a Schedule on a Channel: executor, clocks, prompts, wire."""
