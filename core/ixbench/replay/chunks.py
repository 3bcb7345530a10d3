"""The JSON of one event of a completion stream, in the shapes that OpenAI-like servers use; unknown keys cost nothing and harm nothing."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class CachedDetails(msgspec.Struct, gc=False):
    """`usage.prompt_tokens_details`."""

    cached_tokens: int | None = None


class ReasoningDetails(msgspec.Struct, gc=False):
    """`usage.completion_tokens_details`."""

    reasoning_tokens: int | None = None


class Usage(msgspec.Struct, gc=False):
    """`usage`: token counts so far, or of the whole answer."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CachedDetails | None = None
    completion_tokens_details: ReasoningDetails | None = None


class Function(msgspec.Struct, gc=False):
    """The function of a tool call, or a piece of it."""

    name: str | None = None
    arguments: Any = None


class ToolCall(msgspec.Struct, gc=False):
    """A tool call, or a piece of it."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct, gc=False):
    """What a chunk adds to a chat message; fields that carry thinking are added by name in `event_decoder`."""

    content: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct, gc=False):
    """One of the answers of a request; its `delta` is added in `event_decoder`."""

    index: int | None = 0
    text: str | None = None
    """Of the completions API."""
    finish_reason: Any = None
    token_ids: list[int] | None = None


class StreamEvent(msgspec.Struct, gc=False):
    """One event; its `choices` are added in `event_decoder`."""

    usage: Usage | None = None
    error: Any = None
    object: Any = None
    message: Any = None
    """Of errors that have no `error` of their own."""


@lru_cache(maxsize=32)
def event_decoder(reasoning_fields: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """Return the decoder of events whose deltas carry thinking in these fields; it gives `StreamEvent`s with `choices`.

    Decoding raises `msgspec.DecodeError` (not JSON) or its subclass `ValidationError` (not the agreed shape).
    """
    fields: list[tuple[str, Any, Any]] = [(name, str | None, None) for name in reasoning_fields if name != "content"]
    delta = msgspec.defstruct("Delta", fields, bases=(Delta,), gc=False)
    choice = msgspec.defstruct("Choice", [("delta", delta | None, None)], bases=(Choice,), gc=False)
    event = msgspec.defstruct("StreamEvent", [("choices", list[choice] | None, None)], bases=(StreamEvent,), gc=False)  # type: ignore[valid-type]
    return msgspec.json.Decoder(event)


def decode_events(decoder: msgspec.json.Decoder[Any], data: Sequence[bytes]) -> list[Any] | None:
    """Return all events decoded in one go, which takes half the time; None where one of them needs a look of its own.

    Each must be one line that is an object. Between two objects no JSON value goes on, so if there are as many values as events, each
    event is one of them.
    """
    if not data or not all(one[:1] == b"{" and one[-1:] == b"}" and b"\n" not in one for one in data):
        return None
    try:
        found = decoder.decode_lines(b"\n".join(data))
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if len(found) == len(data) else None


def decode_event(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:  # noqa: ANN401 - the decoder's own struct
    """Return the decoded event.

    Bytes that are no UTF-8 become replacement characters, as the standard of event streams wants it; halves of surrogate pairs, which some
    servers send as escapes in two events, are kept for `interpret` to join.

    :raises ValueError: if the data is no JSON of the agreed shape.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(data.decode("utf-8", "replace"), parse_constant=_refuse), decoder.type)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
