"""A file of lines, as bytes: what can be wrong with it as a whole is told before any line is looked at."""

from __future__ import annotations

import re
import stat
from codecs import BOM_UTF8
from contextlib import suppress
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.faults import MOST, FaultList, TooManyFaultsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_BYTES = 512 * 1024 * 1024
"""Published traces have a twentieth of it."""
MOST_LINE_BYTES = 64 * 1024 * 1024
_FILLED = re.compile(rb"\S[^\n]*")


def read_whole(path: Path, allowed: str, *, marked: bool = False) -> bytes:
    """Return the bytes of a file.

    :param allowed: what the file should be, in words.
    :param marked: whether it may begin with a byte order mark, which is left out then.
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
    if marked:
        content = content.removeprefix(BOM_UTF8)
    elif content.startswith(BOM_UTF8):
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
    for number, line in numbered(content):
        found = FaultList(str(path), number)
        with suppress(TooManyFaultsError):
            if len(line) > MOST_LINE_BYTES:
                found.add("", f"is longer than {MOST_LINE_BYTES} bytes")
            else:
                read(line.removesuffix(b"\r"), found)
        full = faults.count >= MOST
        faults.extend(found)
        if full and found.count:
            return


def numbered(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank with their numbers, one after the other: a list of all would be many times the file."""
    number, counted = 1, 0
    for found in _FILLED.finditer(content):
        number += content.count(b"\n", counted, found.start())
        counted = found.start()
        yield number, content[content.rfind(b"\n", 0, counted) + 1 : found.end()]
