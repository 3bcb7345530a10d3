"""NVIDIA GPUs from the driver's files in /proc, which do not tell memory; how full it is, nvidia-smi tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.engine import DetectedGpu, GpuHolder, GpuMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NVIDIA_ROOT = Path("/proc/driver/nvidia/gpus")

# Only the variants that the book describes: an H100 PCIe or NVL is another product than the SXM one.
MODELS = (
    (re.compile(r"\bGB300\b"), "gb300"),
    (re.compile(r"\bGB200\b"), "gb200"),
    (re.compile(r"\bB300\b"), "b300"),
    (re.compile(r"\bB200\b"), "b200"),
    (re.compile(r"\bH200\b(?!.*\b(?:NVL|PCIe)\b)"), "h200"),
    (re.compile(r"\bH100\b(?=.*\b(?:SXM5?|HBM3)\b)(?!.*\b(?:NVL|PCIe)\b)"), "h100"),
    (re.compile(r"\bRTX PRO 6000\b"), "rtx6000pro"),
)


def detect_nvidia(root: Path) -> Sequence[DetectedGpu]:
    """Return the NVIDIA GPUs in the order of their PCI addresses; empty without the driver."""
    return tuple(DetectedGpu(index=index, sku=sku_of_gpu(name), name=name, memory_bytes=None) for index, name in enumerate(_models(root)))


def sku_of_gpu(model: str) -> str | None:
    """Return the SKU of a model name, or None for a model that the book does not have."""
    return next((sku for pattern, sku in MODELS if pattern.search(model)), None)


def _models(root: Path) -> Iterator[str]:
    try:
        folders = sorted(root.iterdir())
    except OSError:
        return
    for folder in folders:
        try:
            text = (folder / "information").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        model = re.search(r"^Model:\s*(\S.*?)\s*$", text, re.MULTILINE)
        if model:
            yield model[1]


MEMORY = ("nvidia-smi", "--query-gpu=index,pci.bus_id,memory.used,memory.total", "--format=csv,noheader,nounits")
PROCESSES = ("nvidia-smi", "--query-compute-apps=gpu_bus_id,pid,process_name,used_memory", "--format=csv,noheader,nounits")
_MIB = 2**20
_NUMBER = re.compile(r"[0-9]{1,18}")


def read_memory(text: str) -> tuple[GpuMemory, ...] | None:
    """Return how full the GPUs are; None where not all of them tell."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    if not rows or not all(len(row) == 4 and all(_NUMBER.fullmatch(row[cell]) for cell in (0, 2, 3)) for row in rows):  # noqa: PLR2004 - columns of MEMORY
        return None
    return tuple(
        GpuMemory(index=int(index), name=f"GPU {index} ({bus})", used_bytes=int(used) * _MIB, total_bytes=int(total) * _MIB)
        for index, bus, used, total in rows
    )


def read_processes(text: str, memory: Sequence[GpuMemory]) -> tuple[GpuHolder, ...]:
    """Return the processes that compute on the GPUs.

    :param memory: gives the GPUs their names.
    """
    found = []
    for line in text.splitlines():
        bus, _, rest = line.partition(",")
        pid, _, rest = rest.partition(",")
        name, _, used = rest.rpartition(",")
        pid, used = pid.strip(), used.strip()
        if _NUMBER.fullmatch(pid):
            gpus = tuple(gpu.name for gpu in memory if f"({bus.strip()})" in gpu.name)
            size = int(used) * _MIB if _NUMBER.fullmatch(used) else None
            found.append(GpuHolder(pid=int(pid), name=name.strip(), gpus=gpus, used_bytes=size))
    return tuple(found)
