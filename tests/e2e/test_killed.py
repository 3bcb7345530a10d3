"""What stays when ixbench itself is killed, and that one command ends it: no process, no port, no file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ixbench.launch.ports import is_listening
from ixbench.launch.tree import MARKER
from ixbench.testing.running import port_gets_free

pytestmark = pytest.mark.usefixtures("machine")

PROMPTS = [f"tell me about number {number}" for number in range(12)]
HANGS = {"rules": [{"contains": "number 7", "reply": "hang_mid_stream"}], "default": {"gap_s": 0.1}}
"""Before it hangs it is slow, so that records end more than a second apart and are on disk, where tests wait for them."""
TINY = "tiny_width = 256\ntiny_layers = 1\nslots = 4\ncontext = 512\nthreads = 1\n"


@pytest.fixture
def state(shell, tmp_path):
    """Give the shell a registry of its own; return its folder."""
    shell.env = {**shell.env, "XDG_STATE_HOME": str(tmp_path / "state")}
    return tmp_path / "state" / "ixbench" / "launches"


def killed_in_a_point(shell, point):
    """Start the campaign, kill ixbench in the middle of its point, and return what launch.json says."""
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: any(path.stat().st_size for path in running.results.glob(f"*/points/{point}/requests.jsonl")))
    running.popen.send_signal(signal.SIGKILL)
    running.popen.wait(30)
    (path,) = running.results.glob("*/launches/*/launch.json")
    return json.loads(path.read_text())


@pytest.fixture
def scripted_left(shell, scripted, state):
    """Leave an engine with a worker in a session of its own behind, and return its launch.json."""
    shell.write_prompts(PROMPTS)
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = 1\n{scripted(HANGS, "--worker", "idle")}')
    record = killed_in_a_point(shell, "scripted-c1")
    (entry,) = state.iterdir()
    assert json.loads(entry.read_text())["launch_id"] == record["id"]
    return record


def everything_is_gone(shell, record, state):
    """Hold what was left against what there is now."""
    assert shell.processes() == []
    assert not Path(record["tmp"]).exists()
    assert all(port_gets_free(port) for port in record["ports"].values())
    assert list(state.iterdir()) == []


def left(done, launch):
    return [item for item in json.loads(done.out)["leftovers"] if item["launch_id"] == launch]


def test_one_command_ends_what_a_killed_run_left(shell, scripted_left, state):
    record = scripted_left
    (port,) = record["ports"].values()
    assert is_listening(port)
    assert len(shell.processes()) == 2
    (found,) = left(shell.run("doctor", "--json"), record["id"])
    assert (found["kept"], found["registered"], found["ports"], found["tmp"]) == (False, True, [port], record["tmp"])
    assert sorted(found["pids"]) == sorted(process.pid for process in shell.processes())
    assert len(shell.processes()) == 2, "looking ends nothing"

    done = shell.run("doctor", "--clean", "--json")
    (cleaned,) = [item for item in json.loads(done.out)["cleaned"] if item["launch_id"] == record["id"]]
    assert cleaned["clean"] is True
    everything_is_gone(shell, record, state)


def test_the_next_run_says_so_and_touches_nothing(shell, scripted_left, state):
    record = scripted_left
    before = sorted(process.pid for process in shell.processes())
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = 1\n')
    done = shell.run("run", "campaign.toml", "--results", "second")
    assert f"note: killed runs have left something behind ({record['id']}); look at it with: ixbench doctor" in done.err
    assert sorted(process.pid for process in shell.processes()) == before
    shell.run("doctor", "--clean")
    everything_is_gone(shell, record, state)
    again = shell.run("run", "campaign.toml", "--results", "third")
    assert "left something behind" not in again.err


def test_a_run_that_goes_on_is_never_cleaned(shell, scripted, state):
    shell.write_prompts(PROMPTS)
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = 1\n{scripted({"default": {"gap_s": 0.2}})}')
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: any(path.stat().st_size for path in running.results.glob("*/points/*/requests.jsonl")))
    (entry,) = state.iterdir()
    record = json.loads(entry.read_text())
    done = shell.run("doctor", "--clean", "--json")
    assert left(done, record["launch_id"]) == []
    done = running.end()
    assert done.point("scripted-c1")["accounting"]["ok"] == 12
    assert list(state.iterdir()) == []
    assert not Path(record["tmp"]).exists()


def test_an_engine_that_was_kept_is_shown_and_left(shell, scripted, state):
    shell.write_prompts(PROMPTS)
    campaign = f'[[deployment]]\nengine = "scripted"\nconcurrency = 1\n{scripted()}'
    shell.write_campaign(campaign, rest="[run]\nkeep_engine = true")
    done = shell.run("run", "campaign.toml")
    (process,) = shell.processes()
    (path,) = done.folder.glob("launches/*/launch.json")
    record = json.loads(path.read_text())
    cleaned = shell.run("doctor", "--clean", "--json")
    (found,) = left(cleaned, record["id"])
    assert (found["kept"], found["pids"]) == (True, [process.pid])
    assert psutil.pid_exists(process.pid)
    assert Path(record["tmp"]).is_dir()
    process.kill()
    process.wait(20)
    shell.run("doctor", "--clean")
    everything_is_gone(shell, record, state)


def test_llamacpp_is_ended_too(shell, state):
    pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
    pytest.importorskip("gguf", reason="the extra llamacpp is not installed")
    shell.write(
        "campaign.toml",
        f"""
schema = 1
[workload]
use = "fixed"
input_tokens = 100
output_tokens = 50
requests = 200
[[deployment]]
engine = "llamacpp"
concurrency = 1
{TINY}""",
    )
    record = killed_in_a_point(shell, "llamacpp-c1")
    shell.run("doctor", "--clean")
    everything_is_gone(shell, record, state)


def test_processes_of_nobody_are_left_alone(shell, scripted_left, state, tmp_path):
    """A process with a marker but without an owner is none of ours, nor is one that only shares the folder."""
    stranger = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={**shell.environment(), MARKER: "mine"}, cwd=tmp_path
    )
    try:
        shell.run("doctor", "--clean")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
    everything_is_gone(shell, scripted_left, state)
