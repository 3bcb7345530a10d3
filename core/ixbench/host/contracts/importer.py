"""What an importer plugin subclasses: it reads foreign result files into points."""

from __future__ import annotations

import errno
import hashlib
import stat
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from ixbench.model.errors import Fault, InputError
from ixbench.model.regular_file import NOT_REGULAR, open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ixbench.measure.definition import Measurement
    from ixbench.model.price import Sku
    from ixbench.model.result import PointResult

HEAD_BYTES = 1 << 16
"""What is read of a file to recognise its format."""
_PIECE = 1 << 20


class ForeignFile:
    """A file as importers see it: its name, its size and ways to read it within bounds, never its path."""

    def __init__(self, path: Path) -> None:
        """Take a file that exists.

        :raises OSError: if it cannot be looked at, or is no regular file.
        """
        self._path = path
        self.name = path.name
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
        self.size = state.st_size

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB."""
        with self.open() as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def sha256(self) -> str:
        """Hash of the whole content."""
        found = hashlib.sha256()
        with self.open() as file:
            while piece := file.read(_PIECE):
                found.update(piece)
        return found.hexdigest()

    def open(self) -> BinaryIO:
        """Open the file for reading, to go through it in pieces; the caller closes it."""
        return open_regular(self._path)

    def read(self, most_bytes: int) -> bytes:
        """Return the whole content.

        :raises InputError: if it is larger than that.
        """
        with self.open() as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            size = f"{most_bytes >> 20} MiB" if most_bytes >> 20 else f"{most_bytes} bytes"
            problem = f"is larger than the {size} that are read into memory"
            raise InputError(Fault(where=self.name, problem=problem, advice="split the file and give its parts"))
        return content

    def beside(self, name: str) -> ForeignFile | None:
        """Return the file of that name in the same folder, or None; a name with a separator names none."""
        path = self._path.with_name(name) if name and "/" not in name and name not in (".", "..") and "\0" not in name else None
        return ForeignFile(path) if path is not None and path.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportContext:
    """What the user says where files do not tell, and what is known on this side. It never overrules a file."""

    skus: Mapping[str, Sku] = field(default_factory=dict)
    """Rows of the hardware books by SKU."""
    model: str | None = None
    precision: str | None = None
    hardware: str | None = None
    """A SKU."""
    gpus: int | None = None
    engine: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    concurrency: int | None = None
    date: str = ""
    """ISO date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """A row that could not be taken."""

    where: str
    """The file's name with the row's place in it: `rows.json[3]`."""
    code: str
    """Reason by which refusals are counted: "unknown_hardware"."""
    text: str
    """The same in one sentence."""

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.where}: {self.code}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What a foreign file held."""

    title: str
    points: tuple[PointResult, ...]
    """All with origin "imported" and ids that are unique in the file."""
    refused: tuple[RefusedRow, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the user must know of rows that were taken, one sentence each."""
    schemas: Mapping[str, int] = field(default_factory=dict)
    """How many points came from each schema."""
    unique: Mapping[str, str] = field(default_factory=dict)
    """By point: what it measured in which run, for sources that say so. Of two points with one such text the later stays."""
    measurements: Mapping[str, Measurement] = field(default_factory=dict)
    """By point: the requests, where the file holds them; they are written beside the point."""
    read_too: tuple[str, ...] = ()
    """Names of files beside it that were read with it."""


class Importer(ABC):
    """One foreign format."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""

    @abstractmethod
    def recognises(self, file: ForeignFile) -> bool:
        """Say whether the file is of this format, from its name and its head; false rather than a guess."""

    @abstractmethod
    def read(self, file: ForeignFile, context: ImportContext) -> ImportedFile:
        """Return the points.

        :raises InputError: if the file is broken as a whole.
        """
