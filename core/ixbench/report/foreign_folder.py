"""Folders of foreign result files: what is looked at in them. Tools leave results among logs and inputs, in a folder for each run."""

from __future__ import annotations

import os
from pathlib import Path

from ixbench.model.errors import Fault, InputError
from ixbench.model.regular_file import is_regular
from ixbench.store.folder import is_run_folder

MOST_FILES = 10_000
"""Files that are looked at in a folder; more are rather a home folder than results."""


def files_in(folder: Path) -> tuple[Path, ...]:
    """Return the files in a folder and in the folders below it, by path.

    Left out are hidden files and folders, linked folders, what is no regular file, and run folders, which are no foreign results.

    :raises InputError: if the folder cannot be read, is a run folder itself, or holds too many files.
    """
    if is_run_folder(folder):
        advice = f"ixbench report {folder} reads it as it is"
        raise InputError(Fault(where=str(folder), problem="is a run folder", allowed="result files of other tools", advice=advice))
    found: list[Path] = []

    def refuse(error: OSError) -> None:
        raise InputError(Fault(where=str(error.filename or folder), problem=f"cannot be read: {error.strerror or error}")) from error

    for place, folders, names in os.walk(folder, onerror=refuse):
        if is_run_folder(Path(place)):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [path for name in sorted(names) if not name.startswith(".") and is_regular(path := Path(place, name))]
        if len(found) > MOST_FILES:
            advice = "name the folders or the files that hold results"
            raise InputError(Fault(where=str(folder), problem=f"holds more than {MOST_FILES:,} files", advice=advice))
    return tuple(found)
