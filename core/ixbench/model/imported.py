"""Where an imported point comes from: what its file says of date and run, and what is kept of the file itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ixbench.model.result import PointResult

IMPORT = "import"
"""The key in `provenance`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """Source of one imported point."""

    importer: str
    file: str
    """Name of the file, without its folder."""
    sha256: str
    """Of the file's content."""
    schema: str
    """Name of the shape that the object has."""
    position: int | None = None
    """Place in the file's list; None where the file is one object."""
    date: str = ""
    """ISO date of the measurement; empty = not told."""
    started: str = ""
    """Start of the run that it belongs to, as the file says it."""
    run_id: str = ""
    """That run's id; empty = not told."""
    run_url: str = ""
    runner: str = ""
    """The hardware as the file calls it."""
    definitions: str = ""
    """By whose rules its times and rates were taken."""
    token_source: str = ""
    """Who counted the tokens: "usage" (the server), "local" (a tokenizer of the client); empty = not told."""
    parallel: Mapping[str, Any] = field(default_factory=dict)
    """Sizes by role: {"prefill": {"tp": 8, ...}, "decode": {...}}, or {"all": {...}} of a single pool."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the schema says and no metric or identity holds."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Numbers whose keys the schema does not have."""
    object: Any = None
    """The object as it stood in the file; None where the file itself lies beside the point as records."""

    def to_provenance(self) -> dict[str, object]:
        """Return the entry of `provenance`."""
        return {IMPORT: {name: getattr(self, name) for name in _FIELDS}}  # not copied deeply: objects are large, and never change


_FIELDS = tuple(item.name for item in fields(ImportSource))
_MAPPINGS = ("parallel", "facts", "extra")
_TYPES: dict[str, type] = {
    **{name: str for name in _FIELDS if name not in {"position", "object", *_MAPPINGS}},
    **dict.fromkeys(_MAPPINGS, Mapping),
}


def import_source(point: PointResult) -> ImportSource | None:
    """Return where an imported point comes from; None for a point of a run, or where its importer does not say."""
    entry = point.provenance.get(IMPORT)
    if not isinstance(entry, Mapping):
        return None
    # A point lies in a file that anyone can edit: what has another type than it was written with was not told.
    told = {name: entry[name] for name in _FIELDS if name in entry and isinstance(entry[name], _TYPES.get(name, object))}
    return ImportSource(**told) if {"importer", "file", "sha256", "schema"} <= told.keys() else None
