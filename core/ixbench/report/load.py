"""Finds out what a path holds, a run folder or a foreign result file, and makes the view that reporters get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.host.source import describe
from ixbench.model.errors import Fault, InputError, PluginError
from ixbench.model.run import ReportSettings, RunView
from ixbench.store.folder import RunReader
from ixbench.store.header import HEADER
from ixbench.store.launches import read_launch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ixbench.host.contracts.importer import Importer
    from ixbench.host.host import Host
    from ixbench.model.result import Evidence, PointResult

LARGEST_FILE = 1 << 30
"""Bytes of a foreign file that are taken into memory."""


def load_runs(paths: Sequence[Path], host: Host) -> tuple[RunView, ...]:
    """Return a view of every path, in order.

    :raises InputError: for every path that is neither a run folder nor a file that an importer knows, all at once.
    :raises PluginError: if an importer breaks on a file that it recognised.
    """
    faults: list[Fault] = []
    views: list[RunView] = []
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            faults.append(Fault(where=str(path), problem="is given twice", advice="a run cannot be compared with itself"))
            continue
        seen.add(path.resolve())
        try:
            views.append(load_run(path) if is_run_folder(path) else _import(path, host))
        except InputError as error:
            faults += error.faults
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
        evidence=_evidence(points),
        report=header.report,
        points=points,
        planned=header.planned,
        quotes=header.quotes,
        sku=header.sku,
        campaign=header.campaign,
        machine=header.machine,
        versions=header.versions,
        launches={name: content for name in launches if (content := read_launch(reader, name)) is not None},
    )


def _import(path: Path, host: Host) -> RunView:
    if path.is_dir():
        RunReader(path)  # says why it is no run folder, and where runs are
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(Fault(where=str(path), problem="is larger than a gibibyte", allowed="a run folder or a result file"))
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(Fault(where=str(path), problem="does not exist", allowed="a run folder or a result file")) from error
    except OSError as error:
        raise InputError(Fault(where=str(path), problem=f"cannot be read: {error.strerror or error}")) from error
    importer = _importer_for(path, content, host)
    if importer is None:
        names = ", ".join(sorted(importer.name for importer in host.importers())) or "none is installed"
        raise InputError(Fault(where=str(path), problem=f"is neither a run folder nor a file that an importer knows (importers: {names})"))
    try:
        found = importer.read(path.name, content)
    except InputError:
        raise
    except Exception as error:
        raise PluginError(f"{path}: {host.source_of(importer)}: importer {importer.name}: {describe(error)}") from error
    return RunView(
        id=path.stem,
        title=found.title,
        started=found.date,
        evidence=_evidence(found.points),
        report=ReportSettings(),
        points=found.points,
        planned=tuple(point.id for point in found.points),
    )


def _importer_for(path: Path, content: bytes, host: Host) -> Importer | None:
    for importer in host.importers():
        try:
            if importer.recognises(path.name, content):
                return importer
        except Exception as error:
            raise PluginError(f"{path}: {host.source_of(importer)}: importer {importer.name}: {describe(error)}") from error
    return None


def _evidence(points: Sequence[PointResult]) -> Evidence:
    return "simulated" if any(point.evidence == "simulated" for point in points) else "measured"
