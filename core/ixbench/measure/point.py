"""What a point comes to: its metrics, its requests by outcome, its place on the speed axis, and the sums that metrics share."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ixbench.frontier.points import speed
from ixbench.measure.blocks import refuse_backwards
from ixbench.model.errors import IxbenchError, PluginError, describe
from ixbench.model.record import FAILURE_KINDS
from ixbench.model.result import Accounting, Axis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ixbench.measure.definition import Measurement, Metric, MetricResult
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import Metrics, MetricValue

_FROM_DUE = {"ttft_sched": "ttft", "e2el_sched": "e2el"}
_BETWEEN_TOKENS = frozenset({"tpot", "stall"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSums:
    """Tokens as the server counted them: 0 without any success, None where one of them was not counted."""

    input: float | None
    output: float | None
    cached: float | None
    """An answer that leaves the field out counts as nothing cached, as servers mean it; None where no answer has it."""

    @property
    def total(self) -> float | None:
        """Input and output."""
        return None if self.input is None or self.output is None else self.input + self.output

    @property
    def computed(self) -> float | None:
        """What was not found in the prefix cache, and the output."""
        return None if self.total is None or self.cached is None else self.total - self.cached


def measure(measurement: Measurement, metrics: Sequence[Metric], *, failed: Callable[[Metric, Exception], None] | None = None) -> Metrics:
    """Return every metric of a point by name, in the order given; None where it is undefined.

    :param failed: told of a metric that raised, which is then None; without it the first such metric ends the reading.
    :raises BadRecordError: if the stamps of any record go backwards.
    :raises PluginError: if a metric raised and nobody is there to be told.
    """
    # Those of the successes are looked at where their times are made.
    refuse_backwards([record for record in measurement.records if not (record.phase == "profile" and record.ok)])
    _ = measurement.times
    results: Metrics = {}
    for metric in metrics:
        try:
            results[metric.name] = _plain(metric.compute(measurement))
        except IxbenchError:
            raise
        except Exception as error:
            if failed is None:
                raise PluginError(f"metric {metric.name}: {describe(error)}") from error
            failed(metric, error)
            results[metric.name] = None
    return results


def _plain(result: MetricResult) -> MetricResult:
    """Return what JSON can hold: plain numbers, None for NaN and infinities."""
    return {name: _number(value) for name, value in result.items()} if isinstance(result, dict) else _number(result)


def _number(value: MetricValue) -> MetricValue:
    if value is None or isinstance(value, Integral):
        return None if value is None else int(value)
    return float(value) if math.isfinite(value) else None


def accounting(measurement: Measurement) -> Accounting:
    """Return the profile phase's requests by outcome: requests = ok + sum(failed) + cancelled."""
    profile = measurement.profile
    finished = [record for record in profile if not record.cancelled]
    kinds = Counter(record.failure for record in finished if record.failure is not None)
    return Accounting(
        requests=len(profile),
        ok=len(measurement.successes),
        failed={kind: kinds[kind] for kind in FAILURE_KINDS if kinds[kind]},
        cancelled=len(profile) - len(finished),
        warmup=sum(record.phase == "warmup" for record in measurement.records),
        resent=sum(record.resent for record in profile),
        empty_answers=int(np.count_nonzero(~measurement.times.has_content)),
        context_overflow=sum(record.failure == "http_status" and record.error_class == "context_overflow" for record in finished),
    )


def failed_share(measurement: Measurement) -> float | None:
    """Return the share of requests that were no success; cancelled ones are not counted, since that was the client's doing."""
    counts = accounting(measurement)
    finished = counts.requests - counts.cancelled
    return (finished - counts.ok) / finished if finished else None


def axis_of(metrics: Metrics, percentile: str) -> Axis:
    """Return where the point lies on the speed axis: 1 / percentile of TPOT.

    :param percentile: median, p50, p75, p90, p95, p99 or mean.
    :raises ValueError: for any other.
    """
    return Axis(name="tpot", percentile=percentile, tok_s_user=speed(metrics, percentile))


def span_s(measurement: Measurement) -> float | None:
    """Return the seconds from the first send to the last output of the successes; None without any output."""
    times = measurement.times
    if not times.has_content.any():
        return None
    return float(times.last_ns[times.has_content].max() - times.send_ns.min()) / 1e9


def window_s(measurement: Measurement) -> float | None:
    """Return the length of the profile phase."""
    window = window_ns(measurement)
    return None if window is None else (window[1] - window[0]) / 1e9


def window_ns(measurement: Measurement) -> tuple[int, int] | None:
    """Return the bounds of the profile phase; where they were not noted, its first send and its last close."""
    profile = measurement.profile
    start, end = measurement.start_ns, measurement.end_ns
    if not profile and (start is None or end is None):
        return None
    first = min(record.send_ns for record in profile) if start is None else start
    last = max(record.close_ns for record in profile) if end is None else end
    return first, last


def token_sums(measurement: Measurement) -> TokenSums:
    """Return the tokens of all successes."""
    successes = measurement.successes
    cached = [record.usage_cached for record in successes if record.usage_cached is not None]
    return TokenSums(
        input=_total(record.usage_input for record in successes),
        output=_total(record.usage_output for record in successes),
        cached=sum(cached) if cached or not successes else None,
    )


def _total(counts: Iterable[int | None]) -> int | None:
    listed = list(counts)
    known = [count for count in listed if count is not None]
    return sum(known) if len(known) == len(listed) else None


def good_requests(measurement: Measurement) -> int | None:
    """Return how many requests succeeded and met every limit of `[goodput]`; None without limits.

    An answer without any output meets no limit on its first or last token. One of a single token has neither a time per token nor a gap
    that could be too long. Where nothing was due, a request was due when it was sent.
    """
    limits, times = measurement.goodput, measurement.times
    if not limits:
        return None
    good = np.ones(len(times.ttft), dtype=np.bool_)
    for name, limit in limits.items():
        found = getattr(times, name)
        if name in _FROM_DUE:
            found = np.where(np.isnan(found), getattr(times, _FROM_DUE[name]), found)
        good &= (found <= limit) | (np.isnan(found) & times.has_content) if name in _BETWEEN_TOKENS else found <= limit
    return int(np.count_nonzero(good))


def chunk_tokens(measurement: Measurement) -> float | None:
    """Return the mean tokens of a chunk after the first, over the successes: sum (output tokens - 1) / sum (chunks with output - 1)."""
    pairs = zip(measurement.successes, measurement.times.gaps.tolist(), strict=True)
    known = [(record.usage_output - 1, gaps) for record, gaps in pairs if record.usage_output is not None and gaps > 0]
    gaps_sum = sum(gaps for _, gaps in known)
    return sum(tokens for tokens, _ in known) / gaps_sum if gaps_sum else None


def length_error(records: Iterable[RequestRecord]) -> float | None:
    """Return sum |output - asked| / sum asked over the answers whose length was forced, those that failed by missing it included."""
    forced = [record for record in records if record.exact_length and (record.ok or record.failure == "length_mismatch")]
    pairs = [(record.usage_output, record.output_asked) for record in forced]
    known = [(found, asked) for found, asked in pairs if found is not None and asked is not None]
    asked_sum = sum(asked for _, asked in known)
    return sum(abs(found - asked) for found, asked in known) / asked_sum if asked_sum else None
