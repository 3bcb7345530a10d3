"""Whether the server did the work that was asked for: as many tokens in, as many tokens out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, short_number, short_share

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics

ADVERTISED_LIMIT = 0.10
"""How far the mean of answers that end by themselves may be from the length that the workload promises."""


def _length_mismatch(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    error = measure.length_error(measurement.profile)
    if error is not None and limit is not None and error > limit:
        text = (
            f"forced output lengths were missed by {short_share(error)} of the tokens, allowed: {short_share(limit)}; "
            "the server does not ignore the end of sequence"
        )
        return Reason(code="length_mismatch", value=error, limit=limit, text=text)
    return _advertised(measurement)


def _advertised(measurement: Measurement) -> Reason | None:
    """Hold answers that end by themselves against the mean length that the workload promises."""
    promised = measurement.output_mean
    free = [record.usage_output for record in measurement.successes if not record.exact_length and record.usage_output is not None]
    if not promised or not free:
        return None
    mean = sum(free) / len(free)
    error = abs(mean - promised) / promised
    if error <= ADVERTISED_LIMIT:
        return None
    text = (
        f"answers have {short_number(mean)} tokens on average, the workload says {promised}: {short_share(error)} off, "
        f"allowed: {short_share(ADVERTISED_LIMIT)}"
    )
    return Reason(code="length_mismatch", value=error, limit=ADVERTISED_LIMIT, text=text)


def _input_mismatch(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    pairs = [(record.usage_input, record.input_asked) for record in measurement.successes]
    known = [(found, asked) for found, asked in pairs if found is not None and asked is not None]
    found_sum, asked_sum = sum(found for found, _ in known), sum(asked for _, asked in known)
    if not asked_sum or limit is None:
        return None
    error = abs(found_sum - asked_sum) / asked_sum
    if error <= limit:
        return None
    text = (
        f"the server counted {found_sum} prompt tokens where {asked_sum} were asked for: {short_share(error)} off, "
        f"allowed: {short_share(limit)}; "
        "tokenizer or chat template are not those that the prompts were made for"
    )
    return Reason(code="input_mismatch", value=error, limit=limit, text=text)


LENGTHS: tuple[Check, ...] = (
    Check(
        code="length_mismatch",
        limit=0.005,
        most=1,
        explain="Forced output lengths must be met (limit: sum of deviations / sum asked); where answers end by themselves, their mean "
        "must be within 10 % of what the workload promises, if it promises one.",
        advice="See that the server heeds `ignore_eos`, or use the adapter that knows how to force lengths on it.",
        decide=_length_mismatch,
    ),
    Check(
        code="input_mismatch",
        limit=0.05,
        most=1,
        explain="The prompt tokens that the server counted must sum up to what was asked for (limit: relative difference).",
        advice="See that the server serves the model and the chat template that the prompts were made for, and that nothing between (a"
        " router, a proxy) cuts or adds text.",
        decide=_input_mismatch,
    ),
)
