"""From a captured response to an `Exchange`: what the events say, and whether that is a success or which failure."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from ixbench.measure.failure import HTTP_OK, classify
from ixbench.model.counts import counted
from ixbench.model.exchange import Exchange
from ixbench.model.record import CHUNK_KINDS, UNKNOWN_TOKENS, Chunks
from ixbench.replay.error_text import message_of, shorten
from ixbench.replay.interpret import Interpreter, ResponseReading
from ixbench.replay.sse import arrivals, split_events, too_large

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ixbench.host.contracts.engine import StreamQuirks
    from ixbench.model.record import ErrorClass, FailureKind
    from ixbench.model.secrets import Redactor
    from ixbench.replay.sse import Event
    from ixbench.replay.wire import Capture

_EVENTS_A_BATCH = 64
"""Events parsed at a stretch: a fifth of a millisecond, then other streams, and requests that are due, get their turn."""
_BYTES_A_BATCH = 1 << 18
"""So much of them at most, but one event always."""
_OVERFLOW_TEXTS = (
    "context length",
    "maximum context",
    "context_length_exceeded",
    "prompt is too long",
    "exceed_context_size",
    "available context size",
)
"""How servers say that a prompt is too long."""
_TOO_MANY_REQUESTS = 429
_LONGEST_ERROR_BODY = 65536
_CODES = {kind: code for code, kind in enumerate(CHUNK_KINDS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of the request decides how its response is read."""

    max_tokens: int | None
    exact_length: bool
    usage: bool
    """Whether token counts were asked for."""
    choices: int = 1
    """Answers asked for (`n`); token counts cover them all."""
    keep_answer: bool = False

    @property
    def tokens_due(self) -> int | None:
        """Output tokens of all choices together at their limit."""
        return None if self.max_tokens is None else self.max_tokens * self.choices


async def read_response(
    capture: Capture,
    asked: Asked,
    *,
    quirks: StreamQuirks,
    redactor: Redactor,
    pause: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
) -> tuple[Exchange, ResponseReading]:
    """Return what a captured response comes to.

    :param pause: waited for between the parts of a long one, so that other tasks run.
    """
    encoding = capture.headers.get("content-encoding", "identity").lower()
    readable = capture.status == HTTP_OK and encoding == "identity"
    body = capture.body if readable else b""
    excess = too_large(body)
    events = split_events(body) if excess is None else []
    del body
    if len(events) > _EVENTS_A_BATCH:
        await pause()
    interpreter = Interpreter(quirks)
    start = 0
    while start < len(events):
        if start:
            await pause()
        end = _end_of_batch(events, start)
        interpreter.feed(events[start:end])
        start = end
    if start > _EVENTS_A_BATCH:
        await pause()
    reading = interpreter.reading()
    if capture.status == HTTP_OK and not readable:
        reading = replace(reading, malformed=f"the body is {encoding}-encoded, although identity was asked for")
    elif excess is not None:
        reading = replace(reading, malformed=excess)
    done_seen = reading.done_seen or (capture.complete and not quirks.sends_done)
    failure = classify(
        http_status=capture.status,
        event_stream=_is_stream(capture, events) or not readable,
        error_event=reading.error is not None,
        malformed=reading.malformed is not None,
        broken_off=_broken_off(capture, reading),
        finish_reason=reading.finish_reason,
        done_seen=done_seen,
        usage_asked=asked.usage,
        usage_input=reading.usage_input,
        usage_output=reading.usage_output,
        exact_length=asked.exact_length,
        output_asked=asked.tokens_due,
    )
    assert failure != "cancelled"
    text = _error_text(failure, capture, reading, asked) if failure is not None else None
    stamps, bounds = arrivals([event.end for event in events], capture.pieces, capture.stamps)
    if start > _EVENTS_A_BATCH:
        await pause()
    output = reading.content_events
    exchange = Exchange(
        send_ns=capture.send_ns,
        conn_ns=capture.conn_ns,
        sent_ns=capture.sent_ns,
        headers_ns=capture.headers_ns,
        close_ns=capture.close_ns,
        conn_reused=capture.reused,
        chunks=_chunks(stamps, events, reading),
        output_asked=asked.max_tokens,
        usage_asked=asked.usage,
        usage_input=reading.usage_input,
        usage_cached=reading.usage_cached,
        usage_output=reading.usage_output,
        usage_reasoning=reading.usage_reasoning,
        http_status=capture.status,
        finish_reason=reading.finish_reason,
        done_seen=done_seen if capture.status == HTTP_OK else None,
        failure=failure,
        error_class=_error_class(failure, capture, reading),
        error_text=shorten(text, redactor) if text else None,
        resent=capture.resent,
        bundled=sum([bounds[position] for position in output]),
        ttft_upper_bound=bool(output) and bounds[output[0]],
        answer=reading.text if asked.keep_answer and failure is None else None,
    )
    if start > _EVENTS_A_BATCH:
        await pause()
    return exchange, reading


def _end_of_batch(events: list[Event], start: int) -> int:
    """Return where the batch of events that begins there ends."""
    end = min(start + _EVENTS_A_BATCH, len(events))
    most = events[start].end + _BYTES_A_BATCH
    while end > start + 1 and events[end - 1].end > most:
        end = start + max((end - start) // 2, 1)
    return end


def _is_stream(capture: Capture, events: list[Event]) -> bool:
    """Say whether the body is a stream of events: by its declared type, or because it holds events whatever the head says."""
    return capture.headers.get("content-type", "").lower().startswith("text/event-stream") or bool(events)


def _broken_off(capture: Capture, reading: ResponseReading) -> bool:
    """Say whether the body was lost before its end mark; what happens after [DONE] no longer matters."""
    return not capture.complete and not reading.done_seen


def _chunks(stamps: list[int], events: list[Event], reading: ResponseReading) -> Chunks:
    """Return the events as columns, each stamped with the read that completed it."""
    return Chunks(
        ns=array("q", stamps),
        kind=bytearray(map(_CODES.__getitem__, reading.kinds)),
        tokens=array("i", [UNKNOWN_TOKENS if count is None else count for count in reading.tokens]),
        size=array("i", [event.size for event in events]),
    )


def _error_class(failure: FailureKind | None, capture: Capture, reading: ResponseReading) -> ErrorClass | None:
    """Return the class that refines a failure."""
    if failure == "http_status" and capture.status == _TOO_MANY_REQUESTS:
        return "rate_limited"
    if failure == "http_status":
        return _overflow(capture.body[:_LONGEST_ERROR_BODY].decode("utf-8", "replace"))
    if failure == "server_error":
        return _overflow(reading.error or "")
    return capture.error_class if failure in {"transport", "truncated"} and _broken_off(capture, reading) else None


def _error_text(failure: FailureKind | None, capture: Capture, reading: ResponseReading, asked: Asked) -> str | None:
    """Return what happened, in a sentence."""
    if failure == "transport" or (failure == "truncated" and _broken_off(capture, reading)):
        return capture.error_text
    if failure == "http_status":
        return _status_text(capture)
    texts: dict[FailureKind | None, str | None] = {
        "not_a_stream": f"a stream was asked for, a body of {capture.headers.get('content-type', 'unknown type')} came: "
        f"{message_of(capture.body[:_LONGEST_ERROR_BODY])}",
        "server_error": reading.error,
        "malformed": reading.malformed,
        "truncated": "the stream ended without " + ("a finish_reason" if reading.finish_reason is None else "[DONE]"),
        "no_usage": "usage was asked for and never came",
        "length_mismatch": f"exactly {counted(asked.tokens_due or 0, 'token')} had to come, {reading.usage_output} came",
    }
    return texts.get(failure)


def _status_text(capture: Capture) -> str:
    assert capture.status is not None
    if 300 <= capture.status < 400:  # noqa: PLR2004 - the redirections
        return f"status {capture.status}: the server redirects to {capture.headers.get('location', 'elsewhere')}; give the final URL"
    return f"status {capture.status}: {message_of(capture.body[:_LONGEST_ERROR_BODY]).strip()}"


def _overflow(text: str) -> ErrorClass | None:
    """Return the class of a refusal because the prompt is too long."""
    lowered = text.lower()
    return "context_overflow" if any(part in lowered for part in _OVERFLOW_TEXTS) else None
