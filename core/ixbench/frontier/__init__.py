"""Curves, rungs, selection, cost and formatting: pure arithmetic of operating points."""
