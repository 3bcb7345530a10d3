"""Metrics, percentiles and verdict rules: pure functions of request records."""
