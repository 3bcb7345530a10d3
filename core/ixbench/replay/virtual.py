"""Virtual time: an event loop that jumps to its next timer instead of waiting, so that an hour of replay takes milliseconds.

Use it as ``anyio.run(main, backend_options={"loop_factory": VirtualLoop})`` with a `VirtualClock`. asyncio runs what is ready first in,
first out, so equal input gives equal output to the nanosecond. Nothing on this loop may do I/O or wait for a thread: neither would ever
be heard.
"""

from __future__ import annotations

import asyncio
import selectors
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ixbench.model.units import NS_PER_S
from ixbench.replay.clock import ClockAnchor

if TYPE_CHECKING:
    from collections import deque


class _JumpingSelector(selectors.SelectSelector):
    """Moves time on where a real selector would wait for it. Time is kept in whole nanoseconds: sums of floats would drift."""

    now_ns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("virtual time stands still: every task waits, and no timer will ever wake one")
        self.now_ns += round(max(timeout, 0.0) * NS_PER_S)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that begins at time 0 and never waits.

    Exact to the nanosecond for 26 days; beyond them the seconds that asyncio counts in are too coarse.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        # asyncio runs timers early that lie within the resolution of the real clock, one nanosecond: here that is the next moment.
        self._clock_resolution = 0.25 / NS_PER_S

    @property
    def now_ns(self) -> int:
        """The time in nanoseconds."""
        return self._jumping.now_ns

    @property
    def quiet_until_ns(self) -> int | None:
        """When anything else on this loop may run next: now, where something is ready; None = never, by itself."""
        if self._ready:
            return self._jumping.now_ns
        return round(self._scheduled[0].when() * NS_PER_S) if self._scheduled else None

    def time(self) -> float:
        """Return the time in seconds."""
        return self._jumping.now_ns / NS_PER_S


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """The time of the `VirtualLoop` that runs."""

    @property
    def kind(self) -> Literal["virtual"]:
        """Say that no stamp of this clock was measured."""
        return "virtual"

    @property
    def anchor(self) -> ClockAnchor:
        """Virtual time has no date: it begins at the epoch."""
        return ClockAnchor(wall_ns=0, mono_ns=0)

    def now_ns(self) -> int:
        """Return nanoseconds since the loop began."""
        return running_loop().now_ns

    def quiet_until_ns(self) -> int | None:
        """Return when anything but the caller may run next; None = never, unless the caller wakes it. For callbacks of the loop."""
        return running_loop().quiet_until_ns

    async def sleep_until_ns(self, moment_ns: int) -> None:
        """Wait until the moment is reached."""
        left_ns = moment_ns - running_loop().now_ns
        if left_ns > 0:
            await asyncio.sleep(left_ns / NS_PER_S)


def running_loop() -> VirtualLoop:
    """Return the loop that runs.

    :raises TypeError: if it is not a virtual one.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise TypeError(f"virtual time needs a VirtualLoop, and {type(loop).__name__} runs")
    return loop
