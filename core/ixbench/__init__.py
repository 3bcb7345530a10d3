"""ixbench: honest throughput-against-speed ladders for LLM engines."""

from __future__ import annotations

__version__ = "0.1.0"
