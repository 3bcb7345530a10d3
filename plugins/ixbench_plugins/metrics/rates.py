"""What the machine sustained: tokens, requests and load over the span from the first send to the last output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, MetricValue, TokenSums

_PARTS = "total: input + output; computed: input - cached + output"


def _token_rates(measurement: Measurement, divisor: int | None) -> dict[str, MetricValue]:
    """Return tokens a second by kind, divided; None where something is not known."""
    return rates_of(measure.token_sums(measurement), measure.span_s(measurement), divisor)


def rates_of(sums: TokenSums, seconds: float | None, divisor: int | None) -> dict[str, MetricValue]:
    """Return tokens a second by kind, divided; None where something is not known, and for all kinds without seconds or divisor."""
    counts = {"total": sums.total, "input": sums.input, "output": sums.output, "computed": sums.computed}
    if not seconds or not divisor:
        return dict.fromkeys(counts)
    return {name: None if count is None else count / seconds / divisor for name, count in counts.items()}


def _span(measurement: Measurement) -> float | None:
    return measure.span_s(measurement)


def _phase_s(measurement: Measurement) -> float | None:
    return measure.window_s(measurement)


def _failed_share(measurement: Measurement) -> float | None:
    return measure.failed_share(measurement)


def _requests_per_s(measurement: Measurement) -> float | None:
    span = measure.span_s(measurement)
    return len(measurement.successes) / span if span else None


def _concurrency_mean(measurement: Measurement) -> float | None:
    span = measure.span_s(measurement)
    return sum(record.close_ns - record.send_ns for record in measurement.profile) / 1e9 / span if span else None


RATES: tuple[Metric, ...] = (
    Metric(
        name="span_s",
        unit="s",
        better="neither",
        definition="From the first send to the last output of the successes: what all rates are divided by.",
        compute=_span,
        needs=("chunks",),
        source="InferenceX AgentX (request span)",
    ),
    Metric(
        name="phase_s",
        unit="s",
        better="neither",
        definition="Length of the measured phase, from its start to the end of its last request.",
        compute=_phase_s,
        source="ixbench",
    ),
    Metric(
        name="throughput_tok_s",
        unit="tok/s",
        better="higher",
        definition=f"Tokens of all successes / span, for the whole system. {_PARTS}.",
        compute=lambda measurement: _token_rates(measurement, 1),
        needs=("chunks", "usage"),
        source="inference-perf (span), over all tokens",
    ),
    Metric(
        name="throughput_tok_s_gpu",
        unit="tok/s/GPU",
        better="higher",
        definition=f"Tokens of all successes / span / reserved GPUs, idle ones included. {_PARTS}.",
        compute=lambda measurement: _token_rates(measurement, measurement.gpus),
        needs=("chunks", "usage", "gpus"),
        source="InferenceX",
    ),
    Metric(
        name="requests_per_s",
        unit="1/s",
        better="higher",
        definition="Successes / span.",
        compute=_requests_per_s,
        needs=("chunks",),
        source="inference-perf",
    ),
    Metric(
        name="concurrency_mean",
        unit="requests",
        better="neither",
        definition="Requests in flight on average: the sum of (close - send) of all requests of the measured phase / span.",
        compute=_concurrency_mean,
        source="Little's law",
    ),
    Metric(
        name="failed_share",
        unit="share",
        better="lower",
        definition="Failed requests / requests that ended by themselves; those that the client cancelled are not counted.",
        compute=_failed_share,
        source="ixbench",
    ),
)
