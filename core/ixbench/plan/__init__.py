"""A Campaign becomes a Plan: expand, name, estimate; pure."""
