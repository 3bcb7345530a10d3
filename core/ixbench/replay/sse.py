"""Splits a captured response body into server-sent events, exactly as the standard says, and tells which byte completed each."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DONE = b"[DONE]"
"""The data of OpenAI's end mark."""

_BOM = b"\xef\xbb\xbf"
# The end of a line and an empty line after it. A CR directly before an LF never ends a line by itself; the empty line is complete with
# its CR, whatever follows.
_BLANK = re.compile(rb"(?:\r\n|\r(?!\n)|\n)(?:\r\n?|\n)")
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event that carries data."""

    data: bytes
    """All data lines, joined by LF."""
    name: bytes = b""
    """The `event` field; empty = "message"."""
    end: int
    """Offset in the body after the byte that completed the event."""
    size: int
    """Bytes from the end of the event before it, comments included."""


def split_events(body: bytes) -> Iterator[Event]:
    """Yield the events of a body that carry data, up to and including the first `[DONE]`.

    Line ends are LF, CR or CRLF, in any mixture; comments, other fields and events without data are passed over; a byte order mark in
    front is dropped. An unfinished event at the end of the body is dropped, except an end mark that lacks only line ends.
    """
    find = _find_any if b"\r" in body else _find_lf
    start = len(_BOM) if body.startswith(_BOM) else 0
    counted = 0
    while (found := find(body, start)) is not None:
        line_end, end, following = found
        event = _read_block(body[start:line_end], end, end - counted)
        start = following
        if event is not None:
            counted = end
            yield event
            if event.data == DONE:
                return
    event = _read_block(body[start:], len(body), len(body) - counted)
    if event is not None and event.data == DONE:
        yield event


def arrivals(ends: Sequence[int], pieces: Sequence[bytes], stamps: Sequence[int]) -> tuple[list[int], list[bool]]:
    """Return for each event the stamp of the read that completed it, and whether that is an upper bound only.

    A read has the stamp of the last bytes in it. So an event that more came after in the same read had arrived by then, no one knows when.

    :param ends: rising offsets of the ends of events in the joined pieces.
    :param pieces: what each read returned, in order.
    :param stamps: when each read returned, ns.
    """
    reached = list(accumulate(map(len, pieces)))
    found: list[int] = []
    bounds: list[bool] = []
    position = 0
    for end in ends:
        position = bisect_left(reached, end, position)
        found.append(stamps[position])
        more = reached[position] - end
        bounds.append(more > 0 and bool(pieces[position][-more:].strip(b"\r\n")))
    return found, bounds


def _find_lf(body: bytes, start: int) -> tuple[int, int, int] | None:
    """Return the next empty line where LF is the only line end, the usual case: (end of the lines before it, its end, what follows)."""
    found = body.find(b"\n\n", start)
    return (found, found + 2, found + 2) if found >= 0 else None


def _find_any(body: bytes, start: int) -> tuple[int, int, int] | None:
    """Return the same for any mixture of line ends; the empty line is complete with the CR of a CRLF."""
    match = _BLANK.search(body, start)
    if match is None:
        return None
    end = match.end()
    return match.start(), end - 1 if match.group().endswith(b"\r\n") else end, end


def _read_block(block: bytes, end: int, size: int) -> Event | None:
    """Return the event that a stretch of lines makes, or None if it carries no data."""
    if block.startswith(b"data:") and b"\n" not in block and b"\r" not in block:
        data = block[6:] if block[5:6] == b" " else block[5:]
        return Event(data=data, end=end, size=size) if data else None
    lines: list[bytes] = []
    name = b""
    for line in _LINE_END.split(block):
        if not line or line.startswith(b":"):
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value
    data = b"\n".join(lines)
    return Event(data=data, name=name, end=end, size=size) if data else None
