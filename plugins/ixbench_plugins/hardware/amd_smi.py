"""What amd-smi prints, as values. Pure: whoever runs it passes the text; an empty result means that the text tells nothing."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ixbench_plugins.hardware.tool_json import entry, gpu_rows, quantity, size, whole_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

LIST = ("amd-smi", "list", "-e", "--json")
LIST_OLD = ("amd-smi", "list", "--json")
"""Without HIP indices, which older versions don't tell."""
MEMORY = ("amd-smi", "metric", "--mem-usage", "--json")
PROCESS = ("amd-smi", "process", "--json")
WATCH = ("amd-smi", "metric", "-p", "-c", "-t", "-u", "-w", "1", "--csv")
"""Power, clocks, temperature and usage every second, until it is ended. (With --json some versions print nothing.)"""
ENERGY = ("amd-smi", "metric", "-E", "--csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGpu:
    """One GPU of `amd-smi list`."""

    gpu: int
    """Index of amd-smi, which need not be HIP's."""
    bdf: str
    """PCI address."""
    hip: int | None
    """Index of HIP; None where this version does not tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMetrics:
    """One GPU of `amd-smi metric`."""

    gpu: int
    used_bytes: int | None
    total_bytes: int | None
    power_w: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process on one GPU, of `amd-smi process`."""

    gpu: int
    pid: int
    name: str
    used_bytes: int | None


def read_list(text: str) -> tuple[ListedGpu, ...]:
    """Return the GPUs of `amd-smi list`."""
    return tuple(
        ListedGpu(gpu=index, bdf=str(row.get("bdf", "")), hip=whole_quantity(row.get("hip_id"))) for index, row in _indexed(gpu_rows(text))
    )


def read_metric(text: str) -> tuple[GpuMetrics, ...]:
    """Return the GPUs of `amd-smi metric`; a quantity that is N/A is None."""
    return tuple(
        GpuMetrics(
            gpu=index,
            used_bytes=size(entry(row, "mem_usage", "used_vram"), unit="MB"),
            total_bytes=size(entry(row, "mem_usage", "total_vram"), unit="MB"),
            power_w=quantity(entry(row, "power", "socket_power")),
        )
        for index, row in _indexed(gpu_rows(text))
    )


def read_processes(text: str) -> tuple[Process, ...] | None:
    """Return the processes on all GPUs; None where the text is no answer. Of a container only its own processes are listed."""
    rows = gpu_rows(text)
    found: list[Process] = []
    for index, row in _indexed(rows):
        listed = row.get("process_list")
        for item in listed if isinstance(listed, list) else ():
            info = entry(item, "process_info")
            pid = whole_quantity(entry(info, "pid"))
            if pid is not None:
                used = entry(info, "mem_usage") or entry(info, "memory_usage", "vram_mem")
                found.append(Process(gpu=index, pid=pid, name=str(entry(info, "name")), used_bytes=size(used, unit="B")))
    return tuple(found) if rows else None


@dataclass(slots=True, kw_only=True)
class CsvRows:
    """Rows of `--csv` output as its lines come."""

    header: list[str] | None = field(default=None, init=False)
    """The last one that came: it is repeated now and then."""

    def row(self, line: str) -> dict[str, str] | None:
        """Return a line's cells by column; None for a header, for text around the rows, and for a line that is cut off or has no end."""
        if not line.endswith("\n"):
            return None
        # Nearly all lines hold no quotes, and come every second.
        cells = _quoted_cells(line) if '"' in line else line.rstrip("\r\n").split(",")
        if "gpu" in cells and cells[0] in {"gpu", "timestamp"}:
            self.header = cells
        elif self.header is not None and len(cells) == len(self.header):
            return dict(zip(self.header, cells, strict=True))
        return None


def _quoted_cells(line: str) -> list[str]:
    lines = line.splitlines()
    return next(csv.reader(lines), []) if len(lines) == 1 else []


def read_csv(text: str) -> tuple[dict[str, str], ...]:
    """Return the rows of `--csv` output by column; text before the header, repeated headers and a last row that is cut off are skipped."""
    rows = CsvRows()
    return tuple(row for line in text.splitlines(keepends=True) if (row := rows.row(line)) is not None)


def read_energy(text: str) -> dict[int, float]:
    """Return the joules that each GPU has taken since its driver was loaded, of the output of `ENERGY`."""
    pairs = ((whole_quantity(row.get("gpu")), quantity(row.get("total_energy_consumption"))) for row in read_csv(text))
    return {gpu: joules for gpu, joules in pairs if gpu is not None and joules is not None}


def hip_indices(listed: Sequence[ListedGpu]) -> dict[int, int]:
    """Return amd-smi's indices to HIP's; empty where not all are told."""
    told = {gpu.gpu: gpu.hip for gpu in listed if gpu.hip is not None}
    return told if len(told) == len(listed) else {}


def _indexed(rows: Sequence[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    return [(index, row) for row in rows if (index := whole_quantity(row.get("gpu"))) is not None]
