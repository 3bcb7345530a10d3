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
    style: Style
    rung: float
    """Target speed in tok/s/user."""
    axis: str
    """Percentile of TPOT behind it."""
    interpolation: Interpolation
    range: str
    policy: str
    scope: str | tuple[str, ...]
    notes: tuple[str, ...]


def read_as(settings: ReportSettings) -> dict[str, Any]:
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
