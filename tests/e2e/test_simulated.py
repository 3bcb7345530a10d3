"""A campaign whose hardware is absent: simulated in worker processes, marked everywhere, equal in every run."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

IXBENCH = str(Path(sys.executable).with_name("ixbench"))
CAMPAIGN = """
schema = 1
title = "Two engines that are not here"
[model]
id = "moonshotai/Kimi-K3"
label = "Kimi K3"
precision = "fp4"
[hardware]
sku = "mi355x"
gpus = 8
absent = "{absent}"
[workload]
use = "fixed"
input_tokens = 4096
output_tokens = 256
requests = {requests}
[[deployment]]
engine = "vllm"
recipe = "kimi-k3-mi355x"
concurrency = [1, 4]
[[deployment]]
engine = "atom"
recipe = "kimi-k3-mi355x"
concurrency = [1]
[report]
rungs = [50, 75, 100]
[simulation]
replicas = 3
"""
EQUAL_KEYS = ("id", "identity", "verdict", "metrics", "accounting")


def write(folder: Path, *, absent: str = "simulate", requests: int = 120) -> str:
    path = folder / "campaign.toml"
    path.write_text(CAMPAIGN.format(absent=absent, requests=requests), encoding="utf-8")
    return str(path)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [IXBENCH, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def only_run(folder: Path) -> Path:
    (found,) = (folder / "results").iterdir()
    return found


def points(run_folder: Path) -> dict[str, dict]:
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(run_folder.glob("points/*/point.json"))}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("simulated")
    return folder, run(folder, "run", write(folder))


def test_it_runs_anywhere_and_every_page_says_simulated(simulated):
    folder, done = simulated
    assert (done.returncode, "SIMULATED" in done.stdout.splitlines()[0]) == (0, True), done.stderr
    reports = only_run(folder) / "reports"
    for name in ("ladder.md", "cost.md", "table.md"):
        assert "SIMULATED" in (reports / name).read_text().splitlines()[0]
    assert json.loads((reports / "ladder.json").read_text())["evidence"] == "simulated"
    assert json.loads((reports / "cost.json").read_text())["evidence"] == "simulated"
    with (reports / "table.csv").open(newline="") as file:
        assert {row["evidence"] for row in csv.DictReader(file)} == {"simulated"}


def test_points_name_the_real_engine_and_what_stands_in_for_it(simulated):
    found = points(only_run(simulated[0]))
    assert {name: point["identity"]["engine"] for name, point in found.items()} == {"vllm-c1": "vllm", "vllm-c4": "vllm", "atom-c1": "atom"}
    for point in found.values():
        assert point["evidence"] == "simulated"
        assert point["verdict"]["status"] == "valid"
        assert point["client"]["clock"] == "virtual"
        assert point["provenance"]["simulation"]["replicas"] == 3
        assert point["accounting"]["requests"] == 3 * 120
    assert found["vllm-c1"]["provenance"]["engine"]["fitted"]
    assert found["atom-c1"]["provenance"]["engine"]["public_figures"] is False


def test_the_launches_are_planned_and_kept_and_never_started(simulated):
    launches = [json.loads(path.read_text()) for path in only_run(simulated[0]).glob("launches/*/launch.json")]
    assert {(launch["engine"], launch["simulated"]) for launch in launches} == {("vllm", True), ("atom", True)}
    assert all(launch["argv"] and "pid" not in json.dumps(launch["processes"]) for launch in launches)
    assert not list(only_run(simulated[0]).glob("launches/*/engine.log"))


def test_a_second_run_gives_the_same_to_the_last_bit(simulated, tmp_path):
    assert run(tmp_path, "run", write(tmp_path)).returncode == 0
    first, second = points(only_run(simulated[0])), points(only_run(tmp_path))
    for name in first:
        assert {key: first[name][key] for key in EQUAL_KEYS} == {key: second[name][key] for key in EQUAL_KEYS}
        records = [folder / "points" / name / "requests.jsonl" for folder in (only_run(simulated[0]), only_run(tmp_path))]
        assert records[0].read_bytes() == records[1].read_bytes()


def test_recomputing_averages_the_replicas_again(simulated, tmp_path):
    source = only_run(simulated[0])
    out = tmp_path / "again"
    done = run(tmp_path, "report", str(source), "--recompute", "--use", "table", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert (out / "table.csv").read_bytes() == (source / "reports" / "table.csv").read_bytes()


def test_without_leave_to_simulate_nothing_runs(tmp_path):
    done = run(tmp_path, "run", write(tmp_path, absent="fail"))
    assert done.returncode == 2
    assert "does not have the 8 x MI355X" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_the_flag_gives_leave_and_keeps_simulated_and_measured_runs_apart(tmp_path):
    file = write(tmp_path, absent="fail")
    assert run(tmp_path, "run", file, "--simulate", "--only", "vllm-c1").returncode == 0
    assert run(tmp_path, "run", file, "--resume").returncode == 2
    assert run(tmp_path, "run", file, "--simulate", "--resume").returncode == 0
    assert set(points(only_run(tmp_path))) == {"vllm-c1", "vllm-c4", "atom-c1"}


def test_an_engine_without_a_model_is_refused_by_name(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text(CAMPAIGN.format(absent="simulate", requests=120).replace("moonshotai/Kimi-K3", "acme/unheard-of"), encoding="utf-8")
    done = run(tmp_path, "run", str(file))
    assert done.returncode == 2
    assert "nothing is known to simulate" in done.stderr
    assert "acme/unheard-of" in done.stderr


def test_ctrl_c_ends_the_workers_and_the_run_can_go_on(tmp_path):
    file = write(tmp_path, requests=200_000)
    process = subprocess.Popen([IXBENCH, "run", file], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = ""
        while "simulating" not in line:
            line = process.stderr.readline()
            assert line, "the run ended before it simulated anything"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=90)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, said
    assert "--resume" in said
