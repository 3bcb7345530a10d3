"""Foreign result files on their way to views: who reads a file, what of it can be used, and at which prices it is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ixbench.campaign.settings import default_book
from ixbench.host.contracts.importer import ForeignFile, ImportContext, ImportedFile, RefusedRow
from ixbench.host.notes import missing_notes
from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError, PluginError, describe
from ixbench.model.imported import import_source
from ixbench.model.printable import printable
from ixbench.model.run import ReportSettings, RunView
from ixbench.store.names import is_plain_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ixbench.host.contracts.importer import Importer
    from ixbench.host.host import Host
    from ixbench.measure.definition import Measurement
    from ixbench.model.price import Quote, Sku
    from ixbench.model.result import Evidence, Metrics, PointResult

LARGEST_FILE = 1 << 30
"""Bytes of a foreign file that is read at all."""
MOST_REFUSALS = 50
"""Refused rows that a report on an import lists one by one."""
IMPLAUSIBLE = "implausible"
"""Code of a reason that doubts the file and not the measurement."""
AGENTIC_AXIS = "p90"
"""Percentile of the speed axis where all points are agentic."""


class UnknownFormatError(InputError):
    """No importer knows a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignResult:
    """A foreign file with what its importer made of it."""

    path: Path
    name: str
    """Of a file that was found in a folder its path in there, else the file's name."""
    importer: str
    file: ForeignFile
    found: ImportedFile

    def place(self, row: RefusedRow) -> str:
        """Return where a row stands, with the file as the user knows it."""
        return self.name + row.where.removeprefix(self.file.name) if row.where.startswith(self.file.name) else row.where


def known_skus(host: Host) -> dict[str, Sku]:
    """Return the rows of all hardware books by SKU."""
    return {sku.sku: sku for book in host.hardware() for sku in book.skus()}


def read_foreign(path: Path, host: Host, context: ImportContext | None = None, *, folder: Path | None = None) -> ForeignResult:
    """Read a foreign result file.

    :param context: what the user says that the file does not; without it only the books are known.
    :param folder: the folder that was given and in which the file was found.
    :raises InputError: if there is no such file, it is too large, or no importer knows it.
    :raises PluginError: if an importer breaks on a file that it recognised.
    """
    try:
        file = ForeignFile(path)
        if file.size > LARGEST_FILE:
            raise InputError(Fault(where=str(path), problem="is larger than a gibibyte", allowed="a run folder or a result file"))
        if not file.size:
            raise UnknownFormatError(Fault(where=str(path), problem="is empty", allowed="a run folder or a result file"))
        importer = _importer_for(path, file, host)
    except FileNotFoundError as error:
        raise InputError(Fault(where=str(path), problem="does not exist", allowed="a run folder or a result file")) from error
    except OSError as error:
        raise InputError(Fault(where=str(path), problem=f"cannot be read: {error.strerror or error}")) from error
    if importer is None:
        raise UnknownFormatError(
            Fault(where=str(path), problem=f"is neither a run folder nor a file that an importer knows (importers: {importer_names(host)})")
        )
    try:
        found = importer.read(file, context or ImportContext(skus=known_skus(host)))
        _check(found)
        found = _measured(found, host)
    except InputError as error:
        raise InputError(replace(fault, where=_with_folder(fault.where, path)) for fault in error.faults) from error
    except OSError as error:
        raise InputError(Fault(where=str(path), problem=f"cannot be read: {error.strerror or error}")) from error
    except Exception as error:
        raise PluginError(f"{path}: {host.source_of(importer)}: importer {importer.name}: {describe(error)}") from error
    name = path.name if folder is None else path.relative_to(folder).as_posix()
    return ForeignResult(path=path, name=name, importer=importer.name, file=file, found=found)


def importer_names(host: Host) -> str:
    """Return the names of all importers, for messages."""
    return ", ".join(sorted(importer.name for importer in host.importers())) or "none is installed"


def view_of(points: Sequence[PointResult], host: Host, *, run_id: str, title: str) -> RunView:
    """Return imported points as a run, at the prices of the newest book."""
    return RunView(
        id=run_id,
        title=printable(title),
        started=newest_start(points),
        evidence=evidence_of(points),
        report=import_settings(points),
        points=tuple(points),
        planned=tuple(point.id for point in points),
        quotes=quotes_of(points, host),
        sku=sku_of(points, host),
        notes=missing_notes(host),
    )


def import_report(result: ForeignResult, most: int = MOST_REFUSALS) -> tuple[str, ...]:
    """Return what became of a foreign file, a line each: how many points it gave, refusals by reason and one by one, and warnings.

    :param most: refused rows to list; the others are counted.
    """
    found, refused = result.found, result.found.refused
    shapes = ", ".join(f"{count} of {schema}" for schema, count in found.schemas.items())
    points = counted(len(found.points), "point")
    lines = [f"{result.path}: importer {result.importer}: {points}{f' ({shapes})' if shapes else ''}"]
    if refused:
        reasons = Counter(row.code for row in refused)
        lines.append(f"{result.path}: {len(refused)} refused: {', '.join(f'{count} {code}' for code, count in reasons.most_common())}")
        lines += [f"refused: {result.place(row)}: {row.code}: {row.text}" for row in refused[:most]]
        if len(refused) > most:
            lines.append(f"refused: {len(refused) - most} more")
    lines += [f"warning: {result.name}: {warning}" for warning in found.warnings]
    for point in found.points:
        for reason in point.verdict.reasons:
            if reason.severity == "invalid":
                asks = "question" if reason.code == IMPLAUSIBLE else "invalid"
                lines.append(f"{asks}: {point.id}: {reason.code}: {reason.text}")
    return tuple(printable(line) for line in lines)


def evidence_of(points: Sequence[PointResult]) -> Evidence:
    """Return "simulated" as soon as one point is."""
    return "simulated" if any(point.evidence == "simulated" for point in points) else "measured"


def newest_start(points: Sequence[PointResult]) -> str:
    """Return the start, or else the date, of the newest run among imported points; empty where none of them tells."""
    sources = [source for point in points if (source := import_source(point)) is not None]
    return max((source.started or source.date for source in sources), default="")


def import_settings(points: Sequence[PointResult]) -> ReportSettings:
    """Return how imported points are read: the defaults, on the axis of their kind of workload."""
    agentic = bool(points) and all(point.identity.agentic for point in points)
    return ReportSettings(axis=AGENTIC_AXIS) if agentic else ReportSettings()


def quotes_of(points: Sequence[PointResult], host: Host, book: str | None = None) -> tuple[Quote, ...]:
    """Return the prices of all hardware among the points, SKU by SKU.

    :param book: id of a price book; None = the default one.
    """
    givers = {name: giver for giver in host.prices() for name in giver.books()}
    name = book or default_book(host)
    skus = dict.fromkeys(point.identity.hardware for point in points if point.identity.hardware)
    return () if name is None else tuple(quote for sku in skus for quote in givers[name].quotes(sku, name))


def sku_of(points: Sequence[PointResult], host: Host) -> Sku | None:
    """Return the row of the hardware book, where all points are of one SKU."""
    found = {point.identity.hardware for point in points}
    return known_skus(host).get(next(iter(found)) or "") if len(found) == 1 else None


def _measured(found: ImportedFile, host: Host) -> ImportedFile:
    """Return the file with what its requests come to in the points that have them: by the same metrics and rules as in a run."""
    if not found.measurements:
        return found
    from ixbench.measure.failure import BadRecordError

    points: list[PointResult] = []
    refused = list(found.refused)
    for point in found.points:
        measurement = found.measurements.get(point.id)
        try:
            points.append(point if measurement is None else _judged(point, measurement, host))
        except BadRecordError as error:
            refused.append(RefusedRow(where=point.id, code=error.code, text=str(error)))
    return replace(found, points=tuple(points), refused=tuple(refused))


def with_told(computed: Metrics, told: Metrics) -> Metrics:
    """Return metrics that were computed from requests, with parts that only the file tells: what no request knows."""
    filled = dict(computed)
    for name, parts in told.items():
        found = computed.get(name)
        if isinstance(parts, dict) and isinstance(found, dict):
            filled[name] = found | {part: value for part, value in parts.items() if found.get(part) is None}
    return filled


def _judged(point: PointResult, measurement: Measurement, host: Host) -> PointResult:
    # They load numpy, which files without requests do not need.
    from ixbench.measure.interval import intervals_of
    from ixbench.measure.point import accounting, axis_of, measure
    from ixbench.measure.verdict import judge

    metrics = with_told(measure(measurement, host.metrics()), point.metrics)
    return replace(
        point,
        metrics=metrics,
        verdict=judge(measurement, metrics, host.rules(), {}),
        accounting=accounting(measurement),
        axis=axis_of(metrics, point.axis.percentile),
        intervals=intervals_of(measurement, point.id),
    )


def _check(found: ImportedFile) -> None:
    """Refuse what no importer may give, since ids become folders and origin decides on which curve a point stands."""
    ids = [point.id for point in found.points]
    wrong = [name for name in ids if not is_plain_name(name)]
    if wrong:
        raise ValueError(f"gave the point id {wrong[0]!r}, which is no plain name")
    if len(set(ids)) < len(ids):
        raise ValueError(f"gave the point id {next(name for name in ids if ids.count(name) > 1)} twice")
    run = [point.id for point in found.points if point.origin != "imported"]
    if run:
        raise ValueError(f"gave the point {run[0]} with the origin of a run")


def _with_folder(where: str, path: Path) -> str:
    """Return the place in a file with the path that the user gave in front of it."""
    return str(path) + where.removeprefix(path.name) if where.startswith(path.name) else f"{path}: {where}"


def _importer_for(path: Path, file: ForeignFile, host: Host) -> Importer | None:
    for importer in host.importers():
        try:
            if importer.recognises(file):
                return importer
        except OSError:
            raise
        except Exception as error:
            raise PluginError(f"{path}: {host.source_of(importer)}: importer {importer.name}: {describe(error)}") from error
    return None
