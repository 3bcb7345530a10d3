"""From a foreign row to a point: identity, verdict, provenance, and ids that people can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ixbench.api.report import (
    UNTOLD,
    Accounting,
    Axis,
    EnergyReading,
    ImportSource,
    PointIdentity,
    PointResult,
    Reason,
    Verdict,
)
from ixbench_plugins.importers.detect import RAW
from ixbench_plugins.importers.metrics import POWER_VERSION, read_metrics
from ixbench_plugins.importers.names import model_key
from ixbench_plugins.importers.row import POWER
from ixbench_plugins.importers.values import number, short_slug, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.api.report import Metrics
    from ixbench_plugins.importers.row import Row

FASTEST_TTFT_S = 0.001
"""No first token comes sooner over a network."""
LEAST_SUCCESS = 0.99
_DEFINITIONS = {
    True: "InferenceX, agentic: times from the first content chunk, server token counts, rates over first send to last response",
    False: "vLLM bench serve: a role chunk counts as first token, rates over the wall time of the whole run",
}


_OWN = "exported by ixbench, by its own definitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A row that became a point without a name yet."""

    row: Row
    point: PointResult
    warnings: tuple[str, ...]


def point_of(row: Row, *, importer: str, file: str, sha256: str, position: int | None, document: Any) -> Taken:  # noqa: ANN401 - a JSON value
    """Return the point of a row.

    :raises RowError: if the row cannot be taken.
    """
    reading = read_metrics(row)
    ixbench = table(row.facts.get("ixbench"))
    power = {key: row.numbers[key] for key in POWER if key in row.numbers}
    source = ImportSource(
        importer=importer,
        file=file,
        sha256=sha256,
        schema=row.schema,
        position=position,
        date=row.date,
        started=row.started,
        run_id=row.run_id,
        run_url=row.run_url,
        runner=row.runner,
        definitions=_OWN if ixbench else _DEFINITIONS[row.agentic],
        token_source=row.token_source or text(ixbench.get("token_source")),
        parallel=row.parallel,
        facts={**row.facts, **({"power": power} if power else {})},
        extra=reading.extra,
        object=document,
    )
    percentile = "p90" if row.agentic else "median"
    speeds = reading.metrics["speed_tok_s_user"]
    assert isinstance(speeds, dict)
    point = PointResult(
        id="unnamed",
        evidence="simulated" if ixbench.get("evidence") == "simulated" else "measured",
        origin="imported",
        identity=_identity(row),
        verdict=_verdict(row, reading.metrics, ixbench),
        failure=None,
        metrics=reading.metrics,
        accounting=_accounting(row),
        axis=Axis(name="tpot", percentile=percentile, tok_s_user=speeds.get("p90" if row.agentic else "p50")),
        client=None,
        energy=_energy(row),
        provenance=source.to_provenance(),
    )
    return Taken(row=row, point=point, warnings=reading.warnings)


def _identity(row: Row) -> PointIdentity:
    ixbench = table(row.facts.get("ixbench"))
    pool = row.parallel.get("all") or ({} if row.disaggregated else row.parallel.get("prefill", {}))
    how: dict[str, Any] = {
        "tensor_parallel": pool.get("tp") or None,
        "pipeline_parallel": pool.get("pp") or None,
        "expert_parallel": pool["ep"] > 1 if pool.get("ep") else None,
        "disaggregated": row.disaggregated,
        "multinode": row.multinode,
    }
    # These rows have no word for what nobody knows; where ixbench wrote them, it says so beside their keys.
    how |= {name: None for name in how if name in ixbench and ixbench[name] is None}
    return PointIdentity(
        model=row.model,
        precision=row.precision or None,
        hardware=row.hardware,
        gpus=row.gpus,
        engine=row.engine,
        engine_version=text(ixbench.get("engine_version")) or None,
        image=row.image,
        deployment="unnamed",
        workload=text(ixbench.get("workload")) or ("agentx" if row.agentic else "fixed"),
        preset=text(ixbench.get("preset")) or None,
        corpus=text(ixbench.get("corpus")) or None,
        agentic=row.agentic,
        concurrency=row.concurrency,
        rate=row.rate,
        spec_method=None if row.spec_method == "none" else row.spec_method,
        kv_offload=row.kv_offload,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        **how,
    )


def _accounting(row: Row) -> Accounting:
    if row.requests is None and row.ok is None:
        return Accounting()
    ok = row.ok if row.ok is not None else row.requests or 0
    requests = max(row.requests or ok, ok)
    failed = dict(row.failed) if sum(row.failed.values()) == requests - ok else {}
    if requests > ok and not failed:
        failed = {"unknown": requests - ok}
    return Accounting(requests=requests, ok=ok, failed=failed, warmup=row.warmup)


def _verdict(row: Row, metrics: Metrics, ixbench: Mapping[str, Any]) -> Verdict:
    """Return whether the numbers can be believed. Their producer judged them; here only what cannot be is refused, and doubts are said."""
    reasons = [reason for item in ixbench.get("verdict_reasons") or () if (reason := _told(table(item))) is not None]
    reasons += implausible(metrics)
    if row.requests and row.ok is not None and row.ok / row.requests < LEAST_SUCCESS:
        share = 1 - row.ok / row.requests
        say = f"{row.requests - row.ok} of {row.requests} requests did not succeed ({share:.1%})"
        reasons.append(Reason(code="errors", value=share, limit=1 - LEAST_SUCCESS, text=say, severity="warning"))
    if any(reason.severity == "invalid" for reason in reasons):
        return Verdict(status="invalid", reasons=tuple(reasons))
    return Verdict(status="valid_with_warnings" if reasons else "valid", reasons=tuple(reasons))


def implausible(metrics: Metrics) -> tuple[Reason, ...]:
    """Return what cannot be of the medians, each as a question to who has the file."""
    reasons: list[Reason] = []
    ttft, e2el = (_median(metrics, name) for name in ("ttft_s", "e2el_s"))
    if ttft is not None and ttft < FASTEST_TTFT_S:
        ms = ttft * 1000
        say = f"a median TTFT of {ms:.2g} ms is not credible over a network: are these {ms:.2g} s? Correct the file and import it again"
        reasons.append(Reason(code="implausible", value=ttft, limit=FASTEST_TTFT_S, text=say))
    if ttft is not None and e2el is not None and e2el < ttft:
        say = f"the median end-to-end latency of {e2el:g} s is below the median TTFT of {ttft:g} s: is one of them in another unit?"
        reasons.append(Reason(code="implausible", value=e2el, limit=ttft, text=say))
    return tuple(reasons)


def _told(item: Mapping[str, Any]) -> Reason | None:
    """Return a reason that an export of ixbench holds."""
    code, said = text(item.get("code")), text(item.get("text"))
    if not code:
        return None
    severity: Literal["invalid", "warning"] = "invalid" if item.get("severity") == "invalid" else "warning"
    return Reason(code=code, value=number(item.get("value")), limit=number(item.get("limit")), text=said, severity=severity)


def _median(metrics: Metrics, name: str) -> float | None:
    found = metrics.get(name)
    return found.get("p50") if isinstance(found, dict) else None


def _energy(row: Row) -> EnergyReading | None:
    """Return what the row says of energy; None where it says nothing."""
    numbers = row.numbers
    if "avg_power_w" not in numbers and "total_gpu_energy_j" not in numbers:
        return None
    valid = bool(numbers.get("power_valid", 1.0)) and numbers.get("power_metric_schema_version", 0.0) >= POWER_VERSION
    told = [text(reason) for reason in row.facts.get("power_invalid_reasons") or () if text(reason)] or ["its producer calls it invalid"]
    why = told if not numbers.get("power_valid", 1.0) else ["its version of the power schema is below 2"]
    reasons = () if valid else tuple(Reason(code="power_invalid", value=None, limit=None, text=reason) for reason in why)
    return EnergyReading(valid=valid, reasons=reasons, joules=numbers.get("total_gpu_energy_j"), gpus=row.gpus or 0)


def named(taken: Sequence[Taken]) -> list[PointResult]:
    """Return the points with ids: the engine and the load, and between them only what is not alike in the whole file."""
    from dataclasses import replace

    traits = [_traits(item.row) for item in taken]
    differ = [len({trait[index] for trait in traits}) > 1 for index in range(len(traits[0]))] if traits else []
    used: dict[str, int] = {}
    points: list[PointResult] = []
    for item, trait in zip(taken, traits, strict=True):
        words = [short_slug(item.row.engine) or "engine", *(word for word, shown in zip(trait, differ, strict=True) if shown and word)]
        deployment = "-".join(words)
        row = item.row
        load = f"c{row.concurrency}" if row.concurrency is not None else f"r{row.rate:g}"
        name = f"{deployment}-{short_slug(load)}"[:180]
        used[name] = used.get(name, 0) + 1
        name = name if used[name] == 1 else f"{name}-{used[name]}"
        points.append(replace(item.point, id=name, identity=replace(item.point.identity, deployment=deployment)))
    return points


def _traits(row: Row) -> tuple[str, ...]:
    """Return what can tell rows of one engine apart, each as a word of an id or empty."""
    lengths = f"{row.input_tokens}x{row.output_tokens}" if row.input_tokens and row.output_tokens else ""
    return (
        short_slug(model_key(row.model)),
        row.hardware or "",
        short_slug(row.precision or ""),
        "" if row.spec_method in ("none", UNTOLD) else short_slug(row.spec_method),
        _topology(row),
        lengths,
        "" if row.kv_offload in ("off", UNTOLD) else "offload",
    )


def _topology(row: Row) -> str:
    if row.schema == RAW:
        return ""
    prefill, decode = (row.parallel.get(role, {}) for role in ("prefill", "decode"))
    if row.disaggregated and prefill.get("gpus") and decode.get("gpus"):
        return f"p{prefill['gpus']}d{decode['gpus']}"
    pool = row.parallel.get("all") or prefill
    words = [f"tp{pool['tp']}"] if pool.get("tp") else []
    words += [f"pp{pool['pp']}"] if pool.get("pp", 1) > 1 else []
    words += [f"ep{pool['ep']}"] if pool.get("ep", 1) > 1 else []
    words += ["dpa"] if pool.get("dp_attention") else []
    return "-".join(words)
