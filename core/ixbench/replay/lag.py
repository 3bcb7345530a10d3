"""How late the event loop is: the part of every latency that is the client's own."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from ixbench.replay.clock import Clock

_PERIOD_NS = 10_000_000
_MOST_KEPT = 65536

_SCHEDSTAT = Path("/proc/self/schedstat")


def run_queue_wait_s() -> float | None:
    """Return for how long this process was ready to run and had no core, since its start; None where the system does not tell."""
    try:
        return int(_SCHEDSTAT.read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


class LagMonitor:
    """Sleeps about 10 ms at a time and keeps by how much each sleep was longer than asked.

    It does so only while requests are in flight: nobody is late for nothing, and an idle hour must cost nothing. Kept is a falling list: a
    delay is dropped as soon as a later one is as long, so the longest delay since any moment is the first entry after it.
    """

    def __init__(self, clock: Clock) -> None:
        """Begin with no delays."""
        self._clock = clock
        self._due_ns: int | None = None
        self._stamps: list[int] = []
        self._delays: list[int] = []
        self._flights = 0
        self._wanted: anyio.Event | None = None

    def begin(self) -> None:
        """Hear that a request is sent."""
        self._flights += 1
        if self._wanted is not None:
            # From now on it is late.
            self._due_ns = self._clock.now_ns()
            self._wanted.set()
            self._wanted = None

    def end(self) -> None:
        """Hear that it is over."""
        self._flights -= 1

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            if not self._flights:
                self._due_ns = None
                self._wanted = anyio.Event()
                await self._wanted.wait()
            else:
                self._due_ns = self._clock.now_ns() + _PERIOD_NS
                await self._clock.sleep_until_ns(self._due_ns)
            assert self._due_ns is not None  # both ways set it
            self.note(self._clock.now_ns(), self._due_ns)

    def note(self, now_ns: int, due_ns: int) -> None:
        """Keep one delay, in whole microseconds so that the list stays short."""
        delay = max(now_ns - due_ns, 0) // 1000 * 1000
        while self._delays and self._delays[-1] <= delay:
            self._delays.pop()
            self._stamps.pop()
        self._delays.append(delay)
        self._stamps.append(now_ns)
        if len(self._delays) > _MOST_KEPT:
            del self._delays[0], self._stamps[0]

    def since(self, moment_ns: int) -> int:
        """Return the largest delay seen since the moment, ns; a delay that still lasts counts."""
        position = bisect_left(self._stamps, moment_ns)
        seen = self._delays[position] if position < len(self._delays) else 0
        lasting = self._clock.now_ns() - self._due_ns if self._due_ns is not None else 0
        return max(seen, lasting)
