"""One point under other tools' rules, with a reason in words for each number that comes out differently.

The times of requests are those of `tools.py`; here are the statistics and the rates that each tool makes of them. Every tool is given the
same successes: what counts as a failure differs between tools too, and would hide the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - pydantic resolves the annotations for the JSON Schema of definitions.json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.percentile import PooledNs, percentile, summarise
from ixbench.measure.point import span_s, window_s
from ixbench.measure.steady import steady_window
from ixbench.measure.tool_words import REASONS
from ixbench.measure.tools import TOOLS
from ixbench.model.counts import counted
from ixbench.model.record import CONTENT_KINDS
from ixbench.model.short_numbers import short_number, short_seconds, short_share
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.measure.definition import Measurement
    from ixbench.measure.tools import ToolTimes
    from ixbench.model.record import RequestRecord

    Columns = Mapping[str, Sequence[float | None]]
    """Field of `ToolTimes` -> its values, one a success."""
    Summary = Mapping[str, float | int | None] | None

Statistics = dict[str, float | None]
"""mean, p50, p90 and p99; None where there is none."""

QUANTITIES = ("ttft", "itl", "tpot", "e2el", "throughput", "speed")
STATISTICS = ("mean", "p50", "p90", "p99")
_PERCENTILES = (50, 90, 99)
_SAME = 1e-9
"""Relative difference below which two numbers are one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPoint:
    """What a tool would print of a point, in seconds and tokens a second."""

    tool: str
    """The tool's id."""
    label: str
    """The tool in print."""
    ttft: Statistics
    """Time to the first token by its rules, in seconds."""
    itl: Statistics
    """Time between tokens by its rules, in seconds."""
    tpot: Statistics
    """Time per output token by its rules, in seconds."""
    e2el: Statistics
    """Time of a whole request by its rules, in seconds."""
    throughput: float | None
    """Its headline rate, in `throughput_unit`; None where it has none."""
    throughput_unit: str
    """Its unit and what it counts: "tok/s, output", "tok/s, input and output" or the latter for each GPU."""
    speed: float | None
    """Tokens a second and user; None where the tool has no such number."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Quantity -> why it differs from ours; what is equal is not in it."""


def read_point(measurement: Measurement) -> tuple[ToolPoint, ...]:
    """Return a point as every tool would see it, our own reading first.

    :raises BadRecordError: if the stamps of a success go backwards.
    """
    facts = _Facts.of(measurement)
    own = _read("ixbench", measurement, facts)
    return (own, *(_explained(_read(tool, measurement, facts), own, facts) for tool in TOOLS if tool != "ixbench"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What is particular about the point, for the reasons and the rates."""

    values: Mapping[str, str]
    """In words, by the name that a reason calls it."""
    span_s: float | None
    wall_s: float | None
    closed_s: float | None
    """From the first send to the last close of the successes."""
    steady_s: float | None
    steady: tuple[bool, ...]
    """Of each success, whether it was sent in the steady window."""

    @staticmethod
    def of(measurement: Measurement) -> _Facts:
        times, successes = measurement.times, measurement.successes
        window = steady_window(measurement)
        closed = float(times.close_ns.max() - times.send_ns.min()) / NS_PER_S if len(times.send_ns) else None
        content = times.has_content
        tails = (times.close_ns - times.last_ns)[content] / NS_PER_S
        values = {
            "role": _share(_starts_without_output(record) for record in successes if len(record.chunks)),
            "tail": _seconds(percentile(tails, 50)),
            "first": _first_words(_mean(_first_tokens(successes, content.tolist()))),
            "chunk": _tokens(_tokens_a_chunk(measurement)),
            "span": _seconds(span_s(measurement)),
            "wall": _seconds(window_s(measurement)),
            "closed": _seconds(closed),
            "cancelled": str(sum(record.cancelled for record in measurement.profile)),
            "steady": _seconds(window.seconds) if window is not None else "none was found",
            "gpus": counted(measurement.gpus, "GPU") if measurement.gpus else "the whole system",
            "concurrency": "none in an open loop" if measurement.load.concurrency is None else str(measurement.load.concurrency),
        }
        inside = [window is not None and window.start_ns <= record.send_ns < window.end_ns for record in successes]
        return _Facts(
            values=values,
            span_s=span_s(measurement),
            wall_s=window_s(measurement),
            closed_s=closed,
            steady_s=None if window is None else window.seconds,
            steady=tuple(inside),
        )


def _read(tool: str, measurement: Measurement, facts: _Facts) -> ToolPoint:
    rules = TOOLS[tool]
    pooled = PooledNs(_most_gaps(tool, measurement))
    found: list[ToolTimes] = []
    for record in measurement.successes:
        times = rules.times(record)
        if times.gaps_ns is not None:
            pooled.add(times.gaps_ns)
        found.append(times)
    columns = {name: [getattr(times, name) for times in found] for name in ("ttft", "tpot", "e2el", "itl", "tokens")}
    return _shaped(tool, columns, pooled.summary(), measurement, facts)


def _shaped(tool: str, columns: Columns, gaps: Summary, measurement: Measurement, facts: _Facts) -> ToolPoint:
    """Return what a tool's own statistics and rates come to."""
    tokens = columns["tokens"]
    if tool == "guidellm":
        less = [None if n is None else n - 1 for n in tokens]
        ones = [1.0] * len(tokens)
        ttft, e2el = _nearest(columns["ttft"], ones), _nearest(columns["e2el"], ones)
        tpot, itl = _nearest(columns["tpot"], tokens), _nearest(columns["itl"], less)
    else:
        ttft, tpot, e2el = (_linear(columns[name]) for name in ("ttft", "tpot", "e2el"))
        by_request = tool in {"aiperf", "inferencex_agentx"}
        itl = _linear(columns["itl"]) if by_request else {name: (gaps or {}).get(name) for name in STATISTICS}
    if tool == "inferencex_agentx":
        ttft, tpot, e2el, itl = (_five_decimals(one) for one in (ttft, tpot, e2el, itl))
    rate, unit = _throughput(tool, tokens, measurement, facts)
    return ToolPoint(
        tool=tool,
        label=TOOLS[tool].label,
        ttft=ttft,
        itl=itl,
        tpot=tpot,
        e2el=e2el,
        throughput=rate,
        throughput_unit=unit,
        speed=_speed(tool, tpot, columns, measurement, facts),
    )


def _explained(theirs: ToolPoint, own: ToolPoint, facts: _Facts) -> ToolPoint:
    reasons = {
        name: REASONS[theirs.tool][name].format(**facts.values)
        for name in QUANTITIES
        if name in REASONS[theirs.tool] and _differ(getattr(theirs, name), getattr(own, name), theirs, own, name)
    }
    return ToolPoint(**{name: getattr(theirs, name) for name in ToolPoint.__slots__ if name != "reasons"}, reasons=reasons)


def _differ(one: object, other: object, theirs: ToolPoint, own: ToolPoint, name: str) -> bool:
    if name == "throughput" and theirs.throughput_unit != own.throughput_unit:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return any(_differ(one[part], other[part], theirs, own, part) for part in STATISTICS)
    if isinstance(one, float) and isinstance(other, float):
        return not math.isclose(one, other, rel_tol=_SAME, abs_tol=0.0)
    return one != other


def _throughput(tool: str, tokens: Sequence[float | None], measurement: Measurement, facts: _Facts) -> tuple[float | None, str]:
    """Return the headline rate and its unit."""
    output = _output(tokens)
    everything = _plus(output, _output([record.usage_input for record in measurement.successes]))
    gpus = measurement.gpus
    if tool in {"ixbench", "inferencex_fixed", "inferencex_agentx"}:
        seconds = {"ixbench": facts.span_s, "inferencex_fixed": facts.wall_s, "inferencex_agentx": facts.closed_s}[tool]
        # Without a number of GPUs the whole system stands for one.
        unit = "tok/s/GPU, input and output" if gpus else "tok/s, input and output"
        return _rate(everything, None if seconds is None else seconds * (gpus or 1)), unit
    if tool == "mlperf_endpoints":
        inside = [count for count, sent in zip(tokens, facts.steady, strict=True) if sent]
        return _rate(_output(inside), facts.steady_s), "tok/s, output"
    if tool == "guidellm":
        unfinished = sum(_output_so_far(record) for record in measurement.profile if record.cancelled)
        return _rate(_plus(output, unfinished), facts.wall_s), "tok/s, output"
    return _rate(output, facts.closed_s if tool == "inference_perf" else facts.wall_s), "tok/s, output"


def _speed(tool: str, tpot: Statistics, columns: Columns, measurement: Measurement, facts: _Facts) -> float | None:
    """Return tokens a second and user, where the tool has such a number."""
    if tool == "ixbench":
        return _inverse(tpot["p90" if measurement.agentic else "p50"])
    if tool == "vllm":
        return _rate(_rate(_output(columns["tokens"]), facts.wall_s), measurement.load.concurrency)
    if tool == "aiperf":
        speeds = [1 / value for value in columns["itl"] if value]
        return sum(speeds) / len(speeds) if speeds else None
    if tool == "inferencex_fixed":
        return _inverse(tpot["p50"])
    return _inverse(tpot["p90"]) if tool in {"mlperf_endpoints", "inferencex_agentx"} else None


def _linear(values: Iterable[float | None]) -> Statistics:
    summary = summarise(values)
    return {name: None if summary is None else summary[name] for name in STATISTICS}


def _nearest(values: Sequence[float | None], weights: Sequence[float | None]) -> Statistics:
    """Return the statistics of weighted values: a percentile is the smallest value up to which that share of the weight lies."""
    pairs = sorted((value, weight) for value, weight in zip(values, weights, strict=True) if value is not None and weight)
    if not pairs:
        return dict.fromkeys(STATISTICS)
    value, weight = np.array(pairs).T
    reached = np.cumsum(weight)
    found: Statistics = {"mean": float(value @ weight / reached[-1])}
    for p in _PERCENTILES:
        found[f"p{p}"] = float(value[np.searchsorted(reached, reached[-1] * p / 100 * (1 - 1e-12))])
    return found


def _five_decimals(statistics: Statistics) -> Statistics:
    """Return the statistics as InferenceX keeps them: five decimals, and no p99."""
    return {name: None if value is None or name == "p99" else round(value, 5) for name, value in statistics.items()}


def _most_gaps(tool: str, measurement: Measurement) -> int:
    """Return an upper bound of the gaps that a tool looks at: where tokens are taken one by one, of these."""
    if tool != "inference_perf":
        return sum(len(record.chunks) for record in measurement.successes)
    return sum(int(np.maximum(np.frombuffer(record.chunks.tokens, dtype=np.intc), 1).sum()) for record in measurement.successes)


def _output(counts: Iterable[float | None]) -> float | None:
    known = list(counts)
    return None if None in known else float(sum(count for count in known if count is not None))


def _output_so_far(record: RequestRecord) -> int:
    """Return the tokens of an answer that was cut short; a chunk that nobody counted is one."""
    return sum(1 if chunk.tokens is None else chunk.tokens for chunk in record.chunks if chunk.kind in CONTENT_KINDS)


def _plus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _rate(amount: float | None, seconds: float | None) -> float | None:
    return amount / seconds if amount is not None and seconds else None


def _inverse(seconds: float | None) -> float | None:
    return 1 / seconds if seconds else None


def _starts_without_output(record: RequestRecord) -> bool:
    return next((chunk.kind for chunk in record.chunks if chunk.kind not in {"usage", "done", "error"}), None) in {"role", "finish"}


def _first_tokens(successes: Sequence[RequestRecord], has_content: Sequence[bool]) -> list[int]:
    first = [
        next(chunk.tokens for chunk in record.chunks if chunk.kind in CONTENT_KINDS)
        for record, content in zip(successes, has_content, strict=True)
        if content
    ]
    return [count for count in first if count is not None]


def _tokens_a_chunk(measurement: Measurement) -> float | None:
    chunks = int(measurement.times.chunks.sum())
    output = _output(record.usage_output for record in measurement.successes)
    return output / chunks if output is not None and chunks else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _share(flags: Iterable[bool]) -> str:
    known = list(flags)
    return short_share(sum(known) / len(known)) if known else "none"


def _seconds(value: float | None) -> str:
    """Return a time with more digits than sentences have as a rule: it is read beside another one that is almost equal."""
    return "an unknown time" if value is None else short_seconds(value, 4)


def _tokens(value: float | None) -> str:
    if value is None:
        return "an unknown number of tokens"
    number = short_number(value)
    return f"{number} token" if number == "1" else f"{number} tokens"


def _first_words(value: float | None) -> str:
    return "not counted by this server" if value is None else f"{_tokens(value)} on average"
