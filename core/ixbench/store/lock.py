"""One run writes a run folder at a time: a lock that the kernel drops when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import stat
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from pathlib import Path

LOCK = "run.lock"


class FolderLock:
    """The held lock of a folder; children that are started by exec do not inherit it."""

    def __init__(self, folder: Path) -> None:
        """Take the lock at once.

        :raises InputError: if another process holds it, or the folder cannot be written.
        """
        path = folder / LOCK
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        except OSError as error:
            raise InputError(Fault(where=str(folder), problem=f"cannot be written: {LOCK}: {error.strerror}")) from error
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise InputError(Fault(where=str(path), problem="is no regular file", advice="remove it"))
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise InputError(
                Fault(
                    where=str(folder),
                    problem=f"{who} is running this folder",
                    advice="wait for it to end, or start a run of its own without --resume",
                )
            ) from error
        except OSError as error:
            os.close(self._descriptor)
            advice = "give another --results, on a file system with locks"
            raise InputError(Fault(where=str(path), problem=f"cannot be locked: {error.strerror or error}", advice=advice)) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next run in; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
