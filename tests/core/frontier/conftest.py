"""Runs with chosen speeds and rates, for the tests of ladders and costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ixbench.model.price import Quote
from ixbench.model.result import Accounting, Axis, Failure, PointIdentity, PointResult, Reason, Verdict
from ixbench.model.run import ReportSettings, RunView

if TYPE_CHECKING:
    from collections.abc import Sequence

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
