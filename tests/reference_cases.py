"""Run a cases file (inputs with expected answers) against the arithmetic of ixbench, one small function a kind.

    python tests/reference_cases.py FILE             compares with `expected`, prints the failures, exits 1 on any
    python tests/reference_cases.py FILE --answers   prints [{"name", "answer"}]; `expected` may be absent

A refused input answers {"error": code}. The strings "nan", "inf" and "-inf" stand for the floats, in both directions.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ixbench.frontier.cost import SplitPrices, cost_bases, cost_split, session_cost, tokens_per_usd, usd_per_mtok
from ixbench.frontier.curve import frontier
from ixbench.frontier.errors import FrontierError
from ixbench.frontier.format import Seconds, format_hourly, format_latency, format_rate, format_usd, pct_faster
from ixbench.frontier.gpus import checked_gpus, gpu_rates, pool_gpus, total_from_roles
from ixbench.frontier.inverse import fastest_speed
from ixbench.frontier.power import energy_usd_per_mtok, gpus_per_mw, measured_j_per_token, provisioned_j_per_token, provisioned_tok_s_mw
from ixbench.frontier.repeats import read_repeats
from ixbench.frontier.rung import read_rung
from ixbench.frontier.select import Curve, is_speculative, select
from ixbench.frontier.steffen import slopes
from ixbench.frontier.student import compare
from ixbench.measure.definition import Measurement
from ixbench.measure.energy import integrate
from ixbench.measure.failure import BadRecordError, classify
from ixbench.measure.percentile import percentile, percentile_ranks
from ixbench.measure.point import accounting, axis_of, measure, token_sums
from ixbench.measure.request import request_times
from ixbench.measure.tools import read_as
from ixbench.model.point import Load
from ixbench.model.precision import precision_of
from ixbench.model.record import Chunks, RequestRecord
from ixbench_plugins.hardware import HARDWARE
from ixbench_plugins.importers.detect import schema_name
from ixbench_plugins.importers.names import engine_of, sku_of_runner
from ixbench_plugins.importers.units import latencies_in_seconds, speeds_of
from ixbench_plugins.metrics import METRICS

Case = dict[str, Any]
Answer = Any
Kind = Callable[[dict[str, Any]], Answer]

WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
UNSUPPORTED = {"error": "unsupported_kind"}


def number(value: Any) -> Any:
    """Return a number as it is, a word for a float as that float, and anything else (null, text) as NaN, which the arithmetic refuses."""
    if isinstance(value, str):
        return WORDS.get(value.strip().lower(), math.nan)
    return math.nan if value is None or isinstance(value, bool) else value


def numbers(values: Any) -> list[Any]:
    return [number(value) for value in values]


# --- curves and rungs ------------------------------------------------------------------------------------------------------------------


def plane(points: Any) -> list[tuple[Any, Any]]:
    """Return points as pairs; one that is no pair becomes a pair of NaN, which is refused."""
    return [tuple(numbers(point)) if isinstance(point, list) and len(point) == 2 else (math.nan, math.nan) for point in points]


def kind_frontier(given: dict[str, Any]) -> Answer:
    points = plane(given["points"])
    indices = frontier(points, x_better=given.get("x_better", "higher"), y_better=given.get("y_better", "higher"))
    return {"indices": indices, "knots": [[float(points[i][0]), float(points[i][1])] for i in indices]}


def kind_slopes(given: dict[str, Any]) -> Answer:
    return {"m": slopes(numbers(given["x"]), numbers(given["y"]))}


def kind_rung(given: dict[str, Any]) -> Answer:
    read = read_rung(
        plane(given["points"]),
        number(given["rung"]),
        mode=given.get("mode", "steffen"),
        range_policy=given.get("range_policy", "in_range"),
    )
    return {"status": read.status, "value": read.value, "at_x": read.at_x, "evidence": list(read.evidence), "two_knots": read.two_knots}


def kind_inverse(given: dict[str, Any]) -> Answer:
    read = fastest_speed(plane(given["points"]), number(given["y_target"]), mode=given.get("mode", "steffen"))
    return {"status": read.status, "x": read.x}


def curve_of(given: dict[str, Any], price: Any) -> Curve:
    """Return one curve of a `select` case; a price table names no price for hardware that it lacks."""
    if isinstance(price, dict):
        price = price.get(given.get("hw"))
    spec = given.get("spec")
    dates = given.get("dates") or []
    points = plane(given["points"])
    return Curve(
        key=str(given["key"]),
        engine=given.get("framework") or "",
        precision=given.get("precision"),
        speculative=any(is_speculative(part) for part in (spec if isinstance(spec, list) else re.split(r"[,+/ ]+", spec or ""))),
        date=given.get("date") or "",
        dates=tuple(date or "" for date in dates) if len(dates) == len(points) else (),
        points=tuple(points),
        usd_per_gpu_hour=None if price is None else number(price),
    )


def kind_select(given: dict[str, Any]) -> Answer:
    scope = given.get("scope", "all")
    chosen = select(
        [curve_of(curve, given.get("price")) for curve in given["curves"]],
        number(given["rung"]),
        policy=given.get("policy", "max_throughput"),
        mode=given.get("mode", "steffen"),
        range_policy=given.get("range_policy", "in_range"),
        scope=tuple(scope) if isinstance(scope, list) else scope,
    )
    return {
        "winner": chosen.curve.key if chosen.curve else None,
        "value": chosen.read.value if chosen.read else None,
        "status": chosen.status,
        "usd_per_mtok": chosen.usd_per_mtok,
        "at_x": chosen.read.at_x if chosen.read else None,
    }


def kind_repeats(given: dict[str, Any]) -> Answer:
    read = read_repeats(
        [plane(points) for points in given["runs"]],
        number(given["rung"]),
        mode=given.get("mode", "steffen"),
        range_policy=given.get("range_policy", "in_range"),
    )
    return {"runs": read.runs, "reached": read.reached, "mean": read.mean, "half_width": read.half_width}


def kind_compare(given: dict[str, Any]) -> Answer:
    found = compare(numbers(given["a"]), numbers(given["b"]))
    return {"difference": found.difference, "margin": found.margin, "distinguishable": found.distinguishable}


def kind_property(given: dict[str, Any]) -> Answer:
    """Count what must not happen: dominated points on the frontier, points left uncovered, reads outside their neighbours, rises."""
    points = plane(given["points"])
    on = frontier(points)
    knots = [points[i] for i in on]

    def beats(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
        return one[0] >= other[0] and one[1] >= other[1] and one != other

    result: dict[str, Any] = {
        "frontier_size": len(on),
        "dominated_on_frontier": sum(any(beats(point, knot) for point in points) for knot in knots),
        "uncovered_points": sum(not any(knot == point or beats(knot, point) for knot in knots) for point in points),
    }
    for mode in ("steffen", "linear", "step"):
        result[mode] = sample(points, knots, int(given["samples"]), mode)
    return result


def sample(points: list[tuple[Any, Any]], knots: list[tuple[Any, Any]], samples: int, mode: Any) -> dict[str, int]:
    """Read evenly spaced rungs and count values outside their neighbours' and values above the one before."""
    outside = rises = 0
    last = math.inf
    low, high = (knots[0][0], knots[-1][0]) if knots else (0.0, -1.0)
    for step in range(samples + 1 if knots else 0):
        rung = min(low + (high - low) * step / samples, high) if samples else low
        value = read_rung(points, rung, mode=mode).value
        highest = min(y for x, y in knots if x <= rung)
        lowest = max(y for x, y in knots if x >= rung)
        if value is None or not lowest <= value <= highest:
            outside += 1
            continue
        rises += value > last
        last = value
    return {"outside": outside, "rises": rises}


# --- money and GPUs --------------------------------------------------------------------------------------------------------------------


def kind_cost(given: dict[str, Any]) -> Answer:
    price, rate = number(given["usd_per_gpu_hour"]), number(given["tps_per_gpu"])
    return {"usd_per_mtok": usd_per_mtok(price, rate), "tokens_per_usd": tokens_per_usd(price, rate)}


def kind_cost_bases(given: dict[str, Any]) -> Answer:
    cached = given.get("cached_tps")
    bases = cost_bases(
        number(given["usd_per_gpu_hour"]),
        input_tok_s_gpu=number(given["input_tps"]),
        output_tok_s_gpu=number(given["output_tps"]),
        cached_tok_s_gpu=None if cached is None else number(cached),
    )
    return dataclasses.asdict(bases)


def kind_cost_split(given: dict[str, Any]) -> Answer:
    weights = given["weights"]
    prices = cost_split(
        number(given["usd_per_gpu_hour"]),
        input_tok_s_gpu=number(given["input_tps"]),
        cached_tok_s_gpu=number(given["cached_tps"]),
        output_tok_s_gpu=number(given["output_tps"]),
        weights=SplitPrices(**{name: number(weights.get(name)) for name in ("uncached_input", "cached_input", "output")}),
    )
    return dataclasses.asdict(prices)


def kind_session_cost(given: dict[str, Any]) -> Answer:
    usd = session_cost(
        number(given["usd_per_gpu_hour"]),
        gpus=number(given["num_gpus"]),
        window_s=number(given["window_s"]),
        completed=number(given["completed"]),
    )
    return {"usd": usd}


def kind_power(given: dict[str, Any]) -> Answer:
    """Answer what is provisioned always, what is measured where a power is given, and money (of what is provisioned) for a price."""
    rate, kw = number(given["tps_per_gpu"]), number(given["all_in_kw"])
    provisioned = provisioned_j_per_token(kw, rate)
    answers = {
        "j_per_token_provisioned": provisioned,
        "tps_per_mw": provisioned_tok_s_mw(kw, rate),
        "gpus_per_mw": gpus_per_mw(kw),
    }
    if given.get("measured_w_per_gpu") is not None:
        measured = measured_j_per_token(number(given["measured_w_per_gpu"]), rate)
        answers |= {"j_per_token_measured": measured, "tokens_per_j": 1 / measured}
    if given.get("usd_per_kwh") is not None:
        answers["energy_usd_per_mtok"] = energy_usd_per_mtok(provisioned, number(given["usd_per_kwh"]))
    return answers


def kind_energy(given: dict[str, Any]) -> Answer:
    return {"joules": integrate(plane(given["samples"]), number(given["start"]), number(given["end"]))}


def kind_gpus(given: dict[str, Any]) -> Answer:
    sizes = {"tensor": "tp", "pipeline": "pp", "prefill_context": "pcp", "replicas": "replicas"}
    return {"num_gpus": pool_gpus(**{name: number(given[key]) for name, key in sizes.items() if key in given})}


def kind_disagg(given: dict[str, Any]) -> Answer:
    rates = gpu_rates(
        total_tok_s=number(given["total_tps"]),
        output_tok_s=number(given["output_tps"]),
        prefill_gpus=number(given["prefill_gpus"]),
        decode_gpus=number(given.get("decode_gpus", 0)),
        disaggregated=given.get("disagg", False),
        decode_share=given.get("decode_share", False),
    )
    answers = dataclasses.asdict(rates)
    return {"num_gpus": answers.pop("gpus"), **answers}


def kind_disagg_identity(given: dict[str, Any]) -> Answer:
    total = total_from_roles(
        input_role=number(given["input_role"]),
        output_role=number(given["output_role"]),
        prefill_gpus=number(given["prefill_gpus"]),
        decode_gpus=number(given["decode_gpus"]),
    )
    return {"total": total}


# --- print -----------------------------------------------------------------------------------------------------------------------------

FORMATTERS: dict[str, Callable[..., str]] = {
    "rate": format_rate,
    "usd": format_usd,
    "hourly": format_hourly,
    "latency": lambda value, style: format_latency(None if value is None else Seconds(value), style),
}


def kind_format(given: dict[str, Any]) -> Answer:
    value = given["value"]
    formatter = FORMATTERS.get(given["what"])
    if formatter is None:
        raise FrontierError("bad_mode", f"no formatter for {given['what']!r}")
    return {"text": formatter(None if value is None else number(value), given.get("style", "ixbench"))}


def kind_pct_faster(given: dict[str, Any]) -> Answer:
    return {"pct": pct_faster(number(given["a"]), number(given["b"]))}


# --- requests and percentiles ----------------------------------------------------------------------------------------------------------

BROKEN_OFF = frozenset({"connect", "reset", "timeout", "tls", "dns", "protocol", "truncated"})
"""Classes of a lost connection: without a head a transport failure, after it a cut answer."""


def record_of(raw: Any, position: int = 0) -> RequestRecord:
    """Return the record of raw facts (one JSON object, the chunks inside), its failure decided here."""
    try:
        chunks = Chunks.of((ns, kind, tokens, size[0] if size else 0) for ns, kind, tokens, *size in raw["chunks"])
        names = [field.name for field in dataclasses.fields(RequestRecord) if field.name in raw and field.name != "chunks"]
        ids: dict[str, Any] = {
            "req_id": f"record {position}",
            "phase": "profile",
            "session_id": f"{position}",
            "tree_id": f"{position}",
            "lane": None,
        }
        record = RequestRecord(**ids | {name: raw[name] for name in names}, chunks=chunks)
        request_times(record)
    except (KeyError, TypeError, OverflowError, ValueError) as error:
        raise BadRecordError(f"record {position}: {error}") from error
    said: str | None = record.error_class
    outcome = classify(
        http_status=record.http_status,
        cancelled=record.cancelled,
        event_stream=said != "not_a_stream",
        error_event=said == "server_error" or any(chunk.kind == "error" for chunk in chunks),
        malformed=said == "malformed",
        broken_off=said in BROKEN_OFF,
        finish_reason=record.finish_reason,
        done_seen=record.done_seen,
        usage_asked=record.usage_asked,
        usage_input=record.usage_input,
        usage_output=record.usage_output,
        exact_length=record.exact_length,
        output_asked=record.output_asked,
    )
    return dataclasses.replace(record, failure=None if outcome == "cancelled" else outcome, cancelled=outcome == "cancelled")


def kind_request(given: dict[str, Any]) -> Answer:
    record = record_of(given["record"])
    return {"failure": "cancelled" if record.cancelled else record.failure} | read_as(given.get("tool", "ixbench"), record)


def kind_percentile(given: dict[str, Any]) -> Answer:
    return {"value": percentile(numbers(given["values"]), given["p"], given.get("rule", "linear"))}


def kind_percentile_ranks(given: dict[str, Any]) -> Answer:
    level = given.get("level", 95)
    return {"ranks": percentile_ranks(given["n"], given["p"], 100 * level if level < 1 else level)}


def kind_run(given: dict[str, Any]) -> Answer:
    records = tuple(record_of(raw, position) for position, raw in enumerate(given["records"]))
    given_gpus, agentic = given.get("num_gpus"), bool(given.get("agentic", False))
    gpus = None if given_gpus is None else checked_gpus(number(given_gpus))
    measurement = Measurement(records=records, load=Load(concurrency=1), gpus=gpus, agentic=agentic)
    metrics: dict[str, Any] = measure(measurement, METRICS)
    counts, sums = accounting(measurement), token_sums(measurement)
    rates = {f"{name}_tps_per_gpu": value for name, value in metrics["throughput_tok_s_gpu"].items()}
    names = ("ttft", "ttfa", "e2el", "tpot", "tpot_tail", "stall", "icl")
    parts = ("mean", "p50", "p75", "p90", "p95", "p99", "min", "max")
    times = {f"{name}_{part}": (metrics[f"{name}_s"] or {}).get(part) for name in names for part in parts}
    return {
        "requests": counts.requests,
        "succeeded": counts.ok,
        "cancelled": counts.cancelled,
        "failed_share": metrics["failed_share"],
        "failures": counts.failed,
        "span_s": metrics["span_s"],
        "input_tokens": sums.input,
        "cached_tokens": sums.cached,
        "output_tokens": sums.output,
        "request_rate": metrics["requests_per_s"],
        "concurrency_mean": metrics["concurrency_mean"],
        "cache_hit_share": metrics["cache_hit_share"]["measured"],
        "empty_answers": counts.empty_answers,
        "speed_axis": axis_of(metrics, "p90" if agentic else "median").tok_s_user,
        **rates,
        **times,
    }


# --- foreign results -------------------------------------------------------------------------------------------------------------------


def kind_units(given: dict[str, Any]) -> Answer:
    raw = {key: value for key, value in given["raw"].items() if isinstance(value, int | float) and not isinstance(value, bool)}
    seconds = latencies_in_seconds(raw, raw.get("duration"))
    speeds = speeds_of(seconds)
    return {"seconds": seconds, "intvty": speeds, "intvty_keys": sorted(speeds)}


def kind_hardware(given: dict[str, Any]) -> Answer:
    return {"sku": sku_of_runner(given["hw"], {sku.sku for sku in HARDWARE[0].skus()})}


def kind_engine(given: dict[str, Any]) -> Answer:
    name = engine_of(given["framework"])
    return {"engine": name.engine, "disagg": name.disaggregated}


def kind_precision(given: dict[str, Any]) -> Answer:
    return {"precision": precision_of(given["precision"])}


def kind_schema(given: dict[str, Any]) -> Answer:
    return {"schema": schema_name(given["document"])}


KINDS: dict[str, Kind] = {
    "compare": kind_compare,
    "cost": kind_cost,
    "cost_bases": kind_cost_bases,
    "cost_split": kind_cost_split,
    "disagg": kind_disagg,
    "disagg_identity": kind_disagg_identity,
    "energy": kind_energy,
    "engine": kind_engine,
    "format": kind_format,
    "frontier": kind_frontier,
    "gpus": kind_gpus,
    "hardware": kind_hardware,
    "inverse": kind_inverse,
    "pct_faster": kind_pct_faster,
    "percentile": kind_percentile,
    "percentile_ranks": kind_percentile_ranks,
    "power": kind_power,
    "precision": kind_precision,
    "property": kind_property,
    "repeats": kind_repeats,
    "request": kind_request,
    "rung": kind_rung,
    "run": kind_run,
    "schema": kind_schema,
    "select": kind_select,
    "session_cost": kind_session_cost,
    "slopes": kind_slopes,
    "units": kind_units,
}
"""Kind -> the function that answers it; a kind that is not here is answered with `unsupported_kind`."""


# --- running and comparing -------------------------------------------------------------------------------------------------------------


def answer(case: Case) -> Answer:
    """Return the answer to one case."""
    kind = KINDS.get(case["kind"])
    if kind is None:
        return UNSUPPORTED
    try:
        return kind(case["input"])
    except ValueError as error:
        code = getattr(error, "code", None)
        if code is None:
            raise
        return {"error": code}


def safe_answer(case: Case) -> Answer:
    """Return the answer, or say that there is none: one broken case must not cost the answers to the others."""
    try:
        return answer(case)
    except Exception as error:  # noqa: BLE001 - whatever a broken case raises
        print(f"{case['name']}: {type(error).__name__}: {error}", file=sys.stderr)
        return {"error": "crashed", "text": f"{type(error).__name__}: {error}"}


def printable(value: Answer) -> Answer:
    """Return the answer with floats that JSON does not know as words."""
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def differences(expected: Any, found: Any, *, rel: float, abs_: float, where: str = "answer") -> list[str]:
    """Return where `found` does not hold what is expected; an answer may have more keys."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{where}: expected {expected}, found {found}"]
        lines = [f"{where}.{key}: missing" for key in expected if key not in found]
        for key, value in expected.items():
            if key in found:
                lines += differences(value, found[key], rel=rel, abs_=abs_, where=f"{where}.{key}")
        return lines
    if isinstance(expected, list):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return [f"{where}: expected {expected}, found {found}"]
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, rel=rel, abs_=abs_, where=f"{where}[{i}]")]
    plain = (bool, str, type(None))
    if isinstance(expected, plain) or isinstance(found, plain):
        return [] if type(expected) is type(found) and expected == found else [f"{where}: expected {expected!r}, found {found!r}"]
    close = math.isclose(expected, found, rel_tol=rel, abs_tol=abs_)
    return [] if close else [f"{where}: expected {expected!r}, found {found!r}"]


def failures(case: Case, tolerance: dict[str, float]) -> list[str]:
    """Return what is wrong with our answer to a case that says what it expects."""
    limits = tolerance | case.get("tolerance", {})
    return differences(case["expected"], printable(answer(case)), rel=limits["rel"], abs_=limits["abs"])


def main(arguments: list[str] | None = None) -> int:
    """Answer or compare, and return the exit code."""
    parser = argparse.ArgumentParser(description="Run a cases file against the arithmetic of ixbench.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--answers", action="store_true", help="print the answers as JSON instead of comparing")
    options = parser.parse_args(arguments)
    document = json.loads(options.file.read_text(encoding="utf-8"))
    cases = document["cases"]
    if options.answers:
        print(json.dumps([{"name": case["name"], "answer": printable(safe_answer(case))} for case in cases], indent=1))
        return 0
    wrong = compared = skipped = 0
    for case in cases:
        if case["kind"] not in KINDS or "expected" not in case:
            skipped += 1
            continue
        compared += 1
        lines = failures(case, {"rel": 1e-9, "abs": 1e-9} | document.get("tolerance", {}))
        wrong += bool(lines)
        for line in lines:
            print(f"{case['name']}: {line}")
    print(f"{compared} cases compared, {wrong} wrong, {skipped} of other kinds or without an expected answer", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
