"""The event loop of a replay: it wakes when a request is due, and lets chunks gather while nothing else is to be done.

Use it as ``anyio.run(main, backend_options={"loop_factory": replay_loop})``. Three things differ from asyncio's own:

- epoll counts in milliseconds, so asyncio sleeps up to one too long. `select` counts in microseconds, and an epoll set is a file that it
  can wait for.
- Where the kernel stamps what arrives, nothing is lost by reading a little later. So when chunks come one by one and fast, a nap lets a
  few of them gather: waking up for each would cost more than twice as much. Nobody else waits meanwhile: only where no task is ready and no
  timer runs out does the loop take one.
- What can wait is called when nothing else is to be done, so that a request that is due goes before it.
"""

from __future__ import annotations

import asyncio
import select
import selectors
import sys
from collections import deque
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DENSE_S = 0.0001
"""Being woken after so short a wait means 10,000 wake-ups a second."""
_NAP_S = 0.0004
"""Far below the time between two tokens of a stream, of which the second would make the first's stamp an upper bound."""
_SELECTED = 1024
"""`select` knows descriptors below it."""
_SPARE_S = 0.0003
"""What is called in spare time may take so long: no timer may run out meanwhile."""
_MOST_PASSED_OVER = 8
"""Rounds of a loop that always has something to do in which what can wait is passed over, once after another."""


def replay_loop() -> asyncio.AbstractEventLoop:
    """Return what suits the system."""
    return ReplayLoop() if sys.platform == "linux" else asyncio.new_event_loop()


if sys.platform == "linux":

    class _ExactSelector(selectors.EpollSelector):
        """Waits as long as it is told."""

        def __init__(self) -> None:
            super().__init__()
            self.naps: dict[object, bool] = {}
            """Who is read on this loop, and whether later does no harm."""
            self.beside_work = False
            """Whether something else was ready to run when the sockets were looked at last."""
            self.spare: deque[Callable[[], None]] = deque()
            """What can wait, in order."""
            self._passed_over = 0

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            self.beside_work = timeout is not None and timeout <= 0
            if self.spare and self._has_time(timeout):
                self.spare.popleft()()
            elif not self.beside_work:
                if self.fileno() >= _SELECTED:
                    return super().select(timeout)
                self._wait(timeout)
            return super().select(0)

        def _has_time(self, timeout: float | None) -> bool:
            """Say whether it is the turn of what can wait."""
            if timeout is None or timeout > _SPARE_S or self._passed_over >= _MOST_PASSED_OVER:
                self._passed_over = 0
                return True
            self._passed_over += 1
            return False

        def _wait(self, timeout: float | None) -> None:
            began_s = monotonic()
            arrived, _, _ = select.select([self.fileno()], [], [], timeout)
            if arrived and self.naps and all(self.naps.values()):
                waited_s = monotonic() - began_s
                if waited_s < _DENSE_S and (timeout is None or timeout - waited_s > _NAP_S):
                    sleep(_NAP_S)


class ReplayLoop(asyncio.SelectorEventLoop):
    """An event loop that is on time."""

    def __init__(self) -> None:
        self._exact = _ExactSelector()
        super().__init__(self._exact)

    @property
    def beside_work(self) -> bool:
        """Whether something else was ready to run when the sockets were looked at last."""
        return self._exact.beside_work

    def call_in_spare_time(self, callback: Callable[[], None]) -> None:
        """Call back when no task is ready and no timer runs out soon, or after some rounds in which that was never so.

        :param callback: wakes a task, whose work may take a fraction of a millisecond.
        """
        self._exact.spare.append(callback)

    def join(self, reader: object, *, may_nap: bool) -> None:
        """Take note of a reader of this loop.

        :param may_nap: whether reading a little later does it no harm.
        """
        self._exact.naps[reader] = may_nap

    def leave(self, reader: object) -> None:
        """Forget a reader, which reads no more."""
        del self._exact.naps[reader]
