"""Runs for the page: the rows that look like a published page, and sweeps of any size."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest

from ixbench.model.result import Accounting, Axis, PointIdentity, PointResult, Verdict
from ixbench.model.run import ReportSettings, RunView
from ixbench.testing.runs import SAMPLE_QUOTES, SAMPLE_SKU


@pytest.fixture(scope="session")
def expected(shared):
    return tomllib.loads((shared / "data/rows/seed_like_expected.toml").read_text())


@pytest.fixture(scope="session")
def seed_like(shared):
    """Return the published-like rows as a run of imported points."""
    rows = json.loads((shared / "data/rows/seed_like_rows.json").read_text())
    points = tuple(imported(row) for row in rows)
    return RunView(
        id="seed_like_rows",
        title="Kimi K3 on MI355X",
        started="2026-09-10T04:00:00Z",
        evidence="measured",
        report=ReportSettings(axis="p90"),
        points=points,
        planned=tuple(point.id for point in points),
        quotes=SAMPLE_QUOTES,
        sku=replace(SAMPLE_SKU, name="MI355X"),
    )


def imported(row):
    """Return one API row as a point; latencies are seconds there."""
    metrics = row["metrics"]
    rates = {"total": metrics["tput_per_gpu"], "input": metrics["input_tput_per_gpu"], "output": metrics["output_tput_per_gpu"]}
    return PointResult(
        id=f"{row['framework']}-c{row['conc']}",
        evidence="measured",
        origin="imported",
        identity=PointIdentity(
            model={"kimik3": "Kimi K3"}[row["model"]],
            precision=row["precision"],
            hardware=row["hardware"],
            gpus=row["num_decode_gpu"],
            engine=row["framework"],
            engine_version=None,
            image=row["image"],
            deployment=row["framework"],
            workload="agentx",
            agentic=True,
            concurrency=row["conc"],
            tensor_parallel=row["decode_tp"],
            spec_method=row["spec_method"],
            kv_offload=row["offload_mode"],
        ),
        verdict=Verdict(status="valid"),
        failure=None,
        metrics={
            "ttft_s": {"p50": metrics["median_ttft"], "p90": metrics["p90_ttft"]},
            "tpot_s": {"p50": metrics["median_tpot"], "p90": metrics["p90_itl"]},
            "speed_tok_s_user": {"p50": 1 / metrics["median_itl"], "p90": 1 / metrics["p90_itl"]},
            "throughput_tok_s_gpu": rates | {"computed": None},
            "cache_hit_share": {"measured": None, "theoretical": None, "server": metrics["server_gpu_cache_hit_rate"]},
        },
        accounting=Accounting(requests=metrics["num_requests_total"], ok=metrics["num_requests_successful"]),
        axis=Axis(name="itl", percentile="p90", tok_s_user=1 / metrics["p90_itl"]),
        client=None,
        provenance={"image": row["image"]},
    )
