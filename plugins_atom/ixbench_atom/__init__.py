"""ixbench plugin: hook implementations only."""
