"""The command line as users run it: a process of its own, in a folder of its own, with its output in files that a test can wait on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from ixbench.store.folder import RunReader

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from ixbench.model.record import RequestRecord

COMMAND = Path(sys.executable).parent / "ixbench"
MARK = "IXBENCH_TEST_SHELL"
"""Every process that a shell starts, engines among them, inherits this variable with the shell's own value."""
LIMIT_S = 90.0
"""Bound on a command."""
_POLL_S = 0.02
_FOREIGN = ("IXBENCH_", "OPENAI_", "PYTHONPATH", "COLUMNS", "LINES")
"""Variables of the outer world that would change what a command does."""
_PROMPTS = """\
schema = 1
title = "Prompts"
[model]
id = "m"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "prompts"
file = "prompts.jsonl"
output_tokens = 4
warmup = 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str
    results: Path

    @property
    def folders(self) -> list[Path]:
        """All run folders under --results, oldest first."""
        found = [path.parent for path in self.results.glob("*/run.json")]
        return sorted(found, key=lambda path: (json.loads((path / "run.json").read_text())["started"], len(path.name), path.name))

    @property
    def folder(self) -> Path:
        """The only run folder."""
        (folder,) = self.folders
        return folder

    def point(self, point_id: str) -> dict[str, Any]:
        """Return the content of a point's point.json."""
        content: dict[str, Any] = json.loads((self.folder / "points" / point_id / "point.json").read_text())
        return content

    def records(self, point_id: str) -> tuple[RequestRecord, ...]:
        """Return the records of a point in order of send."""
        return tuple(sorted(RunReader(self.folder).records(point_id), key=lambda record: record.send_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A command that runs."""

    popen: subprocess.Popen[bytes]
    out: Path
    err: Path
    results: Path

    def wait_for(self, condition: str | Callable[[], Any], limit_s: float = LIMIT_S) -> None:
        """Return when the condition holds; a text is waited for on stderr.

        :raises AssertionError: if the command ends before, or it takes too long.
        """
        end = time.monotonic() + limit_s
        while not (condition in self.err.read_text() if isinstance(condition, str) else condition()):
            if self.popen.poll() is not None:
                raise AssertionError(f"ixbench ended with {self.popen.returncode}: {self.err.read_text()}{self.out.read_text()}")
            if time.monotonic() > end:
                raise AssertionError(f"it did not happen within {limit_s} s: {self.err.read_text()}")
            time.sleep(_POLL_S)

    def send(self, number: signal.Signals) -> None:
        """Send the command a signal."""
        self.popen.send_signal(number)

    def end(self, limit_s: float = LIMIT_S) -> Done:
        """Wait until the command has ended."""
        code = self.popen.wait(limit_s)
        return Done(code=code, out=self.out.read_text(), err=self.err.read_text(), results=self.results)


@dataclass(slots=True, kw_only=True)
class Shell:
    """A folder to run commands in; a context manager that ends all they left running."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    """Beside the variables of this process that do not change what ixbench does."""
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    started: list[Running] = field(default_factory=list)
    sessions: set[int] = field(default_factory=set)
    """Of the engines that were seen so far."""

    def __enter__(self) -> Self:
        """Return the shell."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End what still runs."""
        for running in self.started:
            if running.popen.poll() is None:
                running.popen.kill()
                running.popen.wait(LIMIT_S)
        for process in self.processes():
            with suppress(psutil.Error):
                process.kill()

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def write_prompts(self, texts: Iterable[str]) -> Path:
        """Write prompts.jsonl with single prompts."""
        return self.write("prompts.jsonl", "".join(f"{json.dumps({'text': text})}\n" for text in texts))

    def write_campaign(self, deployments: str, *, workload: str = "", rest: str = "") -> Path:
        """Write campaign.toml: one pass over prompts.jsonl, no warm-up, nothing to learn, so that a server's requests can be counted.

        :param workload: further keys of [workload].
        """
        return self.write("campaign.toml", f"{_PROMPTS}{workload}\n{rest}\n{deployments}")

    def environment(self) -> dict[str, str]:
        """Return the variables of every command."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN) and not name.upper().endswith("_PROXY")}
        return {**kept, **self.env, MARK: self.mark}

    def start(self, *words: str, **env: str) -> Running:
        """Start `ixbench WORDS`, with further variables."""
        number = len(self.started)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            popen = subprocess.Popen(  # noqa: S603 - our own command
                [COMMAND, *words], cwd=self.folder, env=self.environment() | env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
            )
        running = Running(popen=popen, out=out, err=err, results=self.folder / "results")
        self.started.append(running)
        return running

    def run(self, *words: str, limit_s: float = LIMIT_S, **env: str) -> Done:
        """Run `ixbench WORDS` to its end."""
        return self.start(*words, **env).end(limit_s)

    def processes(self) -> list[psutil.Process]:
        """Return what is alive of all that was started from here, engines included.

        A process that changes its title, as vLLM's do, loses its readable environment, but not the session that it shares with one that
        has it.
        """
        alive: list[tuple[psutil.Process, int]] = []
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                session = os.getsid(process.pid)
                alive.append((process, session))
                if process.environ().get(MARK) == self.mark:
                    found.append(process)
                    self.sessions.add(session)
        self.sessions.discard(os.getsid(0))
        return found + [process for process, session in alive if session in self.sessions and process not in found]
