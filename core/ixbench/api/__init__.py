"""Everything that a plugin may import: `api.hooks`, `api.engine`, `api.workload`, `api.measure`, `api.report`. Each is cheap to import."""
