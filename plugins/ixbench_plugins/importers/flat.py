"""Aggregated fixed-sequence rows, single node (v1) and with roles (v2), and rows of the API: numbers that lie flat beside the identity."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ixbench.api.report import UNTOLD
from ixbench_plugins.importers.detect import API, V1
from ixbench_plugins.importers.row import (
    POWER,
    SIZES,
    Row,
    identity_of,
    lengths_of,
    offload_of,
    refuse_failed,
    roles_of,
    sizes_of,
    split_unknown,
    users_of,
)
from ixbench_plugins.importers.units import STATISTICS, refuse_both_units
from ixbench_plugins.importers.values import harmless, number, table, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import ImportContext

TIMES = ("ttft", "tpot", "itl", "e2el", "full_response_itl")
SPEEDS = ("intvty", "full_response_intvty", "e2e_norm_intvty")
STATISTIC_KEYS = frozenset(f"{statistic}_{name}" for statistic in STATISTICS for name in (*TIMES, *SPEEDS))
RATES = frozenset({"tput_per_gpu", "output_tput_per_gpu", "input_tput_per_gpu"})
COUNTS = frozenset({"num_requests_total", "num_requests_successful"})
CACHE = frozenset({"theoretical_cache_hit_rate", "server_gpu_cache_hit_rate"})
NUMBERS = STATISTIC_KEYS | RATES | COUNTS | CACHE | frozenset(POWER)
"""Flat keys that become metrics."""

IDENTITY = frozenset({"hw", "conc", "image", "model", "infmax_model_prefix", "framework", "precision", "spec_decoding", "disagg"}) | {
    "isl",
    "osl",
    "is_multinode",
}
FACTS = ("model", "infmax_model_prefix", "recipe_fingerprint", "router", "kv_p2p_transfer")
"""Keys of a row that are kept as they are."""
LATER = ("benchmark_outcome", "power_audit", "power_invalid_reasons", "ixbench")
ROLE_KEYS = frozenset(f"{role}_{name}" for role in ("prefill", "decode") for name in (*SIZES, "dp_attention", "num_workers", "hw")) | {
    "num_prefill_gpu",
    "num_decode_gpu",
}
POOL_KEYS = frozenset({*SIZES, "dp_attention"})
_V1 = IDENTITY | frozenset(FACTS) | frozenset(LATER) | POOL_KEYS | NUMBERS | {"num_gpus", "date"}
_V2 = IDENTITY | frozenset(FACTS) | frozenset(LATER) | ROLE_KEYS | POOL_KEYS | NUMBERS | {"num_gpus", "date"}

_API = frozenset({"id", "hardware", "framework", "model", "precision", "spec_method", "disagg", "is_multinode", "benchmark_type"}) | {
    *("isl", "osl", "conc", "users", "offload_mode", "kv_offloading", "offloading", "image", "metrics", "workers", "date"),
    *("workflow_run_id", "run_started_at", "run_url"),
    *LATER,
    *ROLE_KEYS,
}
_CONFIGURATION = (
    *("hardware", "framework", "model", "precision", "spec_method", "disagg", "is_multinode"),
    *sorted(ROLE_KEYS),
)
AGENTIC = "agentic_traces"
_OLD_NAMES = re.compile(r"(.+)_ttlt$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def read_fixed(document: Mapping[str, Any], schema: str, context: ImportContext) -> Row:
    """Return a v1 or v2 row.

    :raises RowError: if it cannot be taken.
    """
    identity = identity_of(document, context, hardware="hw", spec="spec_decoding", models=("infmax_model_prefix", "model"))
    refuse_failed(document)
    isl, osl, conc = lengths_of(document)
    extra, dropped = split_unknown(document, _V1 if schema == V1 else _V2)
    parallel: dict[str, dict[str, Any]]
    if schema == V1:
        # The shape itself is that of one pool on one node.
        identity = replace(identity, disaggregated=identity.disaggregated or False, multinode=identity.multinode or False)
        pool = sizes_of(document)
        parallel, gpus = {"all": pool}, pool_size(pool)
        if "tp" in pool and "ep" in pool:
            extra["num_gpus_site"] = pool["tp"] * pool["ep"]
    else:
        parallel, gpus = roles_of(document, disaggregated=identity.disaggregated)
    numbers = {key: found for key in NUMBERS if (found := number(document.get(key))) is not None}
    refuse_both_units(document, numbers)
    return Row(
        schema=schema,
        **{name: getattr(identity, name) for name in identity.__dataclass_fields__},
        agentic=False,
        input_tokens=isl,
        output_tokens=osl,
        concurrency=conc,
        # These rows have no key for it.
        kv_offload=UNTOLD,
        gpus=gpus,
        parallel=parallel,
        numbers=numbers,
        requests=whole(document.get("num_requests_total")),
        ok=whole(document.get("num_requests_successful")),
        date=date_of(document.get("date")) or context.date,
        facts=facts_of(document, (*FACTS, *LATER)),
        extra=extra,
        dropped=dropped,
    )


def read_api(document: Mapping[str, Any], context: ImportContext) -> Row:
    """Return a row of the API.

    :raises RowError: if it cannot be taken.
    """
    identity = identity_of(document, context, hardware="hardware", spec="spec_method", models=("model",))
    refuse_failed(document)
    metrics = with_new_names(table(document.get("metrics")))
    agentic = text(document.get("benchmark_type")).lower() == AGENTIC
    isl, osl, conc = (None, None, users_of(document)) if agentic else lengths_of(document)
    parallel, gpus = roles_of(document, disaggregated=identity.disaggregated)
    extra, dropped = split_unknown(metrics, NUMBERS)
    more, dropped_too = split_unknown(document, _API)
    extra |= more
    if not identity.disaggregated:
        gpus, site = pool_of_site(parallel["prefill"], gpus)
        extra |= {"num_gpus_site": site} if site is not None else {}
    numbers = {key: found for key in NUMBERS if (found := number(metrics.get(key))) is not None}
    refuse_both_units(metrics, numbers)
    kind = AGENTIC if agentic else "single_turn"
    key = [document.get("workflow_run_id"), *(document.get(name) for name in _CONFIGURATION), kind]
    key += [document.get(name) for name in ("isl", "osl", "conc", "offload_mode")]
    return Row(
        schema=API,
        **{name: getattr(identity, name) for name in identity.__dataclass_fields__},
        agentic=agentic,
        input_tokens=isl,
        output_tokens=osl,
        concurrency=conc,
        kv_offload=offload_of(document),
        gpus=gpus,
        parallel=parallel,
        numbers=numbers,
        requests=whole(metrics.get("num_requests_total")),
        ok=whole(metrics.get("num_requests_successful")),
        date=date_of(document.get("date")) or context.date,
        started=text(document.get("run_started_at")),
        run_id=_run_id(document.get("workflow_run_id")),
        run_url=text(document.get("run_url")),
        facts=facts_of(document, ("id", "benchmark_type", "workers", "model", *LATER)),
        extra=extra,
        dropped=(*dropped, *dropped_too),
        unique=json.dumps(key, sort_keys=True, default=str),
    )


def pool_size(pool: Mapping[str, Any]) -> int | None:
    """Return the GPUs of a single pool: tensor x pipeline x prefill-context size; None where the row does not tell the first."""
    tensor = pool.get("tp")
    return tensor * max(pool.get("pp", 1), 1) * max(pool.get("pcp_size", 1), 1) if tensor else None


def pool_of_site(pool: Mapping[str, Any], counted: int | None) -> tuple[int | None, int | None]:
    """Return the GPUs of a single pool, and the site's count where that is another one.

    The site multiplies tensor by expert parallel size, although experts are spread over the GPUs that tensors have already.
    """
    tensor, experts = pool.get("tp"), pool.get("ep")
    if counted and tensor and experts and 1 < experts <= tensor and counted == tensor * experts:
        return tensor, counted
    return counted, None


def with_new_names(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics with names of old rows brought to today's; where both stand there, today's counts."""
    renamed = {f"{match[1]}_e2el": value for key, value in metrics.items() if (match := _OLD_NAMES.fullmatch(key))}
    return renamed | {key: value for key, value in metrics.items() if not _OLD_NAMES.fullmatch(key)}


def facts_of(document: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the values that are there under these keys, as they are but for control characters."""
    return {key: harmless(document[key]) for key in keys if document.get(key) is not None}


def date_of(value: Any) -> str:  # noqa: ANN401 - a JSON value
    """Return an ISO date, also of a text that goes on with a time or writes the date without dashes; empty for anything else."""
    from datetime import date

    said = text(value)
    compact = re.match(r"(\d{4})(\d{2})(\d{2})(?!\d)", said)
    found = "-".join(compact.groups()) if compact else said[:10]
    if not _DATE.fullmatch(found):
        return ""
    try:
        return date.fromisoformat(found).isoformat()
    except ValueError:
        return ""


def _run_id(value: Any) -> str:  # noqa: ANN401 - a JSON value
    found = whole(value)
    return str(found) if found is not None else text(value)
