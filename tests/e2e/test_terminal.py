"""What a user sees at a terminal: a live table that leaves no traces of itself, then the results; and how Ctrl-C looks there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field

import pytest

from ixbench.store.folder import RunReader
from ixbench.testing.shell import COMMAND

ROWS, COLUMNS = 40, 90
LIMIT_S = 60.0
_CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")


@dataclass
class Screen:
    """As much of a terminal as rich's live display uses."""

    lines: list[str] = field(default_factory=lambda: [""])
    """All that was ever printed, history included."""
    row: int = 0
    column: int = 0

    def feed(self, text):
        at = 0
        while at < len(text):
            control = _CONTROL.match(text, at)
            if control:
                self._control(*control.groups())
                at = control.end()
                continue
            if text[at] == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif text[at] == "\r":
                self.column = 0
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + text[at] + line[self.column + 1 :]
                self.column += 1
            at += 1

    def _control(self, number, kind):
        if kind == "A":
            self.row -= int(number or 1)
        elif kind == "K":
            assert number == "2"
            self.lines[self.row] = ""
        else:
            assert kind in "mhl", f"unknown control {number}{kind}"


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, shell, *words):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = shell.environment() | {"TERM": "xterm-256color"}

        take_it = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
        self.process = subprocess.Popen(
            [sys.executable, "-c", take_it, str(COMMAND), *words],
            cwd=shell.folder,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.fd = ours
        self.text = ""
        self.end = time.monotonic() + LIMIT_S

    def read(self):
        """Take in what was printed; False at the end."""
        assert time.monotonic() < self.end, self.text
        if not select.select([self.fd], [], [], 0.2)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += piece.decode()
        return bool(piece)

    def read_until(self, words):
        while words not in self.text:
            assert self.read(), self.text

    def close(self):
        while self.read():
            pass
        os.close(self.fd)
        return self.process.wait(LIMIT_S)

    @property
    def lines(self):
        screen = Screen()
        screen.feed(self.text)
        return [line.rstrip() for line in screen.lines]


@pytest.fixture
def terminal(shell):
    """Return a function that runs a command at a terminal; it is ended with the test."""
    made = []

    def run(*words):
        made.append(Terminal(shell, *words))
        return made[-1]

    yield run
    for one in made:
        one.process.kill()
        one.process.wait(LIMIT_S)


@pytest.fixture
def campaign(shell, server):
    shell.write_prompts(f"tell me about number {number}" for number in range(12))

    def write(*kinds):
        shell.write_campaign(
            "".join(
                f'[[deployment]]\nname = "{kind}"\nengine = "endpoint"\nurl = "{server.url}"\nserved_name = "script:{kind}"\n'
                "concurrency = 2\n"
                for kind in kinds
            )
        )

    return write


def test_the_live_table_leaves_one_picture_and_the_results_follow(shell, campaign, terminal):
    campaign("slow", "not_found")
    at = terminal("run", "campaign.toml")
    code = at.close()
    assert code == 1
    assert at.text.count("out tok/s") > 2, "the table was redrawn while the run went on"
    lines = at.lines
    (header,) = [number for number, line in enumerate(lines) if "out tok/s" in line]
    assert lines[header - 1] == "Prompts"
    assert lines[header + 1] == "─" * len(lines[header + 1])
    assert re.fullmatch(r"slow-c2 +INVALID +[\d.]+ s +12/12 +\d+", lines[header + 2])
    assert re.fullmatch(r"not-found-c2 +INVALID +[\d.]+ s +12/12 +12", lines[header + 3])
    assert lines[header + 4 : header + 6] == ["2 of 2 points", ""]
    before, after = "\n".join(lines[:header]), "\n".join(lines[header + 6 :])
    assert "not-found-c2: INVALID, errors" in before, "the codes are said as it happens"
    assert "not-found-c2: errors: no request succeeded: http_status 12" in after.replace("\n", " "), "and the sentences in the end"
    assert after.startswith("Prompts\n")
    assert after.rstrip().splitlines()[-1].startswith("results: results/")
    assert max(map(len, lines)) <= COLUMNS, "the report is as wide as the terminal"


def test_ctrl_c_at_the_terminal_ends_in_good_order(shell, campaign, terminal):
    campaign("slow", "hang_mid_stream", "ok")
    at = terminal("run", "campaign.toml")
    at.read_until("1 of 3 points")
    os.write(at.fd, b"\x03")
    code = at.close()
    assert code == 130
    lines = at.lines
    assert sum("out tok/s" in line for line in lines) == 1
    (stopped,) = [line for line in lines if line.startswith("hang-mid-stream-c2 ") and "stopped" in line]
    assert "measuring" not in stopped
    assert any(line == "1 of 3 points - stopped" for line in lines)
    text = " ".join(lines)
    assert "SIGINT: ending in good order" in text
    assert "go on with: ixbench run campaign.toml --resume" in text
    assert "^C" not in "".join(line for line in lines if "stopped" in line)
    assert shell.processes() == []


def test_a_terminal_that_goes_away_ends_the_run_in_good_order(shell, campaign, terminal):
    campaign("slow", "hang_mid_stream")
    at = terminal("run", "campaign.toml")
    at.read_until("1 of 2 points")
    os.close(at.fd)
    at.process.wait(LIMIT_S)
    assert shell.processes() == []
    (folder,) = (shell.folder / "results").iterdir()
    assert RunReader(folder).sealed() == ("slow-c2",)
    assert (folder / "reports" / "ladder.json").is_file(), "nobody sees it now, but it is there tomorrow"
