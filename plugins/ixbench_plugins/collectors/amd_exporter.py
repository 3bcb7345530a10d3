"""AMD GPUs as AMD's Device Metrics Exporter shows them: a page that is read once a second, on this machine or where the GPUs are."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import httpx

from ixbench.api.engine import EngineMetrics, IxbenchError, MetricAlias, read_exposition
from ixbench_plugins.collectors.gpu_samples import ACTIVITY, ENERGY, POWER, TEMPERATURE, VRAM, samples_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ixbench.api.engine import Reading, Sample

SOURCE = "amd"
GPU_LABEL = "gpu_id"
MISSES_LIMIT = 10
"""Readings in a row that may fail before the series is given up."""
_LIMIT_S = 0.9
"""Less than the interval: the next reading is due then."""
_FIRST_LIMIT_S = 5.0
_PAGE_LIMIT_BYTES = 4 * 2**20
_OK = 200
_FACTORS = {POWER: 1.0, TEMPERATURE: 1.0, ACTIVITY: 0.01, VRAM: 2**20, ENERGY: 1e-6}
"""The page counts percent, MiB and microjoules."""


def _named(*names: str) -> tuple[str, ...]:
    """Return the names without and with the prefix that may be set for all metrics of the exporter."""
    return (*names, *(f"amd_{name}" for name in names))


METRICS = EngineMetrics(
    aliases=(
        # Newer GPUs tell their power at this moment, older ones a mean over a short time.
        MetricAlias(canonical=POWER, names=_named("gpu_package_power", "gpu_average_package_power")),
        MetricAlias(canonical=TEMPERATURE, names=_named("gpu_junction_temperature")),
        MetricAlias(canonical=ACTIVITY, names=_named("gpu_gfx_activity")),
        MetricAlias(canonical=VRAM, names=_named("gpu_used_vram")),
        MetricAlias(canonical=ENERGY, names=_named("gpu_energy_consumed")),
    )
)


def page_samples(page: bytes, wanted: Sequence[int], ns: int) -> list[Sample]:
    """Return the samples of a page.

    :param wanted: indices of the GPUs that matter, as the exporter counts; empty = all.
    """
    reading = read_exposition(page, METRICS)
    return [
        sample
        for gpu, values in _by_gpu(reading).items()
        if not wanted or gpu in wanted
        for sample in samples_of(SOURCE, gpu, ns, dict(values))
    ]


def _by_gpu(reading: Reading) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for name, series in reading.series.items():
        for (_, labels), value in series.items():
            gpu = dict(labels).get(GPU_LABEL, "")
            if gpu.isdecimal():
                found.setdefault(int(gpu), {})[name] = value * _FACTORS[name]
    return found


@dataclass(slots=True, kw_only=True)
class ExporterSampler:
    """One reading at a time."""

    client: httpx.AsyncClient
    url: str
    wanted: Sequence[int]
    cpu_s: float = 0.0
    """CPU seconds that reading the pages took in threads."""
    _first: list[Sample] = field(default_factory=list)
    """Read when it was opened, so that the load is covered from its beginning."""
    _misses: int = 0

    async def first(self) -> None:
        """Read the page for the first time.

        :raises IxbenchError: if it cannot be read, or tells the power of no GPU.
        """
        self._first = await self._read(_FIRST_LIMIT_S)
        if not any(sample.name == POWER for sample in self._first):
            told = f"GPU {', '.join(map(str, self.wanted))}" if self.wanted else "any GPU"
            raise IxbenchError(f"{self.url} does not tell the power of {told}")

    async def sample(self) -> Sequence[Sample]:
        """Return what the page says now; nothing where it could not be read this time.

        :raises IxbenchError: if it could not be read for too long.
        """
        if self._first:
            first, self._first = self._first, []
            return first
        try:
            found = await self._read(_LIMIT_S)
        except IxbenchError:
            self._misses += 1
            if self._misses >= MISSES_LIMIT:
                raise
            return ()
        self._misses = 0
        return found

    async def finish(self) -> Sequence[Sample]:
        """Return what the page says after the load."""
        return [*self._first, *await self._read(_FIRST_LIMIT_S)]

    async def _read(self, limit_s: float) -> list[Sample]:
        try:
            with anyio.fail_after(limit_s):
                page = await self._page()
                return await anyio.to_thread.run_sync(self._parse, page, time.monotonic_ns())
        except TimeoutError as error:
            raise IxbenchError(f"{self.url} did not answer within {limit_s:g} s") from error
        except httpx.HTTPError as error:
            raise IxbenchError(f"{self.url} cannot be read: {error or type(error).__name__}") from error

    async def _page(self) -> bytes:
        content = bytearray()
        async with self.client.stream("GET", self.url, headers={"Accept": "text/plain"}) as response:
            if response.status_code != _OK:
                raise IxbenchError(f"{self.url} answers status {response.status_code}")
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > _PAGE_LIMIT_BYTES:
                    break
        return bytes(content)

    def _parse(self, page: bytes, ns: int) -> list[Sample]:
        began_s = time.thread_time()
        try:
            return page_samples(page, self.wanted, ns)
        finally:
            self.cpu_s += time.thread_time() - began_s


@asynccontextmanager
async def exporter(url: str, wanted: Sequence[int]) -> AsyncIterator[ExporterSampler]:
    """Read a page while the block runs.

    :param wanted: indices of the GPUs that matter, as the exporter counts; empty = all.
    :raises IxbenchError: if it cannot be read.
    """
    async with httpx.AsyncClient(timeout=_FIRST_LIMIT_S, trust_env=False) as client:
        sampler = ExporterSampler(client=client, url=url, wanted=wanted)
        await sampler.first()
        yield sampler
