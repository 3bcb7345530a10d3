from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from dataclasses import replace

import pytest

from ixbench.launch import leftover
from ixbench.launch.engine import start_engine
from ixbench.launch.registry import registered
from ixbench.launch.shared_memory import FOLDER, held, present, remove_unused
from ixbench.launch.tree import MARKER

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not os.access(FOLDER, os.W_OK), reason="this machine has no shared memory")]

HOLDER = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
memory = mmap.mmap(file, 4096)
os.close(file)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def path():
    """Return the path of a segment that does not exist; what a test leaves there is removed."""
    made = FOLDER / f"ixbench-test-{uuid.uuid4().hex}"
    yield made
    made.unlink(missing_ok=True)


@pytest.fixture
def hold(path):
    """Return a function that starts a process that has the segment mapped."""
    started = []

    def start(**env):
        command = [sys.executable, "-c", HOLDER, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | env, start_new_session=True)
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_segment_is_known_by_who_has_it_mapped(path, hold):
    first = hold()
    assert {segment.path for segment in held([first.pid])} == {str(path)}
    assert held([os.getpid()]) & held([first.pid]) == set()
    assert held([first.pid]) <= present()


def test_a_segment_is_known_by_who_has_it_open(path):
    with path.open("wb") as file:
        assert {segment.path for segment in held([os.getpid()])} >= {str(path)}
        file.close()
        assert str(path) not in {segment.path for segment in held([os.getpid()])}


def test_only_what_nobody_has_is_removed(path, hold):
    first, second = hold(), hold()
    memory = held([first.pid])
    first.kill()
    first.wait()
    assert remove_unused(memory) == ()
    second.kill()
    second.wait()
    assert remove_unused(memory) == (str(path),)
    assert not path.exists()
    assert remove_unused(memory) == ()


def test_another_file_of_the_same_name_is_another_segment(path, hold):
    first = hold()
    memory = held([first.pid])
    first.kill()
    first.wait()
    # Its number may be given again at once, unless it is still in use.
    with path.open("rb"):
        path.unlink()
        path.write_bytes(b"another's")
        assert remove_unused(memory) == ()
    assert path.exists()


def sharing(server, path):
    """Return a server of which a child, too, has the segment, and that does not remove it."""
    made = server()
    *words, code, port = made.argv
    litter = f"""
import mmap, os
file = os.open({str(path)!r}, os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
memory = mmap.mmap(file, 4096)
"""
    return replace(made, argv=(*words, litter + code, port))


async def test_what_a_launch_leaves_in_shared_memory_goes_with_it(folder, runtime, server, launch_plan, path):
    async with start_engine("test", launch_plan(sharing(server, path)), runtime=runtime, folder=folder, signatures=[]):
        assert path.exists()
    assert not path.exists()
    assert f"shared memory behind, which was removed: {path}" in (folder / "launch.json").read_text()


async def test_so_does_what_an_engine_leaves_that_was_killed(folder, runtime, server, launch_plan, path):
    async with start_engine("test", launch_plan(sharing(server, path)), runtime=runtime, folder=folder, signatures=[]) as engine:
        os.kill(engine.pids[0], signal.SIGKILL)
        await engine.wait_dead()
        assert path.exists()
    assert not path.exists()


async def test_what_was_there_before_is_not_ours(folder, runtime, server, launch_plan, path):
    path.write_bytes(bytes(4096))
    async with start_engine("test", launch_plan(sharing(server, path)), runtime=runtime, folder=folder, signatures=[]):
        pass
    assert path.exists()


def test_so_does_what_a_launch_leaves_whose_ixbench_was_killed(path, hold, monkeypatch):
    marker = f"test-{uuid.uuid4().hex}"
    process = hold(**{MARKER: marker})
    left = leftover.Leftover(marker=marker, launch_id="test", engine="acme", folder="", pids=(process.pid,))
    monkeypatch.setattr(leftover, "leftovers", lambda: (left,))
    report = leftover.clean_up(left)
    assert (report.ended, report.removed, report.clean) == ((process.pid,), (str(path),), True)
    assert not path.exists()


async def test_it_is_on_record_while_a_launch_lives(folder, runtime, server, launch_plan, path):
    async with start_engine("test", launch_plan(sharing(server, path)), runtime=runtime, folder=folder, signatures=[]):
        (entry,) = registered()
        assert [segment.path for segment in entry.memory] == [str(path)]
        assert json.loads((folder / "launch.json").read_text())["processes"][0]["env"]["SPT_NOENV"]["origin"] == "ixbench"
