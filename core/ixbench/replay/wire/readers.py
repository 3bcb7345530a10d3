"""Calls connections when there is something to read.

An event loop spends more on telling one of its readers than such a reader spends on a chunk. So on Linux all connections share one epoll
set of their own, which is itself a single reader of the loop: a step of an engine that sends to 500 streams wakes the loop once.
"""

from __future__ import annotations

import select
import sys
from typing import TYPE_CHECKING, Protocol

from ixbench.replay.wire.loop import ReplayLoop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_EVENTS_A_ROUND = 64
"""Sockets read before the loop looks at its timers: a third of a millisecond."""
_EVENTS_BESIDE_WORK = 16
"""The same while something else is ready to run, such as a request that is due."""


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
        self._exact = loop if isinstance(loop, ReplayLoop) else None
        if self._exact is not None:
            self._exact.join(self, may_nap=may_nap)
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
        if self._exact is not None:
            self._exact.leave(self)
        self._epoll.close()

    def _drain(self) -> None:
        callbacks = self._callbacks
        beside_work = self._exact is not None and self._exact.beside_work
        for fd, _ in self._epoll.poll(0, _EVENTS_BESIDE_WORK if beside_work else _EVENTS_A_ROUND):
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
