"""Runs that no engine made, for testing reporters and whatever else reads finished points: say what matters, the rest is filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ixbench.model.accuracy import AccuracyResult
from ixbench.model.counts import counted
from ixbench.model.price import Quote, Sku
from ixbench.model.result import Accounting, Axis, ClientReport, Failure, PointIdentity, PointResult, Reason, Verdict
from ixbench.model.run import ReportSettings, RunView

if TYPE_CHECKING:
    from ixbench.model.result import Metrics, MetricValue

SAMPLE_SKU = Sku(sku="mi355x", name="AMD Instinct MI355X", vendor="amd", hbm_gb=288.0, all_in_kw=2.09)
SAMPLE_QUOTES = (
    Quote(
        book="2026-09",
        sku="mi355x",
        tier="hyperscaler",
        label="Owning at Large Hyperscaler Volume",
        usd_per_gpu_hour=1.5,
        as_of="2026-09-10",
        source="a published table",
    ),
    Quote(
        book="2026-09", sku="mi355x", tier="retail", label="Retail", usd_per_gpu_hour=2.9, as_of="2026-09-10", source="a published table"
    ),
)


def sample_point(
    point_id: str,
    *,
    speed_tok_s_user: float | None,
    rate_tok_s_gpu: float | None,
    rate_tok_s: float | None = None,
    successes: int = 200,
    verdict: Verdict | None = None,
    failure: Failure | None = None,
    evidence: Any = "measured",  # noqa: ANN401 - a literal of the model
    provenance: dict[str, object] | None = None,
    **identity: Any,  # noqa: ANN401 - fields of PointIdentity
) -> PointResult:
    """Return a finished point with the metrics that a run would have at this speed and rate.

    :param speed_tok_s_user: the speed axis; None for a point without any answer.
    :param rate_tok_s_gpu: all tokens a second and GPU; None where the number of GPUs is not known.
    :param rate_tok_s: the same for the whole system, where it does not follow from the GPUs.
    :param identity: fields of `PointIdentity` that differ from a node of MI355X under vLLM.
    """
    gpus = identity.get("gpus", 8)
    concurrency = identity.get("concurrency", 8)
    known = {
        "model": "acme/Model-7B",
        "precision": "fp4",
        "hardware": "mi355x",
        "gpus": gpus,
        "engine": "vllm",
        "engine_version": "0.22.0",
        "image": None,
        "deployment": point_id.rpartition("-")[0] or point_id,
        "workload": "fixed",
        "concurrency": concurrency,
        "input_tokens": 1024,
        "output_tokens": 128,
    }
    return PointResult(
        id=point_id,
        evidence=evidence,
        origin="run",
        identity=PointIdentity(**known | identity),
        verdict=verdict or (Verdict(status="valid") if failure is None else _engine_died(failure)),
        failure=failure,
        metrics=_metrics(
            speed_tok_s_user, rate_tok_s_gpu, rate_tok_s or (rate_tok_s_gpu or 0) * (gpus or 0) or None, successes, concurrency
        )
        if speed_tok_s_user
        else {},
        accounting=Accounting(requests=successes, ok=successes, warmup=2 * (concurrency or 0)) if failure is None else Accounting(),
        axis=Axis(name="tpot", percentile="median", tok_s_user=speed_tok_s_user),
        client=ClientReport(floor_s=0.0007, lag_s=0.0011, cpu_s=3.2, clock="read"),
        provenance=provenance or {"launch": "vllm", "date": "2026-11-30"},
    )


def sample_run(*points: PointResult, **fields: Any) -> RunView:  # noqa: ANN401 - fields of RunView
    """Return a run of these points; `fields` are those of `RunView` that differ."""
    run = RunView(
        id="20261130T064501Z-model-on-mi355x",
        title="Model 7B on MI355X",
        started="2026-11-30T06:45:01Z",
        evidence="simulated" if any(point.evidence == "simulated" for point in points) else "measured",
        report=ReportSettings(),
        points=points,
        planned=tuple(point.id for point in points),
        quotes=SAMPLE_QUOTES,
        sku=SAMPLE_SKU,
        versions={"ixbench": "0.1.0", "python": "3.11.7"},
    )
    return replace(run, **fields)


def sample_accuracy(*, asked: int, right: int, required: float = 0.9, **changes: Any) -> AccuracyResult:  # noqa: ANN401 - fields of AccuracyResult
    """Return what came of an accuracy gate."""
    gate = AccuracyResult(
        questions="sha256:0123456789abcdef", match="last_number", asked=asked, right=right, required=required, seconds=12.5
    )
    return replace(gate, **changes)


def sample_failure(cause: str = "The GPU ran out of memory.") -> Failure:
    """Return why an engine died."""
    return Failure(code="oom", cause=cause, fix="Lower max_num_seqs.", evidence=("HIP out of memory",))


def hostile_name(what: str) -> str:
    """Return a name that is markup, attributes, a terminal's command, a formula, a row of a table, code, a heading and a link, all at once.

    :param what: makes it another than those of other places.
    """
    pieces = (
        "=cmd()",
        f"\x1b]0;{what}\x07\x1b[31m{what}\x9b2J\u202e",
        f"|x\\|`ixkit-{what}`",
        f"\"'></script></style></title>--><ixkit-{what} ixkit=1 onload=alert(1)>",
        f'" ixkit-{what}=1 x="`',
        f"\n# ixkit-{what}\r\n[{what}](javascript:ixkit-{what})<javascript:ixkit-{what}>",
    )
    return "".join(pieces)


def too_short(successes: int, limit: float = 30) -> Verdict:
    """Return the verdict of a point with too few answers."""
    text = f"{counted(successes, 'successful request')}, fewer than {limit:g}"
    return Verdict(status="invalid", reasons=(Reason(code="too_short", value=successes, limit=limit, text=text),))


def _engine_died(failure: Failure) -> Verdict:
    return Verdict(status="invalid", reasons=(Reason(code="engine_died", value=None, limit=None, text=failure.cause),))


def _metrics(speed: float, rate: float | None, system_rate: float | None, successes: int, concurrency: int | None) -> Metrics:
    tpot = _spread(1 / speed, successes)
    return {
        "ttft_s": _spread(0.25, successes),
        "e2el_s": _spread(0.25 + 127 / speed, successes),
        "tpot_s": tpot,
        "speed_tok_s_user": {part: value if part == "n" else 1 / value for part, value in tpot.items()},
        "input_tokens": _spread(1024, successes) | {"sum": 1024 * successes},
        "output_tokens": _spread(128, successes) | {"sum": 128 * successes},
        "cache_hit_share": {"measured": 0.25, "theoretical": None, "server": None},
        "throughput_tok_s": _by_kind(system_rate),
        "throughput_tok_s_gpu": _by_kind(rate),
        "requests_per_s": system_rate / (1024 + 128) if system_rate else None,
        "concurrency_mean": concurrency * 0.97 if concurrency else None,
        "failed_share": 0.0,
    }


def _by_kind(total: float | None) -> dict[str, MetricValue]:
    """Eight input tokens for each output token, a quarter of them cached."""
    shares = {"total": 1.0, "input": 8 / 9, "output": 1 / 9, "computed": 7 / 9}
    return {kind: None if total is None else total * share for kind, share in shares.items()}


def _spread(value: float, count: int) -> dict[str, Any]:
    parts = {"mean": 1.02, "p50": 1.0, "p75": 1.1, "p90": 1.25, "p95": 1.4, "p99": 1.8, "min": 0.8, "max": 2.0}
    return {**{part: value * factor for part, factor in parts.items()}, "n": count}
