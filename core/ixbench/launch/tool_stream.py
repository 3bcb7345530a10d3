"""A tool that prints line after line while something is measured: started in a session of its own, marked, and surely ended.

It carries the marker and the owner that every process of ours carries, so that `ixbench doctor --clean` finds it where ixbench was killed.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psutil

from ixbench.launch.registry import OWNER, Owner
from ixbench.launch.tree import MARKER
from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TERM_LIMIT_S = 2.0
"""Between TERM and KILL."""
KILL_LIMIT_S = 2.0
LINE_LIMIT = 64 * 1024
"""Bytes of a line; a longer one comes in pieces."""
_WORDS_LIMIT = 200
_POLL_S = 0.02


@dataclass(slots=True, kw_only=True)
class ToolStream:
    """One running tool, whose lines a thread of its own hands on. `start` makes one, `close` ends it."""

    name: str
    on_line: Callable[[str, int], bool]
    """Gets each line, its end included where it has one, and the moment of the monotonic clock at which it came; in the stream's own
    thread. Returns whether it understood the line: the last one that it did not may tell why the tool ended."""
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when nothing will come any more."""
    _popen: subprocess.Popen[bytes]
    _thread: threading.Thread | None = None
    _thread_cpu_s: float = 0.0
    _process_cpu_s: float = 0.0
    _words: str = ""
    _code: int | None = None
    """How it ended; negative = signal number, None = it did not, or nobody knows."""
    _closed: bool = False

    @classmethod
    def start(cls, argv: Sequence[str], on_line: Callable[[str, int], bool]) -> ToolStream:
        """Start a tool; what it prints to either output is read line by line.

        :raises IxbenchError: if it cannot be started.
        """
        name = Path(argv[0]).name
        marks = {MARKER: f"{name}-{secrets.token_hex(8)}", OWNER: str(Owner.me())}
        try:
            popen = subprocess.Popen(  # noqa: S603 - a vendor's tool with fixed arguments, without a shell
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # A tool that is written in Python would else keep its lines back until it has some kilobytes of them.
                env={**os.environ, "PYTHONUNBUFFERED": "1", "LC_ALL": "C", **marks},
                start_new_session=True,
            )
        except OSError as error:
            raise IxbenchError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
        stream = cls(name=name, on_line=on_line, _popen=popen)
        atexit.register(stream.close)
        assert popen.stdout is not None
        stream._thread = threading.Thread(target=stream._read, args=(popen.stdout,), name=f"lines of {name}", daemon=True)
        stream._thread.start()
        return stream

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._popen.pid

    @property
    def cpu_s(self) -> float:
        """CPU seconds that the tool and the thread took so far."""
        self._look_at_cost()
        return self._process_cpu_s + self._thread_cpu_s

    @property
    def words(self) -> str:
        """The beginning of the last line that nobody understood; empty = all were."""
        return self._words

    def failure(self) -> IxbenchError | None:
        """Return why nothing comes any more, or None while something may."""
        if not self.ended.is_set():
            return None
        how = "closed its output" if self._code is None else f"ended with code {self._code}"
        return IxbenchError(f"{self.name} {how}" + (f": {self._words}" if self._words else ""))

    def close(self) -> None:
        """End the tool: TERM, KILL, both with a bound. May be called twice, and from any thread."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        self._look_at_cost()
        self._signal(signal.SIGTERM)
        self._exit_code(TERM_LIMIT_S)
        # Also where it ended by itself: it leads a group of its own, and is not reaped before whatever it may have started is gone.
        self._signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(KILL_LIMIT_S)
        if self._thread is not None:
            self._thread.join(KILL_LIMIT_S)

    def _read(self, output: IO[bytes]) -> None:
        try:
            with output:
                while line := output.readline(LINE_LIMIT):
                    now_ns = time.monotonic_ns()
                    text = line.decode("utf-8", errors="replace")
                    if not self.on_line(text, now_ns) and (words := " ".join(text.split())):
                        self._words = words[:_WORDS_LIMIT]
                    self._thread_cpu_s = time.thread_time()
            self._code = self._exit_code(TERM_LIMIT_S)
        finally:
            self.ended.set()

    def _exit_code(self, limit_s: float) -> int | None:
        """Wait a while for the end, and return how it ended; the process is not reaped, so that its number stays its own."""
        deadline = time.monotonic() + limit_s
        while self._popen.returncode is None:
            try:
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return self._popen.poll()
            if found is not None:
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            if time.monotonic() >= deadline:
                return None
            time.sleep(_POLL_S)
        return self._popen.returncode

    def _signal(self, number: signal.Signals) -> None:
        if self._popen.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _look_at_cost(self) -> None:
        if self._popen.returncode is None:
            with suppress(psutil.Error):
                times = psutil.Process(self.pid).cpu_times()
                self._process_cpu_s = times.user + times.system + times.children_user + times.children_system
