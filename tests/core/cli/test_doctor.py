"""`ixbench doctor` as users call it: on this machine, with what a killed run left on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest

from ixbench.cli.main import main
from ixbench.launch import leftover
from ixbench.launch.registry import Owner, Registration, register, registered
from ixbench.launch.tree import MARKER, alive

STARTER = """
import subprocess, sys
from ixbench.launch.registry import OWNER, Owner
env = {"PATH": "/usr/bin:/bin", sys.argv[1]: sys.argv[2], OWNER: str(Owner.me())}
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
engine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=env, start_new_session=True, **quiet)
print(engine.pid, env[OWNER], flush=True)
"""
"""An ixbench that starts an engine and ends without a word."""


@pytest.fixture
def ixbench(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*argv):
        code = main(("doctor", *argv))
        captured = capsys.readouterr()
        assert captured.err == ""
        return code, captured.out

    return run


@pytest.fixture
def killed(tmp_path, monkeypatch):
    """Leave an engine whose ixbench has ended, and let doctor see no leftovers but this one: other tests may need theirs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    marker = f"test-{os.urandom(8).hex()}"
    started = subprocess.run([sys.executable, "-c", STARTER, MARKER, marker], capture_output=True, text=True, check=True, timeout=60)
    pid, owner = started.stdout.split()
    entry = Registration(marker=marker, launch_id="test-launch", engine="test", folder=str(tmp_path), owner=Owner.read(owner))
    assert register(entry) is None
    every = leftover.leftovers
    monkeypatch.setattr(leftover, "leftovers", lambda **options: tuple(item for item in every(**options) if item.marker == marker))
    yield int(pid)
    with suppress(ProcessLookupError):
        os.kill(int(pid), 9)


def lives(pid):
    """Whether the process runs: nobody may have waited for it yet."""
    return psutil.pid_exists(pid) and alive(psutil.Process(pid))


def checks(out):
    return {check["id"]: check for check in json.loads(out)["checks"]}


def test_this_machine_is_told_in_both_forms(ixbench):
    code, out = ixbench("--json")
    found = json.loads(out)
    assert set(found) == {"fit", "checks", "leftovers"}
    assert code == (0 if found["fit"] else 1)
    assert found["fit"] == (not any(check["status"] == "problem" for check in found["checks"]))
    assert {"accelerators", "open_files", "shm", "cpu_governor", "cpu_load", "docker", "podman", "disk", "leftovers"} <= checks(out).keys()
    assert all(set(check) == {"id", "title", "value", "status", "advice"} for check in found["checks"])
    lines = ixbench()[1].splitlines()
    for check in found["checks"]:
        assert any(line.startswith(check["status"]) and check["title"] in line for line in lines) or check["id"] == "cpu_load"


def test_what_a_killed_run_left_is_shown_and_ended_on_request(ixbench, killed):
    code, out = ixbench("--json")
    assert code == 1
    found = checks(out)["leftovers"]
    assert (found["status"], found["value"]) == ("problem", f"launch test-launch (test): processes {killed}")
    assert [item["pids"] for item in json.loads(out)["leftovers"]] == [[killed]]
    assert lives(killed)

    code, out = ixbench("--clean", "--json")
    (cleaned,) = json.loads(out)["cleaned"]
    assert (cleaned["launch_id"], cleaned["clean"], cleaned["ended"]) == ("test-launch", True, [killed])
    assert (checks(out)["leftovers"]["value"], json.loads(out)["leftovers"]) == ("none", [])
    assert registered() == ()
    assert not lives(killed)
    assert json.loads(ixbench("--clean", "--json")[1])["cleaned"] == []


def test_cleaning_is_told_to_people_too(ixbench, killed):
    out = ixbench("--clean")[1]
    assert out.splitlines()[0] == f"cleaned launch test-launch: ended {killed}"
    assert ixbench("--clean")[1].splitlines()[0] == "nothing to clean"


def test_an_engine_that_was_kept_on_purpose_is_left_running(ixbench, killed):
    (entry,) = registered()
    assert register(replace(entry, kept=True)) is None
    out = ixbench("--clean", "--json")[1]
    assert json.loads(out)["cleaned"] == []
    found = checks(out)["leftovers"]
    assert (found["status"], found["advice"]) == ("warning", f"they were kept on purpose; end them with: kill {killed}")
    assert lives(killed)
