"""The shipped hardware book: facts by SKU, and which of them this machine has, without any vendor's tool."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.engine import HardwareBook, Sku
from ixbench_plugins.books import read_book
from ixbench_plugins.hardware.kfd import KFD_ROOT, detect_amd
from ixbench_plugins.hardware.nvidia import NVIDIA_ROOT, detect_nvidia

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ixbench.api.engine import DetectedGpu

_FACTS = {field.name for field in fields(Sku)}


class ShippedHardware(HardwareBook):
    """AMD through the KFD topology, NVIDIA through the driver's files in /proc."""

    name: ClassVar[str] = "book"
    summary: ClassVar[str] = "SKU facts; finds AMD and NVIDIA GPUs in /sys and /proc"

    def __init__(self, *, kfd: Path = KFD_ROOT, nvidia: Path = NVIDIA_ROOT) -> None:
        """Look at these folders instead of the system's."""
        self._kfd = kfd
        self._nvidia = nvidia

    def skus(self) -> Sequence[Sku]:
        """Return the book's rows; what it does not say stays None."""
        return tuple(Sku(**{key: value for key, value in row.items() if key in _FACTS}) for row in read_book("hardware")["gpu"])

    def detect(self) -> Sequence[DetectedGpu]:
        """Return the GPUs of this machine: all AMD ones, else all NVIDIA ones."""
        rows = read_book("hardware")["gpu"]
        device_ids = {int(row["pci_device_id"], 16): row["sku"] for row in rows if "pci_device_id" in row}
        return detect_amd(self._kfd, device_ids) or detect_nvidia(self._nvidia)
