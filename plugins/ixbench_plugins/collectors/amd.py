"""AMD GPUs at work: power, clock, temperature, activity and memory of those that the launch uses.

They come from amd-smi, which runs beside the point, or from AMD's Device Metrics Exporter where the user names one.
"""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anyio.to_thread

from ixbench.api.engine import Collector, IxbenchError
from ixbench_plugins.collectors.amd_options import AmdOptions
from ixbench_plugins.collectors.gpu_samples import ACTIVITY, CLOCK, ENERGY, POWER, TEMPERATURE, THROTTLED, VRAM, Turns, samples_of, taken_ns
from ixbench_plugins.collectors.gpu_stream import GpuStream, given_up
from ixbench_plugins.hardware import amd_smi
from ixbench_plugins.hardware.amd import vram_used
from ixbench_plugins.hardware.book import vendor_of
from ixbench_plugins.hardware.kfd import KFD_ROOT, read_gpus
from ixbench_plugins.hardware.tool_json import quantity, whole_quantity
from ixbench_plugins.hardware.tools import answer_in_time, ask_tool, find_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from ixbench.api.engine import CollectorTarget, Sample, Sampler
    from ixbench_plugins.collectors.gpu_samples import Arrival
    from ixbench_plugins.hardware.kfd import KfdGpu

VENDOR = "AMD"
SOURCE = "amd"
_THROTTLE = {"THROTTLED": 1.0, "UNTHROTTLED": 0.0}
"""Drivers of some GPUs, Instinct's among them so far, answer N/A."""
ASK_LIMIT_S = 5.0
"""Bound on one question to amd-smi before and after the load, which wait for it."""
_STAMP_S = 1.0
"""amd-smi rounds its stamps down to whole seconds."""


class AmdCollector(Collector):
    """Reads the GPUs once a second; on a machine without any it has nothing to read."""

    name: ClassVar[str] = SOURCE
    summary: ClassVar[str] = "power, clock, temperature, activity and memory of AMD GPUs, by amd-smi or AMD's Device Metrics Exporter"
    Options: ClassVar[Any] = AmdOptions

    def __init__(self, *, kfd: Path = KFD_ROOT, root: Path = Path("/")) -> None:
        """Look at these folders instead of the system's."""
        self._kfd = kfd
        self._root = root
        self._listed: dict[str, tuple[amd_smi.ListedGpu, ...] | None] = {}
        """By the tool's path, since GPUs do not change while we run and the tool takes a second."""
        self._given_up: set[str] = set()
        """Tools that hung where no GPU is known: each point would wait for them in vain."""

    def open(self, target: CollectorTarget) -> AbstractAsyncContextManager[Sampler | None]:
        """Return a sampler of the GPUs that the launch uses."""
        return self._open(target)

    @asynccontextmanager
    async def _open(self, target: CollectorTarget) -> AsyncIterator[Sampler | None]:
        options: AmdOptions | None = target.options
        if options is not None and options.exporter is not None:
            from ixbench_plugins.collectors.amd_exporter import exporter

            async with exporter(options.exporter, target.gpus) as sampler:
                yield sampler
        elif not target.on_host or vendor_of(target.sku) not in (None, VENDOR):
            yield None
        else:
            async with self._tool(target.gpus, expected=target.sku is not None) as sampler:
                yield sampler

    @asynccontextmanager
    async def _tool(self, wanted: Sequence[int], *, expected: bool) -> AsyncIterator[Sampler | None]:
        gpus, tool = read_gpus(self._kfd), find_tool(amd_smi.WATCH[0])
        if tool is None:
            if gpus:
                raise IxbenchError("there are AMD GPUs and no amd-smi on PATH or in /opt/rocm/bin: their power is not known")
            yield None
            return
        if tool in self._given_up:
            yield None
            return
        began_s = _children_cpu_s()
        listed = await anyio.to_thread.run_sync(self._list, tool, abandon_on_cancel=True)
        if listed is None and not (gpus or expected):
            self._given_up.add(tool)
            raise given_up(tool, VENDOR)
        listed = listed or ()
        rows = AmdRows(labels=labels_of(listed, gpus, wanted), wanted=frozenset(wanted), vram=self._vram(listed, gpus))
        stream = GpuStream(read_row=rows.read)
        async with stream.running((tool, *amd_smi.WATCH[1:])):
            if stream.silent and not gpus and not listed:
                if stream.hangs and not expected:
                    self._given_up.add(tool)
                    raise given_up(tool, VENDOR)
                # ROCm is installed on a machine that has none of its GPUs.
                yield None
                return
            sampler = AmdSampler(rows=rows, stream=stream)
            await sampler.count()
            stream.further_cpu_s += _children_cpu_s() - began_s
            yield sampler

    def _list(self, tool: str) -> tuple[amd_smi.ListedGpu, ...] | None:
        """Return the GPUs that the tool lists; None where it hangs."""
        if tool not in self._listed:
            try:
                self._listed[tool] = _ask_list(amd_smi.LIST) or _ask_list(amd_smi.LIST_OLD)
            except TimeoutError:
                self._listed[tool] = None
        return self._listed[tool]

    def _vram(self, listed: Sequence[amd_smi.ListedGpu], gpus: Sequence[KfdGpu]) -> dict[int, Callable[[], int | None]]:
        """Return what reads the memory in use of a GPU, by amd-smi's index; the driver's files cost next to nothing."""
        by_address = {gpu.bdf: gpu for gpu in gpus if gpu.partitions == 1}
        found = {one.gpu: by_address[one.bdf.lower()] for one in listed if one.bdf.lower() in by_address}
        return {index: lambda gpu=gpu: vram_used(self._root, gpu) for index, gpu in found.items()}  # type: ignore[misc]


def _ask_list(command: Sequence[str]) -> tuple[amd_smi.ListedGpu, ...]:
    return amd_smi.read_list(answer_in_time(command, ASK_LIMIT_S) or "")


def labels_of(listed: Sequence[amd_smi.ListedGpu], gpus: Sequence[KfdGpu], wanted: Sequence[int]) -> Mapping[int, int]:
    """Return amd-smi's indices to HIP's, which are those of launches; empty where they are taken to be the same.

    HIP's order is told by newer versions of amd-smi; else it is that of the driver's topology, by PCI address.

    :raises IxbenchError: if neither tells it and the launch uses some of the GPUs only.
    """
    if told := amd_smi.hip_indices(listed):
        return told
    order = {gpu.bdf: index for index, gpu in enumerate(gpus)}
    if listed and all(one.bdf.lower() in order for one in listed):
        return {one.gpu: order[one.bdf.lower()] for one in listed}
    if wanted and listed and len(wanted) < len(listed):
        raise IxbenchError(
            f"amd-smi lists {len(listed)} GPUs and does not tell which of them HIP calls {', '.join(map(str, wanted))}: "
            "their power is not known"
        )
    return {}


@dataclass(slots=True, kw_only=True)
class AmdRows:
    """From lines of amd-smi to samples."""

    labels: Mapping[int, int]
    """amd-smi's indices to HIP's; empty = they are the same."""
    wanted: Collection[int]
    """HIP's indices of the GPUs that matter; empty = all."""
    vram: Mapping[int, Callable[[], int | None]] = field(default_factory=dict)
    """Reads the memory in use, by amd-smi's index."""
    _rows: amd_smi.CsvRows = field(default_factory=amd_smi.CsvRows)
    _turns: Turns = field(default_factory=Turns)

    def read(self, line: str, arrival: Arrival) -> list[Sample] | None:
        """Return the samples of a line: none for a GPU that does not matter, None for a line that is no row."""
        row = self._rows.row(line)
        index, stamp_s = (None, None) if row is None else (whole_quantity(row.get("gpu")), quantity(row.get("timestamp")))
        if row is None or index is None:
            return None
        gpu = self.gpu(index)
        if gpu is None:
            return []
        ns = arrival.mono_ns if stamp_s is None else taken_ns(arrival, stamp_s, _STAMP_S)
        values = {POWER: quantity(row.get("socket_power"))}
        self._turns.tell(gpu, THROTTLED, _THROTTLE.get(row.get("throttle_status") or ""))
        if self._turns.full(gpu):
            values |= self._turns.told(gpu)
            used = self.vram[index]() if index in self.vram else None
            values |= {
                CLOCK: quantity(row.get("gfx_0_clk")),
                TEMPERATURE: quantity(row.get("hotspot")),
                ACTIVITY: _share(quantity(row.get("gfx_activity"))),
                VRAM: None if used is None else float(used),
            }
        return list(samples_of(SOURCE, gpu, ns, values))

    def energy(self, text: str, ns: int) -> list[Sample]:
        """Return the GPUs' own counters of `amd-smi metric -E --csv`."""
        told = amd_smi.read_energy(text)
        gpus = {gpu: joules for index, joules in told.items() if (gpu := self.gpu(index)) is not None}
        return [sample for gpu, joules in gpus.items() for sample in samples_of(SOURCE, gpu, ns, {ENERGY: joules})]

    def gpu(self, index: int) -> int | None:
        """Return HIP's index of a GPU, or None for one that does not matter."""
        gpu = self.labels.get(index) if self.labels else index
        return gpu if gpu is not None and (not self.wanted or gpu in self.wanted) else None


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


@dataclass(slots=True, kw_only=True)
class AmdSampler:
    """The stream, with the GPUs' own energy counters before and after the load, against which the power is checked."""

    rows: AmdRows
    stream: GpuStream
    _counted: list[Sample] = field(default_factory=list)

    @property
    def interval_s(self) -> float:
        """That of the stream."""
        return self.stream.interval_s

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the tool, of the thread, and of the commands beside it."""
        return self.stream.cpu_s

    async def sample(self) -> Sequence[Sample]:
        """Return what came since the last time."""
        counted, self._counted = self._counted, []
        return [*counted, *await self.stream.sample()]

    async def finish(self) -> Sequence[Sample]:
        """Return the counters again, and what was read until after them."""
        began_s = _children_cpu_s()
        await self.count()
        self.stream.further_cpu_s += _children_cpu_s() - began_s
        return [*self._counted, *await self.stream.finish()]

    async def count(self) -> None:
        """Read the GPUs' own counters; a tool that does not tell them costs the cross-check alone.

        The tool takes a while and does not say when it read them: the middle of its run is at most half of that off.
        """
        before_ns = time.monotonic_ns()
        text = await anyio.to_thread.run_sync(ask_tool, amd_smi.ENERGY, ASK_LIMIT_S, abandon_on_cancel=True)
        self._counted += self.rows.energy(text or "", (before_ns + time.monotonic_ns()) // 2)


def _children_cpu_s() -> float:
    """Return the CPU seconds of all commands that have ended."""
    times = os.times()
    return times.children_user + times.children_system
