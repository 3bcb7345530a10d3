"""ixbench and vLLM's server are killed, both by SIGKILL: what is left of vLLM is found, and ended by one command."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.timeout(900)
FIXED = 'use = "fixed"\ninput_tokens = 64\noutput_tokens = 200\nrequests = 1000\nwarmup = 1'
LIMIT_S = 600.0


def until_idle(launch):
    """Return when the server has noticed that its client is gone: its engine then waits for work, and for nothing else."""
    end = time.monotonic() + LIMIT_S
    while True:
        with urllib.request.urlopen(f"{launch.record['url']}/metrics", timeout=30) as response:
            if re.search(rb"^vllm:num_requests_running\{.*\} 0", response.read(), re.MULTILINE):
                return
        assert time.monotonic() < end
        time.sleep(0.2)


def test_one_command_ends_what_is_left(make_shell, campaign, launched_by, request):
    shell = make_shell()
    shell.write("campaign.toml", campaign(FIXED, concurrency=2))
    running = shell.start("run", "campaign.toml")
    running.wait_for("vllm-c2: measuring", LIMIT_S)
    launch = launched_by(running.results)
    memory = launch.shared_memory()
    request.getfixturevalue("machine")  # other tests keep off what is left from here on
    running.send(signal.SIGKILL)
    running.end()
    until_idle(launch)
    server = psutil.Process(launch.pid)
    server.kill()
    server.wait(30)
    left = {process.pid for process in launch.processes()}
    assert {launch.titled("VLLM::EngineCore").pid, launch.titled("VLLM::Worker").pid} <= left

    done = shell.run("doctor", "--clean", "--json")
    (cleaned,) = [item for item in json.loads(done.out)["cleaned"] if item["launch_id"] == launch.record["id"]]
    assert cleaned["clean"] is True
    assert set(cleaned["ended"]) == left
    assert launch.processes() == []
    assert shell.processes() == []
    assert not launch.listens()
    assert not Path(launch.record["tmp"]).exists()
    assert memory
    assert not any(path.exists() for path in memory)
