"""The processes of an engine that must not end while its server lives: some servers do not notice, and answer nobody for ever."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from ixbench.launch.registry import Birth

if TYPE_CHECKING:
    from collections.abc import Iterable

_HELPERS = re.compile(r"compile_worker|inductor|resource_tracker|semaphore_tracker|forkserver")
"""In the command line of processes that come and go as they like."""
_NAME_CHARACTERS = 80
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One such process."""

    birth: Birth
    name: str
    """Its title or the start of its command line."""


@dataclass(slots=True, kw_only=True)
class Workers:
    """Those of one launch, as they were when it was ready."""

    server: Birth | None = None
    """The process that listens; None where it cannot be seen."""
    alive: list[Worker] = field(default_factory=list)

    @classmethod
    def of(cls, processes: Iterable[psutil.Process], roots: Iterable[int], port: int) -> Workers:
        """Find them among the processes of a launch.

        A worker runs what its parent runs: compilers, shells and tools of the system that an engine calls are none.

        :param roots: the processes that we started, whose end is seen otherwise.
        :param port: where the server listens.
        """
        ours = set(roots)
        found, server = cls(), None
        for process in processes:
            with suppress(psutil.Error, OSError):
                if server is None and _listens(process, port):
                    server = Birth.of(process.pid)
                if process.pid not in ours and _is_worker(process):
                    found.alive.append(Worker(birth=Birth.of(process.pid), name=_name(process)))
        found.server = server
        return found

    def died(self) -> tuple[Worker, ...]:
        """Return the workers that have ended since this was asked last; cheap."""
        gone = tuple(worker for worker in self.alive if not worker.birth.lives())
        if gone:
            self.alive = [worker for worker in self.alive if worker not in gone]
        return gone

    def stopped(self) -> tuple[Worker, ...]:
        """Return the workers that are stopped by a signal at this moment; cheap."""
        return tuple(worker for worker in self.alive if _is_stopped(worker.birth))

    def server_cpu_s(self) -> float:
        """Return the seconds that the listening process has computed so far; 0 where it cannot be seen."""
        fields = [] if self.server is None else _stat(self.server)
        try:
            return (int(fields[11]) + int(fields[12])) / _TICKS
        except (ValueError, IndexError):
            return 0.0

    def server_waited_s(self) -> float:
        """Return the seconds that the listening process was ready to run and had no core; 0 where the system does not tell."""
        try:
            text = Path(f"/proc/{self.server.pid}/schedstat").read_text("ascii") if self.server is not None else ""
            return int(text.split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0

    def server_is_stopped(self) -> bool:
        """Whether the listening process has been stopped by a signal."""
        return self.server is not None and _is_stopped(self.server)


def _stat(process: Birth) -> list[str]:
    """Return what the system counts of a process, from its state on; empty where it is gone."""
    try:
        return Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _is_stopped(process: Birth) -> bool:
    return _stat(process)[:1] == ["T"]


def _listens(process: psutil.Process, port: int) -> bool:
    return any(connection.status == psutil.CONN_LISTEN and connection.laddr.port == port for connection in process.net_connections("tcp"))


def _is_worker(process: psutil.Process) -> bool:
    parent = process.parent()
    if parent is None or process.exe() != parent.exe():
        return False
    return not _HELPERS.search(" ".join(process.cmdline()))


def _name(process: psutil.Process) -> str:
    return (" ".join(process.cmdline()) or process.name())[:_NAME_CHARACTERS].strip()
