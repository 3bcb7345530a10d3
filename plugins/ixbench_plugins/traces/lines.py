"""A file of lines, as bytes: what can be wrong with it as a whole is told before any line is looked at."""

from __future__ import annotations

import stat
from codecs import BOM_UTF8
from contextlib import suppress
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.faults import MOST, FaultList, TooManyFaultsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_BYTES = 2 * 1024 * 1024 * 1024
"""Published traces have a hundredth of it."""


def read_whole(path: Path, allowed: str) -> bytes:
    """Return the bytes of a file.

    :param allowed: what the file should be, in words.
    :raises InputError: if it cannot be read, is none, is too large, or begins with a byte order mark.
    """
    faults = FaultList(str(path))
    content = b""
    try:
        state = path.stat()
        if stat.S_ISDIR(state.st_mode):
            faults.add("", "is a folder", allowed=allowed)
        elif not stat.S_ISREG(state.st_mode):
            faults.add("", "is no file", allowed=allowed)
        elif state.st_size > MOST_BYTES:
            faults.add("", f"is larger than {MOST_BYTES} bytes", allowed=allowed)
        else:
            content = path.read_bytes()
    except OSError as error:
        faults.add("", f"cannot be read: {error.strerror}", advice=f"give {allowed}" if isinstance(error, FileNotFoundError) else "")
    if content.startswith(BOM_UTF8):
        faults.add("", "starts with a UTF-8 byte order mark", advice="save it without one")
    faults.raise_any()
    return content


def version_of(path: Path) -> tuple[int, int] | None:
    """Return what changes with the content of a file; None where it cannot be seen."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return None
    return state.st_mtime_ns, state.st_size


def each_line(path: Path, content: bytes, faults: FaultList, read: Callable[[bytes, FaultList], None]) -> None:
    """Have every line read that is not blank; what is wrong with it goes to `faults`, as far as there is room."""
    for number, line in _numbered(content):
        found = FaultList(str(path), number)
        with suppress(TooManyFaultsError):
            read(line, found)
        full = faults.count >= MOST
        faults.extend(found)
        if full and found.count:
            return


def _numbered(content: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, line.removesuffix(b"\r")
