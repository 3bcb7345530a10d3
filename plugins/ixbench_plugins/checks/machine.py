"""Whether machine and server were the same all along: the server that was launched, clocks that agree, GPUs at their full clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Check, Reason, short_seconds, short_share
from ixbench_plugins.collectors.gpu_samples import POWER_CAPPED, THROTTLED

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics


def _wrong_server(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics, limit
    if not measurement.server_changes:
        return None
    text = f"the server is not the one that the point began with: {'; '.join(measurement.server_changes)}"
    return Reason(code="wrong_server", value=None, limit=None, text=text)


def _clock(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    drift = measurement.clock_drift_s
    if drift is None or limit is None or abs(drift) <= limit:
        return None
    word = "ran ahead" if drift > 0 else "fell back"
    text = (
        f"the wall clock {word} by {short_seconds(abs(drift))} while the point was measured, allowed: {short_seconds(limit)}; "
        "it was set, or the machine slept, and what other programs stamped does not fit the records"
    )
    return Reason(code="clock", value=drift, limit=limit, text=text)


def _throttled(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    worst = _worst(measurement, THROTTLED)
    if worst is None or limit is None or worst[1] <= limit:
        return None
    gpu, found = worst
    text = (
        f"GPU {gpu} held its clocks down, for heat or power, in {short_share(found)} of the measured phase; allowed: {short_share(limit)}"
    )
    return Reason(code="gpu_dirty", value=found, limit=limit, text=text)


def _capped(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    worst = _worst(measurement, POWER_CAPPED)
    if worst is None or limit is None or worst[1] <= limit:
        return None
    gpu, found = worst
    text = (
        f"GPU {gpu} ran at its power limit in {short_share(found)} of the measured phase, "
        f"of which {short_share(limit)} pass in silence: "
        "with another limit the numbers would be others"
    )
    return Reason(code="gpu_dirty", value=found, limit=limit, text=text, severity="warning")


def _worst(measurement: Measurement, name: str) -> tuple[str, float] | None:
    """Return the GPU of which the largest share of readings in the measured phase says so, and that share; None where none tells."""
    window = measure.window_ns(measurement)
    if window is None:
        return None
    readings: dict[str, list[float]] = {}
    for sample in measurement.samples(name):
        if window[0] <= sample.ns <= window[1]:
            readings.setdefault(sample.labels.get("gpu", ""), []).append(sample.value)
    shares = {gpu: sum(values) / len(values) for gpu, values in readings.items()}
    return max(shares.items(), key=lambda item: item[1]) if shares else None


MACHINE: tuple[Check, ...] = (
    Check(
        code="wrong_server",
        limit=None,
        explain="The server that answers at the end of the point must serve the same model and say the same version as at its start. That "
        "the port belongs to the launch is seen before anything is measured.",
        advice="Somebody changed the server meanwhile, or a router has servers of several kinds behind it. Measure one server.",
        decide=_wrong_server,
    ),
    Check(
        code="clock",
        limit=1.0,
        explain="Wall clock and monotonic clock must agree over the point (limit: seconds of drift), or samples and dates do not fit the "
        "requests.",
        advice="Let the clock alone while a run goes on: no step of NTP, no sleep of the machine. Measure again.",
        decide=_clock,
    ),
    Check(
        code="gpu_dirty",
        limit=0.05,
        most=1,
        explain="No GPU may hold its clocks down for heat or power (limit: share of its readings in the measured phase), where the driver "
        "tells. That GPUs are free of others is seen before the launch.",
        advice="Cool the node, or lift the power limit; `ixbench doctor` shows what holds the GPUs. If your node always runs so, raise"
        " the limit and say so.",
        decide=_throttled,
    ),
    Check(
        code="power_capped",
        limit=0.05,
        most=1,
        explain="A GPU that runs at its power limit for more than this share of its readings warns, with code gpu_dirty, where the driver "
        "tells: it is what the hardware does under full load, and another limit gives other numbers.",
        advice="Nothing, if the limit is the one that your users have; else set it with `nvidia-smi --power-limit` and say so.",
        decide=_capped,
    ),
)
