"""What hardware and price plugins subclass: SKU facts, detection, and dated prices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

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
