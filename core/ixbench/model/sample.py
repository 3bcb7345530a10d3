"""What the machine did while requests ran: one number, from one source, at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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
