"""Reads one line of a Mooncake trace. Strict: what is unknown, impossible, or cannot be sent as it stands is a fault with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ixbench.api.workload import counted, describe_value, did_you_mean, is_sendable, read_messages
from ixbench_plugins.agentx.json_object import LARGEST_INTEGER, quoted
from ixbench_plugins.agentx.weka_request import MOST_TOKENS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ixbench.api.workload import Message
    from ixbench_plugins.agentx.faults import FaultList

BLOCK_TOKENS = 512
NS_PER_MS = 1_000_000
MOST_MS = 1e13
"""Three hundred years: a later time is a mistake."""

LineKind = Literal["tokens", "text", "messages", "payload"]
_CONTENTS: dict[str, LineKind] = {"input_length": "tokens", "text_input": "text", "messages": "messages", "payload": "payload"}
KEYS = ("timestamp", "output_length", "hash_ids", "session_id", "delay", "tools", "extra", *_CONTENTS)
_LENGTHS = f"a whole number, at least 1, at most {MOST_TOKENS}"
_CLIENTS = ("model", "stream", "stream_options")
"""Keys of a body that every client sets by itself."""
_LIMITS = ("max_tokens", "max_completion_tokens")
_FIXED = {"temperature": 0, "n": 1}
"""Keys of a body with the value that all requests have."""
_BODY = ("ignore_eos", *_FIXED)
"""Keys of a body that can be honoured."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """One request."""

    number: int
    """Line of the file, from 1."""
    kind: LineKind
    """What its prompt is given as."""
    session: str | None = None
    timestamp_ns: int | None = None
    delay_ns: int | None = None
    """Wait before it: after the answer before, or after the session's arrival."""
    input_tokens: int = 0
    block_ids: NDArray[np.int64] | None = None
    """One for each 512 tokens or part of them, or None where the prompt is like no other."""
    text: str | None = None
    messages: tuple[Message, ...] = ()
    output_tokens: int | None = None
    """As recorded, 0 included, which is sent as 1. None: the server's own limit."""
    exact_length: bool = False


class _NoJsonError(Exception):
    pass


class LineReader:
    """Reads lines, and keeps those that are right."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def read(self, text: bytes, faults: FaultList) -> None:
        """Take a line, or note all that is wrong with it."""
        try:
            value = _decoded(text)
        except _NoJsonError as error:
            faults.add("", str(error))
            return
        if not isinstance(value, dict):
            faults.add("", f"is {describe_value(value)}, not an object")
            return
        line = _Fields(value, faults).line()
        if not faults.count:
            self.lines.append(line)


def _decoded(text: bytes) -> object:
    """Return the value of a JSON text.

    :raises _NoJsonError: if it is none, or one that readers take in different ways.
    """
    try:
        return json.loads(text.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _NoJsonError(f"is no JSON ({error.msg} at character {error.colno})") from error
    except UnicodeDecodeError as error:
        raise _NoJsonError(f"is no UTF-8 text ({error.reason} at byte {error.start})") from error
    except RecursionError as error:
        raise _NoJsonError("is nested too deeply") from error
    except ValueError as error:
        # What Python refuses to convert, as it could take for ever.
        raise _NoJsonError("holds a number of thousands of digits") from error


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise _NoJsonError(f"the key {quoted(twice)} appears twice in one object")
    return found


def _refuse_constant(name: str) -> object:
    raise _NoJsonError(f"holds {name}, which is no number")


class _Fields:
    """The keys of one line."""

    def __init__(self, value: dict[str, Any], faults: FaultList) -> None:
        self._value = value
        self._faults = faults
        self._exact: bool | None = None
        self._limit: int | None = None

    def line(self) -> Line:
        """Return the line; it means nothing where a fault was noted."""
        value = self._value
        for key in value:
            if key not in KEYS:
                self._faults.add(key, f"unknown key {quoted(key)}", allowed=", ".join(KEYS), advice=did_you_mean(key, KEYS))
        kinds = [key for key in _CONTENTS if key in value]
        if len(kinds) != 1:
            self._faults.add("", f"has {' and '.join(kinds) or 'no prompt'}", allowed=f"one of {', '.join(_CONTENTS)}")
        kind = _CONTENTS[kinds[0]] if kinds else "tokens"
        if "tools" in value:
            reason = "the messages of a request hold texts alone here"
            self._faults.add("tools", f"cannot be sent: {reason}", advice="take them out, or give input_length instead")
        tokens, ids = self._tokens() if kind == "tokens" else (0, None)
        if kind != "tokens" and "hash_ids" in value:
            self._faults.add("hash_ids", "belongs to input_length, which is not given")
        text, messages = self._literal(kind)
        if "extra" in value:
            self._body("extra", value["extra"], ())
        output = self._length("output_length", least=0)
        if output is None:
            output = self._limit
        elif self._limit is not None and self._limit != output:
            self._faults.add("output_length", f"is {output}, and the limit in the payload is {self._limit}")
        if self._exact and output is None:
            self._faults.add("output_length", "is missing, and ignore_eos would let the answer go on without end")
        exact = (kind == "tokens") if self._exact is None else self._exact
        return Line(
            number=self._faults.line or 0,
            kind=kind,
            session=self._session(),
            timestamp_ns=self._time("timestamp"),
            delay_ns=self._time("delay"),
            input_tokens=tokens,
            block_ids=ids,
            text=text,
            messages=messages,
            output_tokens=output,
            exact_length=exact and output is not None,
        )

    def _tokens(self) -> tuple[int, NDArray[np.int64] | None]:
        tokens = self._length("input_length", least=1)
        ids = self._value.get("hash_ids")
        if "hash_ids" not in self._value:
            return tokens or 0, None
        if not isinstance(ids, list):
            self._faults.add("hash_ids", f"is {describe_value(ids)}, not a list of whole numbers")
            return tokens or 0, None
        wrong: list[int] = []
        if not set(map(type, ids)) <= {int} or (ids and not 0 <= min(ids) <= max(ids) <= LARGEST_INTEGER):
            wrong = [place for place, number in enumerate(ids) if type(number) is not int or not 0 <= number <= LARGEST_INTEGER]
        for place in wrong:
            self._faults.add(f"hash_ids[{place}]", f"is {describe_value(ids[place])}", allowed=f"a whole number, 0 to {LARGEST_INTEGER}")
        if tokens is not None and len(ids) != (fit := -(-tokens // BLOCK_TOKENS)):
            problem = f"{counted(len(ids), 'block id')} for {counted(tokens, 'token')}; blocks of {BLOCK_TOKENS} tokens give {fit}"
            self._faults.add("hash_ids", problem)
        return tokens or 0, None if wrong else np.array(ids, dtype=np.int64)

    def _literal(self, kind: LineKind) -> tuple[str | None, tuple[Message, ...]]:
        value = self._value
        if kind == "text":
            return self._text("text_input", value["text_input"]), ()
        if kind == "messages":
            return None, self._messages("messages", value["messages"])
        if kind == "payload":
            return self._payload(value["payload"])
        return None, ()

    def _text(self, path: str, value: object) -> str | None:
        if isinstance(value, str) and value.strip() and is_sendable(value):
            return value
        self._faults.add(path, f"is {describe_value(value)}", allowed="a text that is not empty")
        return None

    def _messages(self, path: str, value: object) -> tuple[Message, ...]:
        messages, problems = read_messages(value, path)
        for problem, allowed, advice in problems:
            self._faults.add("", problem, allowed=allowed, advice=advice)
        return tuple(messages)

    def _payload(self, value: object) -> tuple[str | None, tuple[Message, ...]]:
        if not isinstance(value, dict):
            self._faults.add("payload", f"is {describe_value(value)}, not an object")
            return None, ()
        prompts = [key for key in ("messages", "prompt") if key in value]
        if len(prompts) != 1:
            self._faults.add("payload", f"has {' and '.join(prompts) or 'no prompt'}", allowed="either messages or prompt")
            return None, ()
        self._body("payload", value, (prompts[0], *_CLIENTS, *_LIMITS))
        limits = [key for key in _LIMITS if key in value]
        if len(limits) > 1:
            self._faults.add("payload", f"has {' and '.join(limits)}", allowed="one of them")
        elif limits:
            limit = value[limits[0]]
            if type(limit) is int and 1 <= limit <= MOST_TOKENS:
                self._limit = limit
            else:
                self._faults.add(f"payload.{limits[0]}", f"is {describe_value(limit)}", allowed=_LENGTHS)
        if prompts[0] == "prompt":
            return self._text("payload.prompt", value["prompt"]), ()
        return None, self._messages("payload.messages", value["messages"])

    def _body(self, path: str, value: object, taken: tuple[str, ...]) -> None:
        """Look at keys of a request body: only what would be sent anyway, or can be asked of every engine, goes through."""
        if not isinstance(value, dict):
            self._faults.add(path, f"is {describe_value(value)}, not an object")
            return
        for key, found in value.items():
            if key in taken:
                continue
            if key not in _BODY:
                reason = "what a request may hold besides its prompt is the engine adapter's matter"
                self._faults.add(f"{path}.{key}", f"cannot be sent: {reason}", allowed=", ".join((*taken, *_BODY)))
            elif key == "ignore_eos":
                if isinstance(found, bool):
                    self._exact = found
                else:
                    self._faults.add(f"{path}.{key}", f"is {describe_value(found)}", allowed="true or false")
            elif isinstance(found, bool) or found != _FIXED[key]:
                problem = f"is {describe_value(found)}, and all requests have {_FIXED[key]}"
                self._faults.add(f"{path}.{key}", problem, allowed=str(_FIXED[key]))

    def _length(self, key: str, *, least: int) -> int | None:
        found = self._value.get(key)
        if key not in self._value:
            return None
        if type(found) is int and least <= found <= MOST_TOKENS:
            return found
        self._faults.add(key, f"is {describe_value(found)}", allowed=f"a whole number, at least {least}, at most {MOST_TOKENS}")
        return None

    def _time(self, key: str) -> int | None:
        found = self._value.get(key)
        if key not in self._value:
            return None
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= MOST_MS:
            return round(found * NS_PER_MS)
        self._faults.add(key, f"is {describe_value(found)}", allowed=f"milliseconds, at least 0, at most {MOST_MS:.0f}")
        return None

    def _session(self) -> str | None:
        found = self._value.get("session_id")
        if "session_id" not in self._value:
            return None
        if isinstance(found, str) and found and is_sendable(found):
            return found
        self._faults.add("session_id", f"is {describe_value(found)}", allowed="a text that is not empty")
        return None
