"""requests.jsonl and samples.jsonl: one JSON object a line, read strictly where the point is sealed, else up to a torn end."""

from __future__ import annotations

import typing
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar

import msgspec

from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError
from ixbench.model.printable import as_text
from ixbench.model.record import RequestRecord
from ixbench.model.regular_file import open_regular
from ixbench.model.sample import Sample
from ixbench.model.schedule import PhaseName
from ixbench.store.chunks import CHUNK_BYTES, EventsFile, unpack
from ixbench.store.encode import UNDECODABLE, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from ixbench.model.secrets import Redactor

T = TypeVar("T")


class Span(msgspec.Struct, frozen=True):
    """Where a request's events lie in chunks.bin."""

    offset: int
    count: int


_CHUNKS = "chunks"
_TYPES: dict[str, Any] = typing.get_type_hints(RequestRecord, localns={"PhaseName": PhaseName}) | {_CHUNKS: Span}
_COLUMNS = tuple(field.name for field in fields(RequestRecord))
_TEXTS = frozenset(
    name for name, kind in _TYPES.items() if str in (kind, *typing.get_args(kind)) and typing.get_origin(kind) is not Literal
)
_DEFAULTS = {field.name: field.default for field in fields(RequestRecord) if field.default is not MISSING}
_Line = msgspec.defstruct(
    "_Line",
    [(name, _TYPES[name], _DEFAULTS[name]) if name in _DEFAULTS else (name, _TYPES[name]) for name in _COLUMNS],
    frozen=True,
    kw_only=True,
)
"""A record as it stands in its line: the fields of `RequestRecord`, with a span for the events.

All keys are written; a key that an older ixbench did not know yet reads as its default.
"""


def record_line(record: RequestRecord, offset: int, redactor: Redactor) -> bytes:
    """Return a record's line; `offset` is where its events begin in chunks.bin."""
    line: dict[str, object] = {}
    for name in _COLUMNS:
        value = getattr(record, name)
        line[name] = as_text(redactor.text(value)) if name in _TEXTS and value is not None else value
    line[_CHUNKS] = Span(offset, len(record.chunks))
    return msgspec.json.encode(line) + b"\n"


def read_records(path: Path, chunks_path: Path, *, sealed: bool) -> tuple[RequestRecord, ...]:
    """Return all records of a point in order of writing.

    :param sealed: whether every line must be whole; else a torn end is left out.
    :raises InputError: if a line is broken that must not be.
    """
    with readable(chunks_path):
        content = EventsFile(chunks_path)

    def decode(line: bytes) -> RequestRecord:
        values = msgspec.structs.asdict(msgspec.json.decode(line, type=_Line))
        span = values[_CHUNKS]
        values[_CHUNKS] = unpack(content, span.offset, span.count)
        return RequestRecord(**values)

    records = tuple(_read(path, decode, sealed=sealed))
    if sealed and sum(len(record.chunks) for record in records) * CHUNK_BYTES != len(content):
        problem = f"what it holds, {counted(len(content), 'byte')}, is not the events of {path.name}"
        raise InputError(Fault(where=str(chunks_path), problem=problem, advice=_ADVICE))
    return records


def read_samples(path: Path, *, sealed: bool, names: Collection[str] | None = None) -> tuple[Sample, ...]:
    """Return the samples of a point in order of writing; the rest as `read_records`.

    :param names: only those with one of these names; lines that do not hold one are not even parsed.
    """
    marks = None if names is None else tuple(msgspec.json.encode(name) for name in names)
    found = _read(path, lambda line: msgspec.json.decode(line, type=Sample), sealed=sealed, marks=marks)
    return tuple(sample for sample in found if names is None or sample.name in names)


LONGEST_LINE_BYTES = 1 << 20
_ADVICE = "the folder was changed or cut after the run; measure the point again"


def _opened(path: Path, *, sealed: bool) -> BinaryIO | None:
    with readable(path):
        try:
            return open_regular(path)
        except FileNotFoundError as error:
            if sealed:
                raise InputError(Fault(where=str(path), problem="is missing, although its point is sealed", advice=_ADVICE)) from error
            return None


def _read(path: Path, decode: Callable[[bytes], T], *, sealed: bool, marks: tuple[bytes, ...] | None = None) -> Iterator[T]:
    """Yield what the lines hold; with marks, of the lines that hold one of them."""
    opened = _opened(path, sealed=sealed)
    if opened is None:
        return
    with opened as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE_BYTES), b""), start=1):
            if len(line) == LONGEST_LINE_BYTES:
                problem = f"the line is longer than {LONGEST_LINE_BYTES >> 10} KiB, which no run writes"
                raise InputError(Fault(where=f"{path}:{number}", problem=problem, advice=_ADVICE))
            if not line.endswith(b"\n"):  # the start of a line that was never finished
                if sealed:
                    raise InputError(Fault(where=f"{path}:{number}", problem="the line has no end", advice=_ADVICE))
                return
            if marks is not None and not any(mark in line for mark in marks):
                continue
            try:
                found = decode(line)
            except (*UNDECODABLE, ValueError) as error:
                if not sealed and not file.readline(LONGEST_LINE_BYTES).endswith(b"\n"):  # the last whole one
                    return
                raise InputError(Fault(where=f"{path}:{number}", problem=str(error), advice=_ADVICE)) from error
            yield found
