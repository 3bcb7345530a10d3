"""A launch and its runtime: it looks first, finds what runs inside, and its commands remove what signals do not reach."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace

import psutil
import pytest

from ixbench.host.contracts.runtime import CannotRunError, Runtime
from ixbench.launch.ask import ask, tell
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.model.result import Failure

pytestmark = pytest.mark.anyio
FAILURE = Failure(code="image_missing", cause="Image acme:1 is not on this machine.", fix="Fetch it.")
KEEPER = """
import os, subprocess, sys, time
outside = {name: value for name, value in os.environ.items() if not name.startswith("IXBENCH_")}
if os.fork() == 0:
    child = subprocess.Popen(sys.argv[2:], env=outside, start_new_session=True)
    open(sys.argv[1], "w").write(str(child.pid))
    os._exit(0)
os.wait()
time.sleep(600)
"""
REMOVE = "import os, sys\ntry:\n    os.kill(int(open(sys.argv[1]).read()), 9)\nexcept ProcessLookupError:\n    pass"


class Keeper(Runtime):
    """Does as a daemon does: the engine neither descends from the started command nor shares its session or its marker."""

    name = "keeper"

    def __init__(self, folder, *, inside="told", removal=REMOVE):
        self.file, self.inside, self.removal = folder / "pid", inside, removal
        self.places = []

    async def look(self, plan, options, ask):
        said = await ask([sys.executable, "-c", "print('tool 1.0')"], 30.0)
        return {"tool": said.stdout.strip(), "options": options}

    def wrap(self, plan, process, place):
        self.places.append(place)
        return replace(process, argv=("{python}", "-c", KEEPER, str(self.file), *process.argv))

    async def pids(self, plan, process, place, ask):
        return {"told": (int(self.file.read_text()),), "hidden": None, "none": ()}[self.inside]

    def cleanup(self, plan, place):
        return ((sys.executable, "-c", self.removal, str(self.file)),)


def stored(folder):
    return json.loads((folder / "launch.json").read_text())


@pytest.fixture
def start(folder):
    return lambda plan, runtime: start_engine("test", plan, runtime=runtime, folder=folder, signatures=[])


@pytest.fixture
def keeper(tmp_path):
    """Return a maker of keepers; what one of them started is ended with the test."""
    made = []

    def make(**how):
        made.append(Keeper(tmp_path, **how))
        return made[-1]

    yield make
    for runtime in made:
        if runtime.file.exists():
            tell([sys.executable, "-c", REMOVE, str(runtime.file)], 30.0)


async def test_what_the_runtime_finds_out_is_given_to_wrap_and_kept(start, folder, keeper, server, launch_plan):
    runtime = keeper()
    facts = {"tool": "tool 1.0", "options": "given"}
    async with start(launch_plan(server(), runtime="keeper", runtime_options="given"), runtime) as engine:
        assert engine.runtime == {"name": "keeper", **facts}
    (place,) = runtime.places
    assert (place.facts, place.options, place.folder) == (facts, "given", str(folder))
    assert "IXBENCH_LAUNCH" in place.inherited
    assert stored(folder)["runtime_facts"] == facts


async def test_a_launch_that_cannot_run_here_starts_nothing(start, folder, launch_plan, server, runtime):
    class Refusing(type(runtime)):
        async def look(self, plan, options, ask):
            raise CannotRunError(FAILURE)

    with pytest.raises(EngineError, match=r"Image acme:1 is not on this machine\. Fetch it\."):
        async with start(launch_plan(server()), Refusing()):
            pytest.fail("it was started")
    assert (stored(folder)["failure"]["code"], stored(folder)["processes"]) == ("image_missing", [])


async def test_an_engine_outside_our_tree_is_seen_as_ours_and_removed(start, folder, keeper, server, launch_plan):
    runtime = keeper()
    async with start(launch_plan(server()), runtime):
        inside = psutil.Process(int(runtime.file.read_text()))
        assert inside.is_running()
    assert not inside.is_running() or inside.status() == psutil.STATUS_ZOMBIE
    assert (stored(folder)["stop"]["left_pids"], stored(folder)["stop"]["busy_ports"], stored(folder)["notes"]) == ([], [], [])


async def test_an_engine_that_cannot_be_looked_into_is_measured_with_a_note(start, folder, keeper, server, launch_plan):
    async with start(launch_plan(server()), keeper(inside="hidden")) as engine:
        port = stored(folder)["ports"]["http"]
        note = f"whether port {port} is answered by this launch's own server cannot be seen by this user"
        assert engine.notes == (note,)
    assert stored(folder)["notes"] == [note]


async def test_a_listener_that_the_runtime_does_not_know_is_not_ours(start, keeper, server, launch_plan):
    with pytest.raises(EngineError) as caught:
        async with start(launch_plan(server(), image="acme:1"), keeper(inside="none")):
            pytest.fail("it counts as ready")
    assert caught.value.failure.code == "wrong_server"


async def test_what_cannot_be_removed_is_told(start, folder, keeper, server, launch_plan):
    runtime = keeper(removal="import sys; sys.exit('the daemon does not answer')")
    with pytest.raises(EngineError, match=r"what could not be removed.*the daemon does not answer"):
        async with start(launch_plan(server()), runtime):
            pass
    (failed,) = stored(folder)["stop"]["cleanup_failures"]
    assert failed.endswith(": the daemon does not answer")
    shutil.rmtree(stored(folder)["tmp"])  # left, with its entry, for `ixbench doctor --clean` to try again


async def test_a_kept_engine_is_ended_by_the_runtimes_command(folder, keeper, server, launch_plan):
    runtime = keeper()
    plan = launch_plan(server())
    async with start_engine("test", plan, runtime=runtime, folder=folder, signatures=[], keep=lambda: False) as engine:
        assert engine.end_command.startswith(sys.executable)
        assert str(runtime.file) in engine.end_command


async def test_the_record_holds_the_engines_command_and_the_started_one(start, folder, keeper, server, launch_plan):
    async with start(launch_plan(server(env={"PORT": "{port:http}"})), keeper()):
        pass
    (process,) = stored(folder)["processes"]
    port = str(stored(folder)["ports"]["http"])
    assert process["argv"][0] == sys.executable
    assert (process["argv"][-1], process["env"]["PORT"]["value"]) == (port, port)
    assert process["command"] == [sys.executable, "-c", KEEPER, process["command"][3], *process["argv"]]


async def test_every_start_is_kept_with_its_log(start, folder, launch_plan, server, runtime):
    with pytest.raises(EngineError):
        async with start(launch_plan(replace(server(), argv=("no-such-engine",))), runtime):
            pytest.fail("it counts as ready")
    for _ in range(2):
        async with start(launch_plan(server()), runtime) as engine:
            pass
    assert engine.start == 3
    starts = stored(folder)["starts"]
    assert [item["log"] for item in starts] == ["engine.log.1", "engine.log.2", "engine.log"]
    assert [item["ready_s"] is None for item in starts] == [True, False, False]
    assert [item["failure"] and item["failure"]["code"] for item in starts] == ["executable_not_found", None, None]
    assert all(item["stopped"] for item in starts)
    assert "serving" in (folder / "engine.log.2").read_text()


async def test_an_earlier_record_that_is_broken_tells_of_no_start(start, folder, launch_plan, server, runtime):
    (folder / "launch.json").write_text('{"starts": 7')
    async with start(launch_plan(server()), runtime):
        pass
    assert len(stored(folder)["starts"]) == 1


@pytest.mark.parametrize("how", [ask, tell])
async def test_a_short_command_is_bounded_and_never_raises(how):
    async def run(*argv, limit_s=30.0):
        said = how(argv, limit_s)
        return said if how is tell else await said

    done = await run(sys.executable, "-c", "import sys; print('out'); sys.exit('err')")
    assert (done.code, done.stdout, done.stderr) == (1, "out\n", "err\n")
    late = await run(sys.executable, "-c", "import time; time.sleep(600)", limit_s=0.2)
    assert (late.code, late.stderr) == (None, "it did not end within 0.2 s")
    assert (await run("no-such-tool-anywhere")).stderr == "No such file or directory"
    assert (await run("a\0b")).code is None
