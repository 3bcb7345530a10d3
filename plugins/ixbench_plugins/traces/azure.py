"""Reads Azure's lists of requests: a time, a prompt length and an answer length in each row, and no text."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from ixbench.api.workload import NS_PER_S
from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.json_object import quoted
from ixbench_plugins.agentx.weka_request import MOST_TOKENS
from ixbench_plugins.traces.lines import each_line, read_whole, version_of

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
FORM = f"a CSV file that begins with {HEADER}"
_CELLS = 3
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:\+00:00|Z)?", re.ASCII)
_TIME_FORM = "a time like 2023-11-16 18:17:03.9799600"
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureRow:
    """One request."""

    line: int
    arrival_ns: int
    """After the first row."""
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureRows:
    """All requests of a file, in the order of their times."""

    rows: tuple[AzureRow, ...]
    hash: str
    """Of the file's bytes."""


def read_azure(path: Path) -> AzureRows:
    """Return the requests of a file.

    :raises InputError: with every fault of the file, by line.
    """
    return _read(path, version_of(path))


@lru_cache(maxsize=4)
def _read(path: Path, _version: tuple[int, int] | None) -> AzureRows:
    """Read a file once for all points of a run; one that has changed is another file."""
    content = read_whole(path, FORM)
    reader = _Reader()
    faults = FaultList(str(path))
    each_line(path, content, faults, reader.line)
    if not reader.rows and not faults.count:
        faults.add("", "holds no request", allowed=FORM)
    faults.raise_any()
    return AzureRows(rows=tuple(reader.rows), hash=f"sha256:{hashlib.sha256(content).hexdigest()[:16]}")


class _Reader:
    """Reads line after line."""

    def __init__(self) -> None:
        self.rows: list[AzureRow] = []
        self._headed = False
        self._first_ns: int | None = None
        self._before: tuple[int, str] | None = None

    def line(self, line: bytes, faults: FaultList) -> None:
        """Take a line, or note what is wrong with it."""
        try:
            text = line.decode("ascii")
        except UnicodeDecodeError:
            faults.add("", "holds bytes that are no ASCII", allowed="digits, in three cells")
            return
        if not self._headed:
            self._headed = True
            if text != HEADER:
                faults.add("", f"{quoted(text)} is not the header", allowed=HEADER)
            return
        cells = text.split(",")
        if len(cells) != _CELLS:
            faults.add("", f"has {len(cells)} cells", allowed=f"three: {HEADER}")
            return
        moment_ns = self._time(cells[0], faults)
        prompt = _tokens("ContextTokens", cells[1], 1, faults)
        answer = _tokens("GeneratedTokens", cells[2], 0, faults)
        if moment_ns is not None and prompt is not None and answer is not None:
            first_ns = self._first_ns = moment_ns if self._first_ns is None else self._first_ns
            self.rows.append(AzureRow(line=faults.line or 0, arrival_ns=moment_ns - first_ns, input_tokens=prompt, output_tokens=answer))

    def _time(self, text: str, faults: FaultList) -> int | None:
        """Return nanoseconds since 1970."""
        found = _TIME.fullmatch(text)
        try:
            seconds = None if found is None else round(datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp())
        except ValueError:
            seconds = None
        if found is None or seconds is None:
            faults.add("TIMESTAMP", f"{quoted(text)} is no time", allowed=_TIME_FORM)
            return None
        moment_ns = seconds * NS_PER_S + int((found[2] or "").ljust(9, "0"))
        if self._before is not None and moment_ns < self._before[0]:
            faults.add("TIMESTAMP", f"{text} is earlier than the row before it ({self._before[1]})")
            return None
        self._before = moment_ns, text
        return moment_ns


def _tokens(name: str, text: str, least: int, faults: FaultList) -> int | None:
    allowed = f"a whole number, at least {least}, at most {MOST_TOKENS}"
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= MOST_TOKENS:
        faults.add(name, f"is {quoted(text)}" if text else "is empty", allowed=allowed)
        return None
    return int(text)
