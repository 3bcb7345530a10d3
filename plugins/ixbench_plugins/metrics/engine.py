"""What the engine's own counters say of the measured phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.measure import Measurement, MetricValue


def counter(measurement: Measurement, name: str) -> float | None:
    """Return the increase of a counter over the window; None where it is not known."""
    window = measurement.engine_window
    return None if window is None else window.delta.get(name)


def counted_share(measurement: Measurement, part: str, whole: str) -> float | None:
    """Return the ratio of two counters' increases."""
    amount, total = counter(measurement, part), counter(measurement, whole)
    return amount / total if amount is not None and total else None


def realised_acceptance(measurement: Measurement) -> float | None:
    """Return the mean tokens of a verify step: by the counters over the window, else as the engine itself reports it."""
    accepted = counted_share(measurement, "accepted_tokens", "drafts")
    return measurement.acceptance_reported if accepted is None else 1 + accepted


def _acceptance(measurement: Measurement) -> dict[str, MetricValue]:
    return {
        "configured": measurement.acceptance_configured,
        "realised": realised_acceptance(measurement),
        "per_chunk": measure.chunk_tokens(measurement),
    }


def _largest(name: str) -> Callable[[Measurement], MetricValue]:
    def compute(measurement: Measurement) -> MetricValue:
        window = measurement.engine_window
        return None if window is None else window.maximum.get(name)

    return compute


ENGINE: tuple[Metric, ...] = (
    Metric(
        name="acceptance_length",
        unit="tokens/step",
        better="higher",
        definition="Mean tokens of a verify step under speculative decoding, the target's own included. configured: the synthetic length "
        "that the launch asked for; realised: 1 + accepted tokens / drafts by the engine's counters over the measured phase, else the mean "
        "since its start as the engine itself reports it; per_chunk: (output tokens - 1) / (chunks with output - 1), which is the same "
        "only where each chunk is one verify step.",
        compute=_acceptance,
        needs=("counters", "usage", "chunks"),
    ),
    Metric(
        name="preemption_count",
        unit="preemptions",
        better="lower",
        definition="How often the engine took a running request's cache away, by its own counter; the request is computed anew later.",
        compute=lambda measurement: counter(measurement, "preemptions"),
        needs=("counters",),
    ),
    Metric(
        name="kv_usage_max_share",
        unit="share",
        better="neither",
        definition="Largest share of the KV cache in use in any reading of the measured phase, of any engine of the server.",
        compute=_largest("kv_usage"),
        needs=("counters",),
    ),
    Metric(
        name="requests_running_max",
        unit="requests",
        better="neither",
        definition="Most requests that the engine computed at once in any reading of the measured phase.",
        compute=_largest("running"),
        needs=("counters",),
    ),
    Metric(
        name="requests_waiting_max",
        unit="requests",
        better="lower",
        definition="Most requests that waited in the engine in any reading of the measured phase, those that wait for a KV load included.",
        compute=_largest("waiting"),
        needs=("counters",),
    ),
)
