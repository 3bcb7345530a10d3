"""The shipped hardware book: facts by SKU, which of them this machine has (without any vendor's tool), and how full they are (with one)."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ixbench.api.engine import HardwareBook, Sku
from ixbench_plugins.books import read_book
from ixbench_plugins.hardware import nvidia
from ixbench_plugins.hardware.amd import AmdMachine
from ixbench_plugins.hardware.kfd import KFD_ROOT, VIRTUAL, detect_amd
from ixbench_plugins.hardware.nvidia import NVIDIA_ROOT, detect_nvidia
from ixbench_plugins.hardware.tools import ask_tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.api.engine import Checkup, DetectedGpu, GpuHolder, GpuMemory
    from ixbench_plugins.hardware.tools import Ask

_FACTS = {field.name for field in fields(Sku)}


class ShippedHardware(HardwareBook):
    """AMD through the KFD topology and amd-smi, NVIDIA through the driver's files in /proc and nvidia-smi."""

    name: ClassVar[str] = "book"
    summary: ClassVar[str] = "SKU facts; finds AMD and NVIDIA GPUs in /sys and /proc, and asks their tools how full they are"

    def __init__(
        self,
        *,
        kfd: Path = KFD_ROOT,
        nvidia: Path = NVIDIA_ROOT,
        root: Path = Path("/"),
        ask: Ask = ask_tool,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Look at these folders instead of the system's, and ask this instead of the tools."""
        self._kfd = kfd
        self._nvidia = nvidia
        self._ask = ask
        self._amd = AmdMachine(kfd=kfd, root=root, ask=ask, environ=os.environ if environ is None else environ)

    def skus(self) -> Sequence[Sku]:
        """Return the book's rows; what it does not say stays None."""
        return tuple(Sku(**{key: value for key, value in row.items() if key in _FACTS}) for row in read_book("hardware")["gpu"])

    def detect(self) -> Sequence[DetectedGpu]:
        """Return the GPUs of this machine: all AMD ones, else all NVIDIA ones."""
        return detect_amd(self._kfd, device_ids()) or detect_nvidia(self._nvidia)

    def memory_used(self) -> Sequence[GpuMemory] | None:
        """Return how full the GPUs are, of the vendor that `detect` finds."""
        if detect_amd(self._kfd, {}):
            return self._amd.memory_used()
        return nvidia.read_memory(self._ask(nvidia.MEMORY) or "") if detect_nvidia(self._nvidia) else ()

    def holders(self) -> Sequence[GpuHolder] | None:
        """Return the processes on the GPUs."""
        if detect_amd(self._kfd, {}):
            return self._amd.holders()
        if not detect_nvidia(self._nvidia):
            return ()
        listed = self._ask(nvidia.PROCESSES)
        return None if listed is None else nvidia.read_processes(listed, nvidia.read_memory(self._ask(nvidia.MEMORY) or "") or ())

    def checkups(self) -> Sequence[Checkup]:
        """Return what matters on a host of AMD GPUs."""
        return self._amd.checkups()


def vendor_of(sku: str | None) -> str | None:
    """Return who makes a SKU, or None for one that the book does not have."""
    return next((row["vendor"] for row in read_book("hardware")["gpu"] if row["sku"] == sku), None)


def device_ids() -> dict[int, str]:
    """Return the PCI device ids of AMD GPUs, those of virtual functions included, to SKUs."""
    rows = read_book("hardware")["gpu"]
    return VIRTUAL | {int(row["pci_device_id"], 16): row["sku"] for row in rows if "pci_device_id" in row}
