"""A temporary folder of each launch's own, so that what an engine leaves in it (sockets, lock files, traces) goes with the launch."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

VARIABLE = "TMPDIR"
REASON = "a temporary folder of its own, removed with all that the engine leaves in it"
_PREFIX = "ixbench-"
_OWNED = ".ixbench-launch"
"""A file in the folder that holds the launch's marker: nothing else is ever removed."""
_LONGEST = 48
"""Longest usual path: engines put Unix sockets with names of some 40 bytes there, and a socket's path has room for 107."""
_SHORT = "/tmp"  # noqa: S108 - only a parent; the folder itself is made by mkdtemp


def make_tmp(marker: str) -> Path:
    """Make a launch's folder, readable by this user only, with a short path.

    :raises OSError: if the machine's temporary folder can't be written.
    """
    usual = tempfile.gettempdir()
    base = _SHORT if len(usual) > _LONGEST - len(_PREFIX) and os.access(_SHORT, os.W_OK | os.X_OK) else usual
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    (folder / _OWNED).write_text(marker, encoding="utf-8")
    return folder


def is_tmp_of(folder: Path, marker: str) -> bool:
    """Whether the folder was made for the launch with this marker."""
    if not folder.name.startswith(_PREFIX) or folder.is_symlink():
        return False
    with suppress(OSError, ValueError):
        return (folder / _OWNED).read_text(encoding="utf-8") == marker
    return False


def remove_tmp(folder: Path, marker: str) -> str | None:
    """Remove a launch's folder with all it holds; return why that is not possible, or None if it is gone. Links in it are not followed."""
    if not folder.exists():
        return None
    if not is_tmp_of(folder, marker):
        return f"{folder} was not made for this launch and is left alone"
    try:
        shutil.rmtree(folder)
    except OSError as error:
        with suppress(OSError):
            # So that the next try still knows whose it is.
            (folder / _OWNED).write_text(marker, encoding="utf-8")
        return f"{folder} cannot be removed: {error.strerror or error}"
    return None
