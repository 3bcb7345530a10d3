"""Finds out what a path holds, a run folder or a foreign result file, and makes the view that reporters get."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault, InputError
from ixbench.model.printable import printable
from ixbench.model.run import RunView
from ixbench.report.foreign import evidence_of, read_foreign, view_of
from ixbench.store.folder import RunReader
from ixbench.store.header import HEADER
from ixbench.store.launches import read_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ixbench.host.host import Host
    from ixbench.report.foreign import ForeignResult


def load_runs(paths: Sequence[Path], host: Host, refused: Callable[[ForeignResult], None] | None = None) -> tuple[RunView, ...]:
    """Return a view of every path, in order; a foreign file that was read with another one has none of its own.

    :param refused: told of each foreign file, to say what of it could not be taken.
    :raises InputError: for every path that is neither a run folder nor a file that an importer knows, all at once.
    :raises PluginError: if an importer breaks on a file that it recognised.
    """
    faults: list[Fault] = []
    views: list[RunView] = []
    seen: set[Path] = set()
    read_too: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            faults.append(Fault(where=str(path), problem="is given twice", advice="a run cannot be compared with itself"))
            continue
        seen.add(path.resolve())
        if path.resolve() in read_too:
            continue
        try:
            if is_run_folder(path):
                views.append(load_run(path))
                continue
            if path.is_dir():
                RunReader(path)  # says why it is no run folder, and where runs are
            result = read_foreign(path, host)
        except InputError as error:
            faults += error.faults
            continue
        read_too |= {path.with_name(name).resolve() for name in result.found.read_too}
        if refused is not None:
            refused(result)
        views.append(view_of(result, _free_id(path, views), host))
    if faults:
        raise InputError(faults)
    return tuple(views)


def is_run_folder(path: Path) -> bool:
    """Say whether a path is a run folder."""
    return (path / HEADER).is_file()


def load_run(path: Path) -> RunView:
    """Return the view of a run folder: its finished points in plan order, its settings and the prices that it was made with.

    :raises InputError: if the folder or one of its points cannot be read.
    """
    reader = RunReader(path)
    header = reader.header()
    points = tuple(reader.result(point_id) for point_id in reader.sealed())
    launches = dict.fromkeys(str(point.provenance.get("launch") or "") for point in points)
    return RunView(
        id=reader.id,
        title=header.title,
        started=header.started,
        evidence=evidence_of(points),
        report=header.report,
        points=points,
        planned=header.planned,
        quotes=header.quotes,
        sku=header.sku,
        campaign=header.campaign,
        machine=header.machine,
        versions=header.versions,
        metrics=header.metrics,
        read_records=reader.records,
        read_replicas=lambda point_id: tuple(replica.metrics for replica in reader.replicas(point_id)),
        launches={name: content for name in launches if (content := read_launch(reader, name)) is not None},
    )


def _free_id(path: Path, views: Sequence[RunView]) -> str:
    """Return the name of a file as the id of its run: with its folder's, or a number, where another has the name."""
    taken = {view.id for view in views}
    stem = printable(path.stem)
    candidates = chain((stem, f"{printable(path.resolve().parent.name)}-{stem}"), (f"{stem}-{number}" for number in count(2)))
    return next(name for name in candidates if name not in taken)
