"""AIPerf's profile_export_aiperf.json: what was asked, how many requests there were, and statistics for where there are no records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ixbench.api.report import Axis, Reason, Verdict, counted
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.units import check_seconds
from ixbench_plugins.importers.values import number, table, text, truth, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import ImportContext, Metrics, MetricValue

_PARTS = {"avg": "mean", "std": "std", "count": "n"} | {name: name for name in ("p50", "p75", "p90", "p95", "p99", "min", "max")}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "second": 1.0}
_LATENCIES = {
    "time_to_first_token": "ttft_s",
    "time_to_first_output_token": "ttfa_s",
    "request_latency": "e2el_s",
    "inter_token_latency": "tpot_s",
    "inter_chunk_latency": "icl_s",
}
_LENGTHS = {"input_sequence_length": "input_tokens", "output_sequence_length": "output_tokens"}
ERRORS_LIMIT, AGENTIC_ERRORS_LIMIT = 0.01, 0.10
"""Share of failed requests beyond which a point is invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFacts:
    """What a summary says of the run beside its numbers."""

    model: str
    scenario: str
    """Name of its locked rules; empty without any. They are all agentic."""
    concurrency: int | None
    rate: float | None
    server_counts: bool
    """Whether its lengths are the server's counts."""
    lengths: tuple[int | None, int | None]
    """Input and output length, where all requests had the same."""
    warnings: tuple[str, ...]
    requests: int
    ok: int


def read_asked(summary: Mapping[str, Any], context: ImportContext) -> SummaryFacts:
    """Return what the summary says of the run.

    :raises RowError: incomplete, if the run ended before it should have, by its own word.
    """
    if truth(summary.get("is_complete")) is False:
        raise RowError("incomplete", f"the run did not finish: {text(summary.get('incomplete_reason')) or 'no reason is told'}")
    config = table(summary.get("input_config"))
    models = _models(config)
    phase = _phase(config)
    rate = number(phase.get("rate"))
    concurrency = whole(phase.get("concurrency")) or context.concurrency
    warnings = [f"it used {len(models)} models, {', '.join(models)}; the point is named after the first"] if len(models) > 1 else []
    if truth(summary.get("was_cancelled")):
        warnings.append("the run was cancelled, so its numbers are of a part of it")
    reasons = table(summary.get("metadata")).get("submission_invalid_reasons")
    if table(summary.get("metadata")).get("submission_valid") is False:
        warnings.append(f"it says of itself that it is no valid submission: {_words(reasons)}")
    if skipped := _scalar(summary, "skipped_context_overflow_count"):
        warnings.append(f"none of its numbers has those whose prompts were too long: {counted(skipped, 'request', 'g')}")
    return SummaryFacts(
        model=models[0] if models else context.model or "",
        scenario=text(config.get("scenario")) or text(table(summary.get("metadata")).get("scenario")),
        concurrency=concurrency,
        rate=rate if not concurrency or text(phase.get("type")) not in ("concurrency", "") else None,
        server_counts=truth(table(config.get("endpoint")).get("use_server_token_count")) is True,
        lengths=(_same(summary, "input_sequence_length"), _same(summary, "output_sequence_length")),
        warnings=tuple(warnings),
        ok=int(_scalar(summary, "request_count") or 0),
        requests=int((_scalar(summary, "request_count") or 0) + (_scalar(summary, "error_request_count") or 0)),
    )


def read_summary(summary: Mapping[str, Any], gpus: int | None) -> Metrics:
    """Return the metrics of a summary, its rates over the time from the first start to the last response, as other points have them.

    :raises RowError: no_success, no_speed, bad_rate, unit_suspect.
    """
    duration = _duration(summary)
    metrics: Metrics = {}
    for name, metric in _LATENCIES.items():
        if found := _statistics(summary, name, duration):
            metrics[metric] = found
    for name, metric in _LENGTHS.items():
        entry = table(summary.get(name))
        lengths: dict[str, MetricValue] = {part: value for key, part in _PARTS.items() if (value := number(entry.get(key))) is not None}
        if lengths:
            total = number(entry.get("sum"))
            metrics[metric] = lengths | ({} if total is None else {"sum": total})
    times = metrics.get("tpot_s")
    if not isinstance(times, dict) or not times.get("p50"):
        raise RowError("no_speed", "it has no inter_token_latency, so no place on the speed axis; was it streamed?")
    metrics["speed_tok_s_user"] = _speeds(times)
    metrics["span_s"] = duration
    sums = {kind: _total(summary, f"total_{short}", length) for kind, short, length in _TOTALS}
    if not sums["input"] and not sums["output"]:
        raise RowError("bad_rate", "it tells neither input nor output tokens in all")
    rates: dict[str, MetricValue] = {kind: None if value is None else value / duration for kind, value in sums.items()}
    total = None if sums["input"] is None or sums["output"] is None else (sums["input"] + sums["output"]) / duration
    rates = {"total": total, **rates, "computed": None}
    metrics["throughput_tok_s"] = rates
    metrics["throughput_tok_s_gpu"] = {kind: None if rate is None or not gpus else rate / gpus for kind, rate in rates.items()}
    requests = _scalar(summary, "request_count")
    metrics["requests_per_s"] = None if requests is None else requests / duration
    metrics |= theoretical_hit_share(summary)
    return metrics


_TOTALS = (("input", "isl", "input_sequence_length"), ("output", "osl", "output_sequence_length"))


def theoretical_hit_share(summary: Mapping[str, Any]) -> Metrics:
    """Return the share of blocks that an infinite cache would have held."""
    entry = table(summary.get("theoretical_prefix_cache_hit"))
    hits, blocks = number(entry.get("sum")), number(entry.get("count"))
    return {"cache_hit_share": {"measured": None, "theoretical": hits / blocks, "server": None}} if hits is not None and blocks else {}


def axis_of_summary(metrics: Metrics, percentile: str, part: str) -> Axis:
    """Return where the point lies on the speed axis."""
    speeds = metrics["speed_tok_s_user"]
    return Axis(name="tpot", percentile=percentile, tok_s_user=speeds.get(part) if isinstance(speeds, dict) else None)


def verdict_of(asked: SummaryFacts, doubts: tuple[Reason, ...]) -> Verdict:
    """Return the verdict of a summary: its exit status says nothing of errors, so the counts decide."""
    reasons = list(doubts)
    share = 1 - asked.ok / asked.requests if asked.requests else 0.0
    limit = AGENTIC_ERRORS_LIMIT if asked.scenario else ERRORS_LIMIT
    if share > 0:
        said = f"{asked.requests - asked.ok} of {asked.requests} requests failed ({share:.1%}; allowed: {limit:.0%})"
        reasons.append(Reason(code="errors", value=share, limit=limit, text=said, severity="invalid" if share > limit else "warning"))
    if any(reason.severity == "invalid" for reason in reasons):
        return Verdict(status="invalid", reasons=tuple(reasons))
    return Verdict(status="valid_with_warnings" if reasons else "valid", reasons=tuple(reasons))


def _statistics(summary: Mapping[str, Any], name: str, duration: float) -> dict[str, MetricValue]:
    entry = table(summary.get(name))
    unit = text(entry.get("unit")).lower()
    if not entry:
        return {}
    if unit not in _SECONDS:
        raise RowError("unit_suspect", f"{name} is in {unit!r}; known: {', '.join(_SECONDS)}")
    found: dict[str, MetricValue] = {}
    for key, part in _PARTS.items():
        value = number(entry.get(key))
        if value is None:
            continue
        if part == "n":
            found[part] = int(value)
            continue
        found[part] = value * _SECONDS[unit]
        # Statistics of single chunks may be 0; those of a time per output token may not.
        check_seconds(
            f"{part}_{'tpot' if name == 'inter_token_latency' and part not in ('min', 'max') else name}", value * _SECONDS[unit], duration
        )
    return found


def _speeds(times: Mapping[str, MetricValue]) -> dict[str, MetricValue]:
    """Return 1 / each statistic of the time; the smallest time is the largest speed."""
    turned = {"min": "max", "max": "min"}
    speeds: dict[str, MetricValue] = {turned.get(part, part): 1 / time for part, time in times.items() if time and part not in ("std", "n")}
    return speeds | ({"n": times["n"]} if "n" in times else {})


def _duration(summary: Mapping[str, Any]) -> float:
    entry = table(summary.get("benchmark_duration"))
    value, unit = number(entry.get("avg")), text(entry.get("unit")).lower() or "s"
    if value is None or value <= 0 or unit not in _SECONDS:
        raise RowError("bad_rate", f"benchmark_duration is {entry.get('avg')!r:.40} {unit}, which is no time to divide by")
    return value * _SECONDS[unit]


def _scalar(summary: Mapping[str, Any], name: str) -> float | None:
    return number(table(summary.get(name)).get("avg"))


def _total(summary: Mapping[str, Any], name: str, length: str) -> float | None:
    found = _scalar(summary, name)
    return number(table(summary.get(length)).get("sum")) if found is None else found


def _same(summary: Mapping[str, Any], name: str) -> int | None:
    entry = table(summary.get(name))
    low, high = whole(entry.get("min")), whole(entry.get("max"))
    return low if low == high else None


def _models(config: Mapping[str, Any]) -> list[str]:
    """Return the models, in any of the forms that its configuration has had."""
    found = config.get("models") or config.get("model") or table(config.get("endpoint")).get("model_names")
    items = table(found).get("items", found)
    listed = items if isinstance(items, list) else [items]
    return [name for item in listed if (name := text(item) or text(table(item).get("name")))]


def _phase(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the phase that was measured, in any of the forms that its configuration has had."""
    phases = config.get("phases") or config.get("profiling") or config.get("loadgen")
    if isinstance(phases, list):
        listed = [table(phase) for phase in phases]
        measured = [phase for phase in listed if "warmup" not in (phase.get("kind"), phase.get("name"))]
        return measured[-1] if measured else {}
    found = table(phases)
    inner = table(found.get("profiling"))
    found = inner or found
    return found if "rate" in found or "request_rate" not in found else {**found, "rate": found["request_rate"]}


def _words(reasons: Any) -> str:  # noqa: ANN401 - a JSON value
    return "; ".join(text(reason) for reason in reasons) if isinstance(reasons, list) and reasons else "no reason is told"
