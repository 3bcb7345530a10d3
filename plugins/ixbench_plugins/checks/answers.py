"""Whether the server answered: failures, prompts that were too long, answers without token counts or without any text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, counted, short_share

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics


def _errors(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    counts = measure.accounting(measurement)
    failed = measure.failed_share(measurement)
    kinds = ", ".join(f"{kind} {count}" for kind, count in counts.failed.items())
    if not counts.ok:
        what = f"no request succeeded: {kinds or f'all {counts.cancelled} were cancelled'}" if counts.requests else "no request was sent"
        return Reason(code="errors", value=failed, limit=limit, text=what)
    if failed is not None and limit is not None and failed > limit:
        text = f"{short_share(failed)} of the requests failed ({kinds}); allowed: {short_share(limit)}"
        return Reason(code="errors", value=failed, limit=limit, text=text)
    return None


def _context_overflow(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    responses = sum(record.http_status is not None and not record.cancelled for record in measurement.profile)
    overflow = measure.accounting(measurement).context_overflow / responses if responses else 0.0
    if limit is None or overflow <= limit:
        return None
    text = f"the prompt was too long for the server in {short_share(overflow)} of the responses; allowed: {short_share(limit)}"
    return Reason(code="errors", value=overflow, limit=limit, text=text)


def _no_usage(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics, limit
    count = measure.accounting(measurement).failed.get("no_usage", 0)
    if not count:
        return None
    text = f"{counted(count, 'complete answer')} came without token counts (usage); rates and speeds cannot be told without them"
    return Reason(code="no_usage", value=count, limit=0, text=text)


def _empty_answers(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    counts = measure.accounting(measurement)
    found = counts.empty_answers / counts.ok if counts.ok else 0.0
    if limit is None or found <= limit:
        return None
    text = f"{short_share(found)} of the successful answers are empty (end of sequence at once); they have no TTFT and no TPOT"
    return Reason(code="empty_answers", value=found, limit=limit, text=text, severity="warning")


ANSWERS: tuple[Check, ...] = (
    Check(
        code="errors",
        limit=0.01,
        agentic_limit=0.10,
        most=1,
        explain="Few requests may fail (limit: their share), and one must succeed: what failed is missing from every latency and was no "
        "load.",
        advice="Read `failure` of the point, `accounting.failed` and `error_text` in requests.jsonl: they name the kind. Ask for less "
        "load, or mend the server. Never raise the limit to save a point that the server could not serve.",
        decide=_errors,
    ),
    Check(
        code="context_overflow",
        limit=0.01,
        most=1,
        explain="Few responses may say that the prompt is too long (limit: their share; a fault of code errors): each ends its session.",
        advice="Give the server a longer context (`max_model_len`), or leave out what does not fit with `workload.max_context`.",
        decide=_context_overflow,
    ),
    Check(
        code="no_usage",
        limit=None,
        explain="Every complete answer must carry the token counts that were asked for: chunks are not tokens.",
        advice="The server must send `usage` with each answer; most do when asked by `stream_options.include_usage`, which ixbench "
        "does. Turn it on, update the server, or use the adapter that knows it.",
        decide=_no_usage,
    ),
    Check(
        code="empty_answers",
        limit=0.01,
        most=1,
        explain="Marks a point with many empty answers (limit: their share of the successes): they count for rates, not for latencies.",
        advice="Look at one answer yourself: the chat template or the tokenizer is most likely wrong. With forced lengths, see that "
        "the server heeds `ignore_eos`.",
        decide=_empty_answers,
    ),
)
