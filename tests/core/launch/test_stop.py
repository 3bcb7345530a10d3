from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

import anyio
import psutil
import pytest

from ixbench.launch.ports import is_listening, lease_ports
from ixbench.launch.process import port_names, start_process
from ixbench.launch.stop import LaunchedProcesses
from ixbench.launch.tree import MARKER, ProcessTree, alive

pytestmark = pytest.mark.anyio

SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
POLITE = """
import signal, sys, time
def leave(*_):
    print(sys.argv[1], flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
print("up", flush=True)
time.sleep(600)
"""
# The grandchild leaves the session, loses its parent and ignores TERM: only the marker leads to it.
RUNAWAY = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("up", flush=True)
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""
# The child has no marker and its parent ends on TERM: only the session leads to it.
NAMELESS = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {DEAF!r}], env={{}})
time.sleep(600)
"""
# The root ends at once, and its child stays.
ORPHAN = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEPER!r}])
"""


PATIENCE_S = 120.0
"""A killed process ends when it gets its turn, which may take long on a busy machine; one that was not killed sleeps for 600 s."""


LEASES = []
"""Of the test that runs: a port that is given back may be another's when the engine has ended."""


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr("ixbench.launch.stop.KILL_LIMIT_S", PATIENCE_S)
    yield
    while LEASES:
        LEASES.pop().release()


def launch(folder, *processes):
    lease = lease_ports(port_names(processes))
    LEASES.append(lease)
    tree = ProcessTree(marker=f"test-{os.getpid()}-{time.monotonic_ns()}")
    launched = LaunchedProcesses(tree=tree, ports=lease.numbers)
    log = folder / "engine.log"
    log.touch()
    for process in processes:
        launched.add(start_process(process, inherited={MARKER: tree.marker}, ports=lease.numbers, folder=folder, log=log))
    return launched, log


async def until(condition):
    with anyio.fail_after(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what happens in another process can only be polled
            await anyio.sleep(0.02)


def marked(marker):
    """All live processes of this machine that carry the marker, found without the code under test."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARKER) == marker and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


async def test_a_process_that_obeys_is_not_killed(folder, python):
    launched, log = launch(folder, python(SLEEPER))
    await until(lambda: "up" in log.read_text())
    report = await launched.stop(30)
    assert report.exit_codes == {"server": -signal.SIGTERM}
    assert report.killed == ()
    assert report.clean
    assert not psutil.pid_exists(launched.pids[0])
    assert await launched.stop(30) is report


@pytest.mark.parametrize("code", [DEAF, RUNAWAY, NAMELESS, ORPHAN], ids=["ignores-term", "runaway", "nameless", "orphan"])
async def test_nothing_is_left(folder, python, code):
    launched, log = launch(folder, python(code))
    await until(lambda: "up" in log.read_text())
    members = launched.tree.scan()
    assert members
    report = await launched.stop(0.5)
    assert report.clean
    assert not any(alive(process) for process in members)
    assert marked(launched.tree.marker) == []
    assert not psutil.pid_exists(launched.pids[0])


async def test_all_processes_of_a_launch_get_their_grace(folder, python):
    launched, log = launch(folder, python(POLITE, "sidecar", name="sidecar"), python(POLITE, "server"))
    await until(lambda: log.read_text().count("up") == 2)
    report = await launched.stop(30)
    assert report.exit_codes == {"sidecar": 0, "server": 0}
    # Both write to one log, and a line and its end may come in two writes.
    said = log.read_text()
    assert (said.count("server"), said.count("sidecar")) == (1, 1)


async def test_the_port_is_free_afterwards(folder, server):
    launched, _ = launch(folder, server())
    port = launched.ports["http"]
    await until(lambda: is_listening(port))
    report = await launched.stop(30)
    assert report.busy_ports == ()
    assert not is_listening(port)


async def test_a_port_that_a_stranger_holds_is_reported(folder, python, monkeypatch):
    monkeypatch.setattr("ixbench.launch.stop.PORT_LIMIT_S", 0.1)
    launched, _ = launch(folder, python(SLEEPER))
    port = launched.ports["http"]
    with socket.create_server(("127.0.0.1", port)):
        report = await launched.stop(30)
    assert report.busy_ports == (port,)
    assert not report.clean


async def test_stopping_goes_on_under_cancellation(folder, python):
    launched, log = launch(folder, python(DEAF))
    await until(lambda: "up" in log.read_text())
    with anyio.move_on_after(0.2) as scope:
        report = await launched.stop(0.5)
    assert scope.cancel_called
    assert report.clean
    assert launched.report is report


async def test_a_raw_cancellation_while_stopping_kills_at_once(folder, python):
    launched, log = launch(folder, python(DEAF))
    await until(lambda: "up" in log.read_text())
    task = asyncio.ensure_future(launched.stop(600))
    await anyio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert launched.report.clean
    assert launched.report.exit_codes == {"server": -signal.SIGKILL}
    assert marked(launched.tree.marker) == []


FORGETFUL = f"""
import sys
from pathlib import Path
from ixbench.launch import stop
from ixbench.launch.process import start_process
from ixbench.launch.stop import LaunchedProcesses
from ixbench.launch.tree import ProcessTree
from ixbench.model.launch import ProcessPlan
stop.KILL_LIMIT_S = {PATIENCE_S}
folder = Path(sys.argv[1])
launched = LaunchedProcesses(tree=ProcessTree(marker=sys.argv[2]), ports={{}})
plan = ProcessPlan(name="server", argv=("{{python}}", "-c", {RUNAWAY!r}))
launched.add(start_process(plan, inherited={{"IXBENCH_LAUNCH": sys.argv[2]}}, ports={{}}, folder=folder, log=folder / "engine.log"))
while "up" not in (folder / "engine.log").read_text():
    pass
raise RuntimeError("the run loop crashed")
"""


def test_leaving_the_interpreter_ends_what_was_forgotten(folder):
    marker = f"forgotten-{os.getpid()}-{time.monotonic_ns()}"
    run = subprocess.run(
        [sys.executable, "-c", FORGETFUL, str(folder), marker], capture_output=True, text=True, check=False, timeout=3 * PATIENCE_S
    )
    assert run.returncode == 1
    assert "the run loop crashed" in run.stderr
    assert marked(marker) == []
