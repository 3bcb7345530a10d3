"""Runs with chosen speeds and rates, and ladders of them, for the tests of ladders, comparisons and costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ixbench.frontier.draws import CurveDraws
from ixbench.frontier.ladder import build_ladder
from ixbench.model.price import Quote
from ixbench.model.result import Accounting, Axis, Failure, Intervals, PointIdentity, PointResult, Reason, Verdict
from ixbench.model.run import ReportSettings, RunView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.comparison import LadderComparison
    from ixbench.frontier.ladder import Ladder

VALID = Verdict(status="valid")
INVALID = Verdict(status="invalid", reasons=(Reason(code="errors", value=0.5, limit=0.01, text="half of the requests failed"),))
FAILURE = Failure(code="port_in_use", cause="the port is taken", fix="free it")
HYPERSCALER = Quote(
    book="2026-09",
    sku="mi355x",
    tier="hyperscaler",
    label="Owning at Large Hyperscaler Volume",
    usd_per_gpu_hour=1.5,
    as_of="2026-09-10",
    source="survey",
)
RETAIL = replace(HYPERSCALER, tier="retail", label="Retail", usd_per_gpu_hour=2.9)
CURVE = ((20.0, 1000.0), (50.0, 400.0), (100.0, 100.0))
"""Speeds and rates of a curve."""


def make_point(id_: str, x: float | None, y: float | None, **changes: Any) -> PointResult:
    """Return a point with speed x at every percentile and total rate y; `changes` go to the result, its metrics or its identity."""
    identity: dict[str, Any] = {
        "model": "moonshotai/Kimi-K3",
        "precision": "fp4",
        "hardware": "mi355x",
        "gpus": 8,
        "engine": "vllm",
        "engine_version": None,
        "image": None,
        "deployment": id_.rpartition("-c")[0],
        "workload": "fixed",
        "concurrency": int(id_.rpartition("-c")[2].partition("-")[0] or 0),
        "input_tokens": 1024,
        "output_tokens": 256,
    }
    metrics: dict[str, Any] = {
        "tpot_s": None if x is None else dict.fromkeys(("mean", "p50", "p75", "p90", "p95", "p99"), 1 / x),
        "ttft_s": {"p50": 0.7},
        "throughput_tok_s_gpu": {"total": y, "input": None, "output": None, "computed": None},
    }
    result: dict[str, Any] = {"evidence": "measured", "origin": "run", "verdict": VALID, "failure": None}
    for name, value in changes.items():
        (identity if name in PointIdentity.__dataclass_fields__ else result if name in result else metrics)[name] = value
    return PointResult(
        id=id_,
        identity=PointIdentity(**identity),
        metrics=metrics,
        accounting=Accounting(requests=100, ok=100),
        axis=Axis(name="tpot", percentile="median", tok_s_user=x),
        client=None,
        **result,
    )


def make_run(points: Sequence[PointResult], *, id_: str = "20260910-kimi", **changes: Any) -> RunView:
    """Return a run; `changes` go to the view or its report settings."""
    view: dict[str, Any] = {
        "title": "Kimi K3 on MI355X",
        "started": "2026-09-10T12:00:00Z",
        "evidence": "measured",
        "planned": tuple(one.id for one in points),
        "quotes": (HYPERSCALER, RETAIL),
    }
    settings: dict[str, Any] = {}
    for name, value in changes.items():
        (settings if name in ReportSettings.__dataclass_fields__ else view)[name] = value
    return RunView(id=id_, points=tuple(points), report=ReportSettings(**settings), **view)


def row(found: Ladder | LadderComparison, target: float) -> Any:
    """Return the rung at a target speed."""
    return next(rung for rung in found.rungs if rung.target == target)


def at_50(values: Sequence[float]) -> list[tuple[tuple[float, float], ...]]:
    """Return repeats of a curve that have these rates at 50 tok/s/user."""
    return [((20.0, 2 * value), (50.0, value), (100.0, value / 2)) for value in values]


def bootstrapped(result: PointResult, share: float) -> Intervals:
    """Return intervals that reach a share to either side of a point's speed and rate."""
    x, y = result.axis.tok_s_user, result.metrics["throughput_tok_s_gpu"]["total"]
    speeds, rates = ((value * (1 - share), value * (1 + share)) for value in (x, y))
    bounds = {"speed_tok_s_user": {"p50": speeds}, "throughput_tok_s_gpu": {"total": rates}}
    return Intervals(percentiles={}, bootstrap=bounds, sessions=100, resamples=1000)


def draws_of(found: Ladder, **settings: Any) -> CurveDraws:
    """Return what was drawn behind the first curve of a ladder."""
    return CurveDraws(curve=found.curves[0], **{"axis": "median", "mode": "linear", "range_policy": "in_range"} | settings)


def replicated(scale: float, *, scatter: float = 0.02, count: int = 8, fastest: float = 100.0) -> Ladder:
    """Return the ladder of simulated points, each the geometric mean of replicas that lie around it."""
    places = ((20.0, 1000.0), (50.0, 400.0), (fastest, 100.0))
    replicas = {
        f"vllm-c{place}": [
            {
                "speed_tok_s_user": {"p50": x * math.exp(scatter * math.sin(3 * number + place))},
                "throughput_tok_s_gpu": {"total": scale * y * math.exp(scatter * math.cos(5 * number + place))},
            }
            for number in range(count)
        ]
        for place, (x, y) in enumerate(places, 1)
    }

    def mean(name: str, metric: str, part: str) -> float:
        return math.exp(sum(math.log(one[metric][part]) for one in replicas[name]) / count)

    parts = (("speed_tok_s_user", "p50"), ("throughput_tok_s_gpu", "total"))
    points = [make_point(name, *(mean(name, *both) for both in parts), evidence="simulated") for name in replicas]
    return build_ladder([make_run(points, evidence="simulated", read_replicas=lambda name: tuple(replicas[name]))])


@pytest.fixture
def point():
    """Make a point: point("vllm-c4", 50.0, 5542.0, engine="atom", ...)."""
    return make_point


@pytest.fixture
def run():
    """Make a run: run([point(...)], rungs=(30.0, 50.0), ...)."""
    return make_run


@pytest.fixture
def quotes():
    """Two tiers of one book."""
    return (HYPERSCALER, RETAIL)


@pytest.fixture
def invalid():
    """A verdict that keeps a point off the frontier."""
    return INVALID


@pytest.fixture
def failure():
    """A failure that leaves a point without numbers."""
    return FAILURE


@pytest.fixture
def ladder(point, run):
    """Make the ladder of one curve: ladder(repeat, repeat, ...), where each is its points, each a speed and a rate."""

    def make(*repeats, **changes):
        points = [
            replace(found, identity=replace(found.identity, repeat=number))
            for number, pairs in enumerate(repeats, 1)
            for place, (x, y) in enumerate(pairs, 1)
            for found in [point(f"vllm-c{place}" + (f"-rep{number}" if number > 1 else ""), x, y, deployment="vllm", **changes)]
        ]
        return build_ladder([run(points, campaign={"run": {"repeats": len(repeats)}})])

    return make
