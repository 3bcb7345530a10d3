"""The campaign at the top, on a machine that has none of its hardware: simulated, valid, and near the published ladder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ixbench.frontier.rung import read_rung

IXBENCH = str(Path(sys.executable).with_name("ixbench"))
CAMPAIGN = Path(__file__).resolve().parents[2] / "benchmarks.toml"
PUBLISHED = {30: 7729, 50: 5542, 75: 2901}
"""tok/s/GPU at tok/s/user of Kimi K3 on MI355X, run of 2026-09-10."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("seed")
    done = subprocess.run([IXBENCH, "run", str(CAMPAIGN)], cwd=folder, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    assert "SIMULATED" in done.stdout.splitlines()[0]
    (found,) = (folder / "results").iterdir()
    return found


@pytest.fixture(scope="module")
def points(run_folder) -> dict[str, dict]:
    return {path.parent.name: json.loads(path.read_text()) for path in run_folder.glob("points/*/point.json")}


@pytest.fixture(scope="module")
def ladder(run_folder) -> dict:
    return json.loads((run_folder / "reports" / "ladder.json").read_text())


def vllm_curves(ladder: dict) -> list[list[tuple[float, float]]]:
    return [[(point["x"], point["y"]) for point in curve["points"]] for curve in ladder["curves"] if curve["engine"] == "vllm"]


def test_all_19_points_are_simulated_and_valid(points):
    assert len(points) == 19
    assert {point["evidence"] for point in points.values()} == {"simulated"}
    assert {point["verdict"]["status"] for point in points.values()} <= {"valid", "valid_with_warnings"}
    assert {point["identity"]["engine"] for point in points.values()} == {"vllm", "atom"}


@pytest.mark.parametrize("rung", PUBLISHED)
def test_the_better_vllm_curve_reads_near_the_published_ladder(ladder, rung):
    reads = [read_rung(curve, rung).value for curve in vllm_curves(ladder)]
    best = max(value for value in reads if value is not None)
    assert best == pytest.approx(PUBLISHED[rung], rel=0.15)


def test_no_vllm_curve_reaches_100(ladder):
    fastest = max(x for curve in vllm_curves(ladder) for x, _ in curve)
    assert 88 < fastest < 99


def test_the_workload_is_the_one_that_was_measured(points):
    for name, point in points.items():
        rate = point["metrics"]["throughput_tok_s"]
        assert 0.990 <= rate["input"] / rate["total"] <= 0.994, name
        assert 0.925 <= point["metrics"]["cache_hit_share"]["measured"] <= 0.95, name
        assert point["identity"]["preset"].startswith("agentx")
        assert point["identity"]["corpus"]


def test_the_ladder_has_the_rungs_and_the_marks(ladder):
    assert ladder["evidence"] == "simulated"
    assert [rung["target"] for rung in ladder["rungs"]] == [30, 50, 75, 100, 150, 200]
    assert [rung["status"] for rung in ladder["rungs"]][-2:] == ["unreachable", "unreachable"]
    assert ladder["configs"] == 19


def test_every_page_says_that_atom_is_not_calibrated(run_folder):
    for page in ("console.txt", "ladder.md", "cost.md", "table.md"):
        text = " ".join((run_folder / "reports" / page).read_text().split())
        assert "no public figures of Kimi K3 with ATOM" in text, page
        assert "SIMULATED" in text
