"""Result files of InferenceX, and of the serving clients behind it: raw client output, aggregated rows of all versions, rows of its API."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.report import UNTOLD, Fault, ImportedFile, Importer, InputError, RefusedRow, counted
from ixbench_plugins.importers.agentic import read_agentic
from ixbench_plugins.importers.detect import API, RAW, V1, V2, V3, schema_name
from ixbench_plugins.importers.document import MOST_REFUSED, read_foreign_json, refuse_repeated, too_many_refused
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.flat import date_of, read_api, read_fixed
from ixbench_plugins.importers.names import model_key
from ixbench_plugins.importers.point import Taken, named, point_of
from ixbench_plugins.importers.raw_client import read_raw
from ixbench_plugins.importers.values import table, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.api.report import ForeignFile, ImportContext
    from ixbench_plugins.importers.row import Row

SCHEMAS = (RAW, V1, V2, V3, API)
_MARKS = (
    re.compile(rb'"request_metrics"\s*:\s*\{'),
    re.compile(rb'"tput_per_gpu"\s*:'),
    re.compile(rb'"max_concurrency"\s*:'),
    re.compile(rb'"run_started_at"\s*:|"workflow_run_id"\s*:'),
)
_START = re.compile(rb"^(?:\xef\xbb\xbf)?\s*[\[{]")


class InferencexImporter(Importer):
    """One object, or a list of them; each is looked at by itself."""

    name: ClassVar[str] = "inferencex"
    summary: ClassVar[str] = "raw client output, aggregated rows (v1, v2, v3) and API rows of InferenceX, as JSON"

    def recognises(self, file: ForeignFile) -> bool:
        """Say whether it is JSON with a key that only these schemas have."""
        return bool(_START.match(file.head)) and any(mark.search(file.head) for mark in _MARKS)

    def read(self, file: ForeignFile, context: ImportContext) -> ImportedFile:
        """Return the points of the file."""
        document = read_foreign_json(file)
        if isinstance(document, list) and not document:
            raise InputError(Fault(where=file.name, problem="is an empty list"))
        return read_objects(document if isinstance(document, list) else [document], file, context, listed=isinstance(document, list))


def read_objects(documents: Sequence[Any], file: ForeignFile, context: ImportContext, *, listed: bool) -> ImportedFile:
    """Return the points of objects that stood in a file."""
    name = text(file.name)
    taken: dict[object, Taken] = {}
    refused: list[RefusedRow] = []
    dropped: Counter[str] = Counter()
    replaced = 0
    for position, document in enumerate(documents):
        where = f"{name}[{position}]" if listed else name
        try:
            row = read_row(document, context)
            item = point_of(
                row, importer="inferencex", file=name, sha256=file.sha256, position=position if listed else None, document=document
            )
        except RowError as error:
            refused.append(RefusedRow(where=where, code=error.code, text=str(error)))
            if len(refused) > MOST_REFUSED:
                raise too_many_refused(file.name, str(refused[0])) from error
            continue
        dropped.update(row.dropped)
        key: object = row.unique or position
        replaced += taken.pop(key, None) is not None
        taken[key] = item
    items = list(taken.values())
    points = named(items)
    warnings = [
        f"{key}: unknown key whose value is no number, dropped in {counted(count, 'row')}" for key, count in sorted(dropped.items())
    ]
    if replaced:
        warnings.append(f"{counted(replaced, 'row')} replaced by later ones of the same configuration, load and run")
    said = {point.id: item.warnings for point, item in zip(points, items, strict=True)}
    warnings += _once(said)
    return ImportedFile(
        title=hardware_title([item.row for item in items], context) or f"Imported: {name}",
        points=tuple(points),
        refused=tuple(refused),
        warnings=tuple(warnings),
        schemas=dict(Counter(item.row.schema for item in items)),
        unique={point.id: item.row.unique for point, item in zip(points, items, strict=True) if item.row.unique},
    )


def read_row(document: Any, context: ImportContext) -> Row:  # noqa: ANN401 - a JSON value
    """Return an object of any of these schemas in the one form.

    :raises RowError: if it cannot be taken.
    """
    refuse_repeated(document)
    schema = schema_name(document)
    if schema not in SCHEMAS:
        raise RowError("unknown_schema", f"an object of schema {schema} is no row of a list; give its own file")
    if schema == RAW:
        row = read_raw(document, context)
    elif schema == V3:
        row = read_agentic(document, context)
    elif schema == API:
        row = read_api(document, context)
    else:
        row = read_fixed(document, schema, context)
    row = _with_extras(row)
    if (told := text(document.get("date"))) and not date_of(told):
        row = replace(row, warnings=(*row.warnings, f"'{told}' is no date, so it is not known when it was measured"))
    if row.ok == 0:
        raise RowError("no_success", "no request succeeded")
    return row


def _with_extras(row: Row) -> Row:
    """Return a row with what ixbench itself wrote beside its keys when it exported it."""
    extras = table(row.facts.get("ixbench"))
    if not extras:
        return row
    model, started = text(extras.get("model")), text(extras.get("started"))
    return replace(
        row,
        model=model if model and model_key(model) == model_key(row.model) else row.model,
        requests=whole(extras.get("requests")) if row.requests is None else row.requests,
        ok=whole(extras.get("ok")) if row.ok is None else row.ok,
        spec_method=UNTOLD if text(extras.get("spec_method")) == UNTOLD else row.spec_method,
        kv_offload=_offload(row, text(extras.get("kv_offload"))),
        date=row.date or date_of(started),
        started=row.started or started,
    )


def _offload(row: Row, told: str) -> str:
    """Return the mode of KV offload, of which the rows themselves tell less than what ixbench wrote beside their keys."""
    if told == UNTOLD:
        return UNTOLD
    return row.kv_offload if row.agentic or not told else "off" if told == "off" else "on"


def hardware_title(rows: Sequence[Row], context: ImportContext) -> str:
    """Return "model on hardware" where there is one of each; empty otherwise."""
    models, hardware = {row.model for row in rows}, {row.hardware for row in rows}
    if len(models) != 1 or len(hardware) != 1:
        return ""
    (model,), (sku,) = models, hardware
    return model if sku is None else f"{model} on {context.skus[sku].name if sku in context.skus else sku}"


def _once(said: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the warnings of points; what is equal for several of them is said once."""
    about: dict[str, list[str]] = {}
    for point, sentences in said.items():
        for sentence in sentences:
            about.setdefault(sentence, []).append(point)
    return [f"{', '.join(points[:5])}{f' and {len(points) - 5} more' if len(points) > 5 else ''}: {say}" for say, points in about.items()]  # noqa: PLR2004 - names that fit a line
