"""A tool beside the point: its lines come as they are printed, and whatever happens it does not stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from ixbench.launch import tool_stream
from ixbench.launch.leftover import clean_up, leftovers
from ixbench.launch.tool_stream import LINE_LIMIT, ToolStream
from ixbench.launch.tree import MARKER
from ixbench.model.errors import IxbenchError

LIMIT_S = 120.0
"""Far more than anything here takes: a busy machine may be slow."""


@pytest.fixture
def start():
    streams = []

    def run(code, on_line=lambda _line, _ns: True):
        streams.append(ToolStream.start([sys.executable, "-c", textwrap.dedent(code)], on_line))
        return streams[-1]

    yield run
    for stream in streams:
        stream.close()


def gone(process):
    """Whether a process has ended; who adopted it may not have reaped it yet."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_lines_come_when_they_are_printed_with_the_moment_of_each(start, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    lines, came, go_on = [], (threading.Event(), threading.Event()), tmp_path / "go-on"

    def take(line, ns):
        lines.append((line, ns))
        came[len(lines) - 1].set()
        return True

    before_ns = time.monotonic_ns()
    # Without a flush: a tool that is written in Python is told not to keep its lines back.
    stream = start(
        f"""
        import time
        from pathlib import Path
        print("one")
        while not Path({str(go_on)!r}).exists():
            time.sleep(0.01)
        print("two")
        time.sleep(600)
        """,
        take,
    )
    assert came[0].wait(LIMIT_S)
    between_ns = time.monotonic_ns()
    go_on.touch()
    assert came[1].wait(LIMIT_S)
    assert [line for line, _ in lines] == ["one\n", "two\n"]
    assert before_ns < lines[0][1] < between_ns < lines[1][1] < time.monotonic_ns()
    assert stream.failure() is None
    stream.close()
    assert not psutil.pid_exists(stream.pid)
    stream.close()


def test_why_a_tool_ended_are_its_last_words_that_were_no_row(start):
    stream = start("import sys; print('row'); print('x' * 500); print('the  device\\twas lost', file=sys.stderr); sys.exit(7)")
    assert stream.ended.wait(LIMIT_S)
    assert str(stream.failure()) == f"{stream.name} ended with code 7"
    understood = start(
        "import sys; print('first', flush=True); print('the  device\\twas lost', file=sys.stderr); print('row'); sys.exit(7)",
        lambda line, _ns: line == "row\n",
    )
    assert understood.ended.wait(LIMIT_S)
    assert str(understood.failure()) == f"{understood.name} ended with code 7: the device was lost"


def test_a_signal_and_a_closed_output_are_told_apart(start, monkeypatch):
    killed = start("import os; os.kill(os.getpid(), 9)")
    assert killed.ended.wait(LIMIT_S)
    monkeypatch.setattr(tool_stream, "TERM_LIMIT_S", 0.2)
    closed = start("import os, time; os.close(1); os.close(2); time.sleep(600)")
    assert closed.ended.wait(LIMIT_S)
    assert str(killed.failure()).endswith("ended with code -9")
    assert str(closed.failure()).endswith("closed its output")


def test_what_cannot_be_started_is_one_sentence():
    with pytest.raises(IxbenchError, match=r"^/nonexistent/tool cannot be started: No such file or directory$"):
        ToolStream.start(["/nonexistent/tool"], lambda _line, _ns: True)


def test_a_line_without_an_end_takes_bounded_memory(start):
    lengths = []
    stream = start("import sys; sys.stdout.write('x' * 200_000)", lambda line, _ns: not lengths.append(len(line)))
    assert stream.ended.wait(LIMIT_S)
    assert sum(lengths) == 200_000
    assert max(lengths) <= LINE_LIMIT


def test_a_reader_that_breaks_ends_the_stream(start, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda _arguments: None)

    def broken(_line, _ns):
        raise ZeroDivisionError

    stream = start("import time; print('row', flush=True); time.sleep(600)", broken)
    assert stream.ended.wait(LIMIT_S)
    assert stream.failure() is not None


def test_one_that_ignores_term_and_its_children_are_killed(start, monkeypatch):
    monkeypatch.setattr(tool_stream, "TERM_LIMIT_S", 0.2)
    pids, told = [], threading.Event()

    def take(line, _ns):
        pids.append(int(line))
        told.set()
        return True

    code = """
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
        print(child.pid)
        time.sleep(600)
    """
    stream = start(code, take)
    assert told.wait(LIMIT_S)
    child = psutil.Process(pids[0])
    stream.close()
    assert not psutil.pid_exists(stream.pid)
    deadline = time.monotonic() + LIMIT_S
    while not gone(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone(child)


def test_what_it_costs_is_known_after_its_end_too(start):
    stream = start("import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\nprint('done')")
    assert stream.ended.wait(LIMIT_S)
    stream.close()
    assert stream.cpu_s >= 0.15


OWNER = """
import os, sys, time
from ixbench.launch.tool_stream import ToolStream
stream = ToolStream.start([sys.executable, "-c", "import signal, time; signal.signal(13, 1); time.sleep(600)"], lambda line, ns: True)
print(stream.pid, flush=True)
{then}
"""


def owner(then):
    """Return a process that owns a tool, and the tool's pid."""
    process = subprocess.Popen([sys.executable, "-c", OWNER.format(then=then)], stdout=subprocess.PIPE, text=True)
    return process, psutil.Process(int(process.stdout.readline()))


def marker_of(tool):
    """Return the marker in a tool's environment, which is still empty for a moment after its program was started."""
    deadline = time.monotonic() + LIMIT_S
    while MARKER not in tool.environ() and time.monotonic() < deadline:
        time.sleep(0.01)
    return tool.environ()[MARKER]


def test_it_ends_with_the_interpreter(tmp_path):
    process, tool = owner("sys.exit(0)")
    assert process.wait(LIMIT_S) == 0
    process.stdout.close()
    assert gone(tool)


def test_what_a_killed_ixbench_leaves_is_found_and_ended():
    process, tool = owner("time.sleep(600)")
    marker = marker_of(tool)
    process.kill()
    process.wait(LIMIT_S)
    process.stdout.close()
    (left,) = [left for left in leftovers() if left.marker == marker]
    assert left.pids == (tool.pid,)
    assert left.launch_id == Path(sys.executable).name
    assert clean_up(left).clean
    assert gone(tool)


def test_one_whose_ixbench_lives_is_left_alone():
    process, tool = owner("time.sleep(600)")
    try:
        assert marker_of(tool) not in {left.marker for left in leftovers()}
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(LIMIT_S)
        process.stdout.close()
        tool.kill()
