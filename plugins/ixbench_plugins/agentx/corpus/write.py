"""Writes a corpus into a folder: one file a trace, each whole or not there, and never over what is not this corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.workload import Fault, InputError
from ixbench_plugins.agentx.corpus.encode import encode
from ixbench_plugins.agentx.corpus.generate import generate_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ixbench_plugins.agentx.corpus.profile import CorpusProfile

MOST_SESSIONS = 10_000
"""File names have four digits, so that their order is the order of the corpus."""

_PART = ".part"
"""Ends the name of a file that is being written."""
_ALLOWED = "a new or empty folder, or one that holds only files of this very corpus"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCorpus:
    """What stands in the folder now."""

    traces: int
    kept: int
    """Traces whose files were there before."""
    requests: int
    size_bytes: int


def write_corpus(profile: CorpusProfile, sessions: int, seed: int, out: Path, *, on_trace: Callable[[int], None]) -> WrittenCorpus:
    """Write the files that are missing; those that are there must be this corpus' own, byte by byte.

    :param on_trace: called with the number of traces that are done.
    :raises InputError: if the folder can't be used or holds anything else; then nothing was written.
    """
    indexes = {f"trace_{index:04d}.json": index for index in range(sessions)}
    present = _names(out)
    kept = [name for name in present if name in indexes]
    foreign = [name for name in present if name.removesuffix(_PART) not in indexes]
    foreign += [name for name in kept if not _holds(out / name, _content(profile, seed, indexes[name])[0])]
    if foreign:
        raise InputError(
            Fault(
                where=f"--out {out}",
                problem=f"holds what is not of this corpus: {_listed(foreign)}",
                allowed=_ALLOWED,
                advice="choose another folder",
            )
        )
    requests = size = 0
    for name, index in indexes.items():
        content, count = _content(profile, seed, index)
        if name not in kept:
            part = out / f"{name}{_PART}"
            part.write_bytes(content)
            part.replace(out / name)
        requests += count
        size += len(content)
        on_trace(index + 1)
    return WrittenCorpus(traces=sessions, kept=len(kept), requests=requests, size_bytes=size)


def _content(profile: CorpusProfile, seed: int, index: int) -> tuple[bytes, int]:
    """Return the bytes of a file and the number of requests in it."""
    trace = generate_trace(profile, seed, index)
    return "".join(encode(trace)).encode("ascii"), trace.requests


def _names(out: Path) -> list[str]:
    """Return what the folder holds, and make it where it is missing."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        return sorted(path.name for path in out.iterdir())
    except FileExistsError as error:
        raise InputError(Fault(where=f"--out {out}", problem="is a file", allowed=_ALLOWED)) from error
    except OSError as error:
        raise InputError(Fault(where=f"--out {out}", problem=f"cannot be used: {error.strerror}", allowed=_ALLOWED)) from error


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(repr, sorted(names)[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
