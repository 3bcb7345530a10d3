"""A launch's temporary folder and its entry in the registry, and what is done about them when a launch is over or its ixbench is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ixbench.launch import leftover
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.launch.footprint import Footprint
from ixbench.launch.leftover import clean_up, leftovers
from ixbench.launch.registry import OWNER, Birth, Owner, registered, registry_folder
from ixbench.launch.tmp import VARIABLE, is_tmp_of, make_tmp, remove_tmp
from ixbench.launch.tree import MARKER, alive

pytestmark = pytest.mark.anyio

LITTER = """
import os, tempfile
from pathlib import Path
tempfile.mkdtemp(prefix="vllm_dist_")
Path(tempfile.gettempdir(), "lock").write_text("x")
"""


@pytest.fixture
def start(folder, runtime):
    return lambda plan, **more: start_engine("test", plan, runtime=runtime, folder=folder, signatures=[], **more)


def stored(folder):
    return json.loads((folder / "launch.json").read_text())


def looks(folder):
    """Return a folder's rights and the beginnings of the names in it; None where there is none."""
    folder = Path(folder)
    if not folder.exists():
        return None
    return folder.stat().st_mode & 0o777, sorted(path.name.split("_")[0] for path in folder.iterdir())


def littering(server):
    made = server()
    *words, code, port = made.argv
    return replace(made, argv=(*words, LITTER + code, port))


async def test_what_an_engine_leaves_in_its_temporary_folder_goes_with_it(start, folder, server, launch_plan):
    async with start(launch_plan(littering(server))):
        record = stored(folder)
        tmp = record["tmp"]
        assert looks(tmp) == (0o700, [".ixbench-launch", "lock", "vllm"])
        assert record["processes"][0]["env"][VARIABLE] == {
            "value": tmp,
            "reason": "a temporary folder of its own, removed with all that the engine leaves in it",
            "origin": "ixbench",
        }
    assert looks(tmp) is None


async def test_a_temporary_folder_that_the_plan_names_is_the_users(start, folder, server, launch_plan, tmp_path):
    (tmp_path / "mine").mkdir()
    made = server(env={VARIABLE: str(tmp_path / "mine")})
    async with start(launch_plan(made)) as engine:
        assert psutil.Process(engine.pids[0]).environ()[VARIABLE] == str(tmp_path / "mine")
    assert (tmp_path / "mine").is_dir()


def test_the_folders_path_is_short_wherever_temporary_files_lie(tmp_path, monkeypatch):
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    made = make_tmp("m")
    try:
        assert len(str(made)) < 60
    finally:
        assert remove_tmp(made, "m") is None


def test_only_the_launchs_own_folder_is_removed(tmp_path):
    other, link = tmp_path / "ixbench-other", tmp_path / "ixbench-link"
    other.mkdir()
    link.symlink_to(other)
    assert remove_tmp(other, "m") is not None
    assert remove_tmp(link, "m") is not None
    assert remove_tmp(tmp_path / "ixbench-gone", "m") is None
    assert other.is_dir()
    mine = make_tmp("m")
    assert not is_tmp_of(mine, "n")
    assert remove_tmp(mine, "m") is None


async def test_a_launch_is_registered_while_it_lives(start, state, server, launch_plan):
    async with start(launch_plan(server())) as engine:
        (entry,) = registered()
        assert (entry.launch_id, entry.engine, entry.owner.process.pid, entry.kept) == ("test", "test", os.getpid(), False)
        assert [birth.pid for birth in entry.processes] == list(engine.pids)
        assert all(birth.lives() for birth in entry.processes)
        assert not entry.owner.gone()
        assert state.stat().st_mode & 0o777 == 0o700
        assert [left for left in leftovers() if left.marker == entry.marker] == [], "its ixbench lives"
    assert registered() == ()


async def test_a_launch_that_fails_leaves_no_entry(start, python, launch_plan):
    with pytest.raises(EngineError):
        async with start(launch_plan(python("raise SystemExit(3)"))):
            pytest.fail("the engine counts as ready")
    assert registered() == ()


@pytest.fixture
def no_home(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))


@pytest.mark.usefixtures("no_home")
async def test_a_home_that_cannot_be_written_costs_a_note_only(start, folder, server, launch_plan):
    async with start(launch_plan(server())) as engine:
        assert any("not registered" in note for note in engine.notes)
    assert sum("not registered" in note for note in stored(folder)["notes"]) == 1


def test_files_that_are_no_entries_are_passed_over(state):
    state.mkdir(parents=True)
    (state / "a.json").write_text("{")
    (state / "b.json").write_text('{"marker": "c"}')
    (state / "c.json").mkdir()
    assert registered() == ()


def test_a_process_is_told_from_a_later_one_with_its_number():
    me = Birth.of(os.getpid())
    assert me.lives()
    assert not Birth(pid=me.pid, born=me.born - 1).lives()
    assert not Birth(pid=2**22 - 1, born=1).lives()
    owner = Owner.me()
    assert Owner.read(str(owner)) == owner
    assert not owner.gone()
    assert not Owner(process=Birth(pid=me.pid, born=me.born - 1), namespace="pid:[1]").gone(), "another container's: nobody knows"
    assert Owner(process=Birth(pid=me.pid, born=me.born - 1), namespace=owner.namespace).gone()
    assert Owner.read("x") is None


OWNING = """
import subprocess, sys, time
from pathlib import Path
from ixbench.launch.footprint import Footprint
from ixbench.launch.registry import OWNER
from ixbench.launch.tree import MARKER, alive

marker, kept = sys.argv[1], sys.argv[2] == "kept"
footprint = Footprint.begin(marker=marker, launch_id="test", engine="acme", folder=Path("/nowhere"), ports={}, with_tmp=True, notes=[])
import os
env = os.environ | {MARKER: marker, OWNER: str(footprint.entry.owner), "TMPDIR": footprint.entry.tmp}
if kept:
    env["IXBENCH_KEEP_ENGINE"] = "1"
code = '''
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = [sys.executable, "-c", "import time; time.sleep(600)"]
subprocess.Popen(worker, start_new_session=True)
# A worker that hides: no marker, but a child of one that has it.
subprocess.Popen(worker, env={})
print("up", flush=True)
time.sleep(600)
'''
child = subprocess.Popen([sys.executable, "-u", "-c", code], env=env, start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
footprint.started(child.pid)
if kept:
    footprint.keep()
print(footprint.entry.tmp, flush=True)
time.sleep(600)
"""


@pytest.fixture
def killed(monkeypatch, machine):
    """Return a maker of launches whose ixbench was killed by SIGKILL: their marker and their temporary folder."""
    del machine  # other tests keep off what we leave
    monkeypatch.setattr(leftover, "TERM_LIMIT_S", 1.0)
    markers = []

    def make(kept="no"):
        markers.append(f"test-{os.getpid()}-{len(markers)}-{time.monotonic_ns():x}")
        owner = subprocess.Popen([sys.executable, "-c", OWNING, markers[-1], kept], stdout=subprocess.PIPE, text=True)
        tmp = Path(owner.stdout.readline().strip())
        owner.kill()
        owner.wait()
        owner.stdout.close()
        return markers[-1], tmp

    yield make
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARKER) in markers:
                process.send_signal(signal.SIGKILL)
        except (psutil.Error, OSError):
            continue


def end(pids):
    """Kill processes, and wait until they are gone."""
    members = [psutil.Process(pid) for pid in pids]
    for process in members:
        process.kill()
    limit = time.monotonic() + 20
    while any(alive(process) for process in members):
        assert time.monotonic() < limit
        time.sleep(0.01)


def of(marker, **how):
    (found,) = [left for left in leftovers(**how) if left.marker == marker]
    return found


def test_what_a_killed_ixbench_left_is_found_and_ended(killed):
    marker, tmp = killed()
    left = of(marker)
    assert (left.launch_id, left.engine, left.tmp, left.kept, left.registered) == ("test", "acme", str(tmp), False, True)
    assert len(left.pids) == 3, "the engine, its worker in a session of its own, and the one without marker"
    assert left.kill_command == f"kill {' '.join(map(str, left.pids))}"
    report = clean_up(left)
    assert report.clean
    assert report.ended == left.pids
    assert report.removed == (str(tmp),)
    assert not tmp.exists()
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in left.pids)
    assert marker not in {entry.marker for entry in registered()}
    assert clean_up(left).ended == (), "once more does nothing"


def test_without_its_entry_it_is_found_by_its_processes(killed, state):
    marker, tmp = killed()
    (state / f"{marker}.json").unlink()
    assert [left for left in leftovers(search=False) if left.marker == marker] == []
    left = of(marker)
    assert (left.registered, left.launch_id, left.tmp, len(left.pids)) == (False, marker.rpartition("-")[0], str(tmp), 3)
    assert clean_up(left).clean
    assert not tmp.exists()


def test_an_engine_that_was_kept_is_said_to_be(killed, state):
    marker, _ = killed("kept")
    assert of(marker).kept
    (state / f"{marker}.json").unlink()
    assert of(marker).kept, "nobody knows whether the run had ended, so it is not taken for rubbish"
    assert clean_up(of(marker)).clean


def test_a_kept_engine_that_the_user_ended_leaves_nothing_to_clean(killed):
    marker, tmp = killed("kept")
    end(of(marker).pids)
    assert [left for left in leftovers(search=False) if left.marker == marker] == []
    assert not tmp.exists()
    assert marker not in {entry.marker for entry in registered()}


def test_an_entry_of_which_nothing_is_left_is_forgotten(killed):
    marker, tmp = killed()
    end(of(marker).pids)
    remove_tmp(tmp, marker)
    assert [left for left in leftovers() if left.marker == marker] == []
    assert marker not in {entry.marker for entry in registered()}


def test_a_marker_without_an_owner_is_left_alone():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=os.environ | {MARKER: "by-hand"})
    try:
        assert [left for left in leftovers() if left.marker == "by-hand"] == []
    finally:
        child.kill()
        child.wait()


def test_a_living_owner_is_never_robbed():
    env = os.environ | {MARKER: "alive-1", OWNER: str(Owner.me())}
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=env)
    try:
        assert [left for left in leftovers() if left.marker == "alive-1"] == []
    finally:
        child.kill()
        child.wait()


async def test_the_variables_reach_the_engine(start, server, launch_plan):
    async with start(launch_plan(server(env={"PLAIN": "1"}))) as engine:
        variables = psutil.Process(engine.pids[0]).environ()
        assert Owner.read(variables[OWNER]) == Owner.me()
        assert variables[MARKER].startswith("test-")
        assert variables["PLAIN"] == "1"


def test_a_kept_launchs_folder_stays(folder):
    footprint = Footprint.begin(marker="k", launch_id="test", engine="acme", folder=folder, ports={}, with_tmp=True, notes=[])
    footprint.keep()
    (entry,) = registered()
    assert entry.kept
    assert Path(entry.tmp).is_dir()
    assert remove_tmp(Path(entry.tmp), "k") is None


def test_what_a_killed_writer_left_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = registry_folder()
    folder.mkdir(parents=True)
    torn, fresh = folder / "a.json.part", folder / "b.json.part"
    for path in (torn, fresh):
        path.write_bytes(b"{")
    long_ago = time.time() - 3600
    os.utime(torn, (long_ago, long_ago))
    leftovers(search=False)
    assert list(folder.iterdir()) == [fresh], "another ixbench may be writing it now"
