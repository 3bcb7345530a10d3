"""The user's own traffic, read from JSON Lines: one conversation a line, every fault of the file found at once."""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF8
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ixbench.api.workload import Fault, InputError, did_you_mean
from ixbench_plugins.traces.messages import describe_value, is_sendable, read_messages

if TYPE_CHECKING:
    from pathlib import Path

    from ixbench.api.workload import Message
    from ixbench_plugins.traces.messages import Problem

FORM = '{"text": "..."} or {"messages": [{"role": "user", "content": "..."}, ...]} on each line'
_KEYS = ("text", "messages")
_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One line of the file."""

    line: int
    text: str | None = None
    """Set for a single prompt."""
    messages: tuple[Message, ...] = ()
    """Set otherwise; at least one is the user's."""

    @property
    def turns(self) -> int:
        """Requests that it makes: one for each message of the user."""
        return 1 if self.text is not None else sum(message.role == "user" for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A file of conversations."""

    conversations: tuple[Conversation, ...]
    hash: str
    """Of the file's bytes."""

    @property
    def turns(self) -> int:
        """Requests of one pass."""
        return sum(conversation.turns for conversation in self.conversations)


def read_corpus(path: Path) -> Corpus:
    """Return the conversations of a file; empty lines are passed over.

    :raises InputError: if the file can't be read or a line is wrong: all of them at once, with their numbers.
    """
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except IsADirectoryError as error:
        raise InputError(Fault(where=str(path), problem="is a folder", allowed="a file of JSON lines")) from error
    except OSError as error:
        advice = 'give the file of your prompts with file = "..."' if isinstance(error, FileNotFoundError) else ""
        raise InputError(Fault(where=str(path), problem=f"cannot be read: {error.strerror}", advice=advice)) from error


@lru_cache(maxsize=8)
def _read(path: Path, _modified_ns: int, _size: int) -> Corpus:
    """Read a file once for all points of a run; one that has changed is another file."""
    content = path.read_bytes()
    conversations: list[Conversation] = []
    faults: list[Fault] = []
    for number, line in enumerate(content.removeprefix(BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        found = _conversation(line, number)
        if isinstance(found, Conversation):
            conversations.append(found)
        else:
            faults += [
                Fault(where=f"{path}: line {number}", problem=problem, allowed=allowed, advice=advice) for problem, allowed, advice in found
            ]
    if not conversations and not faults:
        faults.append(Fault(where=str(path), problem="holds no prompt", allowed=FORM))
    if faults:
        more = len(faults) - _MOST_FAULTS
        shown = faults[:_MOST_FAULTS]
        if more > 0:
            shown.append(Fault(where=str(path), problem=f"has {more} more faults"))
        raise InputError(shown)
    return Corpus(conversations=tuple(conversations), hash=f"sha256:{hashlib.sha256(content).hexdigest()[:16]}")


def _conversation(line: bytes, number: int) -> Conversation | list[Problem]:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        return [(_unreadable(error), FORM, "")]
    if problems := _shape(value):
        return problems
    if "messages" in value:
        messages, problems = read_messages(value["messages"])
        return problems or Conversation(line=number, messages=tuple(messages))
    text = value["text"]
    if isinstance(text, str) and text.strip() and is_sendable(text):
        return Conversation(line=number, text=text)
    return [(f"text is {describe_value(text)}", "a text that is not empty", "")]


def _unreadable(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON ({error.msg} at character {error.colno})"
    return "is nested too deeply" if isinstance(error, RecursionError) else "is no UTF-8 text"


def _shape(value: object) -> list[Problem]:
    """Return what is wrong with a line as a whole."""
    if not isinstance(value, dict):
        return [(f"is {describe_value(value)}, not an object", FORM, "")]
    if unknown := [key for key in value if key not in _KEYS]:
        return [(f"unknown key '{key}'", ", ".join(_KEYS), did_you_mean(key, _KEYS)) for key in unknown]
    if len(value) != 1:
        return [("has both text and messages" if value else "has neither text nor messages", FORM, "")]
    return []
