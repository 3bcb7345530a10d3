"""What was last read of each run folder, kept in one SQLite file of the user's cache, so that hundreds of folders are looked over at once.

The folders stay the truth: an entry counts only while nothing in its folder has changed, and the file may be deleted at any time. Where it
cannot be kept (no home, a full or read-only disk, another process that holds it for long), folders are read as if there were none.
"""

# History of the file's format, its user_version; a file of any other one is made anew.
#   1  first release: folder(path, stamp, content)

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
import stat
import time
import zlib
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.model.errors import InputError
from ixbench.model.user_cache import user_cache
from ixbench.store.encode import read_document
from ixbench.store.folder import LAUNCH, LAUNCHES, POINTS
from ixbench.store.header import HEADER
from ixbench.store.point import RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

INDEX_FORMAT = 1
FILE = "runs.sqlite"
LOCK = "runs.lock"
_APPLICATION = 0x69786278
"""Marks the file as ours, in SQLite's application_id."""
_FOLDER_MODE = 0o700
_WAIT_S = 10.0
"""How long another process may hold the file before it is done without."""
_POLL_S = 0.02
_SETTLED_NS = 2_000_000_000
"""A folder that changed less than this before it was read is not kept: a further change could bear the same time."""
_BROKEN = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH})
"""Codes by which the file, and not the machine, is at fault: it is made anew."""
_FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What the file may answer with: where its schema is no text, Python fails to tell SQLite's own message."""
_LEVEL = 1
"""Of zlib: a tenth of the size in a third of the time that reading the folders takes. Its checksum tells a page gone bad."""


def index_folder() -> Path:
    """Return where the index is kept; the errors are those of `user_cache`."""
    return user_cache("index")


def read_indexed(folders: Sequence[Path], read: Callable[[Path], bytes], kind: str) -> Mapping[Path, bytes | InputError]:
    """Return what `read` makes of each run folder, without calling it for those that have not changed since.

    :param read: reads one folder; raises InputError where it cannot be read, which is never kept.
    :param kind: names what `read` makes, with its version: what another kind left does not count.
    """
    index = _Index()
    stamps = {folder: _stamp(folder, kind) for folder in folders}
    found: dict[Path, bytes | InputError] = dict(index.get(stamps))
    new: dict[Path, tuple[bytes, bytes]] = {}
    for folder in folders:
        if folder in found:
            continue
        try:
            found[folder] = content = read(folder)
        except InputError as error:
            found[folder] = error
            continue
        stamp = stamps[folder]
        if stamp is not None:
            new[folder] = (stamp, content)
    if new:
        index.put(new)
    return found


def _stamp(folder: Path, kind: str) -> bytes | None:
    """Return what changes whenever a run folder does: a hash over its header and over the times, sizes and inodes of what is read of it.

    None where that cannot be told, or something changed a moment ago.
    """
    now_ns = time.time_ns()
    root = os.fsencode(folder)
    digest = hashlib.sha256(f"{kind}\0".encode())
    try:
        digest.update(hashlib.sha256(read_document(folder / HEADER)).digest())
        for name, state in (*_states(root, os.fsencode(HEADER)), *_inner(root, POINTS, RESULT), *_inner(root, LAUNCHES, LAUNCH)):
            if now_ns - max(state.st_mtime_ns, state.st_ctime_ns) < _SETTLED_NS:
                return None
            numbers = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
            digest.update(name + b"\0" + repr(numbers).encode() + b"\0")
    except (OSError, InputError):
        return None
    return digest.digest()


def _inner(root: bytes, folder: str, file: str) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield the files of that name one level below a folder of a run, in the order of their paths; none where there is no such folder."""
    above = os.fsencode(folder)
    try:
        names = sorted(os.listdir(root + b"/" + above))  # noqa: PTH208 - a Path each for tens of thousands of files costs more than to read them
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        yield from _states(root, above + b"/" + name + b"/" + os.fsencode(file))


def _states(root: bytes, name: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yield a file's name and state, if it is there and a file."""
    try:
        state = os.stat(root + b"/" + name)  # noqa: PTH116 - as above
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISREG(state.st_mode):
        yield name, state


class _Index:
    """The file, opened under a lock for each of the two moments in which it is needed."""

    def __init__(self) -> None:
        try:
            self._folder: Path | None = index_folder()
            self._folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        except (OSError, RuntimeError):
            self._folder = None

    def get(self, stamps: Mapping[Path, bytes | None]) -> dict[Path, bytes]:
        """Return the contents of the folders whose stamps are those that were kept."""
        found: dict[Path, bytes] = {}
        with self._open() as database:
            if database is not None:
                query = "SELECT content FROM folder WHERE path = ? AND stamp = ?"
                for folder, stamp in stamps.items():
                    row = database.execute(query, (os.fsencode(folder), stamp)).fetchone() if stamp is not None else None
                    content = _unpacked(row[0], stamp) if row is not None and stamp is not None else None
                    if content is not None:
                        found[folder] = content
        return found

    def put(self, new: Mapping[Path, tuple[bytes, bytes]]) -> None:
        """Keep stamp and content of folders, and forget those that are gone."""
        rows = [(os.fsencode(folder), stamp, zlib.compress(stamp + content, _LEVEL)) for folder, (stamp, content) in new.items()]
        with self._open() as database:
            if database is not None:
                database.execute("BEGIN IMMEDIATE")
                kept = [path for (path,) in database.execute("SELECT path FROM folder")]
                gone = [(path,) for path in kept if not (isinstance(path, bytes) and _is_there(path))]
                database.executemany("DELETE FROM folder WHERE path = ?", gone)
                database.executemany("INSERT OR REPLACE INTO folder (path, stamp, content) VALUES (?, ?, ?)", rows)
                database.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """Yield the open file, whole and of our format, or None; what fails inside ends the block, and a broken file is removed."""
        with self._lock() as held:
            file = self._folder / FILE if held and self._folder is not None else None
            try:
                database = _connect(file) if file is not None else None
            except (*_FAULTS, OSError):
                database = None
            if database is None or file is None:
                yield None
                return
            try:
                with closing(database):
                    yield database
            except _FAULTS as error:
                if _is_broken(error):
                    _remove(file)

    @contextmanager
    def _lock(self) -> Iterator[bool]:
        """Hold the index for this process, if it can be had in time. SQLite's own locks do not reach the replacing of a broken file."""
        if self._folder is None:
            yield False
            return
        try:
            descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            yield False
            return
        try:
            yield _locked(descriptor)
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    end = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_POLL_S)
        except OSError:  # a file system without locks
            return False
        else:
            return True


def _connect(file: Path) -> sqlite3.Connection:
    """Open the file; one that is broken, foreign or of another format is made anew."""
    try:
        database = _opened(file)
    except _FAULTS as error:
        if not _is_broken(error):
            raise
        database = None
    if database is not None:
        return database
    _remove(file)
    database = sqlite3.connect(file, timeout=_WAIT_S, isolation_level=None)
    try:
        database.executescript(
            f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {INDEX_FORMAT};"
            "CREATE TABLE folder (path BLOB PRIMARY KEY, stamp BLOB NOT NULL, content BLOB NOT NULL);"
        )
    except BaseException:
        database.close()
        raise
    return database


def _opened(file: Path) -> sqlite3.Connection | None:
    """Return the open file if it is ours and of this format."""
    database = sqlite3.connect(file, timeout=_WAIT_S, isolation_level=None)
    try:
        database.text_factory = bytes
        marks = [database.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
        if marks == [(_APPLICATION,), (INDEX_FORMAT,)]:
            database.execute("SELECT path, stamp, content FROM folder LIMIT 1").fetchone()
            return database
    except BaseException:
        database.close()
        raise
    database.close()
    return None


def _unpacked(content: object, stamp: bytes) -> bytes | None:
    """Return a content as it was put in, or None where it is not whole or belongs to another stamp."""
    try:
        plain = zlib.decompress(content) if isinstance(content, bytes) else b""
    except zlib.error:
        return None
    return plain.removeprefix(stamp) if plain.startswith(stamp) else None


def _is_broken(error: Exception) -> bool:
    """Say whether the file is at fault: by SQLite's code, or because Python could not make sense of what it gave."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _BROKEN


def _remove(file: Path) -> None:
    for name in (f"{file}-journal", f"{file}-wal", f"{file}-shm", file):
        with suppress(OSError):
            Path(name).unlink(missing_ok=True)


def _is_there(path: bytes) -> bool:
    return os.path.exists(os.path.join(path, os.fsencode(HEADER)))  # noqa: PTH110, PTH118 - a Path holds no bytes
