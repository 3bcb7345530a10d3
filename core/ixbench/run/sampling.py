"""Runs the collectors while a point is under load. A collector that fails costs its series and leaves a note, never the point."""

from __future__ import annotations

import time
import types
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from ixbench.host.contracts.collector import FinishingSampler
from ixbench.model.errors import IxbenchError, describe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping, Sequence

    from ixbench.host.contracts.collector import Collector, CollectorTarget, Sampler
    from ixbench.model.sample import Sample

T = TypeVar("T")

OPEN_LIMIT_S = 20.0
"""Bound on opening a source: vendors' tools may take a second or two each time that they are asked."""
FINISH_LIMIT_S = 15.0
"""Bound on what all sources read when the load has ended, and on closing them."""


@dataclass(slots=True, kw_only=True)
class Sampling:
    """The collectors of one point at work."""

    failures: dict[str, str] = field(default_factory=dict)
    """The collectors that failed, and why; fills while they run."""
    _jobs: list[_Collecting] = field(default_factory=list)

    async def opened(self) -> None:
        """Return once every source is open, has nothing to read here, or has failed: what comes after is covered from its beginning."""
        for job in self._jobs:
            await job.opened.wait()

    async def finish(self) -> None:
        """Stop sampling, take what a source reads after the load, and close all of them."""
        for job in self._jobs:
            job.over.set()
        with anyio.move_on_after(FINISH_LIMIT_S):
            for job in self._jobs:
                await job.closed.wait()
        for job in self._jobs:
            if not job.closed.is_set():
                self.failures[job.collector.name] = f"it was not closed within {FINISH_LIMIT_S:g} s after the load"

    def facts(self) -> dict[str, dict[str, object]]:
        """Return how much each collector gave, and what it cost."""
        return {job.collector.name: {"samples": job.samples, "cpu_s": job.cpu_s} for job in self._jobs}


@asynccontextmanager
async def sampling(
    collectors: Sequence[Collector],
    target: CollectorTarget,
    write: Callable[[Sample], None],
    options: Mapping[str, Any] = MappingProxyType({}),
) -> AsyncIterator[Sampling]:
    """Sample while the block runs. Where the block does not come to `finish`, the collectors are cancelled at its end.

    :param options: a collector's own table of the campaign, by its name.
    """
    running = Sampling()
    async with anyio.create_task_group() as tasks:
        for collector in collectors:
            job = _Collecting(collector=collector, write=write, failures=running.failures)
            running._jobs.append(job)  # noqa: SLF001 - its own
            tasks.start_soon(job.run, replace(target, options=options.get(collector.name)))
        try:
            yield running
        finally:
            tasks.cancel_scope.cancel()


@dataclass(slots=True, kw_only=True)
class _Collecting:
    """One collector at work."""

    collector: Collector
    write: Callable[[Sample], None]
    failures: dict[str, str]
    samples: int = 0
    opened: anyio.Event = field(default_factory=anyio.Event)
    over: anyio.Event = field(default_factory=anyio.Event)
    """Set when the load has ended."""
    closed: anyio.Event = field(default_factory=anyio.Event)
    _loop_cpu_s: float = 0.0
    """CPU seconds that its coroutines took on our event loop."""
    _sampler: Sampler | None = None

    @property
    def cpu_s(self) -> float:
        """CPU seconds that it took so far, those of threads and processes of its own included where it tells of them."""
        return self._loop_cpu_s + float(getattr(self._sampler, "cpu_s", 0.0))

    async def run(self, target: CollectorTarget) -> None:
        """Sample until the load is over."""
        try:
            with anyio.move_on_after(OPEN_LIMIT_S) as opening:
                async with self.collector.open(target) as sampler:
                    opening.deadline = float("inf")
                    self.opened.set()
                    if sampler is not None:
                        self._sampler = sampler
                        await self._sample(sampler)
            if opening.cancelled_caught:
                raise IxbenchError(f"it was not open within {OPEN_LIMIT_S:g} s")  # noqa: TRY301 - told like all that goes wrong
        except Exception as error:  # noqa: BLE001 - a plugin's failure must not end the point
            self.failures[self.collector.name] = str(error) if isinstance(error, IxbenchError) else describe(error)
        finally:
            self.opened.set()
            self.closed.set()

    async def _sample(self, sampler: Sampler) -> None:
        interval_s = getattr(sampler, "interval_s", self.collector.interval_s)
        while not self.over.is_set():
            limit_s = max(interval_s, 1.0)
            with anyio.move_on_after(limit_s) as limit:
                self._keep(await self._metered(sampler.sample()))
            if limit.cancelled_caught:
                raise IxbenchError(f"no sample came within {limit_s:g} s")
            with anyio.move_on_after(interval_s):
                await self.over.wait()
        if isinstance(sampler, FinishingSampler):
            self._keep(await self._metered(sampler.finish()))

    def _keep(self, samples: Sequence[Sample]) -> None:
        for sample in samples:
            self.write(sample)
        self.samples += len(samples)

    @types.coroutine
    def _metered(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Await a coroutine and add up what its steps cost: between them the loop does other work, which is none of its doing."""
        step: Callable[[Any], Any] = coroutine.send
        value: Any = None
        while True:
            began_s = time.thread_time()
            try:
                waits_for = step(value)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self._loop_cpu_s += time.thread_time() - began_s
            try:
                value = yield waits_for
                step = coroutine.send
            except BaseException as error:  # noqa: BLE001 - a cancellation, for instance: it is the coroutine's to handle
                value, step = error, coroutine.throw
