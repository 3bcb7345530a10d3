"""The user's own traffic, read from JSON Lines: one conversation a line, every fault of the file found at once."""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF8
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ixbench.api.workload import Fault, InputError, Message, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

ROLES = ("system", "developer", "user", "assistant")
FORM = '{"text": "..."} or {"messages": [{"role": "user", "content": "..."}, ...]} on each line'
_KEYS = ("text", "messages")
_MESSAGE_KEYS = ("role", "content")
_MOST_FAULTS = 20
_SHOWN_CHARACTERS = 40


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


_Problem = tuple[str, str, str]
"""What was found, what is allowed, what to do."""


def _conversation(line: bytes, number: int) -> Conversation | list[_Problem]:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        return [(_unreadable(error), FORM, "")]
    if problems := _shape(value):
        return problems
    if "messages" in value:
        messages, problems = _messages(value["messages"])
        return problems or Conversation(line=number, messages=tuple(messages))
    text = value["text"]
    if isinstance(text, str) and text.strip() and _is_sendable(text):
        return Conversation(line=number, text=text)
    return [(f"text is {_kind(text)}", "a text that is not empty", "")]


def _unreadable(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON ({error.msg} at character {error.colno})"
    return "is nested too deeply" if isinstance(error, RecursionError) else "is no UTF-8 text"


def _shape(value: object) -> list[_Problem]:
    """Return what is wrong with a line as a whole."""
    if not isinstance(value, dict):
        return [(f"is {_kind(value)}, not an object", FORM, "")]
    if unknown := [key for key in value if key not in _KEYS]:
        return [(f"unknown key '{key}'", ", ".join(_KEYS), did_you_mean(key, _KEYS)) for key in unknown]
    if len(value) != 1:
        return [("has both text and messages" if value else "has neither text nor messages", FORM, "")]
    return []


def _messages(value: object) -> tuple[list[Message], list[_Problem]]:
    if not isinstance(value, list) or not value:
        return [], [(f"messages is {_kind(value)}", "a list of messages", "")]
    messages: list[Message] = []
    problems: list[_Problem] = []
    for place, item in enumerate(value):
        where = f"messages[{place}]"
        if not isinstance(item, dict):
            problems.append((f"{where} is {_kind(item)}, not an object", '{"role": "...", "content": "..."}', ""))
            continue
        problems += [
            (f"{where}: unknown key '{key}'", ", ".join(_MESSAGE_KEYS), did_you_mean(key, _MESSAGE_KEYS))
            for key in item
            if key not in _MESSAGE_KEYS
        ]
        role, content = item.get("role"), item.get("content")
        if role not in ROLES:
            advice = did_you_mean(role, ROLES) if isinstance(role, str) else ""
            problems.append((f"{where}: role is {_kind(role)}", ", ".join(ROLES), advice))
        elif not isinstance(content, str) or not _is_sendable(content):
            problems.append((f"{where}: content is {_kind(content)}", "a text", ""))
        else:
            messages.append(Message(role=role, content=content))
    if not problems and not any(message.role == "user" for message in messages):
        problems.append(("messages holds none of the user, so there is nothing to ask", "at least one message with role user", ""))
    return messages, problems


def _is_sendable(text: str) -> bool:
    """Whether the text has a form in UTF-8; JSON can escape half a character, which has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: Any) -> str:  # noqa: ANN401 - JSON values have any type
    """Return a JSON value in a few words."""
    if value is None:
        return "missing or null"
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}...") if value else "an empty text"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else repr(value)
