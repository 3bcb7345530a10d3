"""The run folder: its places, its header and its lock. Everything that a run leaves on disk goes through here."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Self

from ixbench.model.errors import Fault, InputError, IxbenchError
from ixbench.model.regular_file import is_regular
from ixbench.store.encode import hide_named, readable, refusals, sync_folder, to_json, write_atomic
from ixbench.store.header import HEADER, RunHeader, read_header
from ixbench.store.lock import FolderLock
from ixbench.store.names import is_plain_name, plain_name
from ixbench.store.point import (
    RESULT,
    PointWriter,
    Replica,
    encode_result,
    is_sealed,
    read_point_records,
    read_point_replicas,
    read_point_samples,
    read_result,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime
    from pathlib import Path

    from ixbench.host.source import PluginFailure
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import PointResult
    from ixbench.model.sample import Sample
    from ixbench.model.secrets import Redactor

POINTS = "points"
LAUNCHES = "launches"
REPORTS = "reports"
LAUNCH = "launch.json"
"""Written by whoever starts the engine."""


def is_run_folder(path: Path) -> bool:
    """Say whether a path is a run folder that may be looked into."""
    return is_regular(path / HEADER)


class RunReader:
    """A run folder for reading: needs no lock, changes nothing, and may be used while the run goes on."""

    def __init__(self, path: Path) -> None:
        """Take a folder that holds a run.json.

        :raises InputError: if it is none, or may not be looked into.
        """
        self.path = path
        with readable(path):
            found = (path / HEADER).is_file()
        if not found:
            raise InputError(Fault(where=str(path), problem=f"is no run folder: it has no {HEADER}", advice=_inner_runs(path)))

    @property
    def id(self) -> str:
        """Name of the run folder."""
        return self.path.resolve().name

    @property
    def reports(self) -> Path:
        """Where reports of this run go unless the user says otherwise.

        :raises InputError: if that is a link, which may lead anywhere.
        """
        folder = self.path / REPORTS
        if folder.is_symlink():
            problem = "is a link, and the reports of a run are written into its own folder"
            raise InputError(Fault(where=str(folder), problem=problem, advice="give the folder with ixbench report --out"))
        return folder

    def header(self) -> RunHeader:
        """Return the content of run.json; the errors are those of `read_header`."""
        return read_header(self.path)

    def sealed(self) -> tuple[str, ...]:
        """Return the ids of the finished points: in plan order, then those that the plan does not name, by name.

        :raises InputError: if the points may not be looked into, or run.json cannot be read.
        """
        points = self.path / POINTS
        with readable(points):
            found = {item.name for item in points.iterdir() if is_plain_name(item.name) and is_sealed(item)} if points.is_dir() else set()
        planned = [name for name in self.header().planned if name in found]
        return (*planned, *sorted(found.difference(planned)))

    def remaining(self) -> tuple[str, ...]:
        """Return the ids of the planned points that are not finished, in plan order."""
        sealed = set(self.sealed())
        return tuple(name for name in self.header().planned if name not in sealed)

    def result(self, point_id: str) -> PointResult:
        """Return a finished point; the errors are those of `read_result`."""
        return read_result(self._point(point_id))

    def records(self, point_id: str) -> tuple[RequestRecord, ...]:
        """Return what each request of a point did; of a point that still runs, as far as it is written.

        :raises InputError: if a line is broken that must not be.
        """
        return read_point_records(self._point(point_id))

    def samples(self, point_id: str, names: Collection[str] | None = None) -> tuple[Sample, ...]:
        """Return the samples of a point, or those with one of the names alone; the rest as `records`."""
        return read_point_samples(self._point(point_id), names)

    def replicas(self, point_id: str) -> tuple[Replica, ...]:
        """Return what each replica of a simulated point came to; empty for a measured one."""
        return read_point_replicas(self._point(point_id))

    def _point(self, point_id: str) -> Path:
        if not is_plain_name(point_id):
            raise InputError(Fault(where=str(self.path), problem=f"{point_id!r} is no point id", allowed=", ".join(self.sealed())))
        return self.path / POINTS / point_id


class RunFolder(RunReader):
    """A run folder that this process writes, under its lock; a context manager that lets go of the lock."""

    def __init__(self, path: Path, lock: FolderLock, redactor: Redactor) -> None:
        """Use `create` or `take_up`."""
        super().__init__(path)
        self._lock = lock
        self._redactor = redactor

    @classmethod
    def create(cls, results_dir: Path, *, slug: str, now: datetime, header: RunHeader, redactor: Redactor) -> RunFolder:
        """Make `<results>/<UTC>-<slug>/`, lock it and write its run.json; a name that is taken gets -2, -3, ... appended.

        :param now: an aware time.
        :raises InputError: if nothing can be written there.
        """
        stem = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{plain_name(slug, 'slug')}"
        try:
            results_dir.mkdir(parents=True, exist_ok=True)
            path = _first_free(results_dir, stem)
            sync_folder(results_dir)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(
                Fault(where=str(results_dir), problem="is a file, or lies under one", allowed="a folder", advice="give another --results")
            ) from error
        except OSError as error:
            raise InputError(
                Fault(where=str(results_dir), problem=f"cannot be written: {error.strerror}", advice="give another --results")
            ) from error
        return cls._begin(path, header, redactor, Fault(where=str(results_dir), problem="", advice="give another --results"))

    @classmethod
    def create_at(cls, path: Path, *, header: RunHeader, redactor: Redactor) -> RunFolder:
        """Make a run folder at just this place, lock it and write its run.json.

        :raises InputError: if there is something already, or nothing can be written there.
        """
        refused = Fault(where=str(path), problem="", advice="give another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise InputError(replace(refused, problem="is there already and not empty", allowed="a new folder"))
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(replace(refused, problem="is a file, or lies under one", allowed="a new folder")) from error
        except OSError as error:
            raise InputError(replace(refused, problem=f"cannot be written: {error.strerror}")) from error
        return cls._begin(path, header, redactor, refused)

    @classmethod
    def _begin(cls, path: Path, header: RunHeader, redactor: Redactor, refused: Fault) -> RunFolder:
        """Lock a folder that was just made and write its run.json; `refused` says whose place it is if that fails."""
        lock: FolderLock | None = None
        try:
            lock = FolderLock(path)
            write_atomic(path / HEADER, _encode_header(header, redactor))
            return cls(path, lock, redactor)
        except BaseException as error:
            if lock is not None:
                lock.release()
            # Made a moment ago and empty but for these: what holds no run.json would only be in the way.
            shutil.rmtree(path, ignore_errors=True)
            if isinstance(error, OSError | IxbenchError) and not isinstance(error, InputError):
                cause = error if isinstance(error, OSError) else error.__cause__
                why = (cause.strerror if isinstance(cause, OSError) else None) or str(error)
                raise InputError(replace(refused, problem=f"cannot be written: {why}; nothing was started")) from error
            raise

    @classmethod
    def take_up(cls, path: Path, *, redactor: Redactor) -> RunFolder:
        """Lock an existing run folder, to measure what it lacks.

        :raises InputError: if another run holds it, or it is no run folder.
        """
        reader = RunReader(path)
        lock = FolderLock(reader.path)
        try:
            return cls(path, lock, redactor)
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Self:
        """Return the folder."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Let the next run in."""
        self.close()

    def close(self) -> None:
        """Let go of the lock; may be called twice."""
        self._lock.release()

    def write_header(self, header: RunHeader) -> None:
        """Replace run.json in one step.

        :raises IxbenchError: if the disk refuses; then the old one stands.
        """
        write_atomic(self.path / HEADER, _encode_header(header, self._redactor))

    def note_resumed(self, now: datetime, not_loaded: Iterable[PluginFailure]) -> None:
        """Record that the run was taken up again.

        :param not_loaded: what the host that goes on could not load.
        """
        header = self.header()
        failures = tuple(dict.fromkeys((*header.plugin_failures, *not_loaded)))
        self.write_header(replace(header, resumed=(*header.resumed, iso_utc(now)), plugin_failures=failures))

    def start_point(self, point_id: str) -> PointWriter:
        """Return the writer of a point; what an interrupted attempt left is cleared.

        :raises IxbenchError: if the point is sealed already, or the disk refuses.
        """
        return PointWriter(self.path / POINTS / plain_name(point_id, "point id"), self._redactor)

    def add(self, result: PointResult) -> None:
        """Write a point that was not measured here and has no records. It is not forced to the disk: its source can be read again.

        :raises IxbenchError: if the point is sealed already, or the disk refuses.
        """
        folder = self.path / POINTS / plain_name(result.id, "point id")
        with refusals(folder):
            if is_sealed(folder):
                raise IxbenchError(f"{folder}: the point is sealed and is never written again in the same run")
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / f"{RESULT}.part"
            part.write_bytes(encode_result(result, self._redactor))
            part.replace(folder / RESULT)

    def launch_folder(self, launch_id: str) -> Path:
        """Make and return the folder of a launch, for launch.json and the engine's log.

        :raises IxbenchError: if the disk refuses.
        """
        folder = self.path / LAUNCHES / plain_name(launch_id, "launch id")
        with refusals(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder


def iso_utc(moment: datetime) -> str:
    """Return an aware time as it stands in run.json: 2026-11-30T06:45:01Z."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def find_newest(results_dir: Path, campaign_hash: str) -> Path | None:
    """Return the newest run folder of a campaign, or None; folders that cannot be read as runs are passed over.

    :raises InputError: if the results folder is no folder, or may not be looked into.
    """
    with readable(results_dir):
        if not results_dir.exists():
            return None
        if not results_dir.is_dir():
            raise InputError(Fault(where=str(results_dir), problem="is a file", allowed="a folder", advice="give another --results"))
        paths = tuple(results_dir.iterdir())
    found: list[tuple[str, int, str, Path]] = []
    for path in paths:
        try:
            header = read_header(path)
        except IxbenchError:
            continue
        if header.campaign_hash == campaign_hash:
            found.append((header.started, len(path.name), path.name, path))  # a longer name is a later one of the same second
    return max(found)[-1] if found else None


def _encode_header(header: RunHeader, redactor: Redactor) -> bytes:
    return to_json(replace(header, campaign=hide_named(header.campaign, redactor)), redactor)


def _first_free(results_dir: Path, stem: str) -> Path:
    number = 1
    while True:
        path = results_dir / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def _inner_runs(path: Path) -> str:
    runs = sorted(item.parent.name for item in path.glob(f"*/{HEADER}")) if path.is_dir() else []
    return f"give one of the run folders in it, for instance {path / runs[-1]}" if runs else "give a folder that `ixbench run` made"
