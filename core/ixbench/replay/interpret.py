"""From raw events to what a record holds: kinds, tokens, text, usage, reasons. Pure; it runs after the stream has ended.

The work comes in batches (`feed`), so that a long answer does not hold up the event loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ixbench.model.printable import as_text
from ixbench.model.record import CONTENT_KINDS
from ixbench.replay.chunks import decode_event, decode_events, event_decoder
from ixbench.replay.error_text import message_of
from ixbench.replay.sse import DONE, LARGEST_EVENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ixbench.host.contracts.engine import StreamQuirks
    from ixbench.model.record import ChunkKind
    from ixbench.replay.chunks import Usage
    from ixbench.replay.sse import Event

_LARGEST_COUNT = 2**31 - 1
MOST_CHOICES = 4096
"""Answers of one request; each costs a look."""
_LONGEST_ERROR = 1 << 16
_BY_WEIGHT: tuple[ChunkKind, ...] = ("text", "tool", "think", "finish", "role")
"""What an event with several choices counts as: the first that one of them is."""
LIMIT_REASONS = frozenset({"length", "max_tokens"})
"""Finish reasons of an answer that its limit of tokens ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReading:
    """What the events of one response say."""

    kinds: tuple[ChunkKind, ...] = ()
    """One an event, in order."""
    tokens: tuple[int | None, ...] = ()
    """Output tokens in each event, where the server tells."""
    text: str = ""
    """Answer of choice 0."""
    thinking: str = ""
    """Reasoning of choice 0."""
    tool_calls: int = 0
    """Tool calls of choice 0."""
    finish_reason: str | None = None
    """First non-null reason of choice 0, as sent."""
    done_seen: bool = False
    usage_input: int | None = None
    usage_cached: int | None = None
    usage_output: int | None = None
    usage_reasoning: int | None = None
    error: str | None = None
    """Text of the first error event."""
    malformed: str | None = None
    """Why the first event that is not valid is none."""

    @property
    def content_events(self) -> tuple[int, ...]:
        """Positions of the events that carry text, thinking or a tool call."""
        return tuple([position for position, kind in enumerate(self.kinds) if kind in CONTENT_KINDS])


def limit_reached(finish_reason: str | None, *, output: int | None, asked: int | None, reliable: bool) -> bool:
    """Say whether the output limit ended the answer; where the engine's reason is not reliable, the count decides too.

    :param output: tokens of the answer as the server counts them; None = it does not tell.
    :param asked: the limit; None = the server's own.
    :param reliable: as `StreamQuirks.finish_reason_reliable` says.
    """
    if finish_reason in LIMIT_REASONS:
        return True
    return not reliable and output is not None and asked is not None and output >= asked


@dataclass(slots=True)
class Interpreter:
    """Reads the events of one response in order, then gives the `ResponseReading`."""

    quirks: StreamQuirks
    _kinds: list[ChunkKind] = field(default_factory=list)
    _ids: dict[int, int] = field(default_factory=dict)
    """Token ids counted in the events that hold some, by position."""
    _totals: dict[int, int] = field(default_factory=dict)
    """Running completion tokens of events that have choices too, by position."""
    _text: list[str] = field(default_factory=list)
    _thinking: list[str] = field(default_factory=list)
    _calls: set[int | str] = field(default_factory=set)
    _finish_reason: str | None = None
    _usage: Usage | None = None
    _choices: set[int] = field(default_factory=set)
    """Indices of the choices in events that hold more than a piece of text: only such events have running usage, which this is for."""
    _error: str | None = None
    _malformed: str | None = None
    _done: bool = False

    def feed(self, events: Sequence[Event]) -> None:
        """Take the next events; [DONE] can only be the last one."""
        decoder = event_decoder(self.quirks.reasoning_fields)
        done = bool(events) and events[-1].data == DONE
        said = events[:-1] if done else events
        data = [event.data for event in said]
        decoded = decode_events(decoder, data) if sum(map(len, data)) <= LARGEST_EVENT_BYTES else None
        if decoded is not None:
            self._take_all(said, decoded)
        else:
            for event in said:
                self._take_alone(event, decoder)
        if done:
            self._done = True
            self._kinds.append("done")

    def _take_all(self, events: Sequence[Event], decoded: Sequence[Any]) -> None:
        """Take decoded events: here those that are a piece of text of the one choice, as nearly all are, the others one by one."""
        kinds, texts = self._kinds, self._text
        thoughts, none = _thoughts(self.quirks.reasoning_fields)
        for event, one in zip(events, decoded, strict=True):
            choices = one.choices
            if choices and len(choices) == 1 and one.usage is None and one.error is None and not event.name:
                choice = choices[0]
                delta = choice.delta
                text = choice.text if delta is None else delta.content
                if (
                    text
                    and not choice.index
                    and choice.finish_reason is None
                    and choice.token_ids is None
                    and (delta is None or (not choice.text and delta.tool_calls is None and thoughts(delta) == none))
                ):
                    kinds.append("text")
                    texts.append(text)
                    continue
            self._take(event, one)

    def _take_alone(self, event: Event, decoder: Any) -> None:  # noqa: ANN401 - of the decoder's own struct
        try:
            if len(event.data) > LARGEST_EVENT_BYTES:
                raise ValueError(f"it is longer than {LARGEST_EVENT_BYTES} bytes")  # noqa: TRY301 - one place for what is not valid
            decoded = decode_event(decoder, event.data)
        except (ValueError, RecursionError) as error:
            self._add("error")
            if event.name == b"error":
                self._error = self._error or event.data[:_LONGEST_ERROR].decode("utf-8", "replace")
            else:
                self._not_valid(str(error))
            return
        self._take(event, decoded)

    def _take(self, event: Event, decoded: Any) -> None:  # noqa: ANN401 - the decoder's own struct
        choices = decoded.choices or ()
        if len(choices) > MOST_CHOICES:
            self._add("error")
            self._not_valid(f"it has more than {MOST_CHOICES} choices")
            return
        if decoded.error is not None or event.name == b"error" or (decoded.object == "error" and not choices):
            self._error = self._error or message_of(event.data)
            self._add("error")
            return
        if decoded.usage is not None:
            self._usage = decoded.usage
        if not choices:
            self._add("usage")
            return
        kinds: list[ChunkKind] = [self._take_choice(choice) for choice in choices]
        kind = min(kinds, key=_BY_WEIGHT.index)
        ids = [choice.token_ids for choice in choices if choice.token_ids is not None]
        total = decoded.usage.completion_tokens if decoded.usage is not None else None
        self._add(kind, sum(map(len, ids)) if ids else None, total)

    def _not_valid(self, reason: str) -> None:
        """Take the event that was added last for none."""
        self._malformed = self._malformed or f"event {len(self._kinds)} is not valid: {reason}"

    def _take_choice(self, choice: Any) -> ChunkKind:  # noqa: ANN401 - the decoder's own struct
        """Return what the choice carries, keeping the text of choice 0."""
        self._choices.add(choice.index or 0)
        delta = choice.delta
        text = choice.text or (delta.content if delta is not None else None) or ""
        calls = [call for call in (delta.tool_calls or ()) if _says_something(call)] if delta is not None else []
        thinking = ""
        if delta is not None:
            thinking = next((found for name in self.quirks.reasoning_fields if (found := getattr(delta, name))), "")
        if not choice.index:
            self._text.append(text)
            self._thinking.append(thinking)
            self._calls.update(call.index if call.index is not None else call.id or 0 for call in calls)
            if self._finish_reason is None and choice.finish_reason:
                self._finish_reason = str(choice.finish_reason)
        if text:
            return "text"
        if calls:
            return "tool"
        if thinking:
            return "think"
        return "finish" if choice.finish_reason else "role"

    def _add(self, kind: ChunkKind, ids: int | None = None, total: int | None = None) -> None:
        position = len(self._kinds)
        self._kinds.append(kind)
        if ids is not None:
            self._ids[position] = ids
        if total is not None:
            self._totals[position] = total

    def reading(self) -> ResponseReading:
        """Return what the events said."""
        usage = self._usage
        cached = usage.prompt_tokens_details.cached_tokens if usage and usage.prompt_tokens_details else None
        reasoning = usage.completion_tokens_details.reasoning_tokens if usage and usage.completion_tokens_details else None
        return ResponseReading(
            kinds=tuple(self._kinds),
            tokens=tuple(self._tokens()),
            text=_join(self._text),
            thinking=_join(self._thinking),
            tool_calls=len(self._calls),
            finish_reason=self._finish_reason,
            done_seen=self._done,
            usage_input=_count(usage.prompt_tokens) if usage else None,
            usage_cached=_count(cached),
            usage_output=_count(usage.completion_tokens) if usage else None,
            usage_reasoning=_count(reasoning),
            error=self._error,
            malformed=self._malformed,
        )

    def _tokens(self) -> list[int | None]:
        """Return the output tokens of each event: from token ids, else from running usage, else one a chunk where that holds by design.

        Never from counting chunks otherwise: under speculative decoding a chunk is not a token.
        """
        if self._ids:
            return list(map(self._ids.get, range(len(self._kinds))))
        differences = self._differences()
        if differences is not None:
            return differences
        if self.quirks.chunk_is_token:
            return [1 if kind in CONTENT_KINDS else None for kind in self._kinds]
        return [None] * len(self._kinds)

    def _differences(self) -> list[int | None] | None:
        """Return the steps of running usage, or None where it does not run with every content event or counts each choice by itself."""
        totals = self._totals
        if not totals or len(self._choices) > 1:
            return None
        content = [position in totals for position, kind in enumerate(self._kinds) if kind in CONTENT_KINDS]
        if not content or not all(content):
            return None
        steps: list[int | None] = [None] * len(self._kinds)
        before = 0
        for position, total in totals.items():
            if not 0 <= total - before <= _LARGEST_COUNT:
                return None
            steps[position] = total - before
            before = total
        return steps


@lru_cache(maxsize=32)
def _thoughts(fields: tuple[str, ...]) -> tuple[Callable[[Any], Any], object]:
    """Return what reads the fields of a delta that carry thinking, and what it gives where none of them does."""
    if not fields:
        return (lambda _: None), None
    return attrgetter(*fields), None if len(fields) == 1 else (None,) * len(fields)


def _says_something(call: Any) -> bool:  # noqa: ANN401 - the decoder's own struct
    """Say whether a piece of a tool call holds output: a name or arguments."""
    return call.function is not None and bool(call.function.name or call.function.arguments)


def _count(value: int | None) -> int | None:
    """Return a token count, or None for what can be none."""
    return value if value is not None and 0 <= value <= _LARGEST_COUNT else None


def _join(parts: list[str]) -> str:
    """Return the parts as one text, with surrogate halves from neighbouring events joined."""
    return as_text("".join(parts))
