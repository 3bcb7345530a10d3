"""chunks.bin: the events of all responses of a point as packed columns, so that a million events cost 17 MB and are read at once.

For each request with n > 0 events there is one span of 17 n bytes, all little endian, without padding, in the order of requests.jsonl:

    ns      n x int64    when the event's bytes arrived
    tokens  n x int32    output tokens in it, -1 where the server did not say
    size    n x int32    bytes of the event
    kind    n x uint8    position in role, text, think, tool, finish, usage, done, error

The request's line in requests.jsonl holds `chunks: {offset, count}`: the span's first byte, and n. The span is written before the line.
"""

from __future__ import annotations

import sys
from array import array

from ixbench.model.record import CHUNK_KINDS, Chunks

CHUNK_BYTES = 8 + 4 + 4 + 1
"""Bytes of one event."""


def pack(chunks: Chunks) -> bytes:
    """Return the span of one response."""
    return _little(chunks.ns).tobytes() + _little(chunks.tokens).tobytes() + _little(chunks.size).tobytes() + bytes(chunks.kind)


def unpack(content: memoryview, offset: int, count: int) -> Chunks:
    """Return the events of one span.

    :raises ValueError: if the span does not lie inside the content or holds an unknown kind.
    """
    end = offset + count * CHUNK_BYTES
    if offset < 0 or count < 0 or end > len(content):
        raise ValueError(f"events {offset} to {end} are not in chunks.bin, which has {len(content)} bytes")
    tokens_at = offset + 8 * count
    size_at = tokens_at + 4 * count
    kind_at = size_at + 4 * count
    kind = bytearray(content[kind_at:end])
    if kind and max(kind) >= len(CHUNK_KINDS):
        raise ValueError(f"unknown kind {max(kind)} in chunks.bin")
    return Chunks(
        ns=_column("q", content[offset:tokens_at]),
        kind=kind,
        tokens=_column("i", content[tokens_at:size_at]),
        size=_column("i", content[size_at:kind_at]),
    )


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
