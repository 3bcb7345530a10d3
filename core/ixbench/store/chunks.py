"""chunks.bin: the events of all responses of a point as packed columns, so that a million events cost 17 MB and are read at once.

For each request with n > 0 events there is one span of 17 n bytes, all little endian, without padding, in the order of requests.jsonl:

    ns      n x int64    when the event's bytes arrived
    tokens  n x int32    output tokens in it, -1 where the server did not say
    size    n x int32    bytes of the event
    kind    n x uint8    position in role, text, think, tool, finish, usage, done, error

The request's line in requests.jsonl holds `chunks: {offset, count}`: the span's first byte, and n. The span is written before the line.
"""

from __future__ import annotations

import os
import sys
from array import array
from typing import TYPE_CHECKING, BinaryIO, Literal

from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError
from ixbench.model.record import CHUNK_KINDS, Chunks
from ixbench.model.regular_file import open_regular
from ixbench.store.encode import readable

if TYPE_CHECKING:
    from pathlib import Path

CHUNK_BYTES = 8 + 4 + 4 + 1
"""Bytes of one event."""
_PLACES = {"ns": (0, 8), "tokens": (8, 4), "size": (12, 4), "kind": (16, 1)}
"""Column -> bytes of each event that lie in the columns before it, and its own."""
_KNOWN_KINDS = bytes(range(len(CHUNK_KINDS)))
_ADVICE = "wait until nothing writes to the folder, and read it again"


def pack(chunks: Chunks) -> bytes:
    """Return the span of one response."""
    return _little(chunks.ns).tobytes() + _little(chunks.tokens).tobytes() + _little(chunks.size).tobytes() + bytes(chunks.kind)


class EventsFile:
    """The content of chunks.bin, read piece by piece without taking the file into memory.

    It is read and not mapped: a page of a mapped file that was cut meanwhile, or that its disk does not give, ends the process (SIGBUS).
    """

    def __init__(self, path: Path) -> None:
        """Open a file and keep it open; one that is not there has no bytes.

        :raises OSError: if it cannot be opened.
        """
        self._path = path
        self._size = 0
        self._file: BinaryIO | None = None
        try:
            self._file = open_regular(path)
        except FileNotFoundError:
            return
        self._size = os.fstat(self._file.fileno()).st_size

    def __len__(self) -> int:
        """Return the number of bytes when it was opened."""
        return self._size

    def __del__(self) -> None:
        """Close it with the last record that refers to it."""
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()

    def read(self, start: int, count: int) -> bytes:
        """Return a piece.

        :raises InputError: if the disk does not give it, or if it was cut meanwhile.
        """
        pieces: list[bytes] = []
        with readable(self._path):
            while count and self._file is not None:
                piece = os.pread(self._file.fileno(), count, start)
                if not piece:
                    raise self.changed(f"it ends before byte {start} of {self._size}")
                pieces.append(piece)
                start, count = start + len(piece), count - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def changed(self, problem: str) -> InputError:
        """Return the fault of a file that is no longer what it was when it was opened."""
        return InputError(Fault(where=str(self._path), problem=f"was changed while it was read: {problem}", advice=_ADVICE))


class StoredChunks(Chunks):
    """The events of one span; a column is made when it is asked for, so that a million responses fit into memory."""

    __slots__ = ("_content", "_count", "_offset")
    _content: EventsFile
    _count: int
    _offset: int

    def __init__(self, content: EventsFile, offset: int, count: int) -> None:
        """Keep the place."""
        # Chunks are frozen.
        object.__setattr__(self, "_content", content)
        object.__setattr__(self, "_offset", offset)
        object.__setattr__(self, "_count", count)

    def __len__(self) -> int:
        """Return the number of events."""
        return self._count

    def __reduce__(self) -> tuple[type[Chunks], tuple[array[int], bytearray, array[int], array[int]]]:
        """Leave the file behind when a record goes to another process."""
        return Chunks, (self.ns, self.kind, self.tokens, self.size)

    @property
    def ns(self) -> array[int]:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """When the events arrived."""
        return _column("q", self._bytes(*_PLACES["ns"]))

    @property
    def tokens(self) -> array[int]:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """Output tokens in them."""
        return _column("i", self._bytes(*_PLACES["tokens"]))

    @property
    def size(self) -> array[int]:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """Bytes of them."""
        return _column("i", self._bytes(*_PLACES["size"]))

    @property
    def kind(self) -> bytearray:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """What they are."""
        return bytearray(self._kinds())

    def packed(self, column: Literal["ns", "kind", "tokens"]) -> memoryview:
        """Return a column's bytes without an array of their own, where the machine's order is the file's."""
        if sys.byteorder == "little":
            return memoryview(self._kinds() if column == "kind" else self._bytes(*_PLACES[column]))
        return super().packed(column)

    def _bytes(self, before: int, width: int) -> bytes:
        """Return a column: `before` bytes of each event lie in the columns before it."""
        return self._content.read(self._offset + before * self._count, width * self._count)

    def _kinds(self) -> bytes:
        """Return the column of kinds, each of which was known when the record was made."""
        kinds = self._bytes(*_PLACES["kind"])
        if unknown := _unknown(kinds):
            raise self._content.changed(unknown)
        return kinds


def unpack(content: EventsFile, offset: int, count: int) -> Chunks:
    """Return the events of one span; they hold on to the content.

    :raises ValueError: if the span does not lie inside the content or holds an unknown kind.
    """
    end = offset + count * CHUNK_BYTES
    if offset < 0 or count < 0 or end > len(content):
        raise ValueError(f"events {offset} to {end} are not in chunks.bin, which has {counted(len(content), 'byte')}")
    chunks = StoredChunks(content, offset, count)
    before, width = _PLACES["kind"]
    if unknown := _unknown(content.read(offset + before * count, width * count)):
        raise ValueError(f"{unknown} in chunks.bin")
    return chunks


def _unknown(kinds: bytes) -> str | None:
    """Say which kind nobody knows, if there is one."""
    found = kinds.translate(None, _KNOWN_KINDS)
    return f"unknown kind {max(found)}" if found else None


def _column(code: str, content: bytes) -> array[int]:
    column: array[int] = array(code)
    column.frombytes(content)
    return _little(column)


def _little(column: array[int]) -> array[int]:
    """Return the column in little-endian order, or turned back from it; most machines have nothing to do."""
    if sys.byteorder == "little":
        return column
    turned = array(column.typecode, column)
    turned.byteswap()
    return turned
