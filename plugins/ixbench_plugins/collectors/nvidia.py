"""NVIDIA GPUs at work: power, clock, temperature, activity and memory of those that the launch uses, by nvidia-smi."""

from __future__ import annotations

import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import anyio.to_thread

from ixbench.api.engine import Collector, IxbenchError
from ixbench_plugins.collectors.gpu_samples import (
    ACTIVITY,
    CLOCK,
    POWER,
    POWER_CAPPED,
    TEMPERATURE,
    THROTTLED,
    VRAM,
    Turns,
    samples_of,
    taken_ns,
)
from ixbench_plugins.collectors.gpu_stream import GpuStream, given_up
from ixbench_plugins.hardware.book import vendor_of
from ixbench_plugins.hardware.nvidia import NVIDIA_ROOT, detect_nvidia
from ixbench_plugins.hardware.tool_json import quantity
from ixbench_plugins.hardware.tools import answer_in_time, find_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ixbench.api.engine import CollectorTarget, Sample, Sampler
    from ixbench_plugins.collectors.gpu_samples import Arrival

VENDOR = "NVIDIA"
SOURCE = "nvidia"
COLUMNS = ("timestamp", "index", "uuid", "power.draw", "clocks.sm", "temperature.gpu", "utilization.gpu", "memory.used")
TOOL = "nvidia-smi"
FIELDS = (TOOL, "--help-query-gpu")
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""Why the clocks are not higher: the name of newer drivers, and that of older ones, which end at a name that they do not know."""
ASK_LIMIT_S = 5.0
_HELD = 0x08 | 0x20 | 0x40 | 0x80
"""Slowed down by the hardware, by the driver for heat, by the hardware for heat, by the power brake of the node."""
_CAPPED = 0x04
"""At the power limit that is set in software."""
_STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)?", re.ASCII)
_STAMP_S = 0.001
_MASK = re.compile(r"0x[0-9a-fA-F]{1,16}", re.ASCII)
_MIB = 2**20
_LONGEST_INDEX = 10


class NvidiaCollector(Collector):
    """Reads the GPUs once a second; on a machine without any it has nothing to read."""

    name: ClassVar[str] = SOURCE
    summary: ClassVar[str] = "power, clock and what holds it down, temperature, activity and memory of NVIDIA GPUs, by nvidia-smi"

    def __init__(self, *, root: Path = NVIDIA_ROOT) -> None:
        """Look at this folder instead of the driver's."""
        self._root = root
        self._columns: dict[str, tuple[str, ...]] = {}
        """By the tool's path, since its fields do not change while we run."""
        self._given_up: set[str] = set()
        """Tools that hung where no GPU is known: each point would wait for them in vain."""

    def open(self, target: CollectorTarget) -> AbstractAsyncContextManager[Sampler | None]:
        """Return a sampler of the GPUs that the launch uses."""
        return self._open(target)

    @asynccontextmanager
    async def _open(self, target: CollectorTarget) -> AsyncIterator[Sampler | None]:
        if not target.on_host or vendor_of(target.sku) not in (None, VENDOR):
            yield None
            return
        gpus, tool = detect_nvidia(self._root), find_tool(TOOL)
        expected = bool(gpus) or target.sku is not None
        if tool is None:
            if gpus:
                raise IxbenchError("there are NVIDIA GPUs and no nvidia-smi on PATH: their power is not known")
            yield None
            return
        if tool in self._given_up:
            yield None
            return
        if tool not in self._columns:
            try:
                fields = await anyio.to_thread.run_sync(answer_in_time, FIELDS, ASK_LIMIT_S, abandon_on_cancel=True)
            except TimeoutError:
                if not expected:
                    self._given_up.add(tool)
                    raise given_up(tool, VENDOR) from None
                fields = None
            self._columns[tool] = columns_of(fields or "")
        columns = self._columns[tool]
        stream = GpuStream(read_row=NvidiaRows(wanted=frozenset(target.gpus), columns=columns).read)
        async with stream.running((tool, *arguments(columns))):
            if stream.hangs and not expected:
                self._given_up.add(tool)
                raise given_up(tool, VENDOR)
            # The tool is there and the driver or its GPUs are not: a machine that only builds images, for instance.
            yield None if stream.silent and not gpus else stream


def columns_of(fields: str) -> tuple[str, ...]:
    """Return what to ask nvidia-smi for: all that is read, and why the clocks are held down by the name that this version knows.

    :param fields: what it prints about its fields.
    """
    return (*COLUMNS, *[name for name in REASONS if f'"{name}"' in fields][:1])


def arguments(columns: Sequence[str]) -> tuple[str, ...]:
    """Return how to have nvidia-smi print these columns once a second."""
    return (f"--query-gpu={','.join(columns)}", "--format=csv,noheader,nounits", "--loop=1")


@dataclass(slots=True, kw_only=True)
class NvidiaRows:
    """From lines of nvidia-smi to samples."""

    wanted: Collection[int]
    """Indices of the GPUs that matter; empty = all."""
    columns: Sequence[str] = COLUMNS
    """What the cells of a line are."""
    _turns: Turns = field(default_factory=Turns)
    _stamp: tuple[str, float | None] = ("", None)
    """The last stamp and its seconds: the GPUs of one print share it."""

    def read(self, line: str, arrival: Arrival) -> list[Sample] | None:
        """Return the samples of a line: none for a GPU that does not matter, None for a line that is no row."""
        cells = [cell.strip() for cell in line.split(",")]
        if not line.endswith("\n") or len(cells) != len(self.columns) or not (cells[1].isdecimal() and len(cells[1]) < _LONGEST_INDEX):
            return None
        stamp, index, _, power, clock, temperature, activity, memory, *reasons = cells
        gpu = int(index)
        if self.wanted and gpu not in self.wanted:
            return []
        if stamp != self._stamp[0]:
            self._stamp = stamp, stamp_s(stamp)
        taken_s = self._stamp[1]
        ns = arrival.mono_ns if taken_s is None else taken_ns(arrival, taken_s, _STAMP_S)
        values = {POWER: quantity(power)}
        for name, held in _held_down(reasons):
            self._turns.tell(gpu, name, held)
        if self._turns.full(gpu):
            percent, used = quantity(activity), quantity(memory)
            values |= self._turns.told(gpu)
            values |= {
                CLOCK: quantity(clock),
                TEMPERATURE: quantity(temperature),
                ACTIVITY: None if percent is None else percent / 100,
                VRAM: None if used is None else used * _MIB,
            }
        return list(samples_of(SOURCE, gpu, ns, values))


def _held_down(cells: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return whether the clocks are held down, and whether power is at its limit, from a mask such as "0x0000000000000004"."""
    if not cells or _MASK.fullmatch(cells[0]) is None:
        return ()
    mask = int(cells[0], 16)
    return (THROTTLED, float(bool(mask & _HELD))), (POWER_CAPPED, float(bool(mask & _CAPPED)))


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
