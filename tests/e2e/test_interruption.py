"""Ctrl-C and its like at every stage: exit code 130, the engine gone, what was sealed reported, the rest to be had by --resume."""

from __future__ import annotations

import json
import signal

import pytest

from ixbench.store.folder import RunReader

DEPLOYMENT = """
[[deployment]]
engine = "scripted"
concurrency = [1, 2]
"""
PROMPTS = [f"tell me about number {number}" for number in range(12)]
SLOW = {"gap_s": 0.1}
"""So that records end more than a second apart, of which the later take the earlier to the disk: tests wait for them there."""


@pytest.fixture
def campaign(shell, scripted):
    def write(script=None, *flags):
        shell.write_prompts(PROMPTS)
        shell.write_campaign(DEPLOYMENT + scripted(script, *flags))

    return write


def requests_of(running, point):
    """Return the lines that are on disk of a point that runs."""
    paths = list(running.results.glob(f"*/points/{point}/requests.jsonl"))
    return paths[0].read_text().splitlines() if paths else []


def interrupted(shell, done, *, sealed):
    """Hold against what is promised of every interruption."""
    assert done.code == 130, done.err
    assert "Traceback" not in done.err
    assert shell.processes() == []
    assert RunReader(done.folder).sealed() == sealed
    assert (done.folder / "reports" / "ladder.json").is_file()
    assert done.out == (done.folder / "reports" / "console.txt").read_text()
    left = 2 - len(sealed)
    assert done.err.splitlines()[-1] == (
        f"{left} point{'s' if left > 1 else ''} not measured; go on with: ixbench run campaign.toml --resume"
    )


def test_while_the_engine_starts(shell, campaign):
    campaign(None, "--ready-after", "600")
    running = shell.start("run", "campaign.toml")
    running.wait_for("starting")
    running.wait_for(lambda: any(path.read_text() for path in running.results.glob("*/launches/*/engine.log")))
    running.send(signal.SIGINT)
    done = running.end()
    interrupted(shell, done, sealed=())
    assert "SIGINT: " in done.err
    (launch,) = done.folder.glob("launches/*/launch.json")
    assert json.loads(launch.read_text())["stop"]["left_pids"] == []


def test_while_prompt_lengths_are_learnt(shell, scripted):
    # The first completion is the start's own; the next is the first probe.
    flags = scripted({"sequence": ["ok"], "default": "hang_before_head"})
    shell.write("campaign.toml", f'schema = 1\n[workload]\nuse = "fixed"\n{DEPLOYMENT}{flags}')
    running = shell.start("run", "campaign.toml")
    running.wait_for("preparing")
    running.send(signal.SIGINT)
    interrupted(shell, running.end(), sealed=())


@pytest.fixture
def hanging(shell, campaign):
    """Return a run that stands in the middle of its first point: the answer to one prompt does not end."""
    campaign({"rules": [{"contains": "number 7", "reply": "hang_mid_stream"}], "default": SLOW})
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: requests_of(running, "scripted-c1"))
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_under_load(shell, hanging, number):
    hanging.send(number)
    done = hanging.end()
    interrupted(shell, done, sealed=())
    assert f"{number.name}: ending in good order" in done.err
    assert "[1/2] scripted-c1: stopped" in done.err


def test_twice_drops_what_is_in_flight(shell, hanging):
    hanging.send(signal.SIGINT)
    hanging.wait_for("SIGINT: ending in good order")
    hanging.send(signal.SIGINT)
    interrupted(shell, hanging.end(), sealed=())


def test_what_was_sealed_before_is_reported_and_resume_measures_the_rest(shell, campaign):
    # Of a start's completions the first is its own and each point takes 12: the 20th is in the second point, and resuming has fewer.
    campaign({"rules": [{"every": 20, "reply": "hang_mid_stream"}], "default": SLOW})
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: requests_of(running, "scripted-c2"))
    running.send(signal.SIGINT)
    done = running.end()
    interrupted(shell, done, sealed=("scripted-c1",))
    assert "scripted-c1" in done.out

    sealed = {path: path.read_bytes() for path in (done.folder / "points" / "scripted-c1").iterdir()}
    resumed = shell.run("run", "campaign.toml", "--resume")
    assert resumed.code in {0, 1}, resumed.err
    assert RunReader(resumed.folder).sealed() == ("scripted-c1", "scripted-c2")
    assert {path: path.read_bytes() for path in sealed} == sealed
    assert resumed.point("scripted-c2")["accounting"]["ok"] == 12
    ids = [record.req_id for point in ("scripted-c1", "scripted-c2") for record in resumed.records(point)]
    assert (len(ids), len(set(ids))) == (24, 24)


def test_a_kill_loses_the_point_in_flight_and_nothing_else(shell, campaign):
    campaign({"rules": [{"every": 20, "reply": "hang_mid_stream"}], "default": SLOW})
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: requests_of(running, "scripted-c2"))

    other = shell.run("run", "campaign.toml", "--resume")
    assert other.code == 2
    assert f"process {running.popen.pid} is running this folder" in other.err
    assert len(other.err.splitlines()) == 1

    running.send(signal.SIGKILL)
    done = running.end()
    assert done.code == -signal.SIGKILL
    assert RunReader(done.folder).sealed() == ("scripted-c1",)
    half_done = requests_of(running, "scripted-c2")
    sealed = {path: path.read_bytes() for path in (done.folder / "points" / "scripted-c1").iterdir()}

    resumed = shell.run("run", "campaign.toml", "--resume")
    assert resumed.code in {0, 1}, resumed.err
    assert resumed.folder == done.folder
    assert {path: path.read_bytes() for path in sealed} == sealed
    records = resumed.records("scripted-c2")
    assert (len(records), len({record.req_id for record in records})) == (12, 12)
    assert not set(half_done) & set(requests_of(running, "scripted-c2"))
    assert [len(json.loads((done.folder / "run.json").read_text())["resumed"])] == [1]
