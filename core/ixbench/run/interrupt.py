"""Ctrl-C: once to end in good order and report what there is; twice to drop what is in flight; while reports are written, to leave them."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

_SAME_WISH_S = 2.0
"""Signals that follow so soon are one wish: the second of two, as some programs send them, must not hit what answers the first."""
_MANY = 4096
"""Bytes that are taken at once, a signal each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """What the user has asked for so far."""

    stop: anyio.Event = field(default_factory=anyio.Event)
    """Set by the first signal: nothing new starts."""
    abort: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """Cancelled by the second: what is in flight is dropped; engines are stopped all the same."""

    _waits: set[anyio.CancelScope] = field(default_factory=set)

    @property
    def asked(self) -> bool:
        """Whether the run is to end early."""
        return self.stop.is_set()

    def ask(self) -> None:
        """Ask for the end: sets `stop`, and cancels what runs under `until_asked`."""
        self.stop.set()
        for scope in tuple(self._waits):
            scope.cancel()

    @contextmanager
    def until_asked(self) -> Iterator[Callable[[], None]]:
        """Cancel the block when the user asks for the end: for waits that leave nothing worth finishing.

        Yields a function that makes the rest of the block immune.
        """
        with anyio.CancelScope() as scope:
            self._waits.add(scope)
            if self.asked:
                scope.cancel()
            try:
                yield lambda: self._waits.discard(scope)
            finally:
                self._waits.discard(scope)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Let SIGTERM and the loss of the terminal raise KeyboardInterrupt while the block runs, as Ctrl-C does.

    Within the block `interruptible` takes over while a loop runs.
    """
    raised_s = float("-inf")

    def answer(_number: int, _frame: object) -> None:
        nonlocal raised_s
        if time.monotonic() - raised_s > _SAME_WISH_S:
            raised_s = time.monotonic()
            raise KeyboardInterrupt

    with _answered_by(answer):
        yield


@asynccontextmanager
async def interruptible(on_stop: Callable[[str], None]) -> AsyncIterator[Interruption]:
    """Watch SIGINT, SIGTERM and the loss of the terminal while the block runs; `on_stop` gets the signal's name, once.

    SIGHUP stays ignored where it is (nohup).
    """
    interruption = Interruption()
    loop = asyncio.get_running_loop()

    def take(number: int) -> None:
        if interruption.asked:
            interruption.abort.cancel()
        else:
            interruption.ask()
            on_stop(signal.Signals(number).name)

    # Handlers of Python's own, which are exchanged for one another: where the loop takes its away, a signal ends the process for a moment.
    with _awake(loop), _answered_by(lambda number, _frame: loop.call_soon_threadsafe(take, number)), interruption.abort:
        yield interruption


@contextmanager
def _awake(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Have the loop wake up for signals: another thread may take one, and handlers run only where this thread does."""
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        loop.add_reader(reader, lambda: reader.recv(_MANY))
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reader)


@contextmanager
def _answered_by(handler: Callable[[int, object], object]) -> Iterator[None]:
    """Have a function answer the signals while the block runs, and then whoever did before."""
    watched = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        watched.append(signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in watched}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former or signal.SIG_DFL)  # None: whoever did was no Python
