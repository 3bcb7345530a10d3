"""Splits a captured response body into server-sent events, exactly as the standard says, and tells which byte completed each."""

from __future__ import annotations

import re
from itertools import accumulate, islice, repeat
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DONE = b"[DONE]"
"""The data of OpenAI's end mark."""

LARGEST_EVENT_BYTES = 4 << 20
"""An answer of a quarter of a million tokens in one event is a third of this."""
MOST_LINES = 2 << 20
"""Of a body, empty ones included: an answer of a million tokens, one an event."""

_FIELD = b"data: "
_END = b"\n\n"
_BOM = b"\xef\xbb\xbf"
# The end of a line and an empty line after it. A CR directly before an LF never ends a line by itself; the empty line is complete with
# its CR, whatever follows.
_BLANK = re.compile(rb"(?:\r\n|\r(?!\n)|\n)(?:\r\n?|\n)")
_LINE_END = re.compile(rb"\r\n|\r|\n")


class Event(NamedTuple):
    """One event that carries data; a tuple, since these are made by the million."""

    data: bytes
    """All data lines, joined by LF."""
    end: int
    """Offset in the body after the byte that completed the event."""
    size: int
    """Bytes from the end of the event before it, comments included."""
    name: bytes = b""
    """The `event` field; empty = "message"."""


def too_large(body: bytes) -> str | None:
    """Return why a body is too large to be split, or None: the smallest events take fifty times their size in memory."""
    if len(body) <= MOST_LINES:
        return None
    if body.count(b"\n") + body.count(b"\r") > MOST_LINES:
        return f"the body has more than {MOST_LINES} lines"
    for start in range(0, len(body) - LARGEST_EVENT_BYTES, LARGEST_EVENT_BYTES):
        end = start + LARGEST_EVENT_BYTES
        if body.find(b"\n", start, end) < 0 and body.find(b"\r", start, end) < 0:
            return f"a line of the body is longer than {LARGEST_EVENT_BYTES} bytes"
    return None


def only_comments(data: bytes) -> bool:
    """Whether lines are comments alone: some servers send them for as long as they have nothing to say, whatever becomes of the engine."""
    return data[:1] == b":" and all(not line or line[:1] == b":" for line in _LINE_END.split(data))


def split_events(body: bytes) -> list[Event]:
    """Return the events of a body that carry data, up to and including the first `[DONE]`.

    Line ends are LF, CR or CRLF, in any mixture; comments, other fields and events without data are passed over; a byte order mark in
    front is dropped. An unfinished event at the end of the body is dropped, except an end mark that lacks only line ends.
    """
    plain = _plain_events(body)
    if plain is not None:
        return plain
    blocks, ends, rest = _blocks_any(body) if b"\r" in body else _blocks_lf(body)
    found: list[Event] = []
    counted = 0
    for block, end in zip(blocks, ends, strict=True):
        if block[:6] == b"data: " and b"\n" not in block and b"\r" not in block:
            data, name = block[6:], b""
        else:
            data, name = _read_block(block)
        if data:
            found.append(Event(data, end, end - counted, name))
            counted = end
            if data == DONE:
                return found
    data, name = _read_block(rest)
    if data == DONE:
        found.append(Event(data, len(body), len(body) - counted, name))
    return found


def _plain_events(body: bytes) -> list[Event] | None:
    """Return the events of a body in which each is `data: `, one line and an empty line, as nearly all are; None of any other body.

    Where the end of an event and the field of the next are cut out and no line end is left, there was nothing else.
    """
    if not (body.startswith(_FIELD) and body.endswith(_END)) or b"\r" in body:
        return None
    data = body[len(_FIELD) : -len(_END)].split(_END + _FIELD)
    if not all(data) or body.count(b"\n") != len(_END) * len(data):
        return None
    if DONE in data:
        del data[data.index(DONE) + 1 :]
    around = len(_FIELD) + len(_END)
    sizes = [len(one) + around for one in data]
    return list(map(Event._make, zip(data, accumulate(sizes), sizes, repeat(b""))))


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
        while reached[position] < end:
            position += 1
        found.append(stamps[position])
        more = reached[position] - end
        bounds.append(more > 0 and bool(pieces[position][-more:].strip(b"\r\n")))
    return found, bounds


def _blocks_lf(body: bytes) -> tuple[list[bytes], Iterable[int], bytes]:
    """Return the stretches of lines that an empty line ends, where each ends, and what follows, if LF is the only line end: as usual."""
    start = len(_BOM) if body.startswith(_BOM) else 0
    *blocks, rest = (body[start:] if start else body).split(b"\n\n")
    return blocks, islice(accumulate([len(block) + 2 for block in blocks], initial=start), 1, None), rest


def _blocks_any(body: bytes) -> tuple[list[bytes], Iterable[int], bytes]:
    """Return the same for any mixture of line ends; an empty line is complete with the CR of a CRLF."""
    start = len(_BOM) if body.startswith(_BOM) else 0
    blocks: list[bytes] = []
    ends: list[int] = []
    while match := _BLANK.search(body, start):
        blocks.append(body[start : match.start()])
        start = match.end()
        ends.append(start - 1 if match.group().endswith(b"\r\n") else start)
    return blocks, ends, body[start:]


def _read_block(block: bytes) -> tuple[bytes, bytes]:
    """Return the data and the name of the event that a stretch of lines makes; without data it is none."""
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
    return b"\n".join(lines), name
