"""Lets heavy work through a little at a time.

When hundreds of responses end in one step of an engine, their parsing and the requests that follow would stop the loop for as long as
several tokens take; so sockets are read in between.
"""

from __future__ import annotations

import asyncio
from collections import deque

_A_ROUND = 4
"""Tasks let through before the loop looks at its sockets again: about 2 ms of work."""


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
