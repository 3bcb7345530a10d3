"""Whether the times can be true at all: a figure that no server reaches tells of a broken setup, not of a fast one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, short_seconds

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics

TTFT_LEAST_S = 0.001
"""No network and no prefill are faster than this together."""


def _implausible(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    times = measurement.times
    tpot, ttft = measure.percentile(times.tpot, 50), measure.percentile(times.ttft, 50)
    if tpot is not None and limit is not None and tpot < limit:
        text = (
            f"half of the answers have a TPOT of {short_seconds(tpot)} or less, below {short_seconds(limit)}: "
            "they do not arrive as a stream of tokens"
        )
        return _reason(tpot, limit, text)
    if ttft is not None and not measurement.on_host and ttft < TTFT_LEAST_S:
        text = (
            f"half of the answers begin within {short_seconds(ttft)}, below {short_seconds(TTFT_LEAST_S)}, from a server on another machine"
        )
        return _reason(ttft, TTFT_LEAST_S, text)
    return _impossible(measurement)


def _impossible(measurement: Measurement) -> Reason | None:
    """Look for what one request alone gives away."""
    times = measurement.times
    longest, window = measure.percentile(times.e2el, 100), measure.window_s(measurement)
    if longest is not None and window is not None and longest > window:
        return _reason(
            longest, window, f"a request took {short_seconds(longest)}, longer than the measured phase of {short_seconds(window)}"
        )
    return None


def _reason(value: float, limit: float, text: str) -> Reason:
    return Reason(code="implausible", value=value, limit=limit, text=text)


PLAUSIBLE: tuple[Check, ...] = (
    Check(
        code="implausible",
        limit=0.0001,
        explain="The median TPOT must be at least 0.1 ms (limit: seconds) and the median TTFT of a server on another machine 1 ms; "
        "no request may outlast the measured phase. Stamps that go backwards end the run before any verdict.",
        advice="Most likely something else than the model answers: a cache in front, a mock, a stream that a proxy buffers. Ask the "
        "server itself.",
        decide=_implausible,
    ),
)
