"""Ctrl-C: once to end in good order and report what there is; twice to drop what is in flight."""

from __future__ import annotations

import signal
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from anyio.abc import TaskStatus


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


@asynccontextmanager
async def interruptible(on_stop: Callable[[str], None]) -> AsyncIterator[Interruption]:
    """Watch SIGINT, SIGTERM and the loss of the terminal while the block runs; `on_stop` gets the signal's name, once.

    SIGHUP stays ignored where it is (nohup).
    """
    interruption = Interruption()
    watched = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        watched.append(signal.SIGHUP)

    async def watch(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*watched) as signals:
            task_status.started()
            async for number in signals:
                if interruption.asked:
                    interruption.abort.cancel()
                else:
                    interruption.ask()
                    on_stop(signal.Signals(number).name)

    async with anyio.create_task_group() as tasks:
        await tasks.start(watch)
        try:
            with interruption.abort:
                yield interruption
        finally:
            tasks.cancel_scope.cancel()
