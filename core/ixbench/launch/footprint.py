"""What a launch has on this machine beside its processes that goes when it has ended: registration, temporary folder, shared memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.launch.registry import Birth, Owner, Registration, register, unregister
from ixbench.launch.shared_memory import Segment, held, present, remove_unused
from ixbench.launch.tmp import REASON, VARIABLE, make_tmp, remove_tmp
from ixbench.model.deployment import EnvVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.launch.stop import StopReport
    from ixbench.model.launch import ProcessPlan

_READABLE = "SPT_NOENV"
"""Read by setproctitle, by which vLLM's processes change their titles; it writes them over the environment otherwise."""
_READABLE_REASON = "workers that change their title keep the environment in which ixbench finds whose they are"


@dataclass(slots=True, kw_only=True)
class Footprint:
    """Of one launch; `begin` it before the first process starts."""

    entry: Registration
    notes: list[str] = field(default_factory=list)
    """What could not be written or removed."""
    _before: frozenset[Segment] = field(default_factory=present)
    """Shared memory that was there already."""

    @classmethod
    def begin(
        cls, *, marker: str, launch_id: str, engine: str, folder: Path, ports: Mapping[str, int], with_tmp: bool, notes: list[str]
    ) -> Footprint:
        """Make the temporary folder, where one is wanted, and register the launch. What this machine refuses becomes a note."""
        tmp: str | None = None
        if with_tmp:
            try:
                tmp = str(make_tmp(marker))
            except OSError as error:
                notes.append(f"no temporary folder of its own: {error}")
        entry = Registration(
            marker=marker, launch_id=launch_id, engine=engine, folder=str(folder), owner=Owner.me(), ports=tuple(ports.values()), tmp=tmp
        )
        made = cls(entry=entry, notes=notes)
        made._write()
        return made

    def equip(self, process: ProcessPlan) -> ProcessPlan:
        """Return a process that uses the temporary folder and keeps its environment readable, unless its plan says otherwise."""
        if self.entry.tmp is None:
            return process
        ours = {VARIABLE: (self.entry.tmp, REASON), _READABLE: ("1", _READABLE_REASON)}
        added = {name: EnvVar(value=value, reason=reason, origin="ixbench") for name, (value, reason) in ours.items()}
        return replace(process, env={**added, **process.env})

    def started(self, pid: int) -> None:
        """Take down a process that was started."""
        self.entry = replace(self.entry, processes=(*self.entry.processes, Birth.of(pid)))
        self._write()

    def removable(self, cleanup: tuple[tuple[str, ...], ...]) -> None:
        """Take down what ends the launch where signals don't reach: before the start, and anew when a container has its id."""
        if cleanup != self.entry.cleanup:
            self.entry = replace(self.entry, cleanup=cleanup)
            self._write()

    def look(self, pids: Iterable[int]) -> None:
        """Take down which shared memory the processes of the launch hold: when they have been killed, nothing tells any more."""
        memory = tuple(sorted((held(pids) - self._before).union(self.entry.memory)))
        if memory != self.entry.memory:
            self.entry = replace(self.entry, memory=memory)
            self._write()

    def keep(self) -> None:
        """Take down that the launch goes on because the user wants it to; its folder stays."""
        self.entry = replace(self.entry, kept=True)
        self._write()

    def end(self, report: StopReport) -> None:
        """Remove what is ours; where something of the launch is left, all stays on record for `ixbench doctor --clean`."""
        if report.left_pids or report.cleanup_failures:
            return
        if removed := remove_unused(self.entry.memory):
            self.notes.append(f"killed processes left shared memory behind, which was removed: {', '.join(removed)}")
        problem = remove_tmp(Path(self.entry.tmp), self.entry.marker) if self.entry.tmp is not None else None
        if problem is not None:
            self.notes.append(problem)
        else:
            unregister(self.entry.marker)

    def _write(self) -> None:
        problem = register(self.entry)
        if problem is not None:
            note = f"this launch is not registered, so `ixbench doctor` would find it by its processes only: {problem}"
            if note not in self.notes:
                self.notes.append(note)
