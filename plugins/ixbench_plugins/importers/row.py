"""A foreign result in one form, whatever its schema: identity, counts and a flat map of numbers in seconds, tokens and watts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ixbench.api.report import UNTOLD, precision_of
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.names import engine_of, image_of, model_of, sku_of_runner, spec_method_of
from ixbench_plugins.importers.values import number, table, text, truth, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import ImportContext

SIZES = ("tp", "pp", "dcp_size", "pcp_size", "ep")
"""Parallel sizes of a role."""
POWER = (
    "power_metric_schema_version",
    "power_valid",
    "avg_power_w",
    "avg_total_gpu_power_w",
    "total_gpu_energy_j",
    "joules_per_successful_query",
    "joules_per_input_token",
    "joules_per_output_token",
    "joules_per_total_token",
    "prefill_avg_power_w",
    "decode_avg_power_w",
    "prefill_gpu_energy_j",
    "decode_gpu_energy_j",
    "prefill_joules_per_input_token",
    "decode_joules_per_output_token",
    *(f"{part}_{name}" for part in ("p75", "p90") for name in ("power_w", "total_gpu_power_w", "avg_power_w", "avg_total_gpu_power_w")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One foreign result."""

    schema: str
    model: str
    """Name in print."""
    runner: str
    """The hardware as the row calls it."""
    hardware: str | None
    engine: str
    precision: str | None
    spec_method: str
    image: str | None
    agentic: bool
    disaggregated: bool | None
    """None = the file does not tell; so are the next, and "unknown" in `spec_method` and `kv_offload`."""
    multinode: bool | None
    input_tokens: int | None
    output_tokens: int | None
    concurrency: int | None
    rate: float | None = None
    """Requests a second of an open loop."""
    kv_offload: str
    gpus: int | None
    parallel: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sizes by role, or under "all" those of a single pool; `gpus` of a role is its number of GPUs."""
    numbers: Mapping[str, float]
    """By flat key: `median_ttft`, `tput_per_gpu`, `num_requests_total`; seconds, tok/s, watts."""
    system_rates: Mapping[str, float] = field(default_factory=dict)
    """Rates of the whole system in tok/s, by kind, and "requests" a second, where the row tells them apart from those per GPU."""
    duration_s: float | None = None
    requests: int | None = None
    """Of the measured phase; None = not told."""
    ok: int | None = None
    failed: Mapping[str, int] = field(default_factory=dict)
    warmup: int = 0
    tokens: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Statistics of "input" and "output" tokens by request."""
    date: str = ""
    started: str = ""
    run_id: str = ""
    run_url: str = ""
    token_source: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the schema says and nothing else here holds."""
    extra: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Unknown keys whose values were no numbers."""
    unique: str = ""
    """What it measured in which run, where the schema says what makes rows equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIdentity:
    """What all InferenceX schemas say alike."""

    model: str
    runner: str
    hardware: str
    engine: str
    precision: str | None
    spec_method: str
    image: str | None
    disaggregated: bool | None
    multinode: bool | None


def identity_of(document: Mapping[str, Any], context: ImportContext, *, hardware: str, spec: str, models: tuple[str, ...]) -> RowIdentity:
    """Return the identity, with names brought to one form.

    :param hardware: the key of the runner, `spec` that of the spec-decode method, `models` those of the model, the best first.
    :raises RowError: unknown_hardware, unknown_model.
    """
    engine = engine_of(text(document.get("framework")))
    runner = text(document.get(hardware))
    return RowIdentity(
        hardware=sku_of_runner(runner, context.skus),
        runner=runner,
        model=model_of(*(text(document.get(key)) for key in models), context.model or ""),
        engine=engine.engine or context.engine or "unknown",
        precision=precision_of(text(document.get("precision"))) or context.precision,
        spec_method=spec_method_of(text(document[spec])) if document.get(spec) is not None else UNTOLD,
        image=image_of(text(document.get("image"))) or None,
        disaggregated=True if engine.disaggregated else truth(document.get("disagg")),
        multinode=truth(document.get("is_multinode")),
    )


def sizes_of(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the parallel sizes of a role; those that the row does not tell are left out."""
    found: dict[str, Any] = {name: size for name in SIZES if (size := whole(document.get(f"{prefix}{name}"))) is not None}
    attention = truth(document.get(f"{prefix}dp_attention"))
    if attention is not None:
        found["dp_attention"] = attention
    workers = whole(document.get(f"{prefix}num_workers"))
    if workers is not None:
        found["num_workers"] = workers
    if hw := text(document.get(f"{prefix}hw")):
        found["hw"] = hw
    return found


def roles_of(document: Mapping[str, Any], *, disaggregated: bool | None) -> tuple[dict[str, dict[str, Any]], int | None]:
    """Return the sizes of prefill and decode with their GPUs, and the GPUs of both.

    A single pool repeats its count for both roles: they are added only where prefill and decode are apart.
    """
    roles = {role: sizes_of(document, f"{role}_") for role in ("prefill", "decode")}
    counts = {role: whole(document.get(f"num_{role}_gpu")) for role in roles}
    for role, count in counts.items():
        if count is not None:
            roles[role]["gpus"] = count
    prefill, decode = counts["prefill"], counts["decode"]
    if not disaggregated or not decode:
        return roles, prefill or None
    return roles, None if prefill is None else prefill + decode


def offload_of(document: Mapping[str, Any]) -> str:
    """Return whether the KV cache was offloaded: "on", "off", or "unknown" where no key tells."""
    for key, off in (("offload_mode", "off"), ("kv_offloading", "none"), ("offloading", "none")):
        value = document.get(key)
        if isinstance(value, str) and value.strip():
            return "off" if value.strip().lower() in (off, "off", "none", "false") else "on"
        if isinstance(value, bool):
            return "on" if value else "off"
    return UNTOLD


def lengths_of(document: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return input length, output length and concurrency of a fixed-sequence row.

    :raises RowError: missing_isl, missing_osl, missing_conc.
    """
    found = {key: whole(document.get(key)) for key in ("isl", "osl", "conc")}
    for key, value in found.items():
        if not value:
            raise RowError(f"missing_{key}", f"a fixed-sequence row needs {key}, found {document.get(key)!r:.40}")
    return found["isl"] or 0, found["osl"] or 0, found["conc"] or 0


def users_of(document: Mapping[str, Any]) -> int:
    """Return the concurrency of an agentic row.

    :raises RowError: missing_conc.
    """
    found = whole(document.get("users")) or whole(document.get("conc"))
    if not found:
        raise RowError("missing_conc", "the row says neither users nor conc")
    return found


def refuse_failed(document: Mapping[str, Any]) -> None:
    """Refuse a row whose benchmark failed, by its own word.

    :raises RowError: benchmark_failed.
    """
    if text(table(document.get("benchmark_outcome")).get("status")).lower() == "failed":
        raise RowError("benchmark_failed", "its own benchmark_outcome says that it failed")


def split_unknown(document: Mapping[str, Any], known: frozenset[str]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the numbers under keys that the schema does not have, and the keys of what is dropped because it is no number."""
    extra: dict[str, float] = {}
    dropped: list[str] = []
    for key, value in document.items():
        if key in known or value is None:
            continue
        found = number(value)
        if found is not None:
            extra[text(key)] = found
        else:
            dropped.append(text(key))
    return extra, tuple(dropped)
