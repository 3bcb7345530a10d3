"""llama.cpp in containers, for real: measured, stopped, and nothing left, also where ixbench itself was killed."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from ixbench.launch.leftover import clean_up, leftovers
from ixbench.launch.ports import is_listening
from ixbench.testing.running import port_gets_free

pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
pytest.importorskip("gguf", reason="the extra llamacpp is not installed")

CAMPAIGN = """
schema = 1
title = "In a container"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "fixed"
input_tokens = 40
output_tokens = 4
requests = {requests}
warmup = 1
{runtime}
[run]
{run}
[[deployment]]
engine = "llamacpp"
image = "{image}"
concurrency = 2
tiny_width = 256
tiny_layers = 1
slots = 2
context = 256
threads = 1
"""
POINT = "llamacpp-c2"
GONE_LIMIT_S = 180


def write(shell, tool, *, requests=30, run="", image=None, deployment="", **keys):
    text = CAMPAIGN.format(requests=requests, runtime=tool.table(**keys), run=run, image=image or tool.image)
    return shell.write("campaign.toml", text + deployment)


def launch_of(results: Path) -> dict:
    (path,) = results.glob("*/launches/*/launch.json")
    return json.loads(path.read_text())


def marked(marker: str) -> list[int]:
    """Return the processes that carry a launch's marker."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("IXBENCH_LAUNCH") == marker and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def marker_of(launch: dict) -> str:
    command = launch["processes"][0]["command"]
    return command[command.index("--label") + 1].partition("=")[2]


def assert_nothing_left(tool, launch):
    assert tool.containers() == []
    assert marked(marker_of(launch)) == []
    assert all(port_gets_free(port) for port in launch["ports"].values())


def test_a_point_is_measured_and_nothing_is_left(shell, tool):
    write(shell, tool)
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    point = done.point(POINT)
    assert point["failure"] is None
    assert (point["accounting"]["ok"], point["accounting"]["failed"]) == (30, {})
    assert point["identity"]["image"] == tool.image
    assert point["provenance"]["runtime"]["image_id"]
    launch = launch_of(shell.folder / "results")
    assert (launch["runtime"], launch["image"]) == (tool.name, tool.image)
    assert launch["runtime_facts"]["image_id"] == point["provenance"]["runtime"]["image_id"]
    assert launch["processes"][0]["command"][: len(tool.command) + 1] == [*tool.command, "run"]
    assert "run" not in launch["processes"][0]["argv"]
    # The server was seen to be the container's own, asked to end, and did so.
    assert not [note for note in launch["notes"] if "cannot be seen" in note]
    assert (launch["stop"]["left_pids"], launch["stop"]["busy_ports"], launch["stop"]["cleanup_failures"]) == ([], [], [])
    assert launch["stop"]["killed"] == []
    (start,) = launch["starts"]
    assert start["ready_s"] > 0
    assert_nothing_left(tool, launch)
    shown = shell.run("show", str(done.folder), POINT, "--shell").out
    assert [text for text in (tool.command[0], "--network=host", tool.image) if text not in shown] == []
    assert subprocess.run(["sh", "-n"], input=shown, text=True, check=False).returncode == 0


@pytest.mark.usefixtures("machine")
def test_what_a_killed_ixbench_leaves_is_removed_by_the_next(shell, tool, monkeypatch):
    write(shell, tool, requests=100_000)
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: list(running.results.glob(f"*/points/{POINT}/requests.jsonl")))
    running.send(signal.SIGKILL)
    running.end()
    launch = launch_of(running.results)
    assert len(tool.containers()) == 1
    for name, value in shell.env.items():
        if name.startswith("XDG_"):
            monkeypatch.setenv(name, value)
    (left,) = [leftover for leftover in leftovers() if leftover.marker == marker_of(launch)]
    report = clean_up(left)
    assert report.clean, report
    assert_nothing_left(tool, launch)
    assert [leftover for leftover in leftovers() if leftover.marker == marker_of(launch)] == []


def test_a_kept_engine_has_its_variables_and_stays_until_the_user_ends_it_as_told(shell, tool):
    env = '[deployment.env]\nMY_TOKEN = "s3cr3t-value"\nPLAIN = "a b"\n'
    write(shell, tool, run="keep_engine = true", inherit_env='["PASSED_ON"]', deployment=env)
    done = shell.run("run", "campaign.toml", PASSED_ON="handed on")
    launch = launch_of(done.results)
    (name,) = tool.containers()
    assert marker_of(launch) in name
    assert is_listening(launch["ports"]["http"])
    inside = [pid for pid in marked(marker_of(launch)) if Path(f"/proc/{pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink()]
    assert inside
    for environment in (psutil.Process(pid).environ() for pid in inside):
        assert (environment["MY_TOKEN"], environment["PLAIN"], environment["PASSED_ON"]) == ("s3cr3t-value", "a b", "handed on")
    for pid in marked(marker_of(launch)):
        assert b"s3cr3t-value" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert b"s3cr3t-value" not in b"".join(path.read_bytes() for path in done.results.rglob("*") if path.is_file())
    (told,) = [line for line in done.err.splitlines() if "end it with: " in line]
    for command in told.partition("end it with: ")[2].split("; "):
        subprocess.run(shlex.split(command), timeout=GONE_LIMIT_S, check=True, capture_output=True)
    # The container is gone when the command returns; its keeper goes after that, when the machine lets it.
    until = time.monotonic() + GONE_LIMIT_S
    while marked(marker_of(launch)) and time.monotonic() < until:
        time.sleep(0.1)
    assert_nothing_left(tool, launch)


def test_an_image_that_is_not_here_fails_before_anything_starts(shell, tool):
    write(shell, tool, image="localhost/ixbench-none:1")
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    failure = done.point(POINT)["failure"]
    assert (failure["code"], failure["cause"]) == ("image_missing", "Image localhost/ixbench-none:1 is not on this machine.")
    assert launch_of(done.results)["processes"] == []
    assert tool.containers() == []


def test_a_command_that_the_image_lacks_is_the_cause(shell, tool):
    write(shell, tool, deployment='executable = "no-such-engine"\n')
    done = shell.run("run", "campaign.toml")
    assert done.point(POINT)["failure"]["code"] == "container-command-missing"
    assert tool.containers() == []


def test_scripts_change_the_container_before_the_server_starts(shell, tool):
    script = shell.write("fix.sh", "echo changed > /changed\nls /changed\n")
    step = f'prepare = [{{ script = "fix.sh", sha256 = "{sha256(script.read_bytes()).hexdigest()}", reason = "a test" }}]\n'
    write(shell, tool, deployment=step)
    done = shell.run("run", "campaign.toml")
    assert done.point(POINT)["failure"] is None
    (log,) = done.results.glob("*/launches/*/engine.log")
    assert "/changed\n" in log.read_text()
    assert not Path("/changed").exists()
