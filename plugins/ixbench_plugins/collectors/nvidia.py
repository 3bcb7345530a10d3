"""NVIDIA GPUs at work: power, clock, temperature, activity and memory of those that the launch uses, by nvidia-smi."""

from __future__ import annotations

import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.engine import Collector, IxbenchError
from ixbench_plugins.collectors.gpu_samples import ACTIVITY, CLOCK, POWER, TEMPERATURE, VRAM, Turns, samples_of, taken_ns
from ixbench_plugins.collectors.gpu_stream import GpuStream
from ixbench_plugins.hardware.book import vendor_of
from ixbench_plugins.hardware.nvidia import NVIDIA_ROOT, detect_nvidia
from ixbench_plugins.hardware.tool_json import number
from ixbench_plugins.hardware.tools import find_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ixbench.api.engine import CollectorTarget, Sample, Sampler
    from ixbench_plugins.collectors.gpu_samples import Arrival

VENDOR = "NVIDIA"
SOURCE = "nvidia"
COLUMNS = ("timestamp", "index", "uuid", "power.draw", "clocks.sm", "temperature.gpu", "utilization.gpu", "memory.used")
WATCH = ("nvidia-smi", f"--query-gpu={','.join(COLUMNS)}", "--format=csv,noheader,nounits", "--loop=1")
_STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)?", re.ASCII)
_STAMP_S = 0.001
_MIB = 2**20


class NvidiaCollector(Collector):
    """Reads the GPUs once a second; on a machine without any it has nothing to read."""

    name: ClassVar[str] = SOURCE
    summary: ClassVar[str] = "power, clock, temperature, activity and memory of NVIDIA GPUs, by nvidia-smi"

    def __init__(self, *, root: Path = NVIDIA_ROOT) -> None:
        """Look at this folder instead of the driver's."""
        self._root = root

    def open(self, target: CollectorTarget) -> AbstractAsyncContextManager[Sampler | None]:
        """Return a sampler of the GPUs that the launch uses."""
        return self._open(target)

    @asynccontextmanager
    async def _open(self, target: CollectorTarget) -> AsyncIterator[Sampler | None]:
        if not target.on_host or vendor_of(target.sku) not in (None, VENDOR):
            yield None
            return
        gpus, tool = detect_nvidia(self._root), find_tool(WATCH[0])
        if tool is None:
            if gpus:
                raise IxbenchError("there are NVIDIA GPUs and no nvidia-smi on PATH: their power is not known")
            yield None
            return
        stream = GpuStream(read_row=NvidiaRows(wanted=frozenset(target.gpus)).read)
        async with stream.running((tool, *WATCH[1:])):
            # The tool is there and the driver or its GPUs are not: a machine that only builds images, for instance.
            yield None if stream.silent and not gpus else stream


@dataclass(slots=True, kw_only=True)
class NvidiaRows:
    """From lines of nvidia-smi to samples."""

    wanted: Collection[int]
    """Indices of the GPUs that matter; empty = all."""
    _turns: Turns = field(default_factory=Turns)

    def read(self, line: str, arrival: Arrival) -> list[Sample] | None:
        """Return the samples of a line: none for a GPU that does not matter, None for a line that is no row."""
        cells = [cell.strip() for cell in line.split(",")]
        if not line.endswith("\n") or len(cells) != len(COLUMNS) or not cells[1].isdecimal():
            return None
        stamp, index, _, power, clock, temperature, activity, memory = cells
        gpu = int(index)
        if self.wanted and gpu not in self.wanted:
            return []
        taken_s = stamp_s(stamp)
        ns = arrival.mono_ns if taken_s is None else taken_ns(arrival, taken_s, _STAMP_S)
        values = {POWER: number(power)}
        if self._turns.full(gpu):
            percent, used = number(activity), number(memory)
            values |= {
                CLOCK: number(clock),
                TEMPERATURE: number(temperature),
                ACTIVITY: None if percent is None else percent / 100,
                VRAM: None if used is None else used * _MIB,
            }
        return list(samples_of(SOURCE, gpu, ns, values))


def stamp_s(text: str) -> float | None:
    """Return a stamp such as "2026/11/30 06:45:01.250", which is local time, in seconds since the epoch; None where it is none."""
    found = _STAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        # -1: whether that is summer time, the system's tables tell.
        return time.mktime((year, month, day, hour, minute, second, 0, 0, -1)) + float(f"0{found[7] or '.0'}")
    except (ValueError, OverflowError):
        return None
