"""What counts as a success, and which failure a request has: one ordered rule, shared by the wire and by whoever reads raw records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from ixbench.model.record import FailureKind

HTTP_OK = 200


class BadRecordError(IxbenchError, ValueError):
    """The stamps of a record go backwards: the client is broken, and the run stops; it says nothing of the server."""

    code = "bad_record"


def classify(
    *,
    http_status: int | None,
    cancelled: bool = False,
    event_stream: bool = True,
    error_event: bool = False,
    malformed: bool = False,
    broken_off: bool = False,
    finish_reason: str | None = None,
    done_seen: bool | None = None,
    usage_asked: bool = True,
    usage_input: int | None = None,
    usage_output: int | None = None,
    exact_length: bool = False,
    output_asked: int | None = None,
) -> FailureKind | Literal["cancelled"] | None:
    """Return the first reason why a request is no success, or None for a success. Pure.

    The order is fixed: cancelled, transport, http_status, not_a_stream, server_error, malformed, truncated, no_usage, length_mismatch.
    An answer without any text is a success.

    :param http_status: None = no response head ever came.
    :param event_stream: whether the body is a stream of events, as was asked for; false for a plain JSON body under status 200.
    :param error_event: an error event came inside the stream; it outweighs the cut that often follows it.
    :param malformed: a complete event held no valid JSON, or not the agreed shape.
    :param broken_off: the connection was lost (reset, timeout) after the head and before the orderly end of the body.
    :param done_seen: the end mark came; for an endpoint without one, whether the body ended orderly.
    :param usage_asked: an answer without token counts is a failure only where they were asked for.
    :param exact_length: the server was told to ignore end-of-sequence, so exactly `output_asked` tokens are due.
    """
    if cancelled:
        return "cancelled"
    if http_status is None:
        return "transport"
    if http_status != HTTP_OK:
        return "http_status"
    if not event_stream:
        return "not_a_stream"
    return _stream_failure(
        error_event=error_event, malformed=malformed, cut=broken_off or not finish_reason or not done_seen
    ) or _count_failure(
        usage_asked=usage_asked,
        usage_input=usage_input,
        usage_output=usage_output,
        due=output_asked if exact_length else None,
    )


def _stream_failure(*, error_event: bool, malformed: bool, cut: bool) -> FailureKind | None:
    """Return what is wrong with the stream itself."""
    if error_event:
        return "server_error"
    if malformed:
        return "malformed"
    return "truncated" if cut else None


def _count_failure(*, usage_asked: bool, usage_input: int | None, usage_output: int | None, due: int | None) -> FailureKind | None:
    """Return what is wrong with the token counts of a complete answer."""
    if usage_asked and (usage_input is None or usage_output is None):
        return "no_usage"
    if due is not None and usage_output is not None and usage_output != due:
        return "length_mismatch"
    return None
