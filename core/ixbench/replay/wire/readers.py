"""Calls connections when there is something to read.

An event loop spends more on telling one of its readers than such a reader spends on a chunk. So on Linux all connections share one epoll
set of their own, which is itself a single reader of the loop: a step of an engine that sends to 500 streams wakes the loop once.

Where the kernel stamps what arrives, nothing is lost by reading a little later. So when chunks come one by one and fast, a nap lets a few
of them gather: waking up for each would cost more than twice as much.
"""

from __future__ import annotations

import select
import sys
from time import monotonic, sleep
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_EVENTS_A_ROUND = 256
_ROUNDS = 8
"""Before others get their turn on the loop: while one round is read, the next may arrive."""
_DENSE_S = 0.0001
"""Being woken again after so short a time means 10,000 wake-ups a second."""
_NAP_S = 0.0004
"""Far below the time between two tokens of a stream, of which the second would make the first's stamp an upper bound."""


class Readers(Protocol):
    """The connections that are listened to."""

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Call back whenever the socket has something, its end or an error included."""
        ...

    def remove(self, fd: int) -> None:
        """Listen no more."""
        ...

    def close(self) -> None:
        """Listen to none."""
        ...


class EpollReaders:
    """One epoll set for all."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, may_nap: bool) -> None:
        """Put the set on the loop."""
        self._loop = loop
        self._may_nap = may_nap
        self._left_s = 0.0
        """When the sockets were last found empty."""
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        loop.add_reader(self._epoll.fileno(), self._drain)

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Listen to a socket."""
        self._callbacks[fd] = callback
        self._epoll.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        """Listen no more; the socket must still be open."""
        del self._callbacks[fd]
        self._epoll.unregister(fd)

    def close(self) -> None:
        """Take the set off the loop."""
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _drain(self) -> None:
        callbacks = self._callbacks
        poll = self._epoll.poll
        if self._may_nap and monotonic() - self._left_s < _DENSE_S:
            sleep(_NAP_S)
        for _ in range(_ROUNDS):
            events = poll(0, _EVENTS_A_ROUND)
            if not events:
                self._left_s = monotonic()
                return
            for fd, _ in events:
                try:
                    callback = callbacks[fd]
                except KeyError:  # an earlier event of this round closed it
                    continue
                callback()


class LoopReaders:
    """The readers of the loop itself, where there is no epoll."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keep the loop."""
        self._loop = loop

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Listen to a socket."""
        self._loop.add_reader(fd, callback)

    def remove(self, fd: int) -> None:
        """Listen no more."""
        self._loop.remove_reader(fd)

    def close(self) -> None:
        """Do nothing: each socket was removed by itself."""


def make_readers(loop: asyncio.AbstractEventLoop, *, may_nap: bool) -> Readers:
    """Return what suits the system.

    :param may_nap: whether reading a little later does no harm.
    """
    return EpollReaders(loop, may_nap=may_nap) if sys.platform == "linux" else LoopReaders(loop)
