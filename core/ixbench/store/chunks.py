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
from typing import TYPE_CHECKING

from ixbench.model.record import CHUNK_KINDS, Chunks

if TYPE_CHECKING:
    from pathlib import Path

CHUNK_BYTES = 8 + 4 + 4 + 1
"""Bytes of one event."""


def pack(chunks: Chunks) -> bytes:
    """Return the span of one response."""
    return _little(chunks.ns).tobytes() + _little(chunks.tokens).tobytes() + _little(chunks.size).tobytes() + bytes(chunks.kind)


class MappedChunks(Chunks):
    """The events of one span; a column is made when it is asked for, so that a million responses fit into memory."""

    __slots__ = ("_content", "_count", "_offset")
    _content: memoryview
    _count: int
    _offset: int

    def __init__(self, content: memoryview, offset: int, count: int) -> None:
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
        return _column("q", self._bytes(0, 8))

    @property
    def tokens(self) -> array[int]:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """Output tokens in them."""
        return _column("i", self._bytes(8, 4))

    @property
    def size(self) -> array[int]:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """Bytes of them."""
        return _column("i", self._bytes(12, 4))

    @property
    def kind(self) -> bytearray:  # pyright: ignore[reportIncompatibleVariableOverride] - both are read only
        """What they are."""
        return bytearray(self._bytes(16, 1))

    def _bytes(self, before: int, width: int) -> memoryview:
        """Return a column: `before` bytes of each event lie in the columns before it."""
        start = self._offset + before * self._count
        return self._content[start : start + width * self._count]


def mapped(path: Path) -> memoryview:
    """Return the content of a file without reading it all; empty where there is none.

    :raises OSError: if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        return memoryview(b"")
    except ValueError:  # an empty file cannot be mapped
        return memoryview(b"")


def unpack(content: memoryview, offset: int, count: int) -> Chunks:
    """Return the events of one span; they hold on to the content.

    :raises ValueError: if the span does not lie inside the content or holds an unknown kind.
    """
    end = offset + count * CHUNK_BYTES
    if offset < 0 or count < 0 or end > len(content):
        raise ValueError(f"events {offset} to {end} are not in chunks.bin, which has {len(content)} bytes")
    chunks = MappedChunks(content, offset, count)
    kind = max(chunks.kind, default=0)
    if kind >= len(CHUNK_KINDS):
        raise ValueError(f"unknown kind {kind} in chunks.bin")
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
