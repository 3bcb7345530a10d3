"""benchmarks.toml becomes a Campaign: read, merge, validate, explain."""
