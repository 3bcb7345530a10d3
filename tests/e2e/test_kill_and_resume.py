"""Kill -9 at random moments of a campaign, then `--resume`: nothing sealed changes, nothing is measured twice, nothing is lost.

    IXBENCH_TEST_KILLS=200 pytest -n 0 tests/e2e/test_kill_and_resume.py

kills so often in each of the two ways; without the variable only a few times.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import time
from itertools import count

import pytest

from ixbench.testing.running import port_gets_free

pytestmark = [pytest.mark.usefixtures("machine"), pytest.mark.timeout(0)]

KILLS = int(os.environ.get("IXBENCH_TEST_KILLS", "3"))
SEED = 20
ENDED = (0, 1)
"""Exit codes of a whole campaign: on a busy machine some of its points are invalid."""
LIMIT_S = 300.0
PROMPTS = 40
SIMULATED = """\
schema = 1
title = "Killed"
[model]
id = "moonshotai/Kimi-K3"
precision = "fp4"
[hardware]
sku = "mi355x"
gpus = 8
absent = "simulate"
[workload]
use = "fixed"
input_tokens = 64
output_tokens = 16
requests = 32
[[deployment]]
engine = "vllm"
recipe = "kimi-k3-mi355x"
concurrency = [1, 2, 4, 8]
"""


def digests(results):
    """Return a hash of each file of each sealed point, by its path."""
    sealed = [path.parent for path in results.glob("*/points/*/point.json")]
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for folder in sealed for file in folder.iterdir()}


def nothing_runs(shell):
    """Say whether all that was started is over: a helper that ends with its stdin may take a moment when ixbench has been killed."""
    deadline = time.monotonic() + LIMIT_S
    while shell.processes():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def whole(folder):
    """Hold a run that ended by itself against its plan: each point once, each request once, and the accounts agree with the records."""
    header = json.loads((folder / "run.json").read_text())
    points = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("points/*/point.json")}
    assert sorted(points) == sorted(header["planned"]), "nothing lost, nothing more"
    for name, point in points.items():
        records = [json.loads(line) for line in (folder / "points" / name / "requests.jsonl").read_text().splitlines()]
        assert len({record["req_id"] for record in records}) == len(records), f"{name}: a request stands there twice"
        if point["evidence"] == "measured":
            assert point["failure"] is None
            assert len(records) == point["accounting"]["requests"] + point["accounting"]["warmup"] == PROMPTS
    return points


def under_fire(shell, results, kills):
    """Start and kill until it was killed so often, resuming each time; yield each run folder that ended by itself.

    :param kills: called after each kill.
    """
    chance = random.Random(SEED)
    started = time.monotonic()
    first = shell.run("run", "campaign.toml", "--results", str(results / "whole"))
    assert first.code in ENDED, first.err
    takes_s = time.monotonic() - started
    yield next((results / "whole").iterdir())
    killed = 0
    for number in count():
        ours = results / str(number)
        seen = {}
        while True:
            running = shell.start("run", "campaign.toml", "--resume", "--results", str(ours))
            try:
                code = running.popen.wait(chance.uniform(0, takes_s) if killed < KILLS else LIMIT_S)
            except subprocess.TimeoutExpired:
                assert killed < KILLS, "it does not end"
                running.popen.send_signal(signal.SIGKILL)
                running.popen.wait(30)
                killed += 1
                kills()
            else:
                assert code in ENDED, running.err.read_text()
                kills()
            now = digests(ours)
            assert {path: now.get(path) for path in seen} == seen, "a sealed point changed"
            seen = now
            for path in seen:
                if path.name == "point.json":
                    json.loads(path.read_text())
            if running.popen.returncode in ENDED:
                break
        (folder,) = [path for path in ours.iterdir() if (path / "run.json").is_file()]
        yield folder
        if killed >= KILLS:
            return


def alike(point):
    """Return what two runs of a simulated point must have in common: everything but the times of the day."""
    return {key: point[key] for key in ("id", "evidence", "origin", "identity", "verdict", "failure", "metrics", "accounting", "intervals")}


def test_a_simulated_campaign_comes_to_the_same_results_however_often_it_is_killed(shell, tmp_path):
    shell.write("campaign.toml", SIMULATED)
    first = None
    for folder in under_fire(shell, tmp_path / "results", lambda: None):
        points = {name: alike(point) for name, point in whole(folder).items()}
        kept = {name: (folder / "points" / name / "replicas.jsonl").read_bytes() for name in points}
        first = first or (points, kept)
        assert (points, kept) == first


def test_a_measured_campaign_measures_each_point_once_however_often_it_is_killed(shell, scripted, tmp_path):
    shell.env = {**shell.env, "XDG_STATE_HOME": str(tmp_path / "state")}
    shell.write_prompts([f"tell me about number {number}" for number in range(PROMPTS)])
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = [1, 2, 3]\n{scripted({"default": {"gap_s": 0.01}})}')
    registry = tmp_path / "state" / "ixbench" / "launches"

    def clean():
        cleaned = json.loads(shell.run("doctor", "--clean", "--json").out)["cleaned"]
        assert all(launch["clean"] for launch in cleaned), cleaned
        launches = (json.loads(path.read_text()) for path in tmp_path.glob("results/*/*/launches/*/launch.json"))
        assert all(port_gets_free(port) for launch in launches for port in launch["ports"].values())
        assert nothing_runs(shell)
        assert not registry.is_dir() or list(registry.glob("*.json")) == []

    for folder in under_fire(shell, tmp_path / "results", clean):
        whole(folder)
