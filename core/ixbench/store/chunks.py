"""chunks.bin: the events of all responses of a point as packed columns, so that a million events cost 17 MB and are read at once.

For each request with n > 0 events there is one span of 17 n bytes, all little endian, without padding, in the order of requests.jsonl:

    ns      n x int64    when the event's bytes arrived
    tokens  n x int32    output tokens in it, -1 where the server did not say
    size    n x int32    bytes of the event
    kind    n x uint8    position in role, text, think, tool, finish, usage, done, error

The request's line in requests.jsonl holds `chunks: {offset, count}`: the span's first byte, and n. The span is written before the line.
"""

from __future__ import annotations

import mmap
import sys
from array import array
from typing import TYPE_CHECKING, Literal

from ixbench.model.counts import counted
from ixbench.model.record import CHUNK_KINDS, Chunks
from ixbench.model.regular_file import open_regular

if TYPE_CHECKING:
    from pathlib import Path

CHUNK_BYTES = 8 + 4 + 4 + 1
"""Bytes of one event."""
_PLACES = {"ns": (0, 8), "tokens": (8, 4), "size": (12, 4), "kind": (16, 1)}
"""Column -> bytes of each event that lie in the columns before it, and its own."""
_KNOWN_KINDS = bytes(range(len(CHUNK_KINDS)))
_KEPT_BYTES = 64 * 2**20
"""What may be read before pages are given back."""


def pack(chunks: Chunks) -> bytes:
    """Return the span of one response."""
    return _little(chunks.ns).tobytes() + _little(chunks.tokens).tobytes() + _little(chunks.size).tobytes() + bytes(chunks.kind)


class MappedFile:
    """The content of chunks.bin, read piece by piece without taking the file into memory."""

    def __init__(self, path: Path) -> None:
        """Map a file; one that is not there, or empty, has no bytes.

        :raises OSError: if it cannot be read.
        """
        self._map: mmap.mmap | None = None
        self._view = memoryview(b"")
        self._read = 0
        try:
            with open_regular(path) as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._view = memoryview(self._map)
        except (FileNotFoundError, ValueError):  # an empty file cannot be mapped
            return

    def __len__(self) -> int:
        """Return the number of bytes."""
        return len(self._view)

    def read(self, start: int, count: int, *, around: int) -> memoryview:
        """Return a piece, to be copied at once.

        Now and then the pages that were read are given back: they stay in the system's cache, and a file of gigabytes that is read from
        end to end does not become memory of this process.

        :param around: bytes that the system takes along when it reads the piece.
        """
        self._read += around
        if self._read > _KEPT_BYTES and self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)
            self._read = around
        return self._view[start : start + count]


class MappedChunks(Chunks):
    """The events of one span; a column is made when it is asked for, so that a million responses fit into memory."""

    __slots__ = ("_content", "_count", "_offset")
    _content: MappedFile
    _count: int
    _offset: int

    def __init__(self, content: MappedFile, offset: int, count: int) -> None:
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
        return bytearray(self._bytes(*_PLACES["kind"]))

    def packed(self, column: Literal["ns", "kind", "tokens"]) -> memoryview:
        """Return a column's bytes without an array of their own, where the machine's order is the file's."""
        if sys.byteorder == "little":
            return self._bytes(*_PLACES[column])
        return super().packed(column)

    def _bytes(self, before: int, width: int) -> memoryview:
        """Return a column: `before` bytes of each event lie in the columns before it."""
        return self._content.read(self._offset + before * self._count, width * self._count, around=CHUNK_BYTES * self._count)


def unpack(content: MappedFile, offset: int, count: int) -> Chunks:
    """Return the events of one span; they hold on to the content.

    :raises ValueError: if the span does not lie inside the content or holds an unknown kind.
    """
    end = offset + count * CHUNK_BYTES
    if offset < 0 or count < 0 or end > len(content):
        raise ValueError(f"events {offset} to {end} are not in chunks.bin, which has {counted(len(content), 'byte')}")
    chunks = MappedChunks(content, offset, count)
    if unknown := chunks.kind.translate(None, _KNOWN_KINDS):
        raise ValueError(f"unknown kind {max(unknown)} in chunks.bin")
    return chunks


def _column(code: str, content: memoryview) -> array[int]:
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
