"""Whether the client was fast enough to measure: not late with its own work, not late with what it had to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, short_seconds, short_share

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics

CPU_LIMIT = 0.85
"""Share of its one core that the client may use."""
TTFT_SHARE = 0.05
"""How much of the median TTFT the client's own delay may be, where that delay is part of the stamps."""
BOUND_LIMIT = 0.05
"""Share of chunks, or of first ones, whose stamps may be upper bounds because the client came late."""
DELAY_SHARE = 0.10
"""How late a send may be, as a share of the median TTFT."""
ACHIEVED_LIMIT = 0.98
"""Share of the asked rate that sends must reach."""


def _client_lag(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    window, cpu, lag = measure.window_s(measurement), measurement.client_cpu_s, measurement.lag_p99_s
    if cpu is not None and window and cpu / window > CPU_LIMIT:
        text = (
            f"the client used {short_share(cpu / window)} of its core; allowed: {short_share(CPU_LIMIT)}; ask for less load, "
            "or use a faster machine"
        )
        return Reason(code="client_lag", value=cpu / window, limit=CPU_LIMIT, text=text)
    if lag is None or limit is None:
        return None
    if measurement.clock == "kernel":
        return _late_reads(measurement, metrics, lag, limit)
    ttft = measure.percentile(measurement.times.ttft, 50)
    allowed = limit if ttft is None else min(limit, TTFT_SHARE * ttft)
    if lag <= allowed:
        return None
    text = f"the client was late by {short_seconds(lag)} (p99), and its delays are part of all latencies; allowed: {short_seconds(allowed)}"
    return Reason(code="client_lag", value=lag, limit=allowed, text=text + _cause(measurement))


def _late_reads(measurement: Measurement, metrics: Metrics, lag: float, limit: float) -> Reason | None:
    """Judge a client whose stamps are the kernel's: they are right until it is late by more than the time between two chunks."""
    if lag <= limit:
        return None
    late = f"the client was late by {short_seconds(lag)} (p99; allowed: {short_seconds(limit)})"
    bounds = _upper_bounds(metrics)
    if bounds is not None:
        return Reason(code="client_lag", value=lag, limit=limit, text=f"{late}, so that {bounds}{_cause(measurement)}")
    text = f"{late}; the kernel's stamps hold, but requests may have been sent late by as much"
    return Reason(code="client_lag", value=lag, limit=limit, text=text + _cause(measurement), severity="warning")


def _upper_bounds(metrics: Metrics) -> str | None:
    """Return what became of stamps of the kernel because several chunks were read at once, or None where few are affected."""
    for name, what in (("ttft_bound_share", "first outputs"), ("bundled_share", "chunks")):
        found = metrics.get(name)
        if isinstance(found, int | float) and found > BOUND_LIMIT:
            return f"the times of {short_share(found)} of the {what} are upper bounds; allowed: {short_share(BOUND_LIMIT)}"
    return None


def _client_wait(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    """Judge the time in which the client had something to do and no core to do it on."""
    waited, window = measurement.client_wait_s, measure.window_s(measurement)
    if waited is None or not window or limit is None or waited / window <= limit:
        return None
    found = (
        f"the client waited {short_share(waited / window)} of the time for a core that others had; "
        f"allowed: {short_share(limit)} (limits.client_wait)"
    )
    if measurement.clock != "kernel":
        text = f"{found}, and its delays are part of all latencies: leave it a core"
        return Reason(code="client_lag", value=waited / window, limit=limit, text=text)
    harm = _upper_bounds(metrics) or _late_sends(measurement)
    if harm is not None:
        return Reason(code="client_lag", value=waited / window, limit=limit, text=f"{found}, and {harm}: leave it a core")
    text = f"{found}; the kernel's stamps hold and requests were sent in time, but leave it a core"
    return Reason(code="client_lag", value=waited / window, limit=limit, text=text, severity="warning")


def _late_sends(measurement: Measurement) -> str | None:
    """Return by how much sends were late in view of the latencies, or None where that is little."""
    late, ttft = measure.percentile(measurement.times.dispatch_delay, 99), measure.percentile(measurement.times.ttft, 50)
    if late is None or ttft is None or late <= DELAY_SHARE * ttft:
        return None
    return f"requests were sent {short_seconds(late)} later than due (p99); allowed: {short_seconds(DELAY_SHARE * ttft)}"


def _cause(measurement: Measurement) -> str:
    """Return what kept the client from running, if the system says so.

    A reason of `client_wait` may say it too: which limit that has is not known here, and a cause told twice is better than none.
    """
    waited, window = measurement.client_wait_s, measure.window_s(measurement)
    if not waited or not window:
        return ""
    return f". It waited {short_seconds(waited)} of {short_seconds(window)} for a core that others had: leave it one"


def _schedule_late(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    if measurement.load.rate is None or limit is None:
        return None
    late = measure.percentile(measurement.times.dispatch_delay, 99)
    ttft = measure.percentile(measurement.times.ttft, 50)
    allowed = limit if ttft is None else min(limit, DELAY_SHARE * ttft)
    if late is not None and late > allowed:
        text = f"requests were sent {short_seconds(late)} later than asked (p99); allowed: {short_seconds(allowed)}{_cause(measurement)}"
        return Reason(code="schedule_late", value=late, limit=allowed, text=text)
    achieved = _achieved_share(measurement)
    if achieved is not None and achieved < ACHIEVED_LIMIT:
        text = (
            f"requests were sent at {short_share(achieved)} of the rate that was asked; at least {short_share(ACHIEVED_LIMIT)} are needed"
        )
        return Reason(code="schedule_late", value=achieved, limit=ACHIEVED_LIMIT, text=text)
    return None


def _achieved_share(measurement: Measurement) -> float | None:
    """Return the rate of sends as a share of the rate at which they were due: arrivals are drawn, so the asked mean is no measure."""
    pairs = [(record.due_ns, record.send_ns) for record in measurement.profile if record.due_ns is not None]
    if not pairs:
        return None
    due = max(moment for moment, _ in pairs) - min(moment for moment, _ in pairs)
    sent = max(moment for _, moment in pairs) - min(moment for _, moment in pairs)
    return due / sent if sent > 0 and due > 0 else None


CLIENT: tuple[Check, ...] = (
    Check(
        code="client_lag",
        limit=0.010,
        explain="The client must be negligible: p99 of its event-loop delay (limit: seconds) at most this and 5 % of the median TTFT, "
        "and its CPU at most 85 % of a core. Where the kernel stamps all chunks, a delay is no part of them: then it only warns, unless "
        "more than 5 % of the chunks, or of the first ones, came in one read with others.",
        advice="Leave the client a core of its own (`taskset`, fewer threads for the engine), end other programs, or run the client on"
        " another machine. `ixbench calibrate` tells what the client can take.",
        decide=_client_lag,
    ),
    Check(
        code="client_wait",
        limit=0.10,
        most=1,
        explain="A client that waits for a core of its own machine is late with all it does: its time in the run queue may be this share "
        "of the measured time. More is a fault (of code client_lag) where its delays are part of the stamps, where more than 5 % of the "
        "chunks or of the first ones came in one read with others, or where sends were late by more than 10 % of the median TTFT (p99); "
        "else it warns. Linux tells the time, others do not.",
        advice="Leave the client a core: bind the engine to the others, or run the client on another machine.",
        decide=_client_wait,
    ),
    Check(
        code="schedule_late",
        limit=0.200,
        explain="Open loop: p99 of the delay between the planned and the real send (limit: seconds) at most this and 10 % of the median "
        "TTFT, and at least 98 % of the asked rate.",
        advice="Ask for a lower rate, or give the client a faster or less busy machine; `ixbench calibrate` tells what it can take.",
        decide=_schedule_late,
    ),
)
