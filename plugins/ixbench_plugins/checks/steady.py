"""Whether a point was in one state while it was measured: no ramp, no drift, no end before its end, no standstill."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, short_number, short_seconds, short_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.measure import Measurement, Metrics, Trend, Window

SLICES = 10
"""What a line goes through: fewer tell a drift from scatter only where it is large, and more are not independent of each other."""
SPREAD_SLICES = 5
SHORTEST_S = 5.0
"""A shorter part is not judged: in slices of half a second, or at an end of a quarter, one late moment of the machine would decide."""
SOLID_S = 30.0
"""In a shorter part a spread of the slices only warns."""
REACHED = 0.8
"""Share of the asked concurrency that must be in flight on average where it was never kept for the time of one answer."""
SPREAD_LIMIT = 0.2
PAUSE_P99S = 10
"""How many p99 gaps between chunks a standstill must last."""
_DRAWS_SEED = 1
_OUTPUT = "the output rate"
_IN_FLIGHT = "the number of requests in flight"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """Something that should be the same in each slice."""

    name: str
    trend: Trend
    expected: float
    """Coefficient of variation that the work itself brings to a slice: lengths that differ, arrivals at random."""


def _not_steady(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    if limit is None:
        return None
    if _breathes(measurement):
        return _drift_of_sessions(measurement, limit)
    window = _judged_part(measurement)
    if window is None:
        return _never_steady(measurement)
    reasons = [_drift(series, measurement, limit) for series in _series(measurement, window, SLICES)]
    found = [reason for reason in reasons if reason is not None]
    return next((reason for reason in found if reason.severity == "invalid"), found[0] if found else None)


def _breathes(measurement: Measurement) -> bool:
    """Say whether load comes and goes by the nature of the work: sessions of several requests, with prompts that grow."""
    profile = measurement.profile
    return measurement.agentic or len({record.session_id for record in profile}) < len(profile)


def _judged_part(measurement: Measurement) -> Window | None:
    """Return the steady part, or from the first send to the last where delays of the workload leave no number to reach."""
    sending, window = measure.sending_window(measurement), measure.steady_window(measurement)
    if measurement.load.rate is not None and sending is not None:
        # A server that falls behind reaches the mean number in flight halfway: all from when the first answers have ended is looked at.
        ramp_s = measure.percentile(measurement.times.e2el, 50) or 0.0
        window = replace(sending, start_ns=min(sending.start_ns + round(ramp_s * 1e9), sending.end_ns))
    if window is None and sending is not None and not _never_reached(measurement, sending):
        window = sending
    return None if window is None or window.seconds < SHORTEST_S else window


def _never_reached(measurement: Measurement, sending: Window) -> bool:
    asked = measurement.load.concurrency
    if asked is None or any(record.due_ns is not None for record in measurement.profile):
        return False
    return float(measure.in_flight_means(measurement, sending.slices(1))[0]) < REACHED * asked


def _never_steady(measurement: Measurement) -> Reason | None:
    sending, asked = measure.sending_window(measurement), measurement.load.concurrency
    if sending is None or asked is None or sending.seconds < SHORTEST_S or not _never_reached(measurement, sending):
        return None
    found = float(measure.in_flight_means(measurement, sending.slices(1))[0])
    mean = f"{short_number(found)} of {asked} requests were in flight on average"
    text = f"no steady window was found: {mean}, and never all for the time of an answer"
    return Reason(code="not_steady", value=found, limit=REACHED * asked, text=text)


def _series(measurement: Measurement, window: Window, slices: int) -> list[_Series]:
    edges = window.slices(slices)
    rows = {_OUTPUT: measure.output_served(measurement, edges), _IN_FLIGHT: measure.in_flight_means(measurement, edges)}
    expected = _expected_spread(measurement, slices)
    trends = {name: measure.trend(values) for name, values in rows.items() if values is not None}
    return [_Series(name=name, trend=trend, expected=expected) for name, trend in trends.items() if trend is not None]


def _expected_spread(measurement: Measurement, slices: int) -> float:
    """Return by how much slices differ because requests do: a slice holds its part of them, and each brings what was drawn for it."""
    successes = measurement.successes
    lengths = max(
        _variation([float(record.usage_output or 0) for record in successes]),
        _variation([float(record.usage_input or 0) for record in successes]),
    )
    arrivals = 0.0
    if measurement.load.rate is not None:
        due = sorted(record.due_ns for record in measurement.profile if record.due_ns is not None)
        arrivals = _variation([float(later - earlier) for earlier, later in pairwise(due)])
    return math.hypot(lengths, arrivals) / math.sqrt(max(len(successes) / slices, 1.0))


def _variation(values: Sequence[float]) -> float:
    """Return standard deviation over mean; 0 where there is nothing to vary."""
    mean = sum(values) / len(values) if values else 0.0
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) / mean if mean > 0 else 0.0


def _drift(series: _Series, measurement: Measurement, limit: float) -> Reason | None:
    trend = series.trend
    # The end of a line through n slices lies sqrt(12 / n) of their standard deviations from its start; two of that are chance.
    allowed = limit + 2 * math.sqrt(12 / SLICES) * series.expected
    if abs(trend.change) <= allowed:
        return None
    if not trend.certain and measurement.load.rate is not None:
        return None
    word = "rises" if trend.change > 0 else "falls"
    text = f"{series.name} {word} by {short_share(abs(trend.change))} of its mean over the steady part, allowed: {short_share(allowed)}"
    if trend.certain:
        text += "; more than the scatter of its slices explains"
        return Reason(code="not_steady", value=abs(trend.change), limit=allowed, text=text)
    text += f"; its slices scatter so much that this may be chance (+- {short_share(trend.error)})"
    return Reason(code="not_steady", value=abs(trend.change), limit=allowed, text=text, severity="warning")


def _spread(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    window = None if _breathes(measurement) else _judged_part(measurement)
    if limit is None or window is None:
        return None
    for series in _series(measurement, window, SPREAD_SLICES):
        allowed = math.hypot(limit, series.expected)
        if series.trend.spread > allowed:
            text = (
                f"{series.name} varies by {short_share(series.trend.spread)} between five slices of the steady part "
                f"(coefficient of variation), allowed: {short_share(allowed)}"
            )
            if window.seconds >= SOLID_S:
                return Reason(code="not_steady", value=series.trend.spread, limit=allowed, text=text)
            text += f"; in slices of less than {SOLID_S / SPREAD_SLICES:g} s a few moments of the machine may do that"
            return Reason(code="not_steady", value=series.trend.spread, limit=allowed, text=text, severity="warning")
    return None


def _drift_of_sessions(measurement: Measurement, limit: float) -> Reason | None:
    """Look for a drift that no other choice of sessions would have hidden; it only warns."""
    window = measure.sending_window(measurement)
    if window is None or window.seconds < SHORTEST_S:
        return None
    for name, trend in ((series.name, series.trend) for series in _series(measurement, window, SLICES)):
        if abs(trend.change) <= limit:
            continue
        both = _change_between(measurement, window, name)
        if both is not None and min(abs(both[0]), abs(both[1])) > limit and both[0] * both[1] > 0:
            word = "rises" if trend.change > 0 else "falls"
            low, high = sorted((abs(both[0]), abs(both[1])))
            text = (
                f"{name} {word} by {short_share(abs(trend.change))} of its mean over the measured phase (95 % interval over sessions: "
                f"{short_share(low)} to {short_share(high)}); above {short_share(limit)} the point may not have settled"
            )
            return Reason(code="not_steady", value=abs(trend.change), limit=limit, text=text, severity="warning")
    return None


def _change_between(measurement: Measurement, window: Window, name: str) -> tuple[float, float] | None:
    """Return the interval of a series' change from drawing the session trees anew."""
    trees: dict[str, list[measure.RequestRecord]] = {}
    for record in measurement.profile:
        trees.setdefault(record.tree_id, []).append(record)
    resampling = measure.Resampling.of(list(trees), _DRAWS_SEED)
    if resampling is None:
        return None
    edges = window.slices(SLICES)
    rows = []
    for records in trees.values():
        one = replace(measurement, records=tuple(records))
        values = measure.output_served(one, edges) if name == _OUTPUT else measure.in_flight_means(one, edges)
        if values is None:
            return None
        rows.append(values)
    return measure.bounds(measure.changes(resampling.sums(resampling.rows_by_session(rows))))


def _coverage(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    window, times = measure.window_ns(measurement), measurement.times
    firsts = times.first_ns[times.has_content]
    if window is None or limit is None or not len(firsts):
        return None
    phase, left = (window[1] - window[0]) / 1e9, (window[1] - int(firsts.max())) / 1e9
    if phase < SHORTEST_S:
        return None
    reached = 1 - left / phase
    # An answer may be under way when the phase ends, as long as any; sessions pause, and may pause at the end.
    excused = measure.percentile(times.e2el, 100) or 0.0
    if _breathes(measurement):
        ordered = sorted(int(first) for first in firsts)
        excused = max([excused, *((later - earlier) / 1e9 for earlier, later in pairwise(ordered))])
    if reached >= limit or left <= excused:
        return None
    text = (
        f"the last first token came after {short_share(reached)} of the measured phase of {short_seconds(phase)}, "
        f"at least {short_share(limit)} are needed"
    )
    return Reason(code="coverage", value=reached, limit=limit, text=f"{text}: its end was not measured")


def _no_progress(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    gaps = metrics.get("icl_s")
    p99 = gaps.get("p99") if isinstance(gaps, dict) else None
    if limit is None:
        return None
    allowed = max(limit, PAUSE_P99S * (p99 or 0.0))
    silence = measure.longest_silence_s(measurement, allowed)
    if silence is None:
        return None
    text = (
        f"answers were under way and no token of any came for {short_seconds(silence)}, allowed: {short_seconds(allowed)}; "
        "the engine stood still"
    )
    return Reason(code="no_progress", value=silence, limit=allowed, text=text)


STEADY: tuple[Check, ...] = (
    Check(
        code="not_steady",
        limit=0.10,
        most=1,
        explain="Output rate and requests in flight may not drift: a line through ten equal slices of the steady part (without the ramp, "
        "and without what comes after the last send) may change by this share of its mean, plus what unequal lengths and random "
        "arrivals explain. Each answer's tokens count evenly from its send to its last output, so that users who go in step make no "
        "waves. A drift that the scatter of the slices may explain (99.8 % interval) only warns, and so does any where sessions have "
        "several requests: there the whole bootstrap interval must lie beyond the limit. Parts below 5 s are not judged.",
        advice="Measure longer and warm up longer. In an open loop the rate may be more than the server can take: its queue then grows"
        " without end, and only a lower rate has a steady state.",
        decide=_not_steady,
    ),
    Check(
        code="slice_spread",
        limit=SPREAD_LIMIT,
        most=1,
        explain="Neither may they vary by more than this between five slices (coefficient of variation), plus what unequal lengths and "
        "random arrivals explain; a fault of code not_steady, and a warning where the steady part is below 30 s. Not asked where sessions "
        "have several requests.",
        advice="Measure longer, and look for what disturbs the machine: other users, thermal limits, a network that is shared.",
        decide=_spread,
    ),
    Check(
        code="coverage",
        limit=0.95,
        most=1,
        explain="First tokens must come until near the end of the measured phase (limit: the share that the last one must reach), but for "
        "one answer's time, and where sessions pause, one pause. Phases below 5 s are not judged.",
        advice="Something kept answers away at the end: a hang, or a server that ended early. Read the engine's log from that moment; "
        "measure again.",
        decide=_coverage,
    ),
    Check(
        code="no_progress",
        limit=60.0,
        explain="While answers are under way, no time of this length (limit: seconds; at least ten p99 gaps between chunks) may pass "
        "without a token of any.",
        advice="Read the engine's log at that moment. If the engine pauses by design for so long, raise the limit and say so.",
        decide=_no_progress,
    ),
)
