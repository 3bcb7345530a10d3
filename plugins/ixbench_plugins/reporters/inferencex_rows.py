"""Points as rows of InferenceX: fixed-sequence ones flat, of a single node or with roles, and agentic ones nested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ixbench.api.report import UNTOLD, import_source
from ixbench_plugins.importers.names import model_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import Accounting, PointResult, RunView

FLAT = {"mean": "mean", "p50": "median", "std": "std", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99.9"}
"""Parts of a metric -> statistics of flat keys."""
NESTED = ("mean", "p50", "p75", "p90", "p95", "std")
DEVIATION = "std"
DECIMALS = 5
MAX_FAILED, MAX_FAILED_AGENTIC = 0.01, 0.10
_SIZES = ("tp", "pp", "dcp_size", "pcp_size", "ep")


class NoRowError(ValueError):
    """A point that these schemas cannot hold; `str()` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What an imported point keeps of its row; empty for a point of a run."""

    runner: str = ""
    parallel: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, float] = field(default_factory=dict)


def row_of(run: RunView, point: PointResult, *, parity: bool) -> dict[str, Any]:
    """Return a point as a row.

    :param parity: round the numbers of an agentic row as its producer does.
    :raises NoRowError: if the point lacks what a row must have.
    """
    identity = point.identity
    source = import_source(point)
    kept = Kept() if source is None else Kept(runner=source.runner, parallel=source.parallel, facts=source.facts, extra=source.extra)
    _require(point)
    row = _agentic(run, point, kept) if identity.agentic else _fixed(run, point, kept)
    if not point.usable:
        row["benchmark_outcome"] = _failed(point)
    if parity and identity.agentic:
        row = rounded(row)
    return row | {"ixbench": extras(run, point)}


def extras(run: RunView, point: PointResult) -> dict[str, Any]:
    """Return what these schemas have no keys for."""
    identity, client, counts = point.identity, point.client, point.counted
    source = import_source(point)
    return {
        "version": run.versions.get("ixbench"),
        "run": run.id,
        "point": point.id,
        "origin": point.origin,
        "evidence": point.evidence,
        "verdict": point.verdict.status,
        "verdict_reasons": [
            {"code": reason.code, "value": reason.value, "limit": reason.limit, "text": reason.text, "severity": reason.severity}
            for reason in point.verdict.reasons
        ],
        "price_book": next((quote.book for quote in run.quotes), None),
        "client": None if client is None else {"floor_s": client.floor_s, "lag_s": client.lag_s, "clock": client.clock},
        "window_rule": "span" if point.origin == "run" else None,
        "gpus_reserved": identity.gpus,
        "token_source": "usage" if source is None else source.token_source or None,
        "model": identity.model,
        "engine_version": identity.engine_version,
        "workload": identity.workload,
        "preset": identity.preset,
        "corpus": identity.corpus,
        "spec_method": identity.spec_method,
        "kv_offload": identity.kv_offload,
        "tensor_parallel": identity.tensor_parallel,
        "pipeline_parallel": identity.pipeline_parallel,
        "expert_parallel": identity.expert_parallel,
        "disaggregated": identity.disaggregated,
        "multinode": identity.multinode,
        "requests": None if counts is None else counts.requests,
        "ok": None if counts is None else counts.ok,
        "started": run.started if source is None else source.started or None,
    }


def rounded(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    """Return JSON with floats of five decimals; one that comes to a whole number of 1 or more is an integer."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if not isinstance(value, float):
        return value
    found = round(value, DECIMALS)
    return int(found) if abs(found) >= 1 and found == int(found) else found


def _require(point: PointResult) -> None:
    identity = point.identity
    lacks = [
        (identity.hardware is None, "no hardware"),
        (not identity.gpus, "no number of GPUs, so no rate per GPU"),
        (identity.concurrency is None, "no concurrency: it was an open loop"),
        (not identity.agentic and not (identity.input_tokens and identity.output_tokens), "no input and output length"),
        (_part(point, "throughput_tok_s_gpu", "total") is None, "no rate per GPU"),
        (_part(point, "speed_tok_s_user", "p90" if identity.agentic else "p50") is None, "no speed"),
        (identity.agentic and _part(point, "e2el_s", "p90") is None, "no p90 of the end-to-end latency"),
    ]
    found = [why for missing, why in lacks if missing]
    if found:
        raise NoRowError(", ".join(found))


def _head(run: RunView, point: PointResult, kept: Kept) -> dict[str, Any]:
    identity, facts = point.identity, kept.facts
    table = run.campaign.get("model")
    asked = table.get("id") if isinstance(table, dict) else None
    return {
        "hw": kept.runner or identity.hardware,
        "conc": identity.concurrency,
        "image": identity.image or "",
        "model": facts.get("model") or facts.get("model_id") or asked or identity.model,
        "infmax_model_prefix": facts.get("infmax_model_prefix") or model_key(identity.model),
        "framework": identity.engine,
        "precision": identity.precision or "",
        # These rows have no word for what nobody told; what ixbench adds to them tells it.
        "spec_decoding": "none" if identity.spec_method in (None, UNTOLD) else identity.spec_method,
        "disagg": bool(identity.disaggregated),
        "recipe_fingerprint": facts.get("recipe_fingerprint", ""),
    }


def _fixed(run: RunView, point: PointResult, kept: Kept) -> dict[str, Any]:
    identity = point.identity
    row = _head(run, point, kept) | {"isl": identity.input_tokens, "osl": identity.output_tokens}
    row |= {key: kept.facts[key] for key in ("router", "kv_p2p_transfer") if key in kept.facts}
    row["is_multinode"] = bool(identity.multinode)
    row |= _roles(point, kept) if identity.disaggregated or identity.multinode else _pool(point, kept)
    row |= _rates(point)
    for metric, name in (("ttft_s", "ttft"), ("tpot_s", "tpot"), ("icl_s", "itl"), ("e2el_s", "e2el")):
        row |= _flat(point, metric, name)
    speeds = _flat(point, "speed_tok_s_user", "intvty")
    row |= {key: value for key, value in speeds.items() if not key.startswith(DEVIATION)}
    return row | _power(point, kept)


def _pool(point: PointResult, kept: Kept) -> dict[str, Any]:
    """Return the sizes of a single pool, whose product is the number of its GPUs."""
    told = kept.parallel.get("all") or kept.parallel.get("prefill")
    if told and told.get("tp"):
        return _sizes(told)
    return _sizes(_own_pool(point))


def _own_pool(point: PointResult) -> dict[str, Any]:
    identity = point.identity
    gpus, stages = identity.gpus or 1, identity.pipeline_parallel or 1
    stages = stages if gpus % stages == 0 else 1
    tensor = gpus // stages
    return {
        "tp": tensor,
        "pp": stages,
        # Experts are spread over the GPUs that share a layer.
        "ep": tensor if identity.expert_parallel else 1,
        "dp_attention": (identity.data_parallel or 1) > 1,
    }


def _sizes(told: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    defaults = dict.fromkeys(_SIZES, 1)
    sizes = {f"{prefix}{name}": told.get(name, defaults[name]) for name in _SIZES}
    return sizes | {f"{prefix}dp_attention": "true" if told.get("dp_attention") else "false"}


def _roles(point: PointResult, kept: Kept) -> dict[str, Any]:
    """Return the sizes of prefill and decode; without roles of their own all is prefill, and decode is written as 0."""
    prefill, decode = (kept.parallel.get(role, {}) for role in ("prefill", "decode"))
    if not prefill.get("tp"):
        prefill = {**_own_pool(point), "gpus": point.identity.gpus}
    if not point.identity.disaggregated:
        decode = {**dict.fromkeys(_SIZES, 1), "tp": 0, "ep": 0, "num_workers": 0, "gpus": 0}
    elif not prefill.get("gpus") or not decode.get("gpus"):
        raise NoRowError("no number of GPUs of prefill and decode")
    row: dict[str, Any] = {}
    for role, told in (("prefill", prefill), ("decode", decode)):
        row |= _sizes(told, f"{role}_") | {f"{role}_num_workers": told.get("num_workers", 1)}
        if told.get("hw"):
            row[f"{role}_hw"] = told["hw"]
    return row | {"num_prefill_gpu": prefill.get("gpus"), "num_decode_gpu": decode.get("gpus", 0)}


def _rates(point: PointResult) -> dict[str, Any]:
    """Return the rates per GPU; of a disaggregated point input and output over the GPUs of their role."""
    roles = point.metrics.get("throughput_tok_s_gpu_role")
    rates = point.metrics["throughput_tok_s_gpu"]
    assert isinstance(rates, dict)
    shown = roles if isinstance(roles, dict) else rates
    return {
        "tput_per_gpu": rates["total"],
        **{f"{kind}_tput_per_gpu": shown[kind] for kind in ("output", "input") if shown.get(kind) is not None},
    }


def _flat(point: PointResult, metric: str, name: str) -> dict[str, Any]:
    found = point.metrics.get(metric)
    parts = found if isinstance(found, dict) else {}
    return {f"{statistic}_{name}": parts[part] for part, statistic in FLAT.items() if parts.get(part) is not None}


def _nested(point: PointResult, metric: str, *, deviation: bool = True) -> dict[str, Any]:
    found = point.metrics.get(metric)
    parts = found if isinstance(found, dict) else {}
    return {part: parts[part] for part in NESTED if parts.get(part) is not None and (deviation or part != DEVIATION)}


def _part(point: PointResult, metric: str, part: str) -> float | None:
    found = point.metrics.get(metric)
    return found.get(part) if isinstance(found, dict) else None


def _agentic(run: RunView, point: PointResult, kept: Kept) -> dict[str, Any]:
    identity, facts, counts = point.identity, kept.facts, point.counted
    row = _head(run, point, kept) | {
        "scenario_type": facts.get("scenario_type", "agentic-coding"),
        "is_multinode": bool(identity.multinode),
    }
    row["num_gpus"] = identity.gpus
    if identity.disaggregated or identity.multinode:
        row |= _roles(point, kept)
    row |= _pool(point, kept)
    row |= {
        "kv_offloading": facts.get("kv_offloading", "none" if identity.kv_offload in ("off", UNTOLD) else "dram"),
        "kv_offload_backend": facts.get("kv_offload_backend") or _backend(point),
        "allocated_cpu_dram_gb": facts.get("allocated_cpu_dram_gb", 0),
        "num_requests_total": facts.get("num_requests_total", None if counts is None else counts.requests + counts.warmup),
        "num_requests_successful": facts.get("num_requests_successful", None if counts is None else counts.ok),
        "request_accounting": facts.get("request_accounting") or (None if counts is None else _request_accounting(counts)),
        "dataset": facts.get("dataset"),
        "request_metrics": _request_metrics(point, kept),
        "server_metrics": facts.get("server_metrics") or _server(point),
        "kv_cache_pool_tokens": facts.get("kv_cache_pool_tokens"),
        "warnings": facts.get("warnings", []),
    }
    return row | _power(point, kept)


def _request_accounting(counts: Accounting) -> dict[str, Any]:
    return {
        "records_total": counts.requests + counts.warmup,
        "records_profiled": counts.ok,
        "records_dropped_total": counts.requests - counts.ok + counts.warmup,
        "records_warmup_dropped": counts.warmup,
        "records_error_dropped": sum(counts.failed.values()),
        "error_categories": dict(counts.failed),
    }


def _backend(point: PointResult) -> dict[str, Any] | None:
    mode = point.identity.kv_offload
    return None if mode in ("off", "on", UNTOLD) else {"name": mode, "version": None}


def _request_metrics(point: PointResult, kept: Kept) -> dict[str, Any]:
    times, speeds = _nested(point, "tpot_s"), _nested(point, "speed_tok_s_user", deviation=False)
    # Times of single tokens are told apart only where the full response has others.
    other = {part: kept.extra[f"{FLAT[part]}_itl"] for part in NESTED if f"{FLAT[part]}_itl" in kept.extra}
    gaps = times | other
    paces = speeds | {part: 1 / value for part, value in other.items() if value and part != DEVIATION}
    rates = _rates(point)
    system = point.metrics.get("throughput_tok_s")
    cache = _part(point, "cache_hit_share", "theoretical")
    span = point.metrics.get("span_s")
    qps: dict[str, Any] = {"window_seconds": 1, "samples": int(span) if isinstance(span, int | float) else 0}
    if point.metrics.get("requests_per_s") is not None:
        qps["mean"] = point.metrics["requests_per_s"]
    return {
        "qps": kept.facts.get("qps", qps),
        "latency": {
            "ttft": _nested(point, "ttft_s"),
            "e2el": _nested(point, "e2el_s"),
            "itl": gaps,
            "tpot": gaps,
            "intvty": paces,
            "e2e_norm_intvty": _nested(point, "e2e_norm_tok_s_user", deviation=False),
            "full_response_itl": times,
            "full_response_intvty": speeds,
        },
        "tokens": {
            "input": _nested(point, "input_tokens"),
            "output_actual": _nested(point, "output_tokens"),
            "output_expected": kept.facts.get("output_expected", _nested(point, "output_asked_tokens")),
        },
        "throughput": {
            **{
                kind: {"tokens_per_second": system.get(kind) if isinstance(system, dict) else None} for kind in ("input", "output", "total")
            },
            "duration_seconds": span,
            "per_gpu": {
                "total_tput_tps": rates["tput_per_gpu"],
                "output_tput_tps": rates.get("output_tput_per_gpu"),
                "input_tput_tps": rates.get("input_tput_per_gpu"),
            },
        },
        "cache": {} if cache is None else {"theoretical_cache_hit_rate": cache},
    }


def _server(point: PointResult) -> dict[str, Any]:
    """Return what the engine's counters say; with none of them read, that there is nothing."""
    hits = _part(point, "cache_hit_share", "server")
    if hits is None:
        return {"present": False, "adapter": point.identity.engine, "metric_count": 0}
    return {"present": True, "adapter": point.identity.engine, "metric_count": 1, "cache": {"gpu_cache_hit_rate": hits}}


def _power(point: PointResult, kept: Kept) -> dict[str, Any]:
    """Return power and energy: as an imported row had it, else by the point's own reading, which says whether it is valid."""
    told = kept.facts.get("power")
    more = {key: kept.facts[key] for key in ("power_invalid_reasons", "power_audit") if key in kept.facts}
    if isinstance(told, dict):
        return dict(told) | more
    energy = point.energy
    if energy is None:
        return {}
    row: dict[str, Any] = {"power_metric_schema_version": 2, "power_valid": int(energy.valid)}
    if not energy.valid:
        return row | {"power_invalid_reasons": [reason.text for reason in energy.reasons]}
    watts = point.metrics.get("power_w_gpu")
    row |= {} if not isinstance(watts, int | float) else {"avg_power_w": watts, "avg_total_gpu_power_w": watts * energy.gpus}
    row |= {} if energy.joules is None else {"total_gpu_energy_j": energy.joules}
    if energy.joules is not None and point.accounting.ok:
        row["joules_per_successful_query"] = energy.joules / point.accounting.ok
    for kind in ("input", "output", "total"):
        joules = _part(point, "joules_per_token", kind)
        row |= {} if joules is None else {f"joules_per_{kind}_token": joules}
    return row


def _failed(point: PointResult) -> dict[str, Any]:
    counts = point.accounting
    return {
        "status": "failed",
        "requested": counts.requests,
        "completed": counts.ok,
        "failed": sum(counts.failed.values()),
        "max_failure_rate": MAX_FAILED_AGENTIC if point.identity.agentic else MAX_FAILED,
    }
