"""The same load while it was steady, and how it went over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric
from ixbench_plugins.metrics.rates import rates_of

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, MetricValue

SLICES = 5
"""Parts of the measured phase."""
_NAMES = tuple(f"s{number}" for number in range(1, SLICES + 1))
_WINDOW = (
    "The steady window leaves out the ramp, which ends when the requests in flight have kept their number for one median latency, "
    "and all that comes after the last send."
)
_PART = f"s1 to s{SLICES} are equal parts of the time from the first send to the last."


def _window_s(measurement: Measurement) -> float | None:
    window = measure.steady_window(measurement)
    return None if window is None else window.seconds


def _rates(measurement: Measurement, divisor: int | None) -> dict[str, MetricValue]:
    """Return tokens a second by kind in the steady window, divided; None where something is not known."""
    window = measure.steady_window(measurement)
    if window is None or not divisor:
        return rates_of(measure.TokenSums(input=None, output=None, cached=None), None, None)
    tokens = measure.token_times(measurement, window.slices(1))
    read, made, cached = (None if kind is None else float(kind[0]) for kind in (tokens.input, tokens.output, tokens.cached))
    return rates_of(measure.TokenSums(input=read, output=made, cached=cached), window.seconds, divisor)


def _output_rates(measurement: Measurement) -> dict[str, MetricValue] | None:
    window = measure.sending_window(measurement)
    if window is None:
        return None
    tokens = measure.token_times(measurement, window.slices(SLICES)).output
    if tokens is None:
        return None
    return {name: float(count) / (window.seconds / SLICES) for name, count in zip(_NAMES, tokens, strict=True)}


def _concurrency(measurement: Measurement) -> dict[str, MetricValue] | None:
    window = measure.sending_window(measurement)
    if window is None:
        return None
    return {name: float(mean) for name, mean in zip(_NAMES, measure.in_flight_means(measurement, window.slices(SLICES)), strict=True)}


def _ttft(measurement: Measurement) -> dict[str, MetricValue] | None:
    window = measure.sending_window(measurement)
    if window is None:
        return None
    edges, times = window.slices(SLICES), measurement.times
    part = edges[1:-1].searchsorted(times.send_ns, side="right")
    return {name: measure.percentile(times.ttft[part == number], 50) for number, name in enumerate(_NAMES)}


STEADY: tuple[Metric, ...] = (
    Metric(
        name="steady_window_s",
        unit="s",
        better="neither",
        definition=f"Length of the steady window; null where the load was never steady. {_WINDOW}",
        compute=_window_s,
        needs=("chunks",),
        source="ixbench; MLPerf Endpoints has a window of its own",
    ),
    Metric(
        name="steady_throughput_tok_s",
        unit="tok/s",
        better="higher",
        definition="Tokens that came in the steady window / its length, for the whole system: output at the stamps of its chunks, input at "
        f"the first output of its request. {_WINDOW}",
        compute=lambda measurement: _rates(measurement, 1),
        needs=("chunks", "usage"),
        source="ixbench",
    ),
    Metric(
        name="steady_throughput_tok_s_gpu",
        unit="tok/s/GPU",
        better="higher",
        definition=f"The same / reserved GPUs, idle ones included. {_WINDOW}",
        compute=lambda measurement: _rates(measurement, measurement.gpus),
        needs=("chunks", "usage", "gpus"),
        source="ixbench",
    ),
    Metric(
        name="slice_output_tok_s",
        unit="tok/s",
        better="neither",
        definition=f"Output tokens a second by when they came. {_PART}",
        compute=_output_rates,
        needs=("chunks", "usage"),
        source="ixbench",
    ),
    Metric(
        name="slice_concurrency",
        unit="requests",
        better="neither",
        definition=f"Requests of the measured phase in flight on average, over time. {_PART}",
        compute=_concurrency,
        source="ixbench",
    ),
    Metric(
        name="slice_ttft_s",
        unit="s",
        better="neither",
        definition=f"Median time to first token by when requests were sent: it rises where a queue grows. {_PART}",
        compute=_ttft,
        needs=("chunks",),
        source="ixbench",
    ),
)
