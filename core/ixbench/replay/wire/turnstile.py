"""Lets heavy work through a little at a time.

When hundreds of responses end in one step of an engine, their parsing and the requests that follow would stop the loop for as long as
several tokens take; so sockets are read in between. A request is made at once where it can be; parsing waits for spare time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

import anyio

from ixbench.replay.wire.loop import ReplayLoop

if TYPE_CHECKING:
    from types import TracebackType

_A_ROUND = 4
"""Tasks let through before the loop looks at its sockets again."""
_AT_A_TIME = 8
"""Pieces of work under way in spare time: more would only make the first of them wait for the last."""


class Turnstile:
    """First come, first served; nobody waits while there is room in this round of the loop."""

    def __init__(self) -> None:
        """Begin with nobody in line."""
        self._passed = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._turning = False

    async def enter(self) -> None:
        """Return when it is one's turn."""
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._next_round)
        if self._passed < _A_ROUND and not self._line:
            self._passed += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        await turn

    def _next_round(self) -> None:
        self._passed = 0
        while self._line and self._passed < _A_ROUND:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                self._passed += 1
        self._turning = bool(self._passed)
        if self._turning:
            asyncio.get_running_loop().call_soon(self._next_round)


class SpareTime:
    """Heavy work that can wait: an async context manager around a piece of it, with a `pause` before each part."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._room = anyio.Semaphore(_AT_A_TIME, fast_acquire=True)

    async def __aenter__(self) -> Self:
        """Wait for those who came before, and for a spare moment."""
        await self._room.acquire()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Make room for the next."""
        self._room.release()

    async def pause(self) -> None:
        """Return when nothing else is to be done, or has been for long enough."""
        loop = asyncio.get_running_loop()
        moment = loop.create_future()
        if isinstance(loop, ReplayLoop):
            loop.call_in_spare_time(lambda: _give(moment))
        else:
            loop.call_soon(_give, moment)
        await moment


def _give(moment: asyncio.Future[None]) -> None:
    if not moment.done():
        moment.set_result(None)
