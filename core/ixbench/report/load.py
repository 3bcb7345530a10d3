"""Finds out what a path holds, a run folder or foreign result files, and makes the view that reporters get."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.importer import ImportContext
from ixbench.host.notes import missing_note
from ixbench.model.errors import Fault, InputError
from ixbench.model.printable import printable
from ixbench.model.regular_file import real_path
from ixbench.model.result import PointResult  # noqa: TC001 - msgspec resolves the annotations of RunContent
from ixbench.model.run import RunView
from ixbench.report.foreign import UnknownFormatError, evidence_of, importer_names, known_skus, view_of
from ixbench.report.import_run import files_report, import_files, title_of
from ixbench.store.folder import RunReader, is_run_folder
from ixbench.store.header import HEADER, RunHeader
from ixbench.store.launches import read_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from ixbench.host.host import Host
    from ixbench.report.import_run import Imported


def load_runs(
    paths: Sequence[Path],
    host: Host,
    tell: Callable[[str], None] | None = None,
    *,
    inner: Callable[[Path], Sequence[Path]] | None = None,
    load: Callable[[Path], RunView] | None = None,
    unreadable: Callable[[Path, InputError], RunView] | None = None,
) -> tuple[RunView, ...]:
    """Return a view of every path, in order; a foreign file that was read with another one has none of its own.

    :param paths: run folders, folders that hold some, foreign result files, and folders of these.
    :param tell: told what became of each foreign file, line by line: what of it could not be taken.
    :param inner: names the run folders that a folder stands for, by default `run_folders`; itself where it holds none.
    :param load: reads a run folder; by default `load_run`.
    :param unreadable: makes a view of what is there and cannot be read; without it that is a fault.
    :raises InputError: for every path that is none of these, all at once.
    :raises PluginError: if an importer breaks on a file that it recognised.
    """
    faults: list[Fault] = []
    views: list[RunView] = []
    seen: set[Path] = set()
    read_too: set[Path] = set()
    for given, path in ((outer, path) for outer in paths for path in (inner or run_folders)(outer)):
        resolved = real_path(path)
        if resolved in seen:
            faults.append(_twice(path))
            continue
        seen.add(resolved)
        if resolved in read_too:
            continue
        try:
            if is_run_folder(path):
                views.append((load or load_run)(path))
                continue
            if path.is_dir() and path != given:
                RunReader(path)  # says why it is no run folder
            found = _read_foreign(path, host)
        except InputError as error:
            if unreadable is not None and path.exists():
                views.append(unreadable(path, error))
            else:
                faults += error.faults
            continue
        faults += [_twice(item.path) for item in found.results if path.is_dir() and real_path(item.path) in seen]
        seen |= {real_path(item.path) for item in found.results}
        read_too |= {real_path(item.path.with_name(name)) for item in found.results for name in item.found.read_too}
        _say(found, tell)
        views.append(view_of(found.points, host, run_id=_free_id(path, views), title=title_of(found)))
    if faults:
        raise InputError(faults)
    return tuple(views)


def _read_foreign(path: Path, host: Host) -> Imported:
    """Return what a foreign file, or a folder of them, holds.

    :raises InputError: if it cannot be read, or no importer knows it or anything in it.
    """
    try:
        return import_files([path], host, ImportContext(skus=known_skus(host)))
    except UnknownFormatError:
        if not path.is_dir():
            raise
        problem = f"is no run folder, holds none, and no file that an importer knows (importers: {importer_names(host)})"
        allowed = "a run folder, a folder of them, a result file, or a folder of them"
        raise InputError(Fault(where=str(path), problem=problem, allowed=allowed)) from None


def _say(found: Imported, tell: Callable[[str], None] | None) -> None:
    if tell is not None:
        for line in files_report(found):
            tell(line)


def _twice(path: Path) -> Fault:
    return Fault(where=str(path), problem="is given twice", advice="a run cannot be compared with itself")


def run_folders(path: Path) -> tuple[Path, ...]:
    """Return the run folders that a folder of results holds, by name; the path alone where it is anything else."""
    if is_run_folder(path) or not path.is_dir():
        return (path,)
    return tuple(sorted(file.parent for file in path.glob(f"*/{HEADER}") if is_run_folder(file.parent))) or (path,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """What a run folder holds, as reports need it."""

    header: RunHeader
    points: tuple[PointResult, ...]
    """In plan order."""
    launches: dict[str, dict[str, Any]]
    """The content of each launch.json by the launch's id."""


def read_run(reader: RunReader) -> RunContent:
    """Return what a run folder holds.

    :raises InputError: if the folder, one of its points or a launch cannot be read.
    """
    points = tuple(reader.result(point_id) for point_id in reader.sealed())
    names = dict.fromkeys(str(point.provenance.get("launch") or "") for point in points)
    launches = {name: content for name in names if (content := read_launch(reader, name)) is not None}
    return RunContent(header=reader.header(), points=points, launches=launches)


def view_of_run(reader: RunReader, content: RunContent) -> RunView:
    """Return a run as reporters see it."""
    header = content.header
    return RunView(
        id=reader.id,
        title=header.title,
        started=header.started,
        evidence=evidence_of(content.points),
        report=header.report,
        points=content.points,
        planned=header.planned,
        quotes=header.quotes,
        sku=header.sku,
        campaign=header.campaign,
        machine=header.machine,
        versions=header.versions,
        metrics=header.metrics,
        read_records=reader.records,
        read_replicas=lambda point_id: tuple(replica.metrics for replica in reader.replicas(point_id)),
        launches=content.launches,
        notes=tuple(map(missing_note, header.plugin_failures)),
    )


def load_run(path: Path) -> RunView:
    """Return the view of a run folder: its finished points in plan order, its settings and the prices that it was made with.

    :raises InputError: if the folder or one of its points cannot be read.
    """
    reader = RunReader(path)
    return view_of_run(reader, read_run(reader))


def _free_id(path: Path, views: Sequence[RunView]) -> str:
    """Return the name of a file or a folder as the id of its run: with its folder's, or a number, where another has the name."""
    stem = printable(path.resolve().name if path.is_dir() else path.stem)
    return free_id((stem, f"{printable(path.resolve().parent.name)}-{stem}"), {view.id for view in views})


def free_id(names: Sequence[str], taken: Collection[str]) -> str:
    """Return the first of the names that is not taken, else the first one with a number."""
    candidates = chain(names, (f"{names[0]}-{number}" for number in count(2)))
    return next(name for name in candidates if name not in taken)
