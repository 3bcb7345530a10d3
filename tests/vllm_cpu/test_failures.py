"""What goes wrong with a real vLLM in mid-run.

A KV cache that is too full, a worker that is killed, one that computes for ever, and a user who stops with streams open.
"""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)
INPUT, OUTPUT, REQUESTS = 500, 300, 32
FIXED = f'use = "fixed"\ninput_tokens = {INPUT}\noutput_tokens = {OUTPUT}\nrequests = {REQUESTS}\nwarmup = 1'
BLOCKS = 320
"""Room for 10,240 tokens, and sixteen users want 12,800."""
LIMIT_S = 900.0
DEATH_LIMIT_S = 15.0
SPIN = """
import signal

def spin(*_):
    while True:
        pass

signal.signal(signal.SIGUSR2, spin)
"""
"""Makes a Python process compute for ever once it is told to, as a kernel that never ends does."""


@pytest.fixture(scope="module")
def ended(shell, campaign, launched_by):
    """Run four points: too many users, a worker killed, one that spins, and a user who stops; return the run and what was seen."""
    shell.write("sitecustomize.py", SPIN)
    text = campaign(FIXED, concurrency=[16, 2, 4, 1], max_model_len=2048, args={"--num-gpu-blocks-override": BLOCKS})
    shell.write("campaign.toml", f'{text}\nPYTHONPATH = "{shell.folder}"\n')
    running = shell.start("run", "campaign.toml")

    def point_begun(point):
        """Whether some requests of a point have ended."""
        (path,) = running.results.glob(f"*/points/{point}/requests.jsonl")
        return len(path.read_text().splitlines()) > 2

    running.wait_for("vllm-c2: measuring", LIMIT_S)
    running.wait_for(lambda: point_begun("vllm-c2"), LIMIT_S)
    first = launched_by(running.results)
    memory = first.shared_memory()
    first.titled("VLLM::Worker").kill()
    killed = datetime.now(UTC)
    running.wait_for("vllm-c4: measuring", LIMIT_S)
    running.wait_for(lambda: point_begun("vllm-c4"), LIMIT_S)
    launched_by(running.results).titled("VLLM::Worker").send_signal(signal.SIGUSR2)
    hung = datetime.now(UTC)
    running.wait_for("vllm-c1: measuring", LIMIT_S)
    running.wait_for(lambda: point_begun("vllm-c1"), LIMIT_S)
    second = launched_by(running.results)
    memory |= second.shared_memory()
    running.send(signal.SIGINT)
    done = running.end(LIMIT_S)
    return done, {"first": first, "killed": killed, "hung": hung, "second": second, "memory": memory}


def test_sixteen_users_need_more_than_the_cache_holds(ended):
    """They are all served, since vLLM takes the cache of some away and computes them again; the point says so and does not count."""
    done, _ = ended
    result, records = done.point("vllm-c16"), done.records("vllm-c16")
    counted = result["provenance"]["measurement"]["engine_window"]
    assert (result["failure"], result["accounting"]["ok"], result["accounting"]["failed"]) == (None, REQUESTS, {})
    assert {record.usage_output for record in records} == {OUTPUT}
    assert counted["delta"]["preemptions"] > 0
    assert result["metrics"]["preemption_count"] == counted["delta"]["preemptions"]
    assert counted["delta"]["generation_tokens"] == REQUESTS * OUTPUT
    assert counted["maximum"]["kv_usage"] > 0.9
    assert result["verdict"]["status"] == "invalid"
    assert "preemption" in {reason["code"] for reason in result["verdict"]["reasons"]}


def test_a_killed_worker_ends_its_point_with_the_cause(ended):
    done, seen = ended
    result = done.point("vllm-c2")
    assert result["failure"]["code"] == "vllm-worker-died"
    # vLLM itself may not know the exit code yet when it says so.
    assert "died unexpectedly" in "".join(result["failure"]["evidence"])
    assert result["verdict"]["status"] == "invalid"
    assert "engine_died" in {reason["code"] for reason in result["verdict"]["reasons"]}
    assert 0 < result["accounting"]["ok"] < REQUESTS
    # Not a latency: a hang of the server, which its clients would wait out for an hour, must not take longer than this.
    finished = datetime.fromisoformat(result["provenance"]["finished"])
    assert (finished - seen["killed"]).total_seconds() < DEATH_LIMIT_S


def test_a_worker_that_computes_for_ever_ends_its_point_with_the_cause(ended):
    """vLLM itself waits for it for minutes, and its health path answers all the time."""
    done, seen = ended
    result = done.point("vllm-c4")
    assert result["failure"]["code"] == "engine_stalled"
    assert "its counters stand still although requests run" in result["failure"]["cause"]
    assert "engine_died" in {reason["code"] for reason in result["verdict"]["reasons"]}
    assert 0 < result["accounting"]["ok"] < REQUESTS
    finished = datetime.fromisoformat(result["provenance"]["finished"])
    # The machine's other work may keep the client from a core, and seconds of that are not vLLM's.
    assert (finished - seen["hung"]).total_seconds() < DEATH_LIMIT_S + (result["client"]["wait_s"] or 0.0)


def test_the_campaign_goes_on_with_a_fresh_engine(ended):
    _, seen = ended
    assert seen["first"].pid != seen["second"].pid
    starts = seen["second"].record["starts"]
    assert [start["failure"] and start["failure"]["code"] for start in starts] == ["vllm-worker-died", "engine_stalled", None]
    assert all(start["ready_s"] > 0 for start in starts)


def test_a_user_who_stops_with_streams_open_gets_what_is_sealed(ended):
    done, _ = ended
    assert done.code == 130
    assert not (done.folder / "points" / "vllm-c1" / "point.json").exists()
    assert {path.parent.name for path in done.folder.glob("points/*/point.json")} == {"vllm-c16", "vllm-c2", "vllm-c4"}


def test_nothing_is_left_of_either_engine(ended, shell, launched_by):
    """An open stream makes vLLM wait for its client for ever once it is told to end, so our connections go first."""
    done, seen = ended
    stop = launched_by(done.results).record["stop"]
    assert (stop["killed"], stop["left_pids"], stop["busy_ports"]) == ([], [], [])
    assert shell.processes() == []
    for launch in (seen["first"], seen["second"]):
        assert launch.processes() == []
        assert not launch.listens()
        assert not Path(launch.record["tmp"]).exists()
    assert seen["memory"], "vLLM's processes share memory while they run"
    assert [path for path in seen["memory"] if path.exists()] == []
