"""NVIDIA GPUs from the driver's files in /proc: no library, no tool, and no memory size, which these files do not tell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.engine import DetectedGpu

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
    return tuple(DetectedGpu(index=index, sku=find_sku(name), name=name, memory_bytes=None) for index, name in enumerate(_models(root)))


def find_sku(model: str) -> str | None:
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
