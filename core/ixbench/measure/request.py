"""What a user felt, request by request: the times of every record as columns, so that a million chunks cost milliseconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ixbench.measure.failure import BadRecordError
from ixbench.model.record import CHUNK_KINDS, CONTENT_KINDS, UNKNOWN_TOKENS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ixbench.model.record import RequestRecord

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

ScalarT = TypeVar("ScalarT", bound=np.generic)

_CONTENT = np.array([kind in CONTENT_KINDS for kind in CHUNK_KINDS])
_ANSWER = np.array([kind in {"text", "tool"} for kind in CHUNK_KINDS])
_NS = 1e9
_HEAD_STAMPS = ("conn_ns", "sent_ns", "headers_ns")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestTable:
    """The times of many requests, one row each in the order of the records; seconds, NaN where undefined.

    With t0 = the send, f and l = the first and last chunk that carries output (text, thinking or a tool call), n = output tokens as the
    server counted them, k1 = tokens of the first such chunk, d = when the request was due.
    """

    ttft: Floats
    """f - t0."""
    ttfa: Floats
    """First chunk of text or a tool call - t0: later than TTFT for a model that thinks."""
    e2el: Floats
    """l - t0."""
    tpot: Floats
    """(l - f) / (n - 1), for n >= 2."""
    tpot_tail: Floats
    """(l - f) / (n - k1), for n > k1; undefined where the server does not count tokens per chunk."""
    e2e_norm: Floats
    """e2el / n."""
    dispatch_delay: Floats
    """t0 - d."""
    ttft_sched: Floats
    """f - d."""
    e2el_sched: Floats
    """l - d."""
    connect: Floats
    """Connection ready - t0; 0 for a reused connection."""
    stall: Floats
    """The longest gap between neighbouring chunks."""
    icl: Floats
    """The gaps themselves, of all requests one after another."""
    gaps: Integers
    """How many of `icl` belong to each request."""
    has_content: Booleans
    """False for an empty answer."""
    send_ns: Integers
    last_ns: Integers
    """Stamp of the last chunk that carries output; the send where there is none."""
    close_ns: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTimes:
    """The times of one request in seconds, as in `RequestTable`; None where undefined."""

    ttft: float | None
    ttfa: float | None
    e2el: float | None
    tpot: float | None
    tpot_tail: float | None
    e2e_norm: float | None
    dispatch_delay: float | None
    ttft_sched: float | None
    e2el_sched: float | None
    connect: float | None
    stall: float | None
    icl: tuple[float, ...]

    @property
    def speed(self) -> float | None:
        """Tokens per second that the user saw while the answer ran: 1 / tpot."""
        return 1 / self.tpot if self.tpot else None


def request_times(record: RequestRecord) -> RequestTimes:
    """Return the times of one record.

    :raises BadRecordError: if its stamps go backwards.
    """
    table = request_table((record,))
    names = [name for name in RequestTimes.__slots__ if name != "icl"]
    columns: dict[str, Floats] = {name: getattr(table, name) for name in names}
    times = {name: None if np.isnan(column[0]) else float(column[0]) for name, column in columns.items()}
    return RequestTimes(icl=tuple(table.icl.tolist()), **times)


def request_table(records: Sequence[RequestRecord]) -> RequestTable:
    """Return the times of all records.

    :raises BadRecordError: if the stamps of a record go backwards; names the first such record.
    """
    count = len(records)
    rows = np.repeat(np.arange(count), _integers(len(record.chunks) for record in records))
    stamps = _column((record.chunks.ns for record in records), np.dtype(np.int64))
    kinds = _column((record.chunks.kind for record in records), np.dtype(np.uint8))
    tokens = _column((record.chunks.tokens for record in records), np.dtype(np.intc))
    send = _integers(record.send_ns for record in records)
    close = _integers(record.close_ns for record in records)
    _refuse_backwards(records, rows, stamps)

    content = np.flatnonzero(_CONTENT[kinds])
    content_rows, content_stamps = rows[content], stamps[content]
    per_row = np.bincount(content_rows, minlength=count)
    has_content = per_row > 0
    ends = np.cumsum(per_row)
    starts = ends - per_row
    first = _pick(content_stamps, starts, has_content, send)
    last = _pick(content_stamps, ends - 1, has_content, send)
    first_tokens = _pick(tokens[content].astype(np.int64), starts, has_content, np.full(count, UNKNOWN_TOKENS))

    answers = np.flatnonzero(_ANSWER[kinds])
    per_row_answers = np.bincount(rows[answers], minlength=count)
    first_answer = _pick(stamps[answers], np.cumsum(per_row_answers) - per_row_answers, per_row_answers > 0, send)

    neighbours = content_rows[1:] == content_rows[:-1]
    icl = np.diff(content_stamps)[neighbours] / _NS
    gaps = np.maximum(per_row - 1, 0)

    n = _floats(record.usage_output for record in records)
    due_known = np.array([record.due_ns is not None for record in records], dtype=np.bool_)
    due = _integers(record.send_ns if record.due_ns is None else record.due_ns for record in records)
    ttft = _seconds(first - send, has_content)
    e2el = _seconds(last - send, has_content)
    decode = _seconds(last - first, has_content)
    return RequestTable(
        ttft=ttft,
        ttfa=_seconds(first_answer - send, per_row_answers > 0),
        e2el=e2el,
        tpot=_ratio(decode, n - 1),
        tpot_tail=_ratio(decode, np.where(first_tokens == UNKNOWN_TOKENS, math.nan, n - first_tokens)),
        e2e_norm=_ratio(e2el, n),
        dispatch_delay=_seconds(send - due, due_known),
        ttft_sched=_seconds(first - due, has_content & due_known),
        e2el_sched=_seconds(last - due, has_content & due_known),
        connect=_floats(_connect_ns(record) for record in records) / _NS,
        stall=_longest(icl, gaps),
        icl=icl,
        gaps=gaps,
        has_content=has_content,
        send_ns=send,
        last_ns=last,
        close_ns=close,
    )


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _column(parts: Iterable[array[int] | bytearray], dtype: np.dtype[ScalarT]) -> NDArray[ScalarT]:
    """Return one column of the chunks of all records, end to end."""
    return np.frombuffer(bytearray().join(parts), dtype=dtype)


def _pick(values: Integers, positions: Integers, where: Booleans, otherwise: Integers) -> Integers:
    """Return the value at each row's position, or the row's `otherwise`."""
    picked = otherwise.copy()
    picked[where] = values[positions[where]]
    return picked


def _seconds(ns: Integers, where: Booleans) -> Floats:
    """Return seconds, NaN where undefined; stamps are subtracted as integers before, since a float loses nanoseconds after 104 days."""
    return np.where(where, ns / _NS, math.nan)


def _ratio(seconds: Floats, tokens: Floats) -> Floats:
    """Return seconds a token; NaN where there is no token to divide by."""
    return seconds / np.where(tokens > 0, tokens, math.nan)


def _longest(icl: Floats, gaps: Integers) -> Floats:
    """Return the longest gap of each row; NaN for a row without gaps."""
    longest = np.full(len(gaps), math.nan)
    filled = gaps > 0
    if filled.any():
        longest[filled] = np.maximum.reduceat(icl, (np.cumsum(gaps) - gaps)[filled])
    return longest


def _connect_ns(record: RequestRecord) -> int | None:
    if record.conn_reused:
        return 0
    return None if record.conn_ns is None else record.conn_ns - record.send_ns


def _head_ns(record: RequestRecord, name: str) -> int:
    """Return a stamp of the head; the send where it is not known, or where the connection was ready long before."""
    stamp = None if name == "conn_ns" and record.conn_reused else getattr(record, name)
    return record.send_ns if stamp is None else int(stamp)


def refuse_backwards(records: Sequence[RequestRecord]) -> None:
    """Check that time runs forward in every record, whatever became of the request.

    :raises BadRecordError: names the first record where it does not.
    """
    rows = np.repeat(np.arange(len(records)), _integers(len(record.chunks) for record in records))
    stamps = _column((record.chunks.ns for record in records), np.dtype(np.int64))
    _refuse_backwards(records, rows, stamps)


def _refuse_backwards(records: Sequence[RequestRecord], rows: Integers, stamps: Integers) -> None:
    """Raise for the first record whose stamps go backwards.

    The head is only held against the send and the close: a server may answer before the body is written, and the chunks' stamps may
    come from the kernel while the head's comes from the read.
    """
    send = _integers(record.send_ns for record in records)
    close = _integers(record.close_ns for record in records)
    wrong = close < send
    wrong[rows[(stamps < send[rows]) | (stamps > close[rows])]] = True
    wrong[rows[1:][(rows[1:] == rows[:-1]) & (np.diff(stamps) < 0)]] = True
    for name in _HEAD_STAMPS:
        values = _integers(_head_ns(record, name) for record in records)
        wrong |= (values < send) | (values > close)
    if wrong.any():
        record = records[int(np.argmax(wrong))]
        raise BadRecordError(
            f"request {record.req_id}: its time stamps go backwards, so the client's clock or the record is broken; "
            "nothing measured in this run can be trusted"
        )
