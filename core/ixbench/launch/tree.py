"""Which processes belong to a launch: found by marker, by session and by descent, since engines hide from each of these in turn.

A worker that changes its title loses its readable environment, one that calls setsid leaves the session, and one whose parent died has no
ancestor any more. Whoever was once seen as a member stays one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MARKER = "IXBENCH_LAUNCH"
"""Environment variable that every process of a launch inherits."""
_DEAD = frozenset({psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})


def alive(process: psutil.Process) -> bool:
    """Whether the very same process (not a later one with its number) still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() not in _DEAD
    except psutil.NoSuchProcess:
        return False


@dataclass(slots=True, kw_only=True)
class ProcessTree:
    """The processes of one launch."""

    marker: str
    """Value of the marker variable; unique among all launches of this machine."""
    roots: list[int] = field(default_factory=list)
    """Pids that lead the sessions of the launch. They must not be reaped while the tree is in use, so that their numbers stay theirs."""
    _known: dict[int, psutil.Process] = field(default_factory=dict)

    def known(self) -> Sequence[psutil.Process]:
        """Return the members seen so far that still live; cheap."""
        for pid in [pid for pid, process in self._known.items() if not alive(process)]:
            del self._known[pid]
        return list(self._known.values())

    def adopt(self, pids: Iterable[int]) -> None:
        """Take in processes that are known to belong to the launch, and so their descendants, though nothing in them shows it."""
        for pid in pids:
            with suppress(psutil.Error):
                self._known.setdefault(pid, psutil.Process(pid))

    def scan(self) -> Sequence[psutil.Process]:
        """Look through all processes of the machine and return the members that live."""
        parents: dict[int, int] = {}
        processes: dict[int, psutil.Process] = {}
        members = {process.pid for process in self.known()}
        own = os.getpid()
        for process in psutil.process_iter():
            if process.pid == own:
                continue
            try:
                parents[process.pid] = process.ppid()
                processes[process.pid] = process
                if self._is_member(process):
                    members.add(process.pid)
            except psutil.Error:
                continue
        members |= _descendants(members, parents)
        for pid in members:
            found = processes.get(pid)
            if found is not None and alive(found):
                self._known.setdefault(pid, found)
        return self.known()

    def _is_member(self, process: psutil.Process) -> bool:
        try:
            if os.getsid(process.pid) in self.roots or os.getpgid(process.pid) in self.roots:
                return True
        except OSError:
            return False
        try:
            return process.environ().get(MARKER) == self.marker
        except (psutil.Error, OSError):
            return False


def _descendants(members: Iterable[int], parents: dict[int, int]) -> set[int]:
    """Return all pids whose chain of parents leads to a member."""
    found = set(members)
    grew = True
    while grew:
        fresh = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= fresh
        grew = bool(fresh)
    return found
