"""One point on disk: raw records appended while it runs, and point.json written last, so that its presence means "finished"."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Self

import msgspec

from ixbench.model.errors import Fault, InputError, IxbenchError
from ixbench.model.launch import UNTOLD
from ixbench.model.result import POINT_FORMAT, Accounting, Metrics, PointResult, Verdict
from ixbench.store.chunks import pack
from ixbench.store.encode import (
    UNDECODABLE,
    hide_named,
    read_document,
    read_versioned,
    readable,
    refusals,
    sync_folder,
    to_json,
    to_line,
    write_atomic,
)
from ixbench.store.lines import read_records, read_samples, record_line
from ixbench.store.measurement import FACTS, facts
from ixbench.store.names import plain_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from io import FileIO
    from pathlib import Path

    from ixbench.measure.definition import Measurement
    from ixbench.model.record import RequestRecord
    from ixbench.model.sample import Sample
    from ixbench.model.secrets import Redactor

RESULT = "point.json"
REQUESTS = "requests.jsonl"
CHUNKS = "chunks.bin"
SAMPLES = "samples.jsonl"
REPLICAS = "replicas.jsonl"
"""Simulated points only: one line a replica, with its metrics, accounting and verdict."""

RESULT_KEYS: tuple[str, ...] = (
    "format",
    "id",
    "evidence",
    "origin",
    "identity",
    "verdict",
    "failure",
    "metrics",
    "accounting",
    "axis",
    "client",
    "energy",
    "intervals",
    "accuracy",
    "provenance",
)
"""The keys of point.json, in order; all are always there."""
assert set(RESULT_KEYS) == {field.name for field in fields(PointResult)}

_FLUSH_BYTES = 256 * 1024
_FLUSH_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica of a simulated point, as kept on disk."""

    number: int
    metrics: Metrics
    accounting: Accounting
    verdict: Verdict


class PointWriter:
    """The open folder of a point that is running.

    Records and samples are handed to the operating system at least once a second while they come in, events before the
    lines that name them. What is not sealed is cleared when the point is started again.
    """

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        """Clear what an earlier attempt left in the folder, or make it.

        :raises IxbenchError: if the point is sealed, or the disk refuses.
        """
        self.id = plain_name(folder.name, "point id")
        self.folder = folder
        self._redactor = redactor
        if is_sealed(folder):
            raise IxbenchError(f"{folder}: the point is sealed and is never measured again in the same run")
        self._files: dict[str, FileIO] = {}
        self._pending = {name: bytearray() for name in (CHUNKS, REQUESTS, SAMPLES)}  # in the order of writing: events before their lines
        self._chunks_end = 0
        self._flushed_s = time.monotonic()
        with refusals(folder):
            if folder.is_symlink() or not folder.is_dir():
                folder.unlink(missing_ok=True)
            else:
                shutil.rmtree(folder)
            folder.mkdir(parents=True)
            sync_folder(folder.parent)
            for name in self._pending:
                self._files[name] = (folder / name).open("xb", buffering=0)

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close the files; a point that was not sealed stays unsealed."""
        self.close()

    def record(self, record: RequestRecord) -> None:
        """Append one request.

        :raises IxbenchError: if the disk refuses.
        """
        self._pending[REQUESTS] += record_line(record, self._chunks_end, self._redactor)
        events = pack(record.chunks)
        self._pending[CHUNKS] += events
        self._chunks_end += len(events)
        self._flush_if_due()

    def sample(self, sample: Sample) -> None:
        """Append one sample; the rest as `record`."""
        self._pending[SAMPLES] += to_line(sample, self._redactor)
        self._flush_if_due()

    def write_replicas(self, replicas: Sequence[object]) -> None:
        """Keep what each replica of a simulated point came to, one line each.

        :raises IxbenchError: if the disk refuses.
        """
        write_atomic(self.folder / REPLICAS, b"".join(to_line(replica, self._redactor) for replica in replicas))

    def flush(self) -> None:
        """Hand everything to the operating system: a kill of this process loses nothing of it.

        :raises IxbenchError: if the disk refuses.
        """
        for name, pending in self._pending.items():
            with refusals(self.folder / name):
                while pending:
                    del pending[: self._files[name].write(pending) or 0]
        self._flushed_s = time.monotonic()

    def records(self) -> tuple[RequestRecord, ...]:
        """Return all records so far as they stand on the disk, in order of writing.

        :raises IxbenchError: if the disk refuses, or what it gives back is not what was written.
        """
        self.flush()
        try:
            return read_records(self.folder / REQUESTS, self.folder / CHUNKS, sealed=True)
        except (InputError, OSError) as error:
            raise IxbenchError(f"{self.folder}: the records of the point cannot be read back: {error}") from error

    def samples(self, names: Collection[str]) -> tuple[Sample, ...]:
        """Return the samples so far with one of these names as they stand on the disk; the rest as `records`."""
        self.flush()
        try:
            return read_samples(self.folder / SAMPLES, sealed=True, names=names)
        except (InputError, OSError) as error:
            raise IxbenchError(f"{self.folder}: the samples of the point cannot be read back: {error}") from error

    def seal(self, result: PointResult, measurement: Measurement | None = None) -> PointResult:
        """Write everything through to the disk, and point.json last; return what was sealed.

        :param measurement: what the metrics were computed from; kept in the provenance, so that they can be computed again.
        :raises IxbenchError: if the disk refuses; then the point is not sealed.
        """
        if result.id != self.id:
            raise ValueError(f"the folder of {self.id} cannot seal {result.id}")
        if measurement is not None:
            result = replace(result, provenance={**result.provenance, FACTS: facts(measurement)})
        self.flush()
        for name, file in self._files.items():
            with refusals(self.folder / name):
                os.fsync(file.fileno())
        self.close()
        write_atomic(self.folder / RESULT, encode_result(result, self._redactor))
        return result

    def close(self) -> None:
        """Close the files, as far as the disk takes what is pending; may be called twice."""
        try:
            if self._files:
                self.flush()
        except IxbenchError:
            self._pending.clear()  # an unsealed point is measured again anyway, and the first refusal has been raised already
        finally:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _flush_if_due(self) -> None:
        if time.monotonic() - self._flushed_s >= _FLUSH_S or sum(map(len, self._pending.values())) >= _FLUSH_BYTES:
            self.flush()


def encode_result(result: PointResult, redactor: Redactor) -> bytes:
    """Return point.json."""
    content = {name: getattr(result, name) for name in RESULT_KEYS}
    return to_json(content | {"provenance": hide_named(result.provenance, redactor)}, redactor)


def is_sealed(folder: Path) -> bool:
    """Say whether the point in a folder is finished."""
    return (folder / RESULT).is_file()


def read_result(folder: Path) -> PointResult:
    """Return the sealed reading of a point.

    :raises InputError: if point.json is missing, broken, of another point or of a later format.
    """
    path = folder / RESULT
    try:
        with readable(path):
            result = msgspec.json.decode(read_versioned(path, POINT_FORMAT), type=PointResult)
    except UNDECODABLE as error:
        problem = f"is no point of format {POINT_FORMAT}: {error}"
        raise InputError(Fault(where=str(path), problem=problem, advice=f"remove {folder}, and --resume measures it again")) from error
    if result.id != folder.name:
        raise InputError(Fault(where=str(path), problem=f"is the result of '{result.id}', but its folder is '{folder.name}'"))
    return _without_guesses(result)


def _without_guesses(result: PointResult) -> PointResult:
    """Return a point that says no more than was known of a server which ixbench did not start.

    Early points of format 1 called "off" and false there what nobody had told: beside newer ones each would stand on a curve of its own.
    """
    known = result.identity
    if result.origin != "run" or result.provenance.get("argv", ()) is not None or known.disaggregated is not False:
        return result
    told = replace(
        known,
        spec_method=known.spec_method or UNTOLD,
        kv_offload=UNTOLD if known.kv_offload == "off" else known.kv_offload,
        disaggregated=None,
        multinode=None,
    )
    return replace(result, identity=told)


def read_point_replicas(folder: Path) -> tuple[Replica, ...]:
    """Return what each replica of a simulated point came to; empty for a measured one.

    :raises InputError: if a line is broken.
    """
    path = folder / REPLICAS
    with readable(path):
        try:
            lines = read_document(path).splitlines()
        except FileNotFoundError:
            return ()
    try:
        return tuple(msgspec.json.decode(line, type=Replica) for line in lines)
    except UNDECODABLE as error:
        raise InputError(Fault(where=str(path), problem=f"holds a broken line: {error}")) from error


def read_point_records(folder: Path) -> tuple[RequestRecord, ...]:
    """Return the records of a point; a torn end is left out where the point is not sealed.

    :raises InputError: if a line is broken that must not be.
    """
    return read_records(folder / REQUESTS, folder / CHUNKS, sealed=is_sealed(folder))


def read_point_samples(folder: Path, names: Collection[str] | None = None) -> tuple[Sample, ...]:
    """Return the samples of a point; the rest as `read_point_records`.

    :param names: only those with one of these names.
    """
    return read_samples(folder / SAMPLES, sealed=is_sealed(folder), names=names)
