"""AMD GPUs of this machine at work: how full they are, who holds them, and what about the host spoils benchmarks on them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.engine import Checkup, GpuHolder, GpuMemory, counted
from ixbench_plugins.hardware import amd_smi, rocm_smi
from ixbench_plugins.hardware.kfd import count_hidden, read_gpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ixbench_plugins.hardware.kfd import KfdGpu
    from ixbench_plugins.hardware.tools import Ask

RECLAIM = "HSA_NO_SCRATCH_RECLAIM"
WANTED_PARAMETERS = ("iommu=pt", "pci=realloc=off")
"""What AMD asks for on the kernel's command line of Instinct hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdMachine:
    """One machine, seen through its files and tools."""

    kfd: Path
    """The topology folder."""
    root: Path
    """Of /proc, /sys and /dev."""
    ask: Ask
    environ: Mapping[str, str]

    def memory_used(self) -> tuple[GpuMemory, ...] | None:
        """Return how full each GPU is by amd-smi, else by rocm-smi, else by the driver; None where none of them tells all."""
        return self._memory_by_amd_smi() or self._memory_by_rocm_smi() or self._memory_by_driver()

    def holders(self) -> tuple[GpuHolder, ...] | None:
        """Return the processes on the GPUs, those that can be seen from here; None without amd-smi."""
        processes = amd_smi.read_processes(self.ask(amd_smi.PROCESS) or "")
        if processes is None:
            return None
        names = self._names(self._list())
        merged: dict[tuple[int, str], list[amd_smi.Process]] = {}
        for process in processes:
            merged.setdefault((process.pid, process.name), []).append(process)
        return tuple(
            GpuHolder(
                pid=pid,
                name=name,
                gpus=tuple(names.get(process.gpu, f"GPU {process.gpu}") for process in found),
                used_bytes=_total([process.used_bytes for process in found]),
            )
            for (pid, name), found in merged.items()
        )

    def checkups(self) -> Sequence[Checkup]:
        """Return what there is to say; nothing on a machine without AMD GPUs."""
        gpus = read_gpus(self.kfd)
        hidden = count_hidden(self.kfd)
        if not gpus and not hidden:
            return ()
        return (
            *([_hidden(len(gpus), hidden)] if hidden else []),
            *([self._kfd_access(), self._render_access(gpus), self._firmware()] if gpus else []),
            self._numa_balancing(),
            self._kernel_parameters(),
        )

    def _list(self) -> tuple[amd_smi.ListedGpu, ...]:
        return amd_smi.read_list(self.ask(amd_smi.LIST) or "") or amd_smi.read_list(self.ask(amd_smi.LIST_OLD) or "")

    def _names(self, listed: Sequence[amd_smi.ListedGpu]) -> dict[int, str]:
        return {gpu.gpu: f"GPU {gpu.gpu} ({gpu.bdf})" for gpu in listed}

    def _memory_by_amd_smi(self) -> tuple[GpuMemory, ...] | None:
        found = amd_smi.read_metric(self.ask(amd_smi.MEMORY) or "")
        listed = self._list() if found else ()
        names, hip = self._names(listed), amd_smi.hip_indices(listed)
        return _complete(
            (hip.get(metric.gpu), names.get(metric.gpu, f"GPU {metric.gpu}"), metric.used_bytes, metric.total_bytes) for metric in found
        )

    def _memory_by_rocm_smi(self) -> tuple[GpuMemory, ...] | None:
        found = rocm_smi.read_memory(self.ask(rocm_smi.MEMORY) or "")
        return _complete((None, f"card{card}", used, total) for card, (used, total) in found.items())

    def _memory_by_driver(self) -> tuple[GpuMemory, ...] | None:
        def readings() -> Iterator[tuple[None, str, int | None, int | None]]:
            for gpu in read_gpus(self.kfd):
                yield None, gpu.bdf, vram_used(self.root, gpu), _whole(_driver(self.root, gpu) / "mem_info_vram_total")

        return _complete(readings())

    def _kfd_access(self) -> Checkup:
        return _access("kfd_access", "access to /dev/kfd", [self.root / "dev/kfd"], self.root)

    def _render_access(self, gpus: Sequence[KfdGpu]) -> Checkup:
        nodes = [self.root / "dev/dri" / f"renderD{minor}" for gpu in gpus for minor in gpu.render_minors]
        return _access("render_access", "access to /dev/dri/renderD*", nodes, self.root)

    def _firmware(self) -> Checkup:
        mec = rocm_smi.read_mec_firmware(self.ask(rocm_smi.FIRMWARE) or "")
        value = "unknown, rocm-smi --showfw does not tell" if mec is None else str(mec)
        title = "MEC firmware"
        if not rocm_smi.needs_no_scratch_reclaim(mec):
            return Checkup(id="mec_firmware", title=title, value=value, status="ok")
        if self.environ.get(RECLAIM) == "1":
            return Checkup(id="mec_firmware", title=title, value=f"{value}; {RECLAIM}=1 is set", status="ok" if mec else "unknown")
        advice = (
            f"set {RECLAIM}=1 for engines (env of the deployment): RCCL may refuse to start on firmware below "
            f"{rocm_smi.MEC_WITHOUT_WORKAROUND} without it"
        )
        return Checkup(id="mec_firmware", title=title, value=value, status="warning" if mec else "unknown", advice=advice)

    def _numa_balancing(self) -> Checkup:
        found = _whole(self.root / "proc/sys/kernel/numa_balancing")
        title = "automatic NUMA balancing"
        if found is None:
            return Checkup(id="numa_balancing", title=title, value="this kernel has none", status="ok")
        if found == 0:
            return Checkup(id="numa_balancing", title=title, value="off", status="ok")
        advice = "turn it off, or GPUs may hang: sysctl kernel.numa_balancing=0"
        return Checkup(id="numa_balancing", title=title, value="on", status="warning", advice=advice)

    def _kernel_parameters(self) -> Checkup:
        title = "kernel command line"
        try:
            given = (self.root / "proc/cmdline").read_text(encoding="utf-8", errors="replace").split()
        except OSError:
            return Checkup(id="kernel_parameters", title=title, value="can't be read", status="unknown")
        missing = [parameter for parameter in WANTED_PARAMETERS if parameter not in given]
        if not missing:
            return Checkup(id="kernel_parameters", title=title, value=f"has {' and '.join(WANTED_PARAMETERS)}", status="ok")
        advice = "boot with it: peer-to-peer traffic between the GPUs is slower or fails without"
        return Checkup(id="kernel_parameters", title=title, value=f"lacks {' and '.join(missing)}", status="warning", advice=advice)


def vram_used(root: Path, gpu: KfdGpu) -> int | None:
    """Return the bytes of a GPU's memory that are in use by the driver's file, or None where it does not tell.

    :param root: of /sys.
    """
    return _whole(_driver(root, gpu) / "mem_info_vram_used")


def _driver(root: Path, gpu: KfdGpu) -> Path:
    return root / "sys/class/drm" / f"renderD{gpu.render_minors[0]}" / "device"


def _hidden(granted: int, hidden: int) -> Checkup:
    return Checkup(
        id="hidden_gpus",
        title="GPUs not granted",
        value=f"{counted(granted, 'GPU')} granted to this container, {counted(hidden, 'more device')} in this machine",
        status="warning",
        advice="give [hardware] gpus as many as are granted; what runs on the others shares power, host memory and links with them",
    )


def _access(name: str, title: str, nodes: Sequence[Path], root: Path) -> Checkup:
    shown = {node: f"/{node.relative_to(root)}" for node in nodes}
    absent = [shown[node] for node in nodes if not node.exists()]
    refused = [node for node in nodes if node.exists() and not os.access(node, os.R_OK | os.W_OK)]
    if absent:
        advice = "give the container the device (--device /dev/kfd --device /dev/dri), or load the amdgpu driver"
        return Checkup(id=name, title=title, value=f"not there: {', '.join(absent)}", status="problem", advice=advice)
    if refused:
        groups = ", ".join(sorted({str(node.stat().st_gid) for node in refused}))
        advice = f"add this user to the group that owns them (number {groups}, usually render), or run as a user that has it"
        return Checkup(
            id=name, title=title, value=f"refused: {', '.join(shown[node] for node in refused)}", status="problem", advice=advice
        )
    return Checkup(id=name, title=title, value="yes" if len(nodes) == 1 else f"yes, all {len(nodes)}", status="ok")


def _complete(readings: Iterator[tuple[int | None, str, int | None, int | None]]) -> tuple[GpuMemory, ...] | None:
    """Return the readings if there are any and none of them lacks a number: of a GPU that does not tell nobody knows whether it is free."""
    found: list[GpuMemory] = []
    for index, name, used, total in readings:
        if used is None or not total:
            return None
        found.append(GpuMemory(index=index, name=name, used_bytes=used, total_bytes=total))
    return tuple(found) or None


def _total(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _whole(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii", errors="replace"))
    except (OSError, ValueError):
        return None
