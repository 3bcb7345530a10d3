"""What reports over many runs hold alike: one kind of work, read at one rung in one way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ixbench.api.report import Interpolation  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema
from ixbench_plugins.reporters.page.picture import Style  # noqa: TC001 - as above

if TYPE_CHECKING:
    from ixbench.api.report import ReportSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """One kind of work. Measured, imported and simulated numbers never share one."""

    work: str
    """Name of the workload, with its lengths and what else tells it from others."""
    style: Style
    """Whether its numbers were measured, imported from another tool's file or simulated."""
    rung: float
    """Target speed in tok/s/user."""
    axis: str
    """Percentile of TPOT behind it: a speed is 1 / that percentile of the time per output token."""
    interpolation: Interpolation
    """How a rung between two points is read."""
    range: str
    """Whether a rung slower than the slowest point of a frontier is left open ("in_range") or met by that point ("min_slo")."""
    policy: str
    """Which curve answers for the rung."""
    scope: str | tuple[str, ...]
    """Engines whose curves compete: "all", "community" or names of adapters."""
    notes: tuple[str, ...]
    """What the reader must know of its runs and points, one sentence each."""


def reading_fields(settings: ReportSettings) -> dict[str, Any]:
    """Return the fields of `Surveyed` that say how it is read."""
    return {
        "rung": settings.primary,
        "axis": settings.axis,
        "interpolation": settings.interpolation,
        "range": settings.range,
        "policy": settings.policy,
        "scope": settings.scope,
    }


def at_one_rung(settings: ReportSettings) -> ReportSettings:
    """Return settings that read the primary rung alone.

    Under one price the cheapest curve is the fastest, and runs without any are not refused.
    """
    policy = "max_throughput" if settings.policy == "min_cost" else settings.policy
    return replace(settings, rungs=(settings.primary,), policy=policy)
