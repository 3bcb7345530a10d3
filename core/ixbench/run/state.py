"""What is going on, for whoever watches: one mutable picture that the loop writes and a view reads."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ixbench.replay.progress import Progress

PointPhase = Literal[
    "waiting",
    "connecting",
    "starting",
    "accuracy",
    "preparing",
    "simulating",
    "warmup",
    "profile",
    "drain",
    "stopped",
    "valid",
    "warnings",
    "invalid",
    "failed",
    "kept",
]
"""`connecting` = to a server that is up already; `accuracy` = the questions of the gate, for all points of the launch;
`preparing` = learning prompt lengths; `simulating` = replicas on virtual time; `stopped` = given up: the user asked for the end;
`kept` = sealed by an earlier run of this folder."""

STAGE_OF_VERDICT: dict[str, PointPhase] = {"valid": "valid", "valid_with_warnings": "warnings", "invalid": "invalid"}

FINAL_PHASES: frozenset[PointPhase] = frozenset({"valid", "warnings", "invalid", "failed", "kept"})
LOAD_PHASES: frozenset[PointPhase] = frozenset({"warmup", "profile", "drain"})


@dataclass(slots=True, kw_only=True)
class PointState:
    """One point as it goes along."""

    id: str
    stage: PointPhase = "waiting"
    """Where the loop is with it; while it is under load, `phase` tells more."""
    load: Progress | None = None
    """Counts of the replay, kept up to date by it; of a simulated point, replicas; of an accuracy gate, questions."""
    stage_started_s: float = 0.0
    """Monotonic seconds."""
    detail: str = ""
    """Last log line of a starting engine, or why the point is not plainly valid, in a few words."""
    seconds: float | None = None
    """How long the finished point took."""
    rate_tok_s: float | None = None
    """Output tokens a second of the finished point."""

    @property
    def phase(self) -> PointPhase:
        """The stage, or the phase of the load where it is under load."""
        if self.stage == "profile" and self.load is not None and self.load.phase is not None:
            return self.load.phase
        return self.stage

    def enter(self, stage: PointPhase) -> None:
        """Go on to another stage."""
        self.stage = stage
        self.stage_started_s = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the phase began."""
        if self.load is not None and self.load.started_ns and self.phase in LOAD_PHASES:
            return time.monotonic() - self.load.started_ns / 1e9
        return time.monotonic() - self.stage_started_s if self.stage_started_s else 0.0

    @property
    def share(self) -> float | None:
        """How much of the phase is done, 0 to 1, where it can be told."""
        if self.load is None or self.phase not in {*LOAD_PHASES, "simulating", "accuracy"}:
            return None
        if self.load.expected:
            return min(self.load.done / self.load.expected, 1.0)
        return min(self.elapsed_s / self.load.duration_s, 1.0) if self.load.duration_s else None

    @property
    def left_s(self) -> float | None:
        """Seconds left in the phase, extrapolated, where it can be told."""
        share = self.share
        return self.elapsed_s * (1.0 - share) / share if share else None

    @property
    def output_tok_s(self) -> float | None:
        """Output tokens a second: of the finished point, else so far in the phase, of the requests that ended."""
        if self.stage in FINAL_PHASES:
            return self.rate_tok_s
        elapsed = self.elapsed_s
        return self.load.output_tokens / elapsed if self.load is not None and elapsed > 0 and self.phase in LOAD_PHASES else None


@dataclass(slots=True, kw_only=True)
class RunState:
    """The whole run."""

    title: str
    points: dict[str, PointState] = field(default_factory=dict)
    stopping: bool = False
    """Whether the user has asked to stop."""

    @property
    def finished(self) -> int:
        """Points that are through."""
        return sum(point.stage in FINAL_PHASES for point in self.points.values())

    @property
    def left_s(self) -> float | None:
        """Seconds left in the run, from the mean of the points that this run has finished; None before the first."""
        took = [point.seconds for point in self.points.values() if point.seconds is not None]
        if not took:
            return None
        waiting = sum(point.stage not in FINAL_PHASES for point in self.points.values())
        running = next((point for point in self.points.values() if point.phase == "profile"), None)
        spent = running.elapsed_s if running is not None else 0.0
        return max(waiting * sum(took) / len(took) - spent, 0.0)
