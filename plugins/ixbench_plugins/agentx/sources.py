"""Where traces come from: a file, a folder, a file of one trace a line, or a data set on a hub.

They are read one after another, so that a corpus takes no more memory than its largest trace unless someone keeps all of them.
"""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.json_object import quoted
from ixbench_plugins.agentx.weka import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from ixbench_plugins.agentx.trace import Trace

MOST_TRACE_BYTES = 512 * 1024 * 1024
"""Of one trace. The longest recorded sessions have a tenth of it."""

FORMS = "a .json file, a folder of them, a .jsonl file with one trace a line, or hf:OWNER/NAME"

_CHUNK = 1 << 20


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corpus:
    """All traces of a source."""

    source: str
    """What was read: as given, or with all that pins it where it came from a hub."""
    traces: tuple[Trace, ...]
    hash: str
    """`sha256:` and 64 digits, of the file's bytes; for a folder, of its files' hashes and names as `sha256sum` prints them."""


def read_corpus(source: str, *, note: Callable[[str], None] | None = None) -> Corpus:
    """Return all traces of a source; `note` is told what takes long.

    :raises InputError: with every fault of every file.
    """
    path, pinned = _located(source, note)
    digest = hashlib.sha256()
    traces = tuple(_traces(path, digest))
    return Corpus(source=pinned, traces=traces, hash=f"sha256:{digest.hexdigest()}")


def iter_traces(source: str, *, note: Callable[[str], None] | None = None) -> Iterator[Trace]:
    """Give the traces of a source one by one; those that have faults are passed over, and told of at the end.

    :raises InputError: with every fault of every file, after the last trace.
    """
    return _traces(_located(source, note)[0], None)


def _located(source: str, note: Callable[[str], None] | None) -> tuple[Path, str]:
    """Return the path of a source, and the source in full."""
    from ixbench_plugins.agentx.hub import PREFIX, HubFile, fetch

    if not source.startswith(PREFIX):
        return Path(source), source
    path, file = fetch(HubFile.parse(source), note=note)
    return path, str(file)


def _traces(path: Path, digest: _Digest | None) -> Iterator[Trace]:
    faults = FaultList(str(path))
    if path.is_dir():
        found = _folder(path, faults, digest)
    elif path.suffix == ".jsonl":
        found = _lines(path, faults, digest)
    elif path.suffix == ".json" or not path.exists():
        found = _one(_file(path, faults, digest))
    else:
        faults.add("", "is no file of traces by its name", allowed=FORMS)
        found = iter(())
    ids: dict[str, str] = {}
    for trace in found:
        here = Path(trace.file).name if trace.line is None else f"line {trace.line}"
        if ids.setdefault(trace.id, here) == here:
            yield trace
        else:
            twice = FaultList(trace.file, trace.line)
            twice.add("id", f"trace id {quoted(trace.id)} is already used by {ids[trace.id]}")
            faults.extend(twice)
    if not ids and not faults.count:
        faults.add("", "holds no trace", allowed=FORMS)
    faults.raise_any()


def _folder(path: Path, faults: FaultList, digest: _Digest | None) -> Iterator[Trace]:
    try:
        files = sorted(file for file in path.iterdir() if file.suffix == ".json" and not file.name.startswith("."))
    except OSError as error:
        faults.add("", f"cannot be listed: {error.strerror}")
        return
    if not files:
        faults.add("", "is a folder without any *.json file", allowed=FORMS)
    for file in files:
        one = None if digest is None else hashlib.sha256()
        found = FaultList(str(file))
        yield from _one(_file(file, found, one))
        faults.extend(found)
        if digest is not None and one is not None:
            digest.update(f"{one.hexdigest()}  {file.name}\n".encode("utf-8", "surrogateescape"))


def _one(trace: Trace | None) -> Iterator[Trace]:
    if trace is not None:
        yield trace


def _file(path: Path, faults: FaultList, digest: _Digest | None) -> Trace | None:
    size = _size(path, faults)
    if size is None:
        return None
    if size > MOST_TRACE_BYTES:
        faults.add("", f"is larger than {MOST_TRACE_BYTES} bytes", allowed="one trace; a file of many is a .jsonl file")
        return None
    try:
        data = path.read_bytes()
    except OSError as error:
        faults.add("", f"cannot be read: {error.strerror}")
        return None
    if digest is not None:
        digest.update(data)
    return read_trace(data, faults)


def _size(path: Path, faults: FaultList) -> int | None:
    """Return the size of a file; None, with a fault noted, for what is no file: a pipe would be waited for, and a device has no end."""
    try:
        found = path.stat()
    except OSError as error:
        advice = f"give {FORMS}" if isinstance(error, FileNotFoundError) else ""
        faults.add("", f"cannot be read: {error.strerror}", advice=advice)
        return None
    if not stat.S_ISREG(found.st_mode):
        faults.add("", "is no file", allowed=FORMS)
        return None
    return found.st_size


def _lines(path: Path, faults: FaultList, digest: _Digest | None) -> Iterator[Trace]:
    if _size(path, faults) is None:
        return
    try:
        with path.open("rb") as file:
            for number in count(1):
                found = FaultList(str(path), number)
                trace, more = _line(file, found, digest)
                faults.extend(found)
                if trace is not None:
                    yield trace
                if not more or faults.full:
                    return
    except OSError as error:
        faults.add("", f"cannot be read: {error.strerror}")


def _line(file: BinaryIO, faults: FaultList, digest: _Digest | None) -> tuple[Trace | None, bool]:
    """Return the trace of the next line, if there is one, and whether there may be more lines."""
    start = file.tell()
    piece = line = file.readline(_CHUNK)
    size = 0
    while piece:
        size += len(piece)
        if digest is not None:
            digest.update(piece)
        if piece.endswith(b"\n"):
            break
        piece = file.readline(_CHUNK)
    if size > MOST_TRACE_BYTES:
        faults.add("", f"is longer than {MOST_TRACE_BYTES} bytes", allowed="one trace a line")
        return None, True
    if size > len(line):
        # Read again in one piece, now that its size is known: joining the pieces would take twice the memory.
        file.seek(start)
        line = file.read(size)
    return read_trace(line, faults) if line.strip() else None, size > 0
