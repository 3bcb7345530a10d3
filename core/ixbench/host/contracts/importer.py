"""What an importer plugin subclasses: it reads foreign result files into points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ixbench.model.result import PointResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What a foreign file held."""

    title: str
    points: tuple[PointResult, ...]
    """All with origin "imported"."""
    refused: tuple[str, ...] = ()
    """Rows that could not be taken, each with its reason."""
    date: str = ""
    """ISO date of the results, where the file tells it."""


class Importer(ABC):
    """One foreign format."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def recognises(self, name: str, content: bytes) -> bool:
        """Say whether the file is of this format, from its name and content."""

    @abstractmethod
    def read(self, name: str, content: bytes) -> ImportedFile:
        """Return the points.

        :raises InputError: if the file is broken as a whole.
        """
