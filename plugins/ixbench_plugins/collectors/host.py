"""CPU and memory of this machine, of the engine's processes and of the client itself: whoever shares the machine shares the blame."""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import anyio.to_thread
import psutil

from ixbench.api.engine import Collector, Sample

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from ixbench.api.engine import CollectorTarget, Sampler

_TREE_EVERY_S = 120.0
"""Between two looks for new processes of the engine: that one walks through all processes of the machine."""
_IDLE = ("idle", "iowait")
_COUNTED_TWICE = ("guest", "guest_nice")
"""Linux counts these in user and nice already."""


class HostCollector(Collector):
    """Reads /proc through psutil in a thread: the loop that stamps tokens never waits for it.

    Every 15 s, and once more after the load: shares are means since the sample before, so that nothing is lost in between, and an hour
    of it costs about half a second of CPU.
    """

    name: ClassVar[str] = "host"
    summary: ClassVar[str] = "CPU, memory and load of this machine, of the engine's processes and of ixbench"
    interval_s: ClassVar[float] = 15.0

    def open(self, target: CollectorTarget) -> AbstractAsyncContextManager[Sampler]:
        """Return a sampler whose first shares count from now."""
        return _open(target.pids)


@asynccontextmanager
async def _open(pids: tuple[int, ...]) -> AsyncIterator[HostSampler]:
    sampler = HostSampler(pids=pids)
    await anyio.to_thread.run_sync(sampler.read)
    yield sampler


@dataclass(slots=True, kw_only=True)
class HostSampler:
    """What the last sample saw, since shares are differences. One sample at a time."""

    pids: tuple[int, ...]
    """Roots of the engine's processes."""
    _cores: int = field(default_factory=lambda: psutil.cpu_count() or 1)
    cpu_s: float = 0.0
    """CPU seconds that reading took in threads."""
    _looked_s: float | None = None
    """When the engine's processes were looked for."""
    _moment_s: float | None = None
    _host: tuple[float, float] = (0.0, 0.0)
    """CPU seconds of all cores so far: busy, and in all."""
    _cpu_s: dict[psutil.Process, float] = field(default_factory=dict)
    """CPU seconds so far of each process that is watched."""
    _client: psutil.Process = field(default_factory=psutil.Process)
    _engine: list[psutil.Process] = field(default_factory=list)

    async def sample(self) -> Sequence[Sample]:
        """Return what can be read now. CPU shares are of all cores together, since the sample before."""
        return await anyio.to_thread.run_sync(self.read)

    async def finish(self) -> Sequence[Sample]:
        """Return the same after the load, whose last seconds would be missing else."""
        return await self.sample()

    def read(self) -> list[Sample]:
        """Read everything once; the first time there is nothing yet to take differences from."""
        began_s = time.thread_time()
        try:
            return self._read()
        finally:
            self.cpu_s += time.thread_time() - began_s

    def _read(self) -> list[Sample]:
        now_s, now_ns = time.monotonic(), time.monotonic_ns()
        if self._looked_s is None or now_s - self._looked_s >= _TREE_EVERY_S:
            self._engine, self._looked_s = _trees(self.pids), now_s
        elapsed_s = None if self._moment_s is None else now_s - self._moment_s
        self._moment_s = now_s
        memory = psutil.virtual_memory()
        values: list[tuple[str, str, float]] = [
            ("memory_bytes", "host", float(memory.total - memory.available)),
            ("load_1min", "host", os.getloadavg()[0]),
        ]
        busy, total = _cpu_seconds()
        if total > self._host[1] and elapsed_s is not None:
            values.append(("cpu_share", "host", (busy - self._host[0]) / (total - self._host[1])))
        self._host = busy, total
        for scope, processes in (("client", [self._client]), ("engine", self._engine)):
            if processes:
                values += [(name, scope, value) for name, value in self._usage(processes, elapsed_s)]
        return [Sample(ns=now_ns, source="host", name=name, value=value, labels={"scope": scope}) for name, scope, value in values]

    def _usage(self, processes: Iterable[psutil.Process], elapsed_s: float | None) -> list[tuple[str, float]]:
        """Return memory and CPU share of processes together; what ended in between is left out."""
        used_s, memory, seen = 0.0, 0, False
        for process in processes:
            try:
                times, resident = process.cpu_times(), process.memory_info().rss
            except psutil.Error:
                self._cpu_s.pop(process, None)
                continue
            seen = True
            cpu_s = times.user + times.system
            used_s += cpu_s - self._cpu_s.get(process, cpu_s)
            self._cpu_s[process] = cpu_s
            memory += resident
        if not seen:
            return []
        shares = [("cpu_share", used_s / elapsed_s / self._cores)] if elapsed_s else []
        return [("memory_bytes", float(memory)), *shares]


def _cpu_seconds() -> tuple[float, float]:
    """Return the CPU seconds of all cores since boot: busy, and in all."""
    times = psutil.cpu_times()._asdict()
    total = sum(value for name, value in times.items() if name not in _COUNTED_TWICE)
    return total - sum(times.get(name, 0.0) for name in _IDLE), total


def _trees(pids: tuple[int, ...]) -> list[psutil.Process]:
    """Return the processes and all their descendants that live."""
    if not pids:
        return []
    children: dict[int, list[psutil.Process]] = {}
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            children.setdefault(process.ppid(), []).append(process)
            if process.pid in pids:
                found[process.pid] = process
    fresh = list(found.values())
    while fresh:
        fresh = [child for process in fresh for child in children.get(process.pid, ()) if child.pid not in found]
        found |= {process.pid: process for process in fresh}
    return list(found.values())
