"""The engine's own counters and gauges as series, under the names that all engines share."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import anyio

from ixbench.api.engine import Collector, IxbenchError, Sample

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from ixbench.api.engine import CollectorTarget, CounterReader, Reading, Sampler

MISSES_LIMIT = 10
"""Readings in a row that may fail before the series is given up: a busy server may well miss some."""
_SAMPLE_LIMIT_S = 0.9
"""Less than the interval: the next sample is due then."""


class PrometheusCollector(Collector):
    """Reads the engine's page once a second. An engine without one has no series, and that is no failure."""

    name: ClassVar[str] = "prometheus"
    summary: ClassVar[str] = "the engine's own counters and gauges: tokens, cache hits, requests that run and wait"

    def open(self, target: CollectorTarget) -> AbstractAsyncContextManager[Sampler | None]:
        """Return a sampler; an engine whose page cannot be read at all has no series from the start."""
        return _open(target.counters)


@asynccontextmanager
async def _open(counters: CounterReader | None) -> AsyncIterator[PrometheusSampler | None]:
    if counters is None:
        yield None
        return
    await counters.read()
    yield PrometheusSampler(counters=counters)


@dataclass(slots=True, kw_only=True)
class PrometheusSampler:
    """One sample at a time."""

    counters: CounterReader
    cpu_s: float = 0.0
    """CPU seconds that reading the pages took in threads."""
    _misses: int = 0

    async def sample(self) -> Sequence[Sample]:
        """Return one number a canonical name; nothing where the page could not be read this time.

        :raises IxbenchError: if it could not be read for too long.
        """
        failure: IxbenchError | None = None
        with anyio.move_on_after(_SAMPLE_LIMIT_S):
            try:
                reading = await self.counters.read()
            except IxbenchError as error:
                failure = error
            else:
                self._misses = 0
                self.cpu_s += reading.cpu_s
                return counter_samples(reading, time.monotonic_ns())
        self._misses += 1
        if self._misses >= MISSES_LIMIT:
            raise failure or IxbenchError(f"the engine's page did not come within {_SAMPLE_LIMIT_S:g} s, {MISSES_LIMIT} times in a row")
        return ()


def counter_samples(reading: Reading, ns: int) -> list[Sample]:
    """Return a reading as samples: counters are totals since the engine's start."""
    return [Sample(ns=ns, source="prometheus", name=name, value=value) for name, value in reading.totals().items()]
