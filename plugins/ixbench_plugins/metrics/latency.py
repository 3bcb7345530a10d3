"""What users felt: times of single requests, summed up over the successes of the measured phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.measure import Measurement, MetricValue

    Summary = dict[str, MetricValue] | None


def _times(column: str) -> Callable[[Measurement], Summary]:
    """Return the summary of one column of the request table."""
    return lambda measurement: measure.summarise(getattr(measurement.times, column))


def _speeds(column: str) -> Callable[[Measurement], Summary]:
    """Return the rates that belong to a column of seconds a token."""
    return lambda measurement: measure.invert(measure.summarise(getattr(measurement.times, column)))


def _seconds(name: str, definition: str, column: str, *, source: str = "ixbench", needs: tuple[str, ...] = ("chunks",)) -> Metric:
    return Metric(name=name, unit="s", better="lower", definition=definition, compute=_times(column), needs=needs, source=source)


LATENCY: tuple[Metric, ...] = (
    _seconds(
        "ttft_s",
        "Time to first token: from the send to the first chunk that carries output, be it text, thinking or a tool call. "
        "A chunk with a role alone does not count; an answer without output has none.",
        "ttft",
        source="GuideLLM, AIPerf",
    ),
    _seconds(
        "ttfa_s",
        "Time to first answer token: as TTFT, but thinking does not count. Differs from TTFT for models that reason.",
        "ttfa",
    ),
    _seconds(
        "e2el_s",
        "End-to-end latency: from the send to the last chunk that carries output. Usage, [DONE] and the close of the body come later.",
        "e2el",
        source="AIPerf",
    ),
    _seconds(
        "tpot_s",
        "Time per output token: (last - first output chunk) / (output tokens - 1), tokens as the server counted them; "
        "undefined for an answer of one token.",
        "tpot",
        needs=("chunks", "usage"),
        source="inference-perf; AIPerf and InferenceX, which call it inter-token latency",
    ),
    _seconds(
        "tpot_tail_s",
        "Time per output token after the first chunk: (last - first output chunk) / (output tokens - tokens of the first chunk). "
        "Right for servers that put several tokens into the first chunk; undefined where tokens are not counted per chunk.",
        "tpot_tail",
        needs=("chunks", "chunk_tokens", "usage"),
        source="MLPerf Endpoints",
    ),
    Metric(
        name="speed_tok_s_user",
        unit="tok/s/user",
        better="higher",
        definition="Interactivity: 1 / TPOT. Each statistic is that of the time, inverted, so p99 is the slow side; "
        "min is the slowest user.",
        compute=_speeds("tpot"),
        needs=("chunks", "usage"),
        source="InferenceX (interactivity)",
    ),
    Metric(
        name="e2e_norm_tok_s_user",
        unit="tok/s/user",
        better="higher",
        definition="Normalised speed: 1 / (end-to-end latency / output tokens), which includes queueing and prefill. "
        "Each statistic is that of the time, inverted, so p99 is the slow side.",
        compute=_speeds("e2e_norm"),
        needs=("chunks", "usage"),
        source="InferenceX",
    ),
    Metric(
        name="icl_s",
        unit="s",
        better="lower",
        definition="Inter-chunk latency: gaps between neighbouring output chunks, pooled over all requests. "
        "Not the latency of a token where a chunk holds several.",
        compute=lambda measurement: measurement.times.pooled_icl.summary(),
        needs=("chunks",),
        source="AIPerf",
    ),
    _seconds("stall_s", "The longest gap between neighbouring output chunks of a request: the worst freeze that its user saw.", "stall"),
    _seconds(
        "dispatch_delay_s",
        "From the moment a request was due to its send: the client's own lateness and the wait for a free slot.",
        "dispatch_delay",
        needs=("schedule",),
    ),
    _seconds(
        "ttft_sched_s",
        "Time to first token from the moment the request was due, so that a client that falls behind cannot hide a slow server.",
        "ttft_sched",
        needs=("chunks", "schedule"),
        source="response time without coordinated omission (wrk2)",
    ),
    _seconds(
        "e2el_sched_s",
        "End-to-end latency from the moment the request was due, so that a client that falls behind cannot hide a slow server.",
        "e2el_sched",
        needs=("chunks", "schedule"),
        source="response time without coordinated omission (wrk2)",
    ),
    _seconds(
        "connect_s",
        "From the send until the connection was ready; 0 for a connection that was used before. Part of TTFT.",
        "connect",
        needs=("connection",),
    ),
)
