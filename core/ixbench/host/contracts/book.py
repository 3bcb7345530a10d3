"""What hardware and price plugins subclass: SKU facts, detection, who holds the accelerators, and dated prices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.price import Quote, Sku


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedGpu:
    """One accelerator of this machine."""

    index: int
    sku: str | None
    """None: a GPU that the book does not know."""
    name: str
    memory_bytes: int | None
    gfx: str | None = None
    """AMD's compile target, for instance gfx950; None for others."""
    partitions: int = 1
    """How many devices an engine sees in its place: more than 1 where the GPU is split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """How full one accelerator is."""

    index: int | None
    """As engines count it (HIP or CUDA order); None = only its place in the machine is known."""
    name: str
    """For messages, for instance "GPU 3" or its PCI address."""
    used_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHolder:
    """A process that has memory on accelerators."""

    pid: int
    name: str
    gpus: tuple[str, ...] = ()
    """Names as in `GpuMemory`."""
    used_bytes: int | None = None
    """On all of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """One thing about a machine that matters to a benchmark."""

    id: str
    """Lower case, unique on a machine, for instance "numa_balancing"."""
    title: str
    value: str
    """What was found; what could not be found out is said, never left out."""
    status: Literal["ok", "warning", "problem", "unknown"]
    """"problem" would stop a run or spoil its numbers; "unknown" is never taken for ok."""
    advice: str = ""
    """What to do, one sentence; empty where all is well."""


class HardwareBook(ABC):
    """Facts about SKUs, and which of them this machine has."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def skus(self) -> Sequence[Sku]:
        """Return all SKUs that the book knows."""

    @abstractmethod
    def detect(self) -> Sequence[DetectedGpu]:
        """Return the accelerators of this machine; empty where none is found. Reads only, within a second."""

    def memory_used(self) -> Sequence[GpuMemory] | None:
        """Return how full the accelerators of this machine are; None where nothing tells, which is not the same as free.

        May run a vendor's tool, with a time-out; called in a thread.
        """
        return None

    def holders(self) -> Sequence[GpuHolder] | None:
        """Return the processes that have memory on them; None where nothing tells. May run a tool, as `memory_used` does."""
        return None

    def checkups(self) -> Sequence[Checkup]:
        """Return what `ixbench doctor` has to say about the accelerators of this machine, only what applies to it."""
        return ()


class PriceBook(ABC):
    """Prices by book, SKU and tier. Books are immutable once used."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def books(self) -> Sequence[str]:
        """Return the ids of the books, the default one last."""

    @abstractmethod
    def quotes(self, sku: str, book: str) -> tuple[Quote, ...]:
        """Return the tiers of a SKU in a book, in the book's order; empty where it has no price."""
