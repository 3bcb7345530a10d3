"""What the scripted server is to do with a request, as data: good answers of many forms, and every way in which an answer can go wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Cut = Literal["", "before_head", "in_head", "after_head", "mid_stream", "in_event", "after_finish", "before_done"]
Hang = Literal["", "before_head", "after_head", "mid_stream", "after_finish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How one request is answered. The default is a plain good stream."""

    status: int = 200
    """Anything but 200 answers with an error body (or with `body`)."""
    message: str = ""
    """Text of the error body or of the error event."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further response headers; they replace the usual ones."""
    tokens: int | None = None
    """Output tokens; None = the request's max_tokens, or 16."""
    extra_tokens: int = 0
    """Sent beyond (or, negative, short of) what was asked."""
    text: str | None = None
    """The whole answer, one word a token; None = words that depend on the prompt."""
    reasoning: int = 0
    """Tokens of thinking, sent first; they count as output."""
    reasoning_field: str = "reasoning"
    tool_call: bool = False
    """Whether a tool call stands in place of the text."""
    role_first: bool = True
    """Whether a chat stream begins with a chunk that has a role and no text."""
    tokens_per_event: int = 1
    first_s: float = 0.0
    """Time before the head."""
    prefill_s: float = 0.0
    """Time between the head (and role chunk) and the first token."""
    gap_s: float = 0.0
    """Time between two events."""
    usage: Literal["asked", "always", "never", "running", "null_each", "with_finish"] = "asked"
    """When token counts are sent: in a chunk of their own if asked for, always, never, also in every chunk, as null in every chunk but the
    last, or in the finish chunk."""
    finish: str | None = "length"
    """The finish_reason; None = none is sent."""
    done: bool = True
    """Whether [DONE] is sent."""
    one_final_write: bool = False
    """Whether finish, usage and [DONE] come in one write."""
    stream: bool = True
    """False: a JSON body, although a stream was asked for."""
    error_event_after: int | None = None
    """Tokens after which an error event takes the place of the rest."""
    malformed_after: int | None = None
    """Tokens after which an event holds broken JSON."""
    comments: bool = False
    """Whether comment lines stand between events."""
    line_end: str = "\n"
    cut: Cut = ""
    """Where the connection is closed without a proper end."""
    reset: bool = False
    """Whether the cut is a reset (RST) instead of an orderly close (FIN)."""
    hang: Hang = ""
    """Where the server falls silent, with the connection open."""
    die: bool = False
    """Whether the whole process exits in mid-stream."""
    cut_after: int = 2
    """Tokens before a cut, a hang or the death in mid-stream."""
    split: int | list[int] = 0
    """Bytes a write: 1 = byte by byte; a list = offsets at which a new write starts; 0 = an event a write."""
    split_pause_s: float = 0.0
    """Time between these writes."""
    body: str | None = None
    """A file whose bytes are the whole body, sent as they are."""
    content_type: str | None = None
    chunked: bool = True
    """False: no framing; the end of the connection ends the body."""
    close: bool = False
    """Whether the connection is closed after the answer, with its announcement."""
    drop_idle: bool = False
    """Whether the connection is closed after the answer without a word: the next request on it finds it dead."""
    gzip: bool = False


KINDS: dict[str, Reply] = {
    "ok": Reply(),
    "no_role": Reply(role_first=False),
    "reasoning": Reply(reasoning=3),
    "reasoning_content": Reply(reasoning=3, reasoning_field="reasoning_content"),
    "tool_call": Reply(tool_call=True, finish="tool_calls"),
    "empty": Reply(text="", finish="stop"),
    "no_usage": Reply(usage="never"),
    "running_usage": Reply(usage="running"),
    "usage_with_finish": Reply(usage="with_finish"),
    "two_tokens_an_event": Reply(tokens_per_event=2),
    "bad_request": Reply(status=400, message="the request is not valid"),
    "unauthorized": Reply(status=401, message="wrong key"),
    "not_found": Reply(status=404, message="the model does not exist"),
    "rate_limited": Reply(status=429, message="too many requests"),
    "server_fault": Reply(status=500, message="internal error"),
    "unavailable": Reply(status=503, message="loading model"),
    "context_overflow": Reply(status=400, message="This model's maximum context length is 8 tokens. However, your prompt is longer."),
    "redirect": Reply(status=307, headers={"location": "/elsewhere"}),
    "error_event": Reply(error_event_after=2, message="engine core died"),
    "malformed": Reply(malformed_after=2),
    "plain_json": Reply(stream=False),
    "gzip": Reply(gzip=True),
    "short": Reply(extra_tokens=-1),
    "long": Reply(extra_tokens=1),
    "no_finish": Reply(finish=None),
    "no_done": Reply(done=False),
    "cut_before_head": Reply(cut="before_head"),
    "cut_in_head": Reply(cut="in_head"),
    "cut_after_head": Reply(cut="after_head"),
    "cut_mid_stream": Reply(cut="mid_stream"),
    "cut_in_event": Reply(cut="in_event"),
    "cut_after_finish": Reply(cut="after_finish"),
    "cut_before_done": Reply(cut="before_done"),
    "reset_mid_stream": Reply(cut="mid_stream", reset=True),
    "hang_before_head": Reply(hang="before_head"),
    "hang_after_head": Reply(hang="after_head"),
    "hang_mid_stream": Reply(hang="mid_stream"),
    "hang_after_finish": Reply(hang="after_finish"),
    "die": Reply(die=True),
    "slow": Reply(prefill_s=0.05, gap_s=0.02),
    "byte_by_byte": Reply(split=1),
    "unframed": Reply(chunked=False),
    "close": Reply(close=True),
    "drop_idle": Reply(drop_idle=True),
    "comments": Reply(comments=True, line_end="\r\n"),
}
"""Replies by name; a request picks one by `x-script: NAME`, or by the model name `script:NAME`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A reply for the requests that it fits."""

    reply: Reply
    model: str | None = None
    header: tuple[str, str] | None = None
    """Name and value."""
    contains: str | None = None
    """A text in the body."""
    every: int | None = None
    """Each n-th completion request, the n-th being the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All replies of a server."""

    default: Reply = field(default_factory=Reply)
    sequence: tuple[Reply, ...] = ()
    """For the first completion requests, in the order of their arrival."""
    rules: tuple[Rule, ...] = ()
    """After the sequence; the first that fits."""


def reply_of(value: str | Mapping[str, Any], base: Reply | None = None) -> Reply:
    """Return a reply from the name of a kind, or from a table of its fields, which may name a `kind` to start from.

    :raises ValueError: if there is no such kind or field.
    """
    if isinstance(value, str):
        if value not in KINDS:
            raise ValueError(f"no reply is named {value!r}; there are: {', '.join(KINDS)}")
        return KINDS[value]
    table = dict(value)
    start = reply_of(table.pop("kind")) if "kind" in table else base or Reply()
    unknown = set(table) - {known.name for known in fields(Reply)}
    if unknown:
        raise ValueError(f"a reply has no field {', '.join(sorted(unknown))}")
    return replace(start, **table)


def read_script(table: Mapping[str, Any]) -> Script:
    """Return a script from a JSON table with `default`, `sequence` and `rules`.

    :raises ValueError: if a name in it is unknown.
    """
    unknown = set(table) - {"default", "sequence", "rules"}
    if unknown:
        raise ValueError(f"a script has no key {', '.join(sorted(unknown))}")
    default = reply_of(table.get("default", {}))
    rules = []
    for given in table.get("rules", ()):
        rule = dict(given)
        header = rule.pop("header", None)
        reply = reply_of(rule.pop("reply"), default)
        rules.append(Rule(reply=reply, header=(header[0].lower(), header[1]) if header else None, **rule))
    return Script(default=default, sequence=tuple(reply_of(item, default) for item in table.get("sequence", ())), rules=tuple(rules))


def read_script_file(path: str) -> Script:
    """Return the script in a JSON file."""
    script: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    return read_script(script)
