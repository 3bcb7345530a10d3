"""What is to be measured: the load, and the points and launches of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.deployment import Deployment
    from ixbench.model.launch import LaunchPlan, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How hard a point pushes: users at once (closed loop) or sessions a second (open loop). Exactly one is set."""

    concurrency: int | None = None
    rate: float | None = None

    def __str__(self) -> str:
        """Return the load as it stands in point ids: c8, r0.5."""
        return f"c{self.concurrency}" if self.concurrency is not None else f"r{self.rate:g}"


def repeat_suffix(repeat: int) -> str:
    """Return what a repeat appends to the id of its operating point: nothing for the first, then -rep2, -rep3, ..."""
    return f"-rep{repeat}" if repeat > 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measurement to make."""

    id: str
    """`<deployment>-c<concurrency>` or `-r<rate>`, matrix settings and repeats appended; lower case, unique, stable."""
    launch: str
    """Id of the launch that serves it."""
    deployment: Deployment[Any]
    load: Load
    workload: str
    workload_options: Any
    """An instance of the workload's `Options`."""
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    """Matrix settings."""
    seconds: float | None = None
    """Estimate; None = unknown."""
    repeat: int = 1
    """Which measurement of the same operating point it is, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One engine start and the points that share it."""

    id: str
    plan: LaunchPlan
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that a campaign comes down to."""

    points: tuple[Point, ...]
    """In file order."""
    launches: tuple[Launch, ...]
    """In file order of their first point."""
    gpus: int | None
    seconds: float | None
    """Estimate of the whole run; None = unknown."""
