"""Many runs at once, for reporters that look over them: read through the index, and what cannot be read is told instead of refused."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from ixbench.frontier.points import PERCENTILES
from ixbench.frontier.select import SCOPES
from ixbench.model.errors import Fault, InputError
from ixbench.model.imported import IMPORT
from ixbench.model.printable import printable
from ixbench.model.run import ReportSettings, RunView
from ixbench.report.load import RunContent, free_id, load_runs, read_run, run_folders, view_of_run
from ixbench.store.folder import RunReader, is_run_folder
from ixbench.store.header import HEADER
from ixbench.store.index import read_indexed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ixbench.host.host import Host
    from ixbench.model.result import PointResult

PROVENANCE = ("launch", "argv", "image", "recipe", "amended_by", "engine", "date", "started", "runtime", IMPORT)
"""What is kept of each point's provenance: how its engine came about, and when."""
_OF_FILES = ("object", "facts", "extra")
"""What is not kept of an imported point's source: as large as the file that it came from."""

_MOST_REPEATS = 10_000
"""Of one point; a file that says more was not written by a run."""
_LAUNCH: dict[str, type] = {
    "id": str,
    "engine": str,
    "runtime": str,
    "runtime_facts": dict,
    "image": str,
    "api": str,
    "amended_by": list,
    "tmp": str,
    "ports": dict,
    "processes": list,
}
_PROCESS: dict[str, type] = {"name": str, "argv": list, "env": dict}
"""What is kept of a launch and of each of its processes, with the types that readers count on."""


def survey_runs(paths: Sequence[Path], host: Host, tell: Callable[[str], None] | None = None) -> tuple[RunView, ...]:
    """Return a view of every path, in order, for reporters that look over many runs; ids are unique among them.

    :param paths: as for `load_runs`; of a folder of results every folder in it is looked at.
    :param tell: as for `load_runs`.
    :raises InputError: if a path is not there or given twice, or nothing can be read at all.
    :raises PluginError: as `load_runs`.
    """
    given = [inner for path in paths for inner in _inner(path)]
    contents = read_indexed([path.resolve() for path in given if is_run_folder(path)], _read, _kind())

    def load(path: Path) -> RunView:
        content = contents[path.resolve()]
        if isinstance(content, InputError):
            raise content
        return view_of_run(RunReader(path), msgspec.msgpack.decode(content, type=RunContent))

    def unreadable(path: Path, error: InputError) -> RunView:
        return RunView(
            id=printable(path.resolve().name),
            title="",
            started="",
            evidence="measured",
            report=ReportSettings(),
            points=(),
            planned=(),
            unreadable=_reason(path, error),
        )

    views = load_runs(paths, host, tell, inner=_inner, load=load, unreadable=unreadable)
    if views and all(view.unreadable for view in views):
        load_runs(paths, host, inner=_inner)  # says so of each
    taken: set[str] = set()
    named: list[RunView] = []
    for view in views:
        name = free_id((view.id,), taken)
        taken.add(name)
        named.append(view if name == view.id else replace(view, id=name))
    return tuple(named)


def _inner(path: Path) -> tuple[Path, ...]:
    """Return every folder in a folder of results, those that are no runs too: a survey says what it left out."""
    if run_folders(path) == (path,):
        return (path,)
    return tuple(sorted(item for item in path.iterdir() if item.is_dir() and not item.name.startswith(".")))


@cache
def _kind() -> str:
    """Name what is kept, so that what another version of ixbench left is read anew."""
    return f"survey 3 of ixbench {version('ixbench')}"


def _read(folder: Path) -> bytes:
    """Return what a survey needs of a run folder; the errors are those of `read_run`."""
    reader = RunReader(folder)
    content = read_run(reader)
    _check(view_of_run(reader, content), folder)
    header = replace(content.header, metrics=(), plugins=(), imported=())
    launches = {name: _started(launch) for name, launch in content.launches.items()}
    return msgspec.msgpack.encode(replace(content, header=header, points=tuple(map(_slim, content.points)), launches=launches))


def _check(run: RunView, folder: Path) -> None:
    """Refuse what no ladder can be read by: one run must not keep a report over hundreds from being made."""
    report = run.report
    speeds = all(math.isfinite(rung) and rung > 0 for rung in (*report.rungs, report.primary))
    scope = not isinstance(report.scope, str) or report.scope in SCOPES
    if not speeds or report.axis not in PERCENTILES or not scope:
        raise InputError(Fault(where=str(folder / HEADER), problem="its [report] says a rung, an axis or a scope that there is not"))
    if not all(1 <= repeat <= _MOST_REPEATS for repeat in (run.repeats, *(point.identity.repeat for point in run.points))):
        raise InputError(Fault(where=str(folder), problem=f"says repeats beyond {_MOST_REPEATS}"))


def _started(launch: dict[str, Any]) -> dict[str, Any]:
    """Return how an engine was started, as far as launch.json has the form of one that ixbench wrote; what became of it is left out."""
    kept = {name: launch[name] for name, kind in _LAUNCH.items() if isinstance(launch.get(name), kind)}
    processes = [process for process in kept.get("processes", ()) if isinstance(process, dict)]
    return kept | {
        "processes": [
            {name: process[name] for name, kind in _PROCESS.items() if isinstance(process.get(name), kind)} for process in processes
        ]
    }


def _slim(point: PointResult) -> PointResult:
    kept = {name: point.provenance[name] for name in PROVENANCE if name in point.provenance}
    source = kept.get(IMPORT)
    if isinstance(source, dict):
        kept[IMPORT] = {name: value for name, value in source.items() if name not in _OF_FILES}
    return replace(point, intervals=None, provenance=kept)


def _reason(path: Path, error: InputError) -> str:
    """Return why a folder cannot be read, by the first fault and without the place that the folder has on this machine."""
    fault = error.faults[0]
    where = fault.where
    for folder in (path.resolve(), path):
        where = where.removeprefix(str(folder)).lstrip("/")
    return printable(f"{where}: {fault.problem}" if where else fault.problem)
