"""`ixbench import`: points of foreign files as a run folder, sealed like any other, with what could not be taken on record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ixbench.model.errors import Fault, InputError
from ixbench.model.imported import import_source
from ixbench.model.printable import printable
from ixbench.model.secrets import Redactor
from ixbench.report.foreign import newest_date, quotes_of, read_foreign, settings_of, sku_of
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


def import_files(paths: Sequence[Path], host: Host, context: ImportContext, only: Sequence[str] = ()) -> Imported:
    """Read foreign files and put their points together.

    :param only: globs of point ids; empty = all.
    :raises InputError: for every file that cannot be read and every glob that matches nothing, all at once.
    """
    results = _read_all(paths, host, context)
    rows: dict[object, tuple[PointResult, Measurement | None]] = {}
    replaced = 0
    for number, result in enumerate(results):
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
    return Imported(results=results, points=tuple(_only(points, only) if points else points), measurements=measurements, replaced=replaced)


def write_import(imported: Imported, out: Path, host: Host, *, title: str, started: str, quotes: Sequence[Quote]) -> Path:
    """Write the points as a run folder and return it.

    :param out: must not be there yet, or be an empty folder.
    :param started: for the header where no file tells a date.
    :raises InputError: if the folder cannot be made.
    """
    points = imported.points
    header = RunHeader(
        title=title,
        started=newest_date(points) or started,
        planned=tuple(point.id for point in points),
        campaign_hash="",
        report=settings_of(points),
        quotes=tuple(quotes),
        sku=sku_of(points, host),
        plugins=tuple(
            {"name": source.plugin, "distribution": source.distribution, "version": source.version} for source in host.sources()
        ),
        imported=tuple(_on_record(result) for result in imported.results),
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


def title_of(imported: Imported) -> str:
    """Return the title of the first file, or how many files there were where their titles differ."""
    titles = dict.fromkeys(printable(result.found.title) for result in imported.results if result.found.points)
    return next(iter(titles)) if len(titles) == 1 else f"Imported: {len(imported.results)} files"


def priced(points: Sequence[PointResult], host: Host, *, book: str | None, custom: Quote | None) -> tuple[Quote, ...]:
    """Return the prices to keep: one of the user's own, else those of a book."""
    return (custom,) if custom is not None else quotes_of(points, host, book)


def _counted_locally(record: RequestRecord) -> RequestRecord:
    return replace(record, local_input=record.usage_input, local_output=record.usage_output, usage_input=None, usage_output=None)


def _read_all(paths: Sequence[Path], host: Host, context: ImportContext) -> tuple[ForeignResult, ...]:
    faults: list[Fault] = []
    results: list[ForeignResult] = []
    seen: set[Path] = set()
    read_too: set[Path] = set()
    for path in paths:
        resolved = path.resolve()
        if resolved in seen:
            faults.append(Fault(where=str(path), problem="is given twice", advice="name each file once"))
            continue
        seen.add(resolved)
        if resolved in read_too:
            continue
        if path.is_dir():
            faults.append(
                Fault(where=str(path), problem="is a folder", allowed="result files", advice=f"name the files in it: {path}/*.json")
            )
            continue
        try:
            result = read_foreign(path, host, context)
        except InputError as error:
            faults += error.faults
            continue
        read_too |= {path.with_name(name).resolve() for name in result.found.read_too}
        results.append(result)
    if faults:
        raise InputError(faults)
    return tuple(results)


def _only(points: Sequence[PointResult], patterns: Sequence[str]) -> list[PointResult]:
    ids = [point.id for point in points]
    faults = [
        Fault(where=f"--only {pattern}", problem="matches no point", allowed=", ".join(ids[:40]) + (", ..." if len(ids) > 40 else ""))  # noqa: PLR2004 - as many as fit a message
        for pattern in patterns
        if not any(fnmatchcase(name, pattern.lower()) for name in ids)
    ]
    if faults:
        raise InputError(faults)
    return [point for point in points if not patterns or any(fnmatchcase(point.id, pattern.lower()) for pattern in patterns)]


def _on_record(result: ForeignResult) -> dict[str, Any]:
    found = result.found
    return {
        "file": printable(result.file.name),
        "sha256": result.file.sha256,
        "importer": result.importer,
        "schemas": dict(found.schemas),
        "points": len(found.points),
        "refused": [{"where": printable(row.where), "code": row.code, "text": printable(row.text)} for row in found.refused],
        "warnings": [printable(warning) for warning in found.warnings],
        "read_too": [printable(name) for name in found.read_too],
    }
