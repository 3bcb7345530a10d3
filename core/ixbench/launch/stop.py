"""Ending a launch so that nothing is left: TERM, grace, KILL, reap, and proof by process numbers and ports.

It holds on every way out: an orderly end, an exception, a cancelled task, a second Ctrl-C in the middle of stopping, interpreter exit.
"""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import psutil

from ixbench.launch.ask import ask, tell
from ixbench.launch.ports import is_listening

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ixbench.host.contracts.runtime import CommandOutput
    from ixbench.launch.process import RunningProcess
    from ixbench.launch.tree import ProcessTree

KILL_LIMIT_S = 10.0
"""How long we wait for killed processes to vanish; a process in an uninterruptible system call may need it."""
PORT_LIMIT_S = 5.0
CLEANUP_LIMIT_S = 60.0
"""How long a command of the runtime may take to remove a container; at interpreter exit a third of it."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """How a launch ended."""

    seconds: float
    exit_codes: Mapping[str, int | None]
    """By process name; negative = signal number, None = unknown."""
    killed: tuple[int, ...] = ()
    """Pids that did not go within the grace."""
    left_pids: tuple[int, ...] = ()
    """Pids that not even KILL ended in time."""
    busy_ports: tuple[int, ...] = ()
    """Ports that something still listens on."""
    cleanup_failures: tuple[str, ...] = ()
    """Commands of the runtime that failed, with what they said: what they should have removed may still be there."""

    @property
    def clean(self) -> bool:
        """Whether nothing is left."""
        return not self.left_pids and not self.busy_ports and not self.cleanup_failures


@dataclass(slots=True, kw_only=True)
class LaunchedProcesses:
    """All that one launch has started so far."""

    tree: ProcessTree
    ports: Mapping[str, int]
    processes: list[RunningProcess] = field(default_factory=list)
    cleanup: Callable[[], tuple[tuple[str, ...], ...]] = field(default=lambda: ())
    """Returns the runtime's commands that remove what signals don't reach; run between TERM and KILL."""
    on_stopping: Callable[[Sequence[int]], None] = field(default=lambda _: None)
    """Told the processes that live before the first of them is ended."""
    on_closed: Callable[[StopReport], None] = field(default=lambda _: None)
    """Told once how the launch ended, on whatever way it did."""
    report: StopReport | None = None
    """Set once stopped."""
    _failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make sure that leaving the interpreter ends the engine, whatever became of the code that should have."""
        atexit.register(self.kill_now)

    def add(self, process: RunningProcess) -> None:
        """Take charge of a process."""
        self.processes.append(process)
        self.tree.roots.append(process.pid)

    @property
    def pids(self) -> tuple[int, ...]:
        """Root pids, in starting order."""
        return tuple(process.pid for process in self.processes)

    async def stop(self, grace_s: float) -> StopReport:
        """End everything: TERM, at most `grace_s` of waiting, KILL. Shielded from cancellation; a second call returns the first report."""
        if self.report is not None:
            return self.report
        began = time.monotonic()
        killed: set[int] = set()
        try:
            with anyio.CancelScope(shield=True):
                self.on_stopping([process.pid for process in self.tree.scan()])
                self._signal_roots(signal.SIGTERM)
                # A process that was stopped takes no other signal.
                self._signal_roots(signal.SIGCONT)
                while self.tree.scan() and time.monotonic() < began + grace_s:
                    await self._wait_gone(began + grace_s)
                # Before KILL: a container's own keeper could not clear up any more, and a process in there may be out of our reach.
                for command in self._cleanups():
                    self._note(command, await ask(command, CLEANUP_LIMIT_S))
                deadline = time.monotonic() + KILL_LIMIT_S
                while self.tree.scan() and time.monotonic() < deadline:
                    killed |= self._kill()
                    await self._wait_gone(min(deadline, time.monotonic() + 1.0))
                deadline = time.monotonic() + PORT_LIMIT_S
                while self._busy_ports() and time.monotonic() < deadline:  # noqa: ASYNC110 - ports can only be polled
                    await anyio.sleep(_POLL_S)
        except BaseException:
            # Not anyio's cancellation, which is shielded, but a raw one or a second KeyboardInterrupt: no time for grace any more.
            self.kill_now()
            raise
        return self._close(began, killed)

    def kill_now(self) -> StopReport:
        """End everything at once, without an event loop; returns within a few seconds."""
        if self.report is not None:
            return self.report
        began = time.monotonic()
        killed: set[int] = set()
        self._failures.clear()
        self.on_stopping([process.pid for process in self.tree.scan()])
        for command in self._cleanups():
            self._note(command, tell(command, CLEANUP_LIMIT_S / 3))
        deadline = time.monotonic() + KILL_LIMIT_S
        while self.tree.scan() and time.monotonic() < deadline:
            killed |= self._kill()
            while self.tree.known() and time.monotonic() < deadline:
                time.sleep(_POLL_S)
        return self._close(began, killed)

    def leave(self) -> None:
        """Let everything outlive us: from now on the user is in charge of it."""
        atexit.unregister(self.kill_now)

    async def _wait_gone(self, deadline: float) -> None:
        while self.tree.known() and time.monotonic() < deadline:  # noqa: ASYNC110 - most of them are not our children: nothing tells us
            await anyio.sleep(_POLL_S)

    def _signal_roots(self, number: signal.Signals) -> None:
        # The last started goes first: the server before the sidecars that it talks to.
        for process in reversed(self.processes):
            if process.popen.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)

    def _kill(self) -> set[int]:
        self._signal_roots(signal.SIGKILL)
        pids: set[int] = set()
        for process in self.tree.known():
            with suppress(psutil.Error):
                process.kill()
            pids.add(process.pid)
        return pids

    def _cleanups(self) -> tuple[tuple[str, ...], ...]:
        return self.cleanup() if self.processes else ()

    def _note(self, command: tuple[str, ...], said: CommandOutput) -> None:
        if said.code != 0:
            self._failures.append(
                f"{shlex.join(command)}: {' '.join((said.stderr or said.stdout).split())[:200] or f'exit code {said.code}'}"
            )

    def _busy_ports(self) -> tuple[int, ...]:
        return tuple(port for port in self.ports.values() if is_listening(port))

    def _close(self, began: float, killed: set[int]) -> StopReport:
        left = tuple(process.pid for process in self.tree.known())
        exit_codes = {process.name: process.exit_code() for process in self.processes}
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.popen.wait(timeout=None if process.exit_code() is not None else 0)
        self.report = StopReport(
            seconds=time.monotonic() - began,
            exit_codes=exit_codes,
            killed=tuple(sorted(killed)),
            left_pids=left,
            busy_ports=self._busy_ports() if self.processes else (),
            cleanup_failures=tuple(self._failures),
        )
        atexit.unregister(self.kill_now)
        self.on_closed(self.report)
        return self.report
