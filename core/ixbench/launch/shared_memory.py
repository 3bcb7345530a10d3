"""Shared memory that killed processes leave: its files stand for main memory, and nobody takes them away but who made them.

A vLLM that is killed leaves some 400 MB a start, and so do the communication libraries of ranks on several GPUs.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path("/dev/shm")  # noqa: S108 - where Linux keeps POSIX shared memory
_MAPPED = re.compile(r"^\S+ \S+ \S+ \S+ (?P<inode>\d+) +(?P<path>/.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Segment:
    """One file of shared memory and no other: a name may be given again."""

    path: str
    inode: int


def present() -> frozenset[Segment]:
    """Return all that there are; empty where the machine has no such folder."""
    found = set()
    with suppress(OSError), os.scandir(FOLDER) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    found.add(Segment(path=entry.path, inode=entry.inode()))
    return frozenset(found)


def held(pids: Iterable[int]) -> frozenset[Segment]:
    """Return those that the processes have mapped or open, as far as we may look into them."""
    known = present()
    paths = {segment.path for segment in known}
    found: set[Segment] = set()
    for pid in pids if known else ():
        with suppress(OSError):
            for match in _MAPPED.finditer(Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")):
                if match["path"] in paths:
                    found.add(Segment(path=match["path"], inode=int(match["inode"])))
        with suppress(OSError):
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if (path := str(link.readlink())) in paths:
                        found.add(Segment(path=path, inode=link.stat().st_ino))
    # A container may have a folder of its own at the same place: its files are not ours to see.
    return frozenset(found & known)


def remove_unused(segments: Iterable[Segment]) -> tuple[str, ...]:
    """Remove those that nobody has any more, if they are this user's; return the paths of those that went."""
    left = set(segments) & present()
    left -= held(psutil.pids()) if left else set()
    removed = []
    for segment in sorted(left):
        with suppress(OSError):
            if Path(segment.path).stat().st_uid == os.getuid():
                Path(segment.path).unlink()
                removed.append(segment.path)
    return tuple(removed)
