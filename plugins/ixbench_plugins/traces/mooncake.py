"""Mooncake traces: a request a line, as lengths and ids of blocks, as a text, or as messages; lines of one session are a conversation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.json_object import quoted
from ixbench_plugins.traces.lines import each_line, read_whole, version_of
from ixbench_plugins.traces.mooncake_line import LineReader

if TYPE_CHECKING:
    from pathlib import Path

    from ixbench_plugins.traces.mooncake_line import Line

FORM = 'a file of lines like {"timestamp": 0, "input_length": 655, "output_length": 52, "hash_ids": [46, 47]}'
_KINDS = {"tokens": "input_length", "text": "text_input", "messages": "messages", "payload": "payload"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MooncakeConversation:
    """Lines of one session, or a line that has none."""

    session: str | None
    lines: tuple[Line, ...]

    @property
    def stream(self) -> str:
        """Where it begins; no other conversation has the same."""
        return f"line {self.lines[0].number}"

    @property
    def name(self) -> str:
        """The session's id, or where the line stands."""
        return self.stream if self.session is None else self.session

    @property
    def arrival_ns(self) -> int | None:
        """When its first request was sent, by the clock of the recording; None where it has no time."""
        return self.lines[0].timestamp_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Mooncake:
    """A whole file."""

    file: str
    conversations: tuple[MooncakeConversation, ...]
    """In the order of their times where they have any, else in that of the file."""
    timed: bool
    """Whether the recording tells when conversations begin."""
    hash: str
    """Of the file's bytes."""


def read_mooncake(path: Path) -> Mooncake:
    """Return the conversations of a file.

    :raises InputError: with every fault of the file, by line.
    """
    return _read(path, version_of(path))


@lru_cache(maxsize=4)
def _read(path: Path, _version: tuple[int, int] | None) -> Mooncake:
    """Read a file once for all points of a run; one that has changed is another file."""
    content = read_whole(path, FORM)
    faults = FaultList(str(path))
    reader = LineReader()
    each_line(path, content, faults, reader.read)
    if not reader.lines and not faults.count:
        faults.add("", "holds no request", allowed=FORM)
    conversations = _conversations(str(path), reader.lines, faults)
    faults.raise_any()
    timed = conversations[0].arrival_ns is not None
    if timed:
        conversations.sort(key=lambda conversation: conversation.arrival_ns or 0)
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Mooncake(file=str(path), conversations=tuple(conversations), timed=timed, hash=f"sha256:{digest}")


def _conversations(file: str, lines: list[Line], faults: FaultList) -> list[MooncakeConversation]:
    """Put lines of one session together, and note what does not go together."""
    sessions: dict[str | int, list[Line]] = {}
    for line in lines:
        sessions.setdefault(line.number if line.session is None else line.session, []).append(line)
    timed: bool | None = None
    literal: bool | None = None
    for found in sessions.values():
        first, *others = found
        if literal is None:
            literal = first.kind != "tokens"
        elif literal != (first.kind != "tokens"):
            has = "texts" if literal else "lengths"
            _tell(file, first, _KINDS[first.kind], f"lines before it hold {has}; lengths and texts cannot be mixed in one file", faults)
        if timed is None:
            timed = first.timestamp_ns is not None
        elif timed != (first.timestamp_ns is not None):
            has = "no timestamp, although the conversations" if timed else "a timestamp, although those"
            _tell(file, first, "timestamp", f"there is {has} before it have {'one' if timed else 'none'}", faults)
        before = first
        for line in others:
            _check_turn(file, first, before, line, faults)
            before = line
    return [MooncakeConversation(session=found[0].session, lines=tuple(found)) for found in sessions.values()]


def _check_turn(file: str, first: Line, before: Line, line: Line, faults: FaultList) -> None:
    session = quoted(line.session or "")
    if line.kind != first.kind:
        problem = f"session {session} mixes {_KINDS[line.kind]} with the {_KINDS[first.kind]} of line {first.number}"
        _tell(file, line, _KINDS[line.kind], problem, faults)
    elif line.kind == "tokens" and before.output_tokens is None:
        problem = f"is missing, and line {line.number} of session {session} goes on with an answer of that length"
        _tell(file, before, "output_length", problem, faults)
    if line.timestamp_ns is None:
        return
    if line.delay_ns is not None:
        _tell(file, line, "delay", "is given with timestamp; a later turn of a session begins by one of them", faults)
    if first.timestamp_ns is None:
        problem = f"line {first.number}, with which session {session} begins, has none that it could be counted from"
        _tell(file, line, "timestamp", problem, faults)
    elif before.timestamp_ns is not None and line.timestamp_ns < before.timestamp_ns:
        _tell(file, line, "timestamp", f"is earlier than that of line {before.number}, the turn before it in session {session}", faults)


def _tell(file: str, line: Line, path: str, problem: str, faults: FaultList) -> None:
    found = FaultList(file, line.number)
    found.add(path, problem)
    faults.extend(found)
