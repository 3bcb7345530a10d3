"""What the machine did while requests ran: one number, from one source, at one moment."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec resolves the annotations when it reads samples.jsonl
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One reading of a collector."""

    ns: int
    """On the clock of the request records."""
    source: str
    """The collector's name."""
    name: str
    """What was read, with its unit: `cpu_share`, `memory_bytes`."""
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
