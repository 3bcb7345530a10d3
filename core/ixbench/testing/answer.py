"""The events of a scripted answer, as bytes: shaped like the streams of OpenAI-like servers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.testing.script import Reply

Stage = Literal["role", "token", "finish", "usage", "done", "error"]

WORDS = "fjord harbour lantern meadow orchard pebble quarry ribbon saddle timber valley willow".split()  # noqa: SIM905 - a row of words


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One completion request and how it is answered."""

    number: int
    """Position among all completion requests, from 1."""
    chat: bool
    model: str
    prompt: list[str]
    """Its tokens."""
    cached: int
    max_tokens: int | None
    usage_asked: bool
    reply: Reply

    @property
    def output_tokens(self) -> int:
        """Tokens of the answer, thinking and the invisible end token of an empty answer included."""
        if self.reply.text is not None:
            return max(len(self.reply.text.split()) + self.reply.reasoning, 1)
        asked = self.reply.tokens if self.reply.tokens is not None else self.max_tokens if self.max_tokens is not None else 16
        return max(asked + self.reply.extra_tokens, 0)

    def words(self) -> list[str]:
        """Return the answer's words, one a token: they depend on the prompt, so that a test can tell answers apart."""
        if self.reply.text is not None:
            return self.reply.text.split()
        digest = sha256(" ".join(self.prompt).encode()).digest()
        count = max(self.output_tokens - self.reply.reasoning, 0)
        return [WORDS[(digest[at % len(digest)] + at) % len(WORDS)] for at in range(count)]

    def usage(self, output: int) -> dict[str, Any]:
        """Return the usage after so many output tokens."""
        details = {"prompt_tokens_details": {"cached_tokens": self.cached}}
        return {"prompt_tokens": len(self.prompt), "completion_tokens": output, "total_tokens": len(self.prompt) + output, **details}


def events(completion: Completion) -> Iterator[tuple[Stage, int, bytes]]:
    """Yield (stage, output tokens so far, bytes) of each event."""
    return _Writer(completion).events()


class _Writer:
    def __init__(self, completion: Completion) -> None:
        self._completion = completion
        self._reply = completion.reply
        self._sent = 0

    def events(self) -> Iterator[tuple[Stage, int, bytes]]:
        completion, reply = self._completion, self._reply
        if completion.chat and reply.role_first:
            yield "role", 0, self._chunk({"role": "assistant", "content": ""})
        yield from self._tokens()
        if reply.error_event_after is not None:
            yield "error", self._sent, self._event(json.dumps({"error": {"message": reply.message, "code": 500}}))
        else:
            yield from self._end()
        if reply.done:
            yield "done", self._sent, self._event("[DONE]")

    def _tokens(self) -> Iterator[tuple[Stage, int, bytes]]:
        reply = self._reply
        for delta, count in self._deltas():
            if reply.error_event_after is not None and self._sent >= reply.error_event_after:
                return
            self._sent += count
            broken = reply.malformed_after is not None and self._sent > reply.malformed_after
            yield "token", self._sent, self._event('{"choices":[{"index":0,"delta":{"content":"') if broken else self._chunk(delta)

    def _end(self) -> Iterator[tuple[Stage, int, bytes]]:
        completion, reply = self._completion, self._reply
        if reply.text == "":
            self._sent = completion.output_tokens
        if reply.finish is not None:
            yield "finish", self._sent, self._chunk({}, finish=reply.finish)
        if reply.usage in {"always", "running", "null_each"} or (reply.usage == "asked" and completion.usage_asked):
            yield "usage", self._sent, self._event(json.dumps({**self._head(), "choices": [], "usage": completion.usage(self._sent)}))

    def _deltas(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield what each event adds, with its tokens."""
        reply = self._reply
        thoughts = [f" step{at}" for at in range(reply.reasoning)]
        for delta, count in _grouped(thoughts, reply.tokens_per_event):
            yield {reply.reasoning_field: delta}, count
        words = [(" " if at else "") + word for at, word in enumerate(self._completion.words())]
        for position, (delta, count) in enumerate(_grouped(words, reply.tokens_per_event)):
            if not reply.tool_call:
                yield {"content": delta}, count
            elif position == 0:
                yield (
                    {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}]},
                    count,
                )
            else:
                yield {"tool_calls": [{"index": 0, "function": {"arguments": delta}}]}, count

    def _head(self) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self._completion.chat else "text_completion"
        return {"id": f"scripted-{self._completion.number}", "object": kind, "created": 0, "model": self._completion.model}

    def _chunk(self, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
        choice: dict[str, Any] = {"index": 0}
        if self._completion.chat:
            choice["delta"] = delta
        else:
            choice["text"] = delta.get("content", "")
        choice["finish_reason"] = finish
        chunk = {**self._head(), "choices": [choice]}
        usage = self._reply.usage
        if usage == "running" or (usage == "with_finish" and finish is not None):
            chunk["usage"] = self._completion.usage(self._sent)
        elif usage == "null_each":
            chunk["usage"] = None
        return self._event(json.dumps(chunk))

    def _event(self, data: str) -> bytes:
        end = self._reply.line_end
        comment = f": still here{end}" if self._reply.comments else ""
        return f"{comment}data: {data}{end}{end}".encode()


def _grouped(words: list[str], size: int) -> Iterator[tuple[str, int]]:
    for start in range(0, len(words), size):
        group = words[start : start + size]
        yield "".join(group), len(group)


def plain_body(completion: Completion) -> bytes:
    """Return the answer as one JSON body."""
    text = " ".join(completion.words())
    choice: dict[str, Any] = {"index": 0, "finish_reason": completion.reply.finish or "stop"}
    choice |= {"message": {"role": "assistant", "content": text}} if completion.chat else {"text": text}
    kind = "chat.completion" if completion.chat else "text_completion"
    body = {"id": f"scripted-{completion.number}", "object": kind, "created": 0, "model": completion.model, "choices": [choice]}
    if completion.reply.usage != "never":
        body["usage"] = completion.usage(completion.output_tokens)
    return json.dumps(body).encode()
