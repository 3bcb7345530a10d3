"""The user's own traffic, read from JSON Lines: one conversation a line, every fault of the file found at once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ixbench.api.workload import Fault, InputError, describe_value, did_you_mean, is_sendable, read_messages
from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.traces.lines import each_line, read_whole

if TYPE_CHECKING:
    from pathlib import Path

    from ixbench.api.workload import Message, Problem

FORM = '{"text": "..."} or {"messages": [{"role": "user", "content": "..."}, ...]} on each line'
FILE = "a file of JSON lines"
_KEYS = ("text", "messages")
_TEXT_ELSEWHERE = ("prompt", "text_input", "input", "content", "question", "query", "instruction")
"""What other tools call the text of a single request."""
_LIMIT_ELSEWHERE = ("max_tokens", "max_completion_tokens", "max_new_tokens", "output_tokens", "output_length", "output_len", "n_predict")
"""What they call the limit of its answer."""
_PAYLOAD = ("model", "stream", "stream_options")
"""Keys of a request's body that the client sets itself."""


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
class PromptsFile:
    """A file of conversations."""

    conversations: tuple[Conversation, ...]
    hash: str
    """Of the file's bytes, without a byte order mark."""

    @property
    def turns(self) -> int:
        """Requests of one pass."""
        return sum(conversation.turns for conversation in self.conversations)


def read_prompts_file(path: Path) -> PromptsFile:
    """Return the conversations of a file; empty lines are passed over.

    :raises InputError: if the file can't be read or a line is wrong: all of them at once, with their numbers.
    """
    try:
        state = path.stat()
        return _read(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        advice = 'give the file of your prompts with file = "..."' if isinstance(error, FileNotFoundError) else ""
        raise InputError(Fault(where=str(path), problem=f"cannot be read: {error.strerror}", advice=advice)) from error


@lru_cache(maxsize=8)
def _read(path: Path, _modified_ns: int, _size: int) -> PromptsFile:
    """Read a file once for all points of a run; one that has changed is another file."""
    content = read_whole(path, FILE, marked=True)
    conversations: list[Conversation] = []
    faults = FaultList(str(path))

    def read(line: bytes, wrong: FaultList) -> None:
        found = _conversation(line, wrong.line or 0)
        if isinstance(found, Conversation):
            conversations.append(found)
            return
        for problem, allowed, advice in found:
            wrong.add("", problem, allowed=allowed, advice=advice)

    each_line(path, content, faults, read)
    if not conversations and not faults.count:
        faults.add("", "holds no prompt", allowed=FORM)
    faults.raise_any()
    return PromptsFile(conversations=tuple(conversations), hash=f"sha256:{hashlib.sha256(content).hexdigest()[:16]}")


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
    if isinstance(error, UnicodeDecodeError):
        return "is no UTF-8 text"
    return "is nested too deeply" if isinstance(error, RecursionError) else "holds a number of thousands of digits"


def _shape(value: object) -> list[Problem]:
    """Return what is wrong with a line as a whole."""
    if not isinstance(value, dict):
        return [(f"is {describe_value(value)}, not an object", FORM, "")]
    if unknown := [key for key in value if key not in _KEYS]:
        return [(f"unknown key '{key}'", ", ".join(_KEYS), _advice(key)) for key in unknown]
    if len(value) != 1:
        return [("has both text and messages" if value else "has neither text nor messages", FORM, "")]
    return []


def _advice(key: str) -> str:
    """Return what to write in the place of a key that is none of the file's."""
    if key in _TEXT_ELSEWHERE:
        return "call it 'text'"
    if key in _LIMIT_ELSEWHERE:
        return (
            "leave it out and limit all answers by output_tokens = N in [workload] (bench: --set output_tokens=N); "
            'use = "mooncake" takes a limit for each request, as output_length beside text_input'
        )
    return "leave it out: ixbench sets it" if key in _PAYLOAD else did_you_mean(key, _KEYS)
