"""Watching the engine of a point from its first request to its last, and telling whoever waits for it that it has died."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from ixbench.launch.engine import RunningEngine
    from ixbench.launch.watch import WatchOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Vigil:
    """What is known of the engine by now."""

    died: anyio.Event = field(default_factory=anyio.Event)
    """Set when it has died or hangs; the engine then tells why."""
    _waits: set[anyio.CancelScope] = field(default_factory=set)

    @contextmanager
    def until_dead(self) -> Iterator[None]:
        """Cancel the block when the engine dies."""
        with anyio.CancelScope() as scope:
            self._waits.add(scope)
            if self.died.is_set():
                scope.cancel()
            try:
                yield
            finally:
                self._waits.discard(scope)

    def end(self) -> None:
        """Tell that it has died."""
        self.died.set()
        for scope in tuple(self._waits):
            scope.cancel()


@asynccontextmanager
async def vigil(engine: RunningEngine, order: WatchOrder) -> AsyncIterator[Vigil]:
    """Watch the engine while the block runs. What the block raises comes out in an exception group."""
    kept = Vigil()

    async def watch() -> None:
        await engine.watch(order)
        kept.end()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield kept
        tasks.cancel_scope.cancel()
