"""Aggregated agentic rows (v3): nested, and brought here to the flat numbers that rows of the API have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench_plugins.importers.detect import V3
from ixbench_plugins.importers.flat import (
    COUNTS,
    FACTS,
    IDENTITY,
    LATER,
    NUMBERS,
    POOL_KEYS,
    ROLE_KEYS,
    SPEEDS,
    TIMES,
    date_of,
    facts_of,
    pool_size,
)
from ixbench_plugins.importers.row import POWER, Row, identity_of, offload_of, refuse_failed, roles_of, sizes_of, split_unknown, users_of
from ixbench_plugins.importers.values import harmless, number, short_slug, table, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import ImportContext

PARTS = {"mean": "mean", "p50": "median", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "std": "std"}
"""Statistics of the nested form -> those of the flat one."""
KEPT = (
    *("scenario_type", "kv_offloading", "kv_offload_backend", "allocated_cpu_dram_gb", "request_accounting", "dataset"),
    *("kv_cache_pool_tokens", "warnings", "server_metrics"),
)
"""Keys that are kept as they are."""
_PER_GPU = {"total_tput_tps": "tput_per_gpu", "output_tput_tps": "output_tput_per_gpu", "input_tput_tps": "input_tput_per_gpu"}
_KNOWN = IDENTITY | {*FACTS, *LATER, *KEPT, *ROLE_KEYS, *POOL_KEYS, *COUNTS, *POWER, "request_metrics", "num_gpus", "users", "date"}


def read_agentic(document: Mapping[str, Any], context: ImportContext) -> Row:
    """Return the row.

    :raises RowError: if it cannot be taken.
    """
    identity = identity_of(document, context, hardware="hw", spec="spec_decoding", models=("infmax_model_prefix", "model"))
    refuse_failed(document)
    users = users_of(document)
    metrics = table(document.get("request_metrics"))
    throughput = table(metrics.get("throughput"))
    parallel, gpus = _gpus(document, disaggregated=identity.disaggregated)
    extra, dropped = split_unknown(document, _KNOWN)
    numbers = flatten(metrics, table(document.get("server_metrics")))
    numbers |= {key: value for key in (*COUNTS, *POWER) if (value := number(document.get(key))) is not None}
    extra |= {key: value for key, value in numbers.items() if key not in NUMBERS}
    ok = whole(document.get("num_requests_successful"))
    requests, failed, warmup = _accounting(document, ok)
    tokens = table(metrics.get("tokens"))
    counts = {role: _numbers(tokens.get(name)) for role, name in (("input", "input"), ("output", "output_actual"))}
    kept = {
        name: harmless(found) for name, found in (("qps", metrics.get("qps")), ("output_expected", tokens.get("output_expected"))) if found
    }
    return Row(
        schema=V3,
        **{name: getattr(identity, name) for name in identity.__dataclass_fields__},
        agentic=True,
        input_tokens=None,
        output_tokens=None,
        concurrency=users,
        kv_offload=offload_of(document),
        gpus=gpus,
        parallel=parallel,
        numbers={key: value for key, value in numbers.items() if key in NUMBERS},
        system_rates=_system_rates(throughput, metrics),
        duration_s=number(throughput.get("duration_seconds")),
        requests=requests,
        ok=ok,
        failed=failed,
        warmup=warmup,
        tokens={role: found for role, found in counts.items() if found},
        date=date_of(document.get("date")) or context.date,
        facts=facts_of(document, (*FACTS, *KEPT, *LATER, *COUNTS)) | kept,
        extra=extra,
        dropped=dropped,
    )


def flatten(metrics: Mapping[str, Any], server: Mapping[str, Any]) -> dict[str, float]:
    """Return the nested numbers under flat keys."""
    flat: dict[str, float] = {}

    def put(key: str, value: Any) -> None:  # noqa: ANN401 - a JSON value
        found = number(value)
        if found is not None:
            flat[key] = found

    latency = table(metrics.get("latency"))
    for name in (*TIMES, *SPEEDS):
        for part, statistic in PARTS.items():
            put(f"{statistic}_{name}", table(latency.get(name)).get(part))
    for name, key in _PER_GPU.items():
        put(key, table(table(metrics.get("throughput")).get("per_gpu")).get(name))
    put("theoretical_cache_hit_rate", table(metrics.get("cache")).get("theoretical_cache_hit_rate"))
    put("gpu_kv_cache_usage_pct", table(server.get("kv_cache")).get("gpu_usage_pct"))
    for key, value in table(server.get("cache")).items():
        put(f"server_{text(key)}", value)
    for key, name in (("prompt_total", "total_prompt_tokens"), ("generation_total", "total_generation_tokens")):
        put(name, table(server.get("tokens")).get(key))
    put("total_requests_completed", table(server.get("tokens")).get("requests_completed"))
    return flat


def _system_rates(throughput: Mapping[str, Any], metrics: Mapping[str, Any]) -> dict[str, float]:
    rates = {kind: number(table(throughput.get(kind)).get("tokens_per_second")) for kind in ("total", "input", "output")}
    rates["requests"] = number(table(metrics.get("qps")).get("mean"))
    return {kind: rate for kind, rate in rates.items() if rate is not None}


def _gpus(document: Mapping[str, Any], *, disaggregated: bool | None) -> tuple[dict[str, dict[str, Any]], int | None]:
    pool = sizes_of(document)
    roles, sum_of_roles = roles_of(document, disaggregated=disaggregated)
    told = {role: sizes for role, sizes in roles.items() if sizes}
    gpus = whole(document.get("num_gpus")) or sum_of_roles or pool_size(pool)
    return {"all": pool} | told, gpus


def _accounting(document: Mapping[str, Any], ok: int | None) -> tuple[int | None, dict[str, int], int]:
    """Return requests of the measured phase, failures by kind, and requests of the warm-up."""
    found = table(document.get("request_accounting"))
    failed, warmup = whole(found.get("records_error_dropped")), whole(found.get("records_warmup_dropped")) or 0
    if ok is None or failed is None:
        return whole(document.get("num_requests_total")), {}, warmup
    kinds = {
        short_slug(text(name)) or "other": count for name, value in table(found.get("error_categories")).items() if (count := whole(value))
    }
    return ok + failed, kinds if sum(kinds.values()) == failed else {"other": failed} if failed else {}, warmup


def _numbers(value: Any) -> dict[str, float]:  # noqa: ANN401 - a JSON value
    return {part: found for part in PARTS if (found := number(table(value).get(part))) is not None}
