"""What observers (`ixbench_on_event`) are told, as it happens. A failing observer is recorded and never stops a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ixbench.model.launch import LaunchPlan
    from ixbench.model.result import Failure, PointResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run folder exists; nothing is launched yet."""

    run_id: str
    """Name of the run folder."""
    folder: str
    points: tuple[str, ...]
    """Ids of the points that this run is to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchReady:
    """An engine answers."""

    launch_id: str
    plan: LaunchPlan
    url: str
    seconds: float
    """From the start of the first process to readiness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """An engine did not get ready, or died."""

    launch_id: str
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class PointStarted:
    """The first request of a point is about to be sent."""

    point_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PointFinished:
    """A point is sealed on disk."""

    point_id: str
    result: PointResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run is over, by itself or interrupted; reports are written after this event."""

    run_id: str
    interrupted: bool
    valid: int
    invalid: int
    failed: int


Event = RunStarted | LaunchReady | LaunchFailed | PointStarted | PointFinished | RunFinished
