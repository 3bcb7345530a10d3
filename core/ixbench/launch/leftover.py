"""What a killed ixbench left running: found by the registry and by the marker in the environment of processes, and ended.

A process without the marker of a launch is never touched, nor is one whose ixbench still lives. An engine that `[run] keep_engine` left on
purpose is found too, and said to be so: whoever cleans up decides.
"""

from __future__ import annotations

import os
import shlex
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from ixbench.launch.ask import tell
from ixbench.launch.ports import is_listening
from ixbench.launch.registry import OWNER, Owner, Registration, forget_torn, registered, unregister
from ixbench.launch.shared_memory import Segment, held, present, remove_unused
from ixbench.launch.tmp import is_tmp_of, remove_tmp
from ixbench.launch.tree import MARKER, ProcessTree, alive
from ixbench.model.launch import KEEP_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TERM_LIMIT_S = 10.0
"""How long a leftover engine may take to end by itself."""
KILL_LIMIT_S = 10.0
COMMAND_LIMIT_S = 60.0
"""Bound on one command that ends a container."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A launch whose ixbench has ended, and which has not."""

    marker: str
    """Value of the marker variable in the environment of its processes; unique."""
    launch_id: str
    engine: str
    """Empty where only processes tell of it."""
    folder: str
    """The launch's folder in its run; empty where not known."""
    pids: tuple[int, ...]
    """Processes that live; empty where only a temporary folder or a container is left."""
    ports: tuple[int, ...] = ()
    """Of those it was given, the ones on which something listens."""
    tmp: str | None = None
    """Its private temporary folder, if that exists."""
    memory: tuple[Segment, ...] = ()
    """Shared memory that its processes were seen to hold, as far as it exists."""
    cleanup: tuple[tuple[str, ...], ...] = ()
    """Commands that end what signals don't reach, for instance a container."""
    kept: bool = False
    """Left on purpose, by `[run] keep_engine`."""
    registered: bool = True
    """Whether it is written down in the user's state folder."""

    @property
    def kill_command(self) -> str:
        """How to end it by hand, for a shell."""
        parts = [f"kill {' '.join(map(str, self.pids))}"] if self.pids else []
        return "; ".join([*parts, *(shlex.join(command) for command in self.cleanup)])


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReport:
    """What became of a leftover."""

    ended: tuple[int, ...]
    """Pids that are gone."""
    left_pids: tuple[int, ...] = ()
    """Pids that not even KILL ended in time."""
    busy_ports: tuple[int, ...] = ()
    """Ports that something still listens on."""
    removed: tuple[str, ...] = ()
    """Its temporary folder, and shared memory that its processes held and nobody has any more, if these were removed."""
    problems: tuple[str, ...] = ()
    """What went wrong, one sentence each."""

    @property
    def clean(self) -> bool:
        """Whether nothing is left."""
        return not self.left_pids and not self.busy_ports and not self.problems


def leftovers(*, search: bool = True) -> tuple[Leftover, ...]:
    """Return the launches whose ixbench has ended and of which something is left, those kept on purpose among them.

    Ends nothing; only what is written down of launches that have ended by now, and the folder of a kept one, are tidied away.

    :param search: also look through the environment of all processes, for launches that are not written down.
    """
    forget_torn()
    entries = registered()
    if not search and not any(launch.owner.gone() for launch in entries):
        return ()
    members = _members()
    found: list[Leftover] = []
    for launch in entries:
        carriers = members.pop(launch.marker, ())
        if not launch.owner.gone():
            continue
        left = _of_entry(launch, carriers)
        if left is not None and launch.kept and not left.kept and launch.tmp is not None:
            # The user ended a kept engine as told, and cannot know of its folder.
            left = None if remove_tmp(Path(launch.tmp), launch.marker) is None else left
        if left is None:
            unregister(launch.marker)
        else:
            found.append(left)
    if search:
        found += [left for marker, carriers in sorted(members.items()) if (left := _of_carriers(marker, carriers)) is not None]
    return tuple(found)


def clean_up(leftover: Leftover) -> CleanReport:
    """End a leftover: TERM, at most 10 s, the commands of its containers, KILL; then its temporary folder and its entry go.

    One that has ended by now is left as it is. One that was kept on purpose is ended like any other: look at `kept` before.
    """
    current = next((left for left in leftovers() if left.marker == leftover.marker), None)
    if current is None:
        return CleanReport(ended=())
    tree = ProcessTree(marker=current.marker, roots=_sessions(current.pids))
    began = {process.pid for process in tree.scan()}
    memory = held(began).union(current.memory)
    _signal(tree, signal.SIGTERM)
    _wait(tree, TERM_LIMIT_S)
    problems = [problem for command in current.cleanup if (problem := _run(command)) is not None]
    deadline = time.monotonic() + KILL_LIMIT_S
    while tree.scan() and time.monotonic() < deadline:
        _signal(tree, signal.SIGKILL)
        _wait(tree, 1.0)
    left = tuple(sorted(process.pid for process in tree.known()))
    removed = () if left else remove_unused(memory)
    if not left and current.tmp is not None:
        problem = remove_tmp(Path(current.tmp), current.marker)
        removed += (current.tmp,) if problem is None else ()
        problems += [] if problem is None else [problem]
    if not left and not problems:
        unregister(current.marker)
    return CleanReport(
        ended=tuple(sorted(began - set(left))),
        left_pids=left,
        busy_ports=tuple(port for port in current.ports if is_listening(port)),
        removed=removed,
        problems=tuple(problems),
    )


def _members() -> dict[str, tuple[tuple[psutil.Process, Mapping[str, str]], ...]]:
    """Return the living processes that carry a marker, with their environment, by marker."""
    found: dict[str, list[tuple[psutil.Process, Mapping[str, str]]]] = {}
    own = os.getpid()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            variables = process.environ()
            marker = variables.get(MARKER)
            if marker and process.pid != own and alive(process):
                found.setdefault(marker, []).append((process, variables))
    return {marker: tuple(processes) for marker, processes in found.items()}


def _of_entry(launch: Registration, carriers: Sequence[tuple[psutil.Process, Mapping[str, str]]]) -> Leftover | None:
    known = {process.pid for process, _ in carriers} | {birth.pid for birth in launch.processes if birth.lives()}
    pids = _all_pids(launch.marker, known)
    tmp = launch.tmp if launch.tmp is not None and Path(launch.tmp).is_dir() else None
    memory = tuple(sorted(present().intersection(launch.memory)))
    if not pids and tmp is None and not memory and not launch.cleanup:
        return None
    return Leftover(
        marker=launch.marker,
        launch_id=launch.launch_id,
        engine=launch.engine,
        folder=launch.folder,
        pids=pids,
        ports=tuple(port for port in launch.ports if is_listening(port)),
        tmp=tmp,
        memory=memory,
        cleanup=launch.cleanup,
        kept=launch.kept and bool(pids or launch.cleanup),
    )


def _of_carriers(marker: str, carriers: Sequence[tuple[psutil.Process, Mapping[str, str]]]) -> Leftover | None:
    """Return what processes alone tell of a launch; None unless all that name an owner name one that is gone."""
    owners = [Owner.read(variables[OWNER]) for _, variables in carriers if OWNER in variables]
    if not owners or not all(owner is not None and owner.gone() for owner in owners):
        return None
    tmp = next((folder for _, variables in carriers if (folder := variables.get("TMPDIR")) and is_tmp_of(Path(folder), marker)), None)
    return Leftover(
        marker=marker,
        launch_id=marker.rpartition("-")[0],
        engine="",
        folder="",
        pids=_all_pids(marker, {process.pid for process, _ in carriers}),
        tmp=tmp,
        # Nobody wrote down whether the run had ended: an engine that might be kept is not taken for rubbish.
        kept=any(KEEP_VARIABLE in variables for _, variables in carriers),
        registered=False,
    )


def _all_pids(marker: str, known: set[int]) -> tuple[int, ...]:
    if not known:
        return ()
    tree = ProcessTree(marker=marker, roots=_sessions(known))
    return tuple(sorted(process.pid for process in tree.scan()))


def _sessions(pids: Iterable[int]) -> list[int]:
    """Return the sessions of processes that belong to a launch, and so are the launch's own; never the one that we are in."""
    found: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            found.add(os.getsid(pid))
    return sorted(found - {os.getsid(0)})


def _signal(tree: ProcessTree, number: signal.Signals) -> None:
    for process in tree.known():
        with suppress(psutil.Error):
            process.send_signal(number)


def _wait(tree: ProcessTree, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while tree.known() and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _run(command: Sequence[str]) -> str | None:
    """Run one command that ends a container; return what went wrong, or None."""
    said = tell(command, COMMAND_LIMIT_S)
    if said.code == 0:
        return None
    return f"{shlex.join(command)}: {' '.join((said.stderr or said.stdout).split())[:200] or f'exit code {said.code}'}"
