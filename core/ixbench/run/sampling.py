"""Runs the collectors while a point is under load. A collector that fails costs its series and leaves a note, never the point."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ixbench.host.contracts.collector import Collector, CollectorTarget
    from ixbench.model.sample import Sample

OPEN_LIMIT_S = 10.0
"""Bound on opening a source."""


@asynccontextmanager
async def sampling(
    collectors: Sequence[Collector], target: CollectorTarget, write: Callable[[Sample], None]
) -> AsyncIterator[dict[str, str]]:
    """Sample while the block runs; yields a table that fills with the collectors that failed and why."""
    failed: dict[str, str] = {}

    async def run(collector: Collector) -> None:
        try:
            with anyio.fail_after(OPEN_LIMIT_S) as opening:
                async with collector.open(target) as sampler:
                    opening.deadline = float("inf")
                    while True:
                        with anyio.fail_after(max(collector.interval_s, 1.0)):
                            samples = await sampler.sample()
                        for sample in samples:
                            write(sample)
                        await anyio.sleep(collector.interval_s)
        except Exception as error:  # noqa: BLE001 - a plugin's failure must not end the point
            failed[collector.name] = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

    async with anyio.create_task_group() as tasks:
        for collector in collectors:
            tasks.start_soon(run, collector)
        try:
            yield failed
        finally:
            tasks.cancel_scope.cancel()
