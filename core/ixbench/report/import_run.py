"""`ixbench import`: points of foreign files as a run folder, sealed like any other, with what could not be taken on record."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.importer import RefusedRow
from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError
from ixbench.model.imported import import_source
from ixbench.model.printable import printable
from ixbench.model.regular_file import real_path
from ixbench.model.secrets import Redactor
from ixbench.plan.select import matching
from ixbench.report.foreign import (
    UnknownFormatError,
    import_report,
    import_settings,
    importer_names,
    newest_start,
    quotes_of,
    read_foreign,
    sku_of,
)
from ixbench.report.foreign_folder import files_in
from ixbench.store.folder import RunFolder
from ixbench.store.header import RunHeader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ixbench.host.contracts.importer import ImportContext
    from ixbench.host.host import Host
    from ixbench.measure.definition import Measurement
    from ixbench.model.price import Quote
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import PointResult
    from ixbench.report.foreign import ForeignResult


UNREADABLE = "unreadable"
"""Code of a file in a folder that an importer knows and that cannot be read."""
NAMED = 5
"""Files that no importer knows are named up to here, and counted."""
LOCAL = "local"
"""Source of tokens that a tokenizer of the client counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What foreign files came to, before anything is written."""

    results: tuple[ForeignResult, ...]
    points: tuple[PointResult, ...]
    """Of all files, with ids that are unique among them."""
    measurements: Mapping[str, Measurement]
    replaced: int
    """Points of earlier files that a later file had again."""
    unread: tuple[RefusedRow, ...] = ()
    """Files in folders that an importer knows and that cannot be read, with the reason."""
    unknown: tuple[str, ...] = ()
    """Files in folders that no importer knows."""


def import_files(paths: Sequence[Path], host: Host, context: ImportContext, only: Sequence[str] = ()) -> Imported:
    """Read foreign files, and those in foreign folders, and put their points together.

    :param only: globs of point ids; empty = all.
    :raises InputError: for every file given that cannot be read, every folder without any result, and every glob that matches nothing,
        all at once.
    """
    read = _read_all(paths, host, context)
    rows: dict[object, tuple[PointResult, Measurement | None]] = {}
    replaced = 0
    for number, result in enumerate(read.results):
        for point in result.found.points:
            key: object = result.found.unique.get(point.id) or (number, point.id)
            replaced += rows.pop(key, None) is not None
            rows[key] = (point, result.found.measurements.get(point.id))
    points: list[PointResult] = []
    measurements: dict[str, Measurement] = {}
    used: set[str] = set()
    for point, measurement in rows.values():
        name, number = point.id, 1
        while name in used:
            number += 1
            name = f"{point.id}-{number}"
        used.add(name)
        points.append(replace(point, id=name))
        if measurement is not None:
            measurements[name] = measurement
    return Imported(
        results=tuple(read.results),
        points=tuple(_only(points, only) if points and only else points),
        measurements=measurements,
        replaced=replaced,
        unread=tuple(read.unread),
        unknown=tuple(read.unknown),
    )


def write_import(imported: Imported, out: Path, host: Host, *, title: str, started: str, quotes: Sequence[Quote]) -> Path:
    """Write the points as a run folder and return it.

    :param out: must not be there yet, or be an empty folder.
    :param started: for the header where no file tells a date.
    :raises InputError: if the folder cannot be made.
    """
    points = imported.points
    header = RunHeader(
        title=title,
        started=newest_start(points) or started,
        planned=tuple(point.id for point in points),
        campaign_hash="",
        report=import_settings(points),
        quotes=tuple(quotes),
        sku=sku_of(points, host),
        plugins=tuple({"name": source.plugin, "distribution": source.distribution, "version": source.version} for source in host.sources()),
        plugin_failures=host.not_loaded,
        imported=(*map(_on_record, imported.results), *map(_unread_on_record, imported.unread)),
    )
    with RunFolder.create_at(out, header=header, redactor=Redactor()) as folder:
        for point in points:
            measurement = imported.measurements.get(point.id)
            if measurement is None:
                folder.add(point)
                continue
            with folder.start_point(point.id) as writer:
                # Counts that are not the server's never stand under its name, so what they gave cannot be computed again.
                source = import_source(point)
                local = source is not None and source.token_source == LOCAL
                for record in measurement.records:
                    writer.record(_counted_locally(record) if local else record)
                writer.seal(point, None if local else measurement)
        return folder.path


def files_report(imported: Imported) -> tuple[str, ...]:
    """Return what became of the files, a line each: of every one what `import_report` says, then what was left of folders.

    Left are files that cannot be read, with their reasons, those that no importer knows, and rows that later files had again.
    """
    lines = [line for result in imported.results for line in import_report(result)]
    lines += [f"refused: {row}" for row in imported.unread]
    if imported.unknown:
        some = ", ".join(imported.unknown[:NAMED])
        more = f" and {len(imported.unknown) - NAMED} more" if len(imported.unknown) > NAMED else ""
        lines.append(f"no importer knows: {some}{more}")
    if imported.replaced:
        lines.append(f"{counted(imported.replaced, 'row')} replaced by those of later files")
    return tuple(printable(line) for line in lines)


def title_of(imported: Imported) -> str:
    """Return the title of the first file, or how many files there were where their titles differ."""
    files = imported.results
    titles = dict.fromkeys(printable(result.found.title) for result in files if result.found.points or len(files) == 1)
    return next(iter(titles)) if len(titles) == 1 else f"Imported: {len(files)} files"


def priced(points: Sequence[PointResult], host: Host, *, book: str | None, custom: Quote | None) -> tuple[Quote, ...]:
    """Return the prices to keep: one of the user's own, else those of a book."""
    return (custom,) if custom is not None else quotes_of(points, host, book)


def _counted_locally(record: RequestRecord) -> RequestRecord:
    return replace(record, local_input=record.usage_input, local_output=record.usage_output, usage_input=None, usage_output=None)


def _read_all(paths: Sequence[Path], host: Host, context: ImportContext) -> _Read:
    read = _Read()
    faults: list[Fault] = []
    seen: set[Path] = set()
    for path in paths:
        resolved = real_path(path)
        if resolved in seen:
            faults.append(Fault(where=str(path), problem="is given twice", advice="name each file once"))
            continue
        seen.add(resolved)
        try:
            if os.path.isdir(path):  # noqa: PTH112 - unlike is_dir, it is false where nobody may look
                _read_folder(path, host, context, read)
            else:
                read.take(path, host, context)
        except InputError as error:
            if len(paths) == 1:
                raise
            faults += error.faults
    if faults:
        raise InputError(faults)
    return read


def _read_folder(folder: Path, host: Host, context: ImportContext, read: _Read) -> None:
    """Read what a folder holds: a file that is broken is told of and keeps no other from being taken.

    :raises UnknownFormatError: if there is nothing in it that an importer knows.
    :raises InputError: if the folder cannot be read.
    """
    before = len(read.results) + len(read.unread) + len(read.taken)
    files = files_in(folder)
    for path in files:
        try:
            read.take(path, host, context, folder)
        except UnknownFormatError:
            read.unknown.append(str(path))
        except InputError as error:
            where = path.relative_to(folder).as_posix()
            read.unread += [RefusedRow(where=where, code=UNREADABLE, text=fault.problem) for fault in error.faults]
    if len(read.results) + len(read.unread) + len(read.taken) == before:
        problem = f"holds no file that an importer knows (importers: {importer_names(host)}; files: {len(files)})"
        raise UnknownFormatError(Fault(where=str(folder), problem=problem, allowed="result files, or a folder of them"))


@dataclass(slots=True, kw_only=True)
class _Read:
    """What was read so far."""

    results: list[ForeignResult] = field(default_factory=list)
    unread: list[RefusedRow] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    taken: set[Path] = field(default_factory=set)
    """Files that were read, alone or with another one."""

    def take(self, path: Path, host: Host, context: ImportContext, folder: Path | None = None) -> None:
        """Read a file, unless it was read before."""
        resolved = real_path(path)
        if resolved in self.taken:
            return
        result = read_foreign(path, host, context, folder=folder)
        self.taken |= {resolved, *(real_path(path.with_name(name)) for name in result.found.read_too)}
        self.results.append(result)


def _only(points: Sequence[PointResult], patterns: Sequence[str]) -> list[PointResult]:
    chosen = matching([point.id for point in points], patterns)
    return [point for point in points if point.id in chosen]


def _on_record(result: ForeignResult) -> dict[str, Any]:
    found = result.found
    return {
        "file": printable(result.name),
        "sha256": result.file.sha256,
        "importer": result.importer,
        "schemas": dict(found.schemas),
        "points": len(found.points),
        "refused": [{"where": printable(result.place(row)), "code": row.code, "text": printable(row.text)} for row in found.refused],
        "warnings": [printable(warning) for warning in found.warnings],
        "read_too": [printable(name) for name in found.read_too],
    }


def _unread_on_record(row: RefusedRow) -> dict[str, Any]:
    """Return the record of a file that could not be read: whose it is was not found out."""
    refused = {"where": printable(row.where), "code": row.code, "text": printable(row.text)}
    found: dict[str, Any] = {"file": printable(row.where), "sha256": None, "importer": None, "schemas": {}, "points": 0}
    return found | {"refused": [refused], "warnings": [], "read_too": []}
