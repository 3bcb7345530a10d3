"""Makes the record of a request from the turn that was sent and the exchange that came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.failure import BadRecordError
from ixbench.model.prompt import SyntheticPrompt
from ixbench.model.record import RequestRecord

if TYPE_CHECKING:
    from array import array

    from ixbench.model.exchange import Exchange, TurnRequest

_FEWEST = 3
"""The first and the last of fewer stamps are all of them."""


def finished(request: TurnRequest, exchange: Exchange, *, due_ns: int | None, lag_ns: int) -> RequestRecord:
    """Return the record of an exchange that came to an end, well or badly.

    :raises BadRecordError: if its stamps go backwards.
    """
    turn = request.turn
    record = RequestRecord(
        req_id=request.req_id,
        phase=request.phase,
        session_id=request.conversation,
        tree_id=request.session.id,
        lane=request.lane,
        trace_id=request.session.trace_id,
        stream=turn.stream,
        turn=turn.number,
        depth=turn.depth,
        due_ns=due_ns,
        send_ns=exchange.send_ns,
        conn_ns=exchange.conn_ns,
        sent_ns=exchange.sent_ns,
        headers_ns=exchange.headers_ns,
        conn_reused=exchange.conn_reused,
        chunks=exchange.chunks,
        close_ns=exchange.close_ns,
        input_asked=exchange.input_asked if exchange.input_asked is not None else _input_asked(request),
        output_asked=exchange.output_asked,
        exact_length=turn.exact_length,
        usage_asked=exchange.usage_asked,
        usage_input=exchange.usage_input,
        usage_cached=exchange.usage_cached,
        usage_output=exchange.usage_output,
        usage_reasoning=exchange.usage_reasoning,
        http_status=exchange.http_status,
        finish_reason=exchange.finish_reason,
        done_seen=exchange.done_seen,
        failure=exchange.failure,
        error_class=exchange.error_class,
        error_text=exchange.error_text,
        resent=exchange.resent,
        bundled=exchange.bundled,
        ttft_upper_bound=exchange.ttft_upper_bound,
        lag_ns=lag_ns,
        prompt_blocks=turn.prompt_blocks,
        hit_blocks=turn.hit_blocks,
    )
    _check_stamps(record)
    return record


def cancelled(request: TurnRequest, *, due_ns: int | None, send_ns: int, close_ns: int, lag_ns: int) -> RequestRecord:
    """Return the record of a request that the client gave up."""
    turn = request.turn
    return RequestRecord(
        req_id=request.req_id,
        phase=request.phase,
        session_id=request.conversation,
        tree_id=request.session.id,
        lane=request.lane,
        trace_id=request.session.trace_id,
        stream=turn.stream,
        turn=turn.number,
        depth=turn.depth,
        due_ns=due_ns,
        send_ns=send_ns,
        close_ns=close_ns,
        input_asked=_input_asked(request),
        output_asked=turn.output_tokens,
        exact_length=turn.exact_length,
        cancelled=True,
        lag_ns=lag_ns,
        prompt_blocks=turn.prompt_blocks,
        hit_blocks=turn.hit_blocks,
    )


def _input_asked(request: TurnRequest) -> int | None:
    """Return the prompt tokens that the turn wants."""
    prompt = request.turn.prompt
    return prompt.tokens if isinstance(prompt, SyntheticPrompt) else request.turn.input_tokens


def _check_stamps(record: RequestRecord) -> None:
    """Stop the run where time runs backwards: the client is broken, and no number of it could be trusted."""
    stamps = record.chunks.ns
    first, last = (stamps[0], stamps[-1]) if stamps else (None, None)
    known = [moment for moment in (record.send_ns, record.conn_ns, record.headers_ns, first, last, record.close_ns) if moment is not None]
    if known != sorted(known) or _falls(stamps):
        raise BadRecordError(f"the stamps of request {record.req_id} go backwards; the client's clock or wire is broken, so the run stops")


def _falls(stamps: array[int]) -> bool:
    """Say whether a stamp lies before the one before it."""
    if len(stamps) < _FEWEST:
        return False
    moments = np.frombuffer(stamps, dtype=np.int64)
    return bool((moments[1:] < moments[:-1]).any())
