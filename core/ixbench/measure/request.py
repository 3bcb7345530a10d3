"""What a user felt, request by request: the times of every record as columns, so that a million chunks cost milliseconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.blocks import content_blocks, gap_blocks, integers
from ixbench.measure.percentile import PooledNs
from ixbench.model.record import UNKNOWN_TOKENS
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from ixbench.measure.blocks import Booleans, Integers
    from ixbench.model.record import RequestRecord

    Floats = NDArray[np.float64]


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
    chunks: Integers
    """How many chunks carry output."""
    has_content: Booleans
    """False for an empty answer."""
    send_ns: Integers
    first_ns: Integers
    """Stamp of the first chunk that carries output; the send where there is none."""
    last_ns: Integers
    """Stamp of the last one, likewise."""
    close_ns: Integers
    pooled_icl: PooledNs = field(repr=False)
    """The gaps between neighbouring chunks with output, of all requests together, for their summary."""
    records: Sequence[RequestRecord] = field(repr=False)
    """What the rows were made of."""

    @property
    def gaps(self) -> Integers:
        """How many gaps between neighbouring chunks each request has."""
        return np.maximum(self.chunks - 1, 0)

    @property
    def icl(self) -> Floats:
        """The gaps themselves, of all requests one after another: made anew on each call, 8 bytes a gap. `pooled_icl` has their summary."""
        return np.concatenate([np.zeros(0), *(block / NS_PER_S for block in gap_blocks(self.records))])


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
    parts = []
    pooled = PooledNs(sum(len(record.chunks) for record in records))
    for one in content_blocks(records):
        pooled.add(one.gaps_ns)
        parts.append((one.count, one.first_ns, one.last_ns, one.answer_ns, one.has_answer, one.first_tokens, one.longest_ns))
    chunks, first, last, answer, has_answer, first_tokens, longest = map(np.concatenate, zip(*parts, strict=True))
    send = integers(record.send_ns for record in records)
    n = _floats(record.usage_output for record in records)
    due_known = np.array([record.due_ns is not None for record in records], dtype=np.bool_)
    due = integers(record.send_ns if record.due_ns is None else record.due_ns for record in records)
    has_content = chunks > 0
    e2el = _seconds(last - send, has_content)
    decode = _seconds(last - first, has_content)
    return RequestTable(
        ttft=_seconds(first - send, has_content),
        ttfa=_seconds(answer - send, has_answer),
        e2el=e2el,
        tpot=_ratio(decode, n - 1),
        tpot_tail=_ratio(decode, np.where(first_tokens == UNKNOWN_TOKENS, math.nan, n - first_tokens)),
        e2e_norm=_ratio(e2el, n),
        dispatch_delay=_seconds(send - due, due_known),
        ttft_sched=_seconds(first - due, has_content & due_known),
        e2el_sched=_seconds(last - due, has_content & due_known),
        connect=_floats(_connect_ns(record) for record in records) / NS_PER_S,
        stall=_seconds(longest, chunks > 1),
        chunks=chunks,
        has_content=has_content,
        send_ns=send,
        first_ns=first,
        last_ns=last,
        close_ns=integers(record.close_ns for record in records),
        pooled_icl=pooled,
        records=records,
    )


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _seconds(ns: Integers, where: Booleans) -> Floats:
    """Return seconds, NaN where undefined; stamps are subtracted as integers before, since a float loses nanoseconds after 104 days."""
    return np.where(where, ns / NS_PER_S, math.nan)


def _ratio(seconds: Floats, tokens: Floats) -> Floats:
    """Return seconds a token; NaN where there is no token to divide by."""
    return seconds / np.where(tokens > 0, tokens, math.nan)


def _connect_ns(record: RequestRecord) -> int | None:
    if record.conn_reused:
        return 0
    return None if record.conn_ns is None else record.conn_ns - record.send_ns
