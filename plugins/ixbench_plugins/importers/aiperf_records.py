"""Requests of AIPerf's profile_export.jsonl as records of ixbench, so that its metrics can be computed from the same facts as ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ixbench.api.measure import Chunks, RequestRecord
from ixbench_plugins.importers.document import MOST_REFUSED, loads, refuse_repeated, too_many_refused
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.values import number, table, text, truth, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO, Literal

    from ixbench.api.measure import ChunkKind, ErrorClass, FailureKind

LONGEST_LINE = 16 << 20
"""Bytes of a line; an answer of 100,000 chunks takes two million."""
NS = 1_000_000
"""Nanoseconds in the milliseconds of its latencies."""
MOST_DRIFT_NS = 5 * NS
"""Beyond it the wall clock and the latencies disagree more than a busy host explains."""
LATEST_NS = 1 << 62
"""The year 2116."""
LONGEST_MS = 1e9
"""Eleven days: no request takes longer."""
MOST_TOKENS = 10**9
HTTP_OK = 200
_OVERFLOW = ("context length", "context_length", "maximum context", "too long")


@dataclass(slots=True, kw_only=True)
class Records:
    """All requests of a file, and what was noticed on the way."""

    records: list[RequestRecord] = field(default_factory=list)
    refused: list[tuple[int, RowError]] = field(default_factory=list)
    """Line numbers with reasons."""
    drift_ns: int = 0
    """Largest difference between (request end - request start) by the wall clock and the latency that was measured."""
    from_usage: int = 0
    """Successes whose tokens the server counted."""
    from_lengths: int = 0
    """Successes of which only lengths are told."""
    unstreamed: int = 0
    """Successes without a time to first token."""


def read_aiperf_records(file: BinaryIO, where: str) -> Records:
    """Return the requests, line by line; a broken line is refused and the others are read.

    :param where: names the file.
    :raises InputError: if too many lines are broken.
    """
    found = Records()
    used: set[str] = set()
    for position, line in _lines(file):
        try:
            _read(line, position, found, used)
        except RowError as error:
            found.refused.append((position, error))
            if len(found.refused) > MOST_REFUSED:
                line_number, why = found.refused[0]
                raise too_many_refused(where, f"line {line_number}: {why}") from error
    return found


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines that are not blank with their numbers; None in place of one that is too long."""
    position = 0
    while line := file.readline(LONGEST_LINE + 1):
        position += 1
        if len(line) <= LONGEST_LINE:
            if line.strip():
                yield position, line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield position, None


def _read(line: bytes | None, position: int, found: Records, used: set[str]) -> None:
    if line is None:
        raise RowError("line_too_long", f"the line is longer than {LONGEST_LINE >> 20} MiB")
    try:
        document = loads(line)
    except (ValueError, RecursionError) as broken:
        nested = isinstance(broken, RecursionError)
        raise RowError(
            "broken_json", "the line is JSON that is nested too deeply" if nested else f"the line is no JSON: {broken}"[:200]
        ) from broken
    refuse_repeated(document)
    metadata, metrics = table(table(document).get("metadata")), _values(table(document).get("metrics"))
    send = _stamp(metadata, "request_start_ns")
    if send is None:
        raise RowError("unknown_schema", "the line has no metadata.request_start_ns that is a time")
    request_id = text(metadata.get("x_request_id")) or f"line-{position}"
    if request_id in used:
        request_id = f"{request_id}-{position}"
    used.add(request_id)
    error = table(table(document).get("error"))
    cancelled = truth(metadata.get("was_cancelled")) is True
    streamed = "time_to_first_token" in metrics
    chunks, last = _chunks(send, metrics)
    end = _stamp(metadata, "request_end_ns") or send
    outcome = _outcome(error, metadata, metrics) if not cancelled else _Outcome()
    phase: Literal["warmup", "profile"] = "warmup" if text(metadata.get("benchmark_phase")).lower() == "warmup" else "profile"
    usage_input, usage_output = _count(metrics, "usage_prompt_tokens"), _count(metrics, "usage_completion_tokens")
    local = usage_input is None or usage_output is None
    if local:
        usage_input, usage_output = _count(metrics, "input_sequence_length"), _count(metrics, "output_sequence_length")
    if outcome.failure is None and not cancelled:
        if usage_input is None or usage_output is None:
            outcome = _Outcome(failure="no_usage")
        elif phase == "profile":
            found.from_lengths += local
            found.from_usage += not local
            found.unstreamed += not streamed
        latency = metrics.get("request_latency")
        if isinstance(latency, int | float):
            found.drift_ns = max(found.drift_ns, abs(end - send - _ns(latency)))
    session = (
        text(metadata.get("x_correlation_id")) or text(metadata.get("conversation_id")) or str(metadata.get("session_num", position))[:60]
    )
    first = chunks.ns[0] if len(chunks) else None
    due, acknowledged = _stamp(metadata, "credit_issued_ns"), _stamp(metadata, "request_ack_ns")
    found.records.append(
        RequestRecord(
            req_id=request_id,
            phase=phase,
            session_id=session,
            tree_id=text(metadata.get("root_correlation_id")) or session,
            lane=None,
            trace_id=text(metadata.get("source_trace_id")) or text(metadata.get("conversation_id")) or None,
            stream="main" if not whole(metadata.get("agent_depth")) else session,
            turn=whole(metadata.get("turn_index")) or 0,
            depth=whole(metadata.get("agent_depth")) or 0,
            due_ns=due if due is not None and due <= send else None,
            send_ns=send,
            headers_ns=acknowledged if acknowledged is not None and send <= acknowledged <= (first or end) else None,
            conn_reused=bool(metrics.get("http_req_connection_reused")),
            chunks=chunks,
            close_ns=max(end, last, send),
            output_asked=_count(metrics, "requested_osl"),
            usage_input=usage_input,
            usage_cached=_count(metrics, "usage_prompt_cache_read_tokens"),
            usage_output=usage_output,
            usage_reasoning=_count(metrics, "usage_reasoning_tokens"),
            http_status=outcome.status if outcome.failure is not None or cancelled else HTTP_OK,
            failure=outcome.failure,
            error_class=outcome.error_class,
            error_text=text(error.get("message"))[:200] or None,
            cancelled=cancelled,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    failure: FailureKind | None = None
    error_class: ErrorClass | None = None
    status: int | None = None


def _outcome(error: dict[str, Any], metadata: dict[str, Any], metrics: dict[str, Any]) -> _Outcome:
    """Return which failure of ours an error of AIPerf is; none where there is none."""
    said = f"{text(error.get('type'))} {text(error.get('message'))}".lower()
    status = whole(error.get("code"))
    if truth(metadata.get("context_overflow_skip")) is True or (error and any(word in said for word in _OVERFLOW)):
        return _Outcome(failure="http_status", error_class="context_overflow", status=status)
    if error:
        if status is not None and status != HTTP_OK and 100 <= status <= 599:  # noqa: PLR2004 - what a status can be
            return _Outcome(failure="http_status", status=status)
        if "timeout" in said:
            return _Outcome(failure="transport", error_class="timeout")
        if any(word in said for word in ("connect", "disconnect", "reset", "refused", "broken pipe")):
            return _Outcome(failure="transport", error_class="reset" if "reset" in said else "connect")
        return _Outcome(failure="server_error", status=status)
    return _Outcome() if metrics else _Outcome(failure="malformed")


def _values(metrics: Any) -> dict[str, Any]:  # noqa: ANN401 - a JSON value
    """Return the values of a record's metrics: numbers, or lists of numbers; latencies in ms."""
    found: dict[str, Any] = {}
    for name, entry in table(metrics).items():
        value, unit = table(entry).get("value"), text(table(entry).get("unit")).lower()
        if name in _LATENCIES and unit not in ("ms", ""):
            raise RowError("unit_suspect", f"{name} is in {unit!r}; this reader knows ms")
        if name in _LATENCIES and any((number(item) or 0) > LONGEST_MS for item in (value if isinstance(value, list) else [value])):
            raise RowError("unit_suspect", f"{name} is longer than eleven days: is it in ms?")
        if isinstance(value, list):
            numbers = [number(item) for item in value]
            if all(item is not None and item >= 0 for item in numbers):
                found[name] = numbers
        elif (single := number(value)) is not None and single >= 0:
            found[name] = single
        elif isinstance(value, bool):
            found[name] = int(value)
    return found


_LATENCIES = frozenset(
    {"time_to_first_token", "time_to_first_output_token", "request_latency", "inter_token_latency", "inter_chunk_latency"}
)


def _stamp(metadata: dict[str, Any], name: str) -> int | None:
    found = whole(metadata.get(name))
    return found if found is not None and 0 < found < LATEST_NS else None


def _count(metrics: dict[str, Any], name: str) -> int | None:
    value = metrics.get(name)
    found = None if isinstance(value, list) else whole(value)
    return found if found is not None and found <= MOST_TOKENS else None


def _ns(ms: float) -> int:
    return round(ms * NS)


def _chunks(send: int, metrics: dict[str, Any]) -> tuple[Chunks, int]:
    """Return the chunks with output and the stamp of the last, rebuilt from the time to the first and the gaps, without their tokens."""
    ttft, latency = metrics.get("time_to_first_token"), metrics.get("request_latency")
    if not isinstance(ttft, int | float):
        return Chunks(), send
    first = send + _ns(ttft)
    last = max(first, send + _ns(latency)) if isinstance(latency, int | float) else None
    gaps = metrics.get("inter_chunk_latency")
    stamps = _stamps(first, gaps if isinstance(gaps, list) else [], last)
    answer = metrics.get("time_to_first_output_token")
    answer_ns = send + _ns(answer) if isinstance(answer, int | float) else first

    def kind(ns: int) -> ChunkKind:
        return "think" if ns < answer_ns else "text"

    return Chunks.of((ns, kind(ns), None, 0) for ns in stamps), stamps[-1]


def _stamps(first: int, gaps: Iterable[float], last: int | None) -> list[int]:
    stamps = list(accumulate((_ns(gap) for gap in gaps), initial=first))
    if last is None:
        return stamps
    if len(stamps) == 1:
        return stamps if last == first else [first, last]
    # The gaps add up to the latency but for rounding; the latency is what is measured.
    return [*(min(ns, last) for ns in stamps[:-1]), last]
