"""AMD GPUs from the kernel's compute topology: works without ROCm, inside containers, and tells partitions of one GPU from whole GPUs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.engine import DetectedGpu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KFD_ROOT = Path("/sys/class/kfd/kfd/topology")

# Virtual functions have device ids of their own.
VIRTUAL = {0x75B3: "mi355x", 0x74B5: "mi300x", 0x74B9: "mi325x"}
MODES = {1: "SPX", 2: "DPX", 3: "TPX", 4: "QPX", 8: "CPX"}
"""Names of the compute partition modes, by partitions a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KfdNode:
    """One compute node of the topology: a GPU, or a partition of one."""

    number: int
    properties: Mapping[str, int]
    memory_bytes: int | None

    @property
    def board(self) -> tuple[int, int]:
        """What partitions of one GPU share; a node without a unique id stands for itself."""
        unique = self.properties.get("unique_id", 0)
        return (unique, 0) if unique else (0, self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class KfdGpu:
    """One physical AMD GPU."""

    device_id: int
    gfx: str
    """Compile target, for instance gfx950."""
    partitions: int
    memory_bytes: int | None
    """Of the whole GPU."""
    render_minors: tuple[int, ...]
    """Numbers of its /dev/dri/renderD* nodes."""
    bdf: str
    """PCI address, for instance 0000:05:00.0."""

    @property
    def mode(self) -> str:
        """Compute partition mode: SPX is a whole GPU."""
        return MODES.get(self.partitions, f"{self.partitions} partitions")


def detect_amd(root: Path, device_ids: Mapping[int, str]) -> Sequence[DetectedGpu]:
    """Return the AMD GPUs of this machine, partitions counted as their GPU.

    :param root: the topology folder.
    :param device_ids: PCI device ids of whole GPUs, to SKUs.
    """
    known = {**VIRTUAL, **device_ids}
    return tuple(
        DetectedGpu(
            index=index,
            sku=known.get(gpu.device_id),
            name=_name(gpu, known.get(gpu.device_id)),
            memory_bytes=gpu.memory_bytes,
            gfx=gpu.gfx,
            partitions=gpu.partitions,
        )
        for index, gpu in enumerate(read_gpus(root))
    )


def read_gpus(root: Path) -> tuple[KfdGpu, ...]:
    """Return the physical GPUs in the order of their first node; empty without the driver."""
    boards: dict[tuple[int, int], list[KfdNode]] = defaultdict(list)
    for node in _nodes(root):
        boards[node.board].append(node)
    return tuple(_gpu(nodes) for nodes in boards.values())


def _gpu(nodes: Sequence[KfdNode]) -> KfdGpu:
    first = nodes[0].properties
    sizes = [node.memory_bytes for node in nodes]
    return KfdGpu(
        device_id=first.get("device_id", 0),
        gfx=gfx_target(first.get("gfx_target_version", 0)),
        partitions=len(nodes),
        memory_bytes=None if None in sizes else sum(size for size in sizes if size is not None),
        render_minors=tuple(node.properties.get("drm_render_minor", 0) for node in nodes),
        bdf=_bdf(first.get("domain", 0), first.get("location_id", 0)),
    )


def count_hidden(root: Path) -> int:
    """Return how many devices the kernel has that are not granted to this container: their properties read empty."""
    return sum(not text.strip() for text in (_text(folder / "properties") for folder in _folders(root)) if text is not None)


def _bdf(domain: int, location: int) -> str:
    """Return a PCI address; the bits above the bus number a partition."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def gfx_target(version: int) -> str:
    """Return the compile target of a version number: major * 10000 + minor * 100 + step, the step in hex."""
    return f"gfx{version // 10000}{version // 100 % 100}{version % 100:x}"


def _nodes(root: Path) -> Iterator[KfdNode]:
    for folder in _folders(root):
        # A device that is not granted to this container reads empty; a CPU has no SIMDs.
        properties = _properties(folder / "properties")
        if properties.get("simd_count", 0) > 0:
            yield KfdNode(number=int(folder.name), properties=properties, memory_bytes=_memory(folder))


def _folders(root: Path) -> list[Path]:
    try:
        folders = [folder for folder in (root / "nodes").iterdir() if folder.name.isdecimal()]
    except OSError:
        return []
    return sorted(folders, key=lambda folder: int(folder.name))


def _memory(folder: Path) -> int | None:
    try:
        banks = list((folder / "mem_banks").iterdir())
    except OSError:
        return None
    sizes = [_properties(bank / "properties").get("size_in_bytes", 0) for bank in banks]
    return sum(sizes) or None


def _properties(path: Path) -> dict[str, int]:
    """Return the numbers of a properties file; lines of any other form are skipped, and so is a file that can't be read."""
    pairs = (line.split() for line in (_text(path) or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004 - name and value


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None


def _name(gpu: KfdGpu, sku: str | None) -> str:
    name = f"AMD {sku.upper()}" if sku else f"AMD {gpu.gfx} (device 0x{gpu.device_id:04x})"
    return name if gpu.partitions == 1 else f"{name} in {gpu.mode} mode, {gpu.partitions} partitions"
