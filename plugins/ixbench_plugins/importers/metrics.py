"""From flat foreign numbers to metrics of ixbench: the same quantities under their own names, in seconds, on the system basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench_plugins.importers.detect import RAW
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.units import STATISTICS, check_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import Metrics, MetricValue
    from ixbench_plugins.importers.row import Row

PARTS = {statistic: "p50" if statistic == "median" else statistic for statistic in STATISTICS if statistic != "p50"}
"""Statistics of flat keys -> parts of a metric."""
NO_RECIPROCAL = "std"
AGREE = 0.002
"""Two statements of one number may differ by so much, for rounding."""
_MS = 1000.0
SLOW_TPOT_S = 1.0
"""A time per output token from here on is taken for milliseconds where the speed beside it says so."""
_LATENCY_METRICS = {"ttft": "ttft_s", "e2el": "e2el_s"}
POWER_VERSION = 2
"""Joules without a prefix mean what they say from this version of their schema on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMetrics:
    """What the numbers of a row come to."""

    metrics: Metrics
    warnings: tuple[str, ...]
    extra: Mapping[str, float]
    """Flat numbers that no metric holds."""


def read_metrics(row: Row) -> RowMetrics:
    """Return the metrics of a row.

    :raises RowError: no_speed, no_latency, bad_speed, bad_rate, unit_suspect.
    """
    flat, extra = row.numbers, dict(row.extra)
    _check_times(row)
    times, speeds, doubts = _agentic_speed(flat, extra) if row.agentic else _fixed_speed(flat)
    _require_speed(row, speeds)
    rates, more = _rates(row)
    normalised = {part: value for part, value in _statistics(flat, "e2e_norm_intvty").items() if part != NO_RECIPROCAL}
    spreads: dict[str, dict[str, MetricValue]] = {metric: _statistics(flat, name) for name, metric in _LATENCY_METRICS.items()}
    spreads |= {"tpot_s": times, "speed_tok_s_user": speeds, "e2e_norm_tok_s_user": normalised}
    spreads |= {f"{role}_tokens": {PARTS.get(part, part): value for part, value in found.items()} for role, found in row.tokens.items()}
    count: dict[str, MetricValue] = {} if row.ok is None else {"n": row.ok}
    metrics: Metrics = {name: found | count for name, found in spreads.items() if found}
    if not row.agentic and (gaps := _statistics(flat, "itl")):
        metrics["icl_s"] = gaps
    metrics |= rates | _shares(row) | _power(flat)
    if row.duration_s is not None:
        metrics["span_s"] = row.duration_s
    return RowMetrics(metrics=metrics, warnings=(*row.warnings, *doubts, *more), extra=extra)


def _check_times(row: Row) -> None:
    for key, value in row.numbers.items():
        if key.endswith(("_ttft", "_tpot", "_itl", "_e2el")):
            if value < 0:
                raise RowError("bad_speed", f"{key} is {value:g}, which is no time")
            check_seconds(key, value, row.duration_s)


def _shares(row: Row) -> Metrics:
    flat = row.numbers
    metrics: Metrics = {}
    if row.requests and row.ok is not None:
        metrics["failed_share"] = (row.requests - row.ok) / row.requests
    cache = {"theoretical": flat.get("theoretical_cache_hit_rate"), "server": flat.get("server_gpu_cache_hit_rate")}
    if any(share is not None for share in cache.values()):
        metrics["cache_hit_share"] = {"measured": None, **cache}
    return metrics


def _statistics(flat: Mapping[str, float], name: str) -> dict[str, MetricValue]:
    return {part: flat[key] for statistic, part in PARTS.items() if (key := f"{statistic}_{name}") in flat}


Speed = tuple[dict[str, "MetricValue"], dict[str, "MetricValue"], list[str]]
"""Times per output token, speeds, and warnings."""


def _agentic_speed(flat: Mapping[str, float], extra: dict[str, float]) -> Speed:
    """Return times and speeds of an agentic row: those of the full response where it has them, and speeds always computed from times."""
    whole = _statistics(flat, "full_response_itl")
    times = whole or _statistics(flat, "itl")
    if whole:
        other = _statistics(flat, "itl")
        extra |= {
            f"{statistic}_itl": flat[f"{statistic}_itl"]
            for statistic, part in PARTS.items()
            if part in other and other[part] != whole.get(part)
        }
    return times, {part: 1 / time for part, time in times.items() if time and part != NO_RECIPROCAL}, []


def _fixed_speed(flat: Mapping[str, float]) -> Speed:
    """Return times and speeds of a fixed-sequence row: a speed that is not 1 / time is computed anew; without either it is 1 / ITL."""
    times = _statistics(flat, "tpot")
    said = {part: value for part, value in _statistics(flat, "intvty").items() if part != NO_RECIPROCAL}
    speeds: dict[str, MetricValue] = {}
    wrong: list[str] = []
    for part in PARTS.values():
        time, speed = times.get(part), said.get(part)
        if part == NO_RECIPROCAL:
            continue
        if not time:
            speeds |= {} if speed is None else {part: speed}
            continue
        if speed is not None and abs(speed * time / _MS - 1) <= AGREE and time >= SLOW_TPOT_S:
            raise RowError("unit_suspect", f"the {part} of tpot is {time:g} s beside a speed of {speed:g} tok/s/user: is it in ms?")
        if speed is not None and abs(speed * time - 1) > AGREE:
            wrong.append(f"{part} {speed:g}, computed {1 / time:g}")
        speeds[part] = speed if speed is not None and abs(speed * time - 1) <= AGREE else 1 / time
    if not speeds:
        speeds = {part: 1 / time for part, time in _statistics(flat, "itl").items() if time and part != NO_RECIPROCAL}
    return times, speeds, [f"intvty is not 1 / tpot and was computed anew ({'; '.join(wrong)})"] if wrong else []


def _require_speed(row: Row, speeds: Mapping[str, MetricValue]) -> None:
    part = "p90" if row.agentic else "p50"
    speed = speeds.get(part)
    if speed is None:
        what = "p90_itl or p90_full_response_itl" if row.agentic else "median_tpot, median_intvty or median_itl"
        raise RowError("no_speed", f"it has no {what} above zero, so no place on the speed axis")
    if speed <= 0:
        raise RowError("bad_speed", f"its speed is {speed:g} tok/s/user")
    if row.agentic and "p90_e2el" not in row.numbers:
        raise RowError("no_latency", "an agentic row needs p90_e2el")


def _rates(row: Row) -> tuple[Metrics, list[str]]:
    return _rates_of_client(row) if row.schema == RAW else _rates_per_gpu(row)


def _rates_of_client(row: Row) -> tuple[Metrics, list[str]]:
    """Return what a client says of the whole system; one dialect tells input instead of the total."""
    flat = row.numbers
    output, total = flat.get("output_throughput"), flat.get("total_token_throughput")
    given = flat.get("input_throughput")
    if total is None and given is not None and output is not None:
        total = given + output
    if total is None or total <= 0 or output is None or output < 0 or output > total:
        raise RowError("bad_rate", f"its rates make no sense: total {total}, output {output} tok/s")
    rates: dict[str, MetricValue] = {
        "total": total,
        "input": total - output if given is None else given,
        "output": output,
        "computed": None,
    }
    metrics: Metrics = {"throughput_tok_s": rates}
    metrics["throughput_tok_s_gpu"] = {kind: None if rate is None or not row.gpus else rate / row.gpus for kind, rate in rates.items()}
    if "request_throughput" in flat:
        metrics["requests_per_s"] = flat["request_throughput"]
    return metrics, []


def _rates_per_gpu(row: Row) -> tuple[Metrics, list[str]]:
    flat = row.numbers
    total = flat.get("tput_per_gpu")
    if total is None or total <= 0:
        raise RowError("bad_rate", f"tput_per_gpu is {total}, which is no rate")
    told, output = flat.get("input_tput_per_gpu"), flat.get("output_tput_per_gpu")
    if (told is not None and told < 0) or (output is not None and output < 0):
        raise RowError("bad_rate", f"a rate below zero: input {told}, output {output} tok/s/GPU")
    metrics: Metrics = {}
    warnings: list[str] = []
    on_system = (told, output)
    prefill, decode = (row.parallel.get(role, {}).get("gpus") for role in ("prefill", "decode"))
    if row.disaggregated and prefill and decode:
        gpus = prefill + decode
        shared = (None if told is None else told * prefill / gpus, None if output is None else output * decode / gpus)
        if _adds_up(shared, total) or not _adds_up(on_system, total):
            metrics["throughput_tok_s_gpu_role"] = {"input": told, "output": output}
            on_system = shared
    if not _adds_up(on_system, total):
        warnings.append(
            f"input {on_system[0]:g} and output {on_system[1]:g} tok/s/GPU do not add up to the total of {total:g}; only the total is taken"
        )
        on_system = (None, None)
    rates: dict[str, MetricValue] = {"total": total, "input": on_system[0], "output": on_system[1], "computed": None}
    metrics["throughput_tok_s_gpu"] = rates
    told_of_system: dict[str, MetricValue] = {kind: rate for kind, rate in row.system_rates.items() if kind in rates}
    if row.gpus:
        metrics["throughput_tok_s"] = {kind: None if rate is None else rate * row.gpus for kind, rate in rates.items()} | told_of_system
    if "requests" in row.system_rates:
        metrics["requests_per_s"] = row.system_rates["requests"]
    elif row.duration_s and row.ok:
        metrics["requests_per_s"] = row.ok / row.duration_s
    return metrics, warnings


def _adds_up(rates: tuple[float | None, float | None], total: float) -> bool:
    """Say whether input and output make the total, as far as both are told."""
    one, other = rates
    return one is None or other is None or abs(one + other - total) <= max(AGREE * total, 1e-4)


def _power(flat: Mapping[str, float]) -> Metrics:
    if not flat.get("power_valid", 1.0):
        return {}
    metrics: Metrics = {}
    if "avg_power_w" in flat:
        metrics["power_w_gpu"] = flat["avg_power_w"]
    kinds = {"total": "joules_per_total_token", "input": "joules_per_input_token", "output": "joules_per_output_token"}
    if flat.get("power_metric_schema_version", 0.0) >= POWER_VERSION and any(key in flat for key in kinds.values()):
        metrics["joules_per_token"] = {kind: flat.get(key) for kind, key in kinds.items()} | {"computed": None}
    return metrics
