"""The events of many requests as columns, some thousand requests at a time: a hundred million events need megabytes, not gigabytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ixbench.measure.failure import BadRecordError
from ixbench.model.record import CHUNK_KINDS, CONTENT_KINDS, UNKNOWN_TOKENS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ixbench.model.record import ChunkKind, RequestRecord

    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

ScalarT = TypeVar("ScalarT", bound=np.generic)

BLOCK_CHUNKS = 1 << 17
"""Events of a block, but for a request that has more: their columns stay in the processor's cache."""
_HEAD_STAMPS = ("conn_ns", "sent_ns", "headers_ns")


def kind_mask(kinds: Collection[ChunkKind]) -> Booleans:
    """Return for each code of a chunk whether it stands for one of these kinds: a column of codes is an index into it."""
    return np.array([kind in kinds for kind in CHUNK_KINDS])


CONTENT_MASK = kind_mask(CONTENT_KINDS)
_ANSWER = kind_mask({"text", "tool"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContentBlock:
    """The chunks that carry output of some requests, one row a request; all times in integer nanoseconds."""

    count: Integers
    """Chunks that carry output."""
    first_ns: Integers
    """Stamp of the first; the send where there is none."""
    last_ns: Integers
    answer_ns: Integers
    """Stamp of the first chunk of text or of a tool call."""
    has_answer: Booleans
    first_tokens: Integers
    """Tokens of the first chunk, UNKNOWN_TOKENS where they were not counted."""
    gaps_ns: Integers
    """The gaps between neighbours of each request, of all requests one after another."""
    longest_ns: Integers
    """The longest gap of each request; -1 where it has none."""


def content_blocks(records: Sequence[RequestRecord]) -> Iterator[ContentBlock]:
    """Yield what the chunks of the records come to, in their order.

    :raises BadRecordError: if the stamps of a record go backwards; names the first such record.
    """
    for block in _split(records):
        stamps, ends = _stamps(block)
        _refuse_backwards(block, stamps, ends)
        yield _content(block, stamps, ends)


def gap_blocks(records: Sequence[RequestRecord]) -> Iterator[Integers]:
    """Yield the gaps between neighbouring chunks with output in nanoseconds, of all records one after another.

    The stamps of the records must not go backwards.
    """
    for block in _split(records):
        stamps, ends = _stamps(block)
        count, content_stamps = _content_stamps(block, stamps, ends)[:2]
        yield _gaps(content_stamps, count)


def refuse_backwards(records: Sequence[RequestRecord]) -> None:
    """Check that time runs forward in every record, whatever became of the request.

    :raises BadRecordError: names the first record where it does not.
    """
    for block in _split(records):
        _refuse_backwards(block, *_stamps(block))


def integers(values: Iterable[int]) -> Integers:
    """Return whole numbers as a column."""
    return np.fromiter(values, dtype=np.int64)


def _split(records: Sequence[RequestRecord]) -> Iterator[Sequence[RequestRecord]]:
    """Yield the records in pieces of at most BLOCK_CHUNKS events, or of one record; one empty piece for no records at all."""
    start = events = 0
    for position, record in enumerate(records):
        more = len(record.chunks)
        if events + more > BLOCK_CHUNKS and position > start:
            yield records[start:position]
            start, events = position, 0
        events += more
    yield records[start:]


def _stamps(block: Sequence[RequestRecord]) -> tuple[Integers, Integers]:
    """Return the stamps of all events, and where those of each record end."""
    stamps = _column((record.chunks.packed("ns") for record in block), np.dtype(np.int64))
    return stamps, np.cumsum(integers(len(record.chunks) for record in block))


def _content(block: Sequence[RequestRecord], stamps: Integers, ends: Integers) -> ContentBlock:
    count, content_stamps, content, kinds = _content_stamps(block, stamps, ends)
    send = integers(record.send_ns for record in block)
    tokens = _column((record.chunks.packed("tokens") for record in block), np.dtype(np.intc))
    filled = count > 0
    last = np.cumsum(count)
    first = last - count

    answers = np.flatnonzero(_ANSWER[kinds])
    answer_count = _per_row(answers, ends)
    has_answer = answer_count > 0

    gaps = _gaps(content_stamps, count)
    gap_count = np.maximum(count - 1, 0)
    longest = np.full(len(block), -1)
    if len(gaps):
        longest[gap_count > 0] = np.maximum.reduceat(gaps, (np.cumsum(gap_count) - gap_count)[gap_count > 0])
    first_tokens = np.full(len(block), UNKNOWN_TOKENS)
    first_tokens[filled] = tokens[content[first[filled]]]
    return ContentBlock(
        count=count,
        first_ns=_pick(content_stamps, first, filled, send),
        last_ns=_pick(content_stamps, last - 1, filled, send),
        answer_ns=_pick(stamps[answers], np.cumsum(answer_count) - answer_count, has_answer, send),
        has_answer=has_answer,
        first_tokens=first_tokens,
        gaps_ns=gaps,
        longest_ns=longest,
    )


def _content_stamps(
    block: Sequence[RequestRecord], stamps: Integers, ends: Integers
) -> tuple[Integers, Integers, Integers, NDArray[np.uint8]]:
    """Return how many chunks with output each record has, their stamps, their positions among all events, and the kinds of all."""
    kinds = _column((record.chunks.packed("kind") for record in block), np.dtype(np.uint8))
    content = np.flatnonzero(CONTENT_MASK[kinds])
    return _per_row(content, ends), stamps[content], content, kinds


def _per_row(positions: Integers, ends: Integers) -> Integers:
    """Return how many of the positions, which rise, belong to each row."""
    return np.diff(np.searchsorted(positions, ends), prepend=0)


def _gaps(content_stamps: Integers, count: Integers) -> Integers:
    """Return the gaps between neighbours of one record: those across two records are left out."""
    if len(content_stamps) < 2:  # noqa: PLR2004 - a gap has two sides
        return np.zeros(0, dtype=np.int64)
    inside = np.ones(len(content_stamps) - 1, dtype=np.bool_)
    starts = np.cumsum(count)[:-1]
    inside[starts[(starts > 0) & (starts < len(content_stamps))] - 1] = False
    gaps: Integers = np.diff(content_stamps)[inside]
    return gaps


def _column(parts: Iterable[memoryview], dtype: np.dtype[ScalarT]) -> NDArray[ScalarT]:
    """Return one column of the chunks of some records, end to end."""
    return np.frombuffer(bytearray().join(parts), dtype=dtype)


def _pick(values: Integers, positions: Integers, where: Booleans, otherwise: Integers) -> Integers:
    """Return the value at each row's position, or the row's `otherwise`."""
    picked = otherwise.copy()
    picked[where] = values[positions[where]]
    return picked


def _head_ns(record: RequestRecord, name: str) -> int:
    """Return a stamp of the head; the send where it is not known, or where the connection was ready long before."""
    stamp = None if name == "conn_ns" and record.conn_reused else getattr(record, name)
    return record.send_ns if stamp is None else int(stamp)


def _refuse_backwards(block: Sequence[RequestRecord], stamps: Integers, ends: Integers) -> None:
    """Raise for the first record whose stamps go backwards.

    The head is only held against the send and the close: a server may answer before the body is written, and the chunks' stamps may
    come from the kernel while the head's comes from the read.
    """
    send = integers(record.send_ns for record in block)
    close = integers(record.close_ns for record in block)
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    filled = ends > starts
    wrong = close < send
    wrong[filled] |= (stamps[starts[filled]] < send[filled]) | (stamps[ends[filled] - 1] > close[filled])
    back = np.flatnonzero(stamps[1:] < stamps[:-1]) + 1
    # A stamp below the one before it is no fault where another record begins.
    wrong[np.searchsorted(ends, back[~np.isin(back, starts)], side="right")] = True
    for name in _HEAD_STAMPS:
        values = integers(_head_ns(record, name) for record in block)
        wrong |= (values < send) | (values > close)
    if wrong.any():
        record = block[int(np.argmax(wrong))]
        raise BadRecordError(
            f"request {record.req_id}: its time stamps go backwards, so the client's clock or the record is broken; "
            "nothing measured in this run can be trusted"
        )
