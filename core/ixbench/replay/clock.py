"""The one clock of a replay. Everything that asks for the time or waits gets it handed in, so that a virtual one can take its place."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal, Protocol

import anyio

from ixbench.model.units import NS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockAnchor:
    """The same moment on both clocks: turns stamps of a record into dates."""

    wall_ns: int
    """Nanoseconds since the epoch."""
    mono_ns: int
    """Nanoseconds of the record's clock."""


def drift_s(first: ClockAnchor, last: ClockAnchor) -> float:
    """Return by how much the wall clock ran ahead of the record's clock from one moment to another; negative where it fell behind."""
    return ((last.wall_ns - first.wall_ns) - (last.mono_ns - first.mono_ns)) / NS_PER_S


class Clock(Protocol):
    """Time in integer nanoseconds, and how to wait for it."""

    @property
    def kind(self) -> Literal["kernel", "read", "virtual"]:
        """Where the stamps of chunks come from."""
        ...

    @property
    def anchor(self) -> ClockAnchor:
        """When this clock began, on both clocks."""
        ...

    def now_ns(self) -> int:
        """Return the time; never goes backwards."""
        ...

    async def sleep_until_ns(self, moment_ns: int) -> None:
        """Wait until the moment is reached; returns at once if it has passed."""
        ...


def read_anchor() -> ClockAnchor:
    """Read both clocks as close to one another as possible: the tightest of several bracketed reads."""
    best: tuple[int, ClockAnchor] | None = None
    for _ in range(9):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, ClockAnchor(wall_ns=wall, mono_ns=(before + after) // 2))
    assert best is not None
    return best[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotonicClock:
    """Real time, from CLOCK_MONOTONIC; chunks are stamped when the read returns."""

    kind: Literal["kernel", "read", "virtual"] = "read"
    anchor: ClockAnchor = field(default_factory=read_anchor)

    now_ns = staticmethod(time.monotonic_ns)
    """Return nanoseconds of the monotonic clock; called for every read, so without a function of our own in between."""

    async def sleep_until_ns(self, moment_ns: int) -> None:
        """Wait until the moment is reached."""
        left_ns = moment_ns - time.monotonic_ns()
        while left_ns > 0:
            await anyio.sleep(left_ns / NS_PER_S)
            left_ns = moment_ns - time.monotonic_ns()
