"""Whether there is enough to go by: requests for the percentiles, time for the rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, counted, short_seconds

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics

WINDOW_LATENCIES = 10
"""How many p90 latencies the measured phase must last, so that its beginning and end do not make the figures."""


def _too_short(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    count = len(measurement.successes)
    if limit is not None and count < limit:
        text = f"{counted(count, 'request')} succeeded, at least {limit:g} must; send more requests or measure longer"
        return Reason(code="too_short", value=count, limit=limit, text=text)
    window, latency = measure.window_s(measurement), measure.percentile(measurement.times.e2el, 90)
    if measurement.least_s is not None:
        if window is not None and window < measurement.least_s:
            text = (
                f"the measured phase lasted {short_seconds(window)}, and the workload's own rules (its preset) ask for "
                f"{short_seconds(measurement.least_s)} at least"
            )
            return Reason(code="too_short", value=window, limit=measurement.least_s, text=text)
    elif window is not None and latency is not None and window < WINDOW_LATENCIES * latency:
        least = WINDOW_LATENCIES * latency
        text = (
            f"the measured phase lasted {short_seconds(window)}, "
            f"less than {WINDOW_LATENCIES} times the p90 latency of {short_seconds(latency)}; "
            f"measure for at least {short_seconds(least)}{_requests(measurement, window, least)}"
        )
        return Reason(code="too_short", value=window, limit=least, text=text)
    if measure.thin(count, 90):
        text = f"{counted(count, 'request')} succeeded: percentiles from p90 up are thin (p90 needs 100 requests, p99 needs 1000)"
        return Reason(code="too_short", value=count, limit=100, text=text, severity="warning")
    return None


def _requests(measurement: Measurement, window_s: float, least_s: float) -> str:
    """Return how many requests last so long at the measured rate, for a closed loop of single requests, which may end with their number."""
    if measurement.agentic or measurement.load.concurrency is None or window_s <= 0:
        return ""
    least = math.ceil(len(measurement.successes) * least_s / window_s)
    return f", or send at least {counted(least, 'request')} (workload.requests, bench: --requests)"


SAMPLES: tuple[Check, ...] = (
    Check(
        code="too_short",
        limit=30,
        explain="A point needs enough successes (limit: their number) and a measured phase of at least ten p90 latencies; "
        "where a preset sets a least length of its own, that counts instead. Below 100 successes its percentiles are thin, which is a "
        "warning.",
        advice="Raise `workload.requests` or `workload.duration`; the text says to how much. 100 requests make p90 solid, 1,000 make p99.",
        decide=_too_short,
    ),
)
