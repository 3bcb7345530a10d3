"""The user's own prompts and conversations, replayed with the engine's real answers threaded back in."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from ixbench.api.workload import (
    Edge,
    Message,
    MessagesPrompt,
    Schedule,
    TextPrompt,
    Turn,
    Workload,
    WorkloadIdentity,
)
from ixbench_plugins.workloads.corpus import read_prompts_file
from ixbench_plugins.workloads.load import MOST_TOKENS
from ixbench_plugins.workloads.passes import Passes, PassesOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ixbench.api.workload import Load, PhaseName
    from ixbench_plugins.workloads.corpus import Conversation, PromptsFile


class PromptsOptions(PassesOptions):
    """`[workload]` with `use = "prompts"`."""

    file: Path
    """JSON Lines: {"text": "..."} or {"messages": [{"role", "content"}, ...]}; each message of the user is one request."""
    order: Literal["file", "shuffled"] = "file"
    """In which order conversations start; "shuffled" draws a new order for each pass."""
    output_tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None = None
    """Limit of an answer; default: the server's own."""
    answers: Literal["live", "recorded"] = "live"
    """What stands between the user's messages: the answers that the engine gives now, or those in the file."""
    marker: bool = True
    """Whether a short marker goes before the first message of each conversation: fresh in each point and each pass and equal within it. So
    no point finds the prompts of the one before in the prefix cache, while conversations that begin alike still share it. false: the
    file's texts are sent unchanged, and points that share an engine start warm each other up."""


class Prompts(Workload[PromptsOptions]):
    """Conversations from a file."""

    name: ClassVar[str] = "prompts"
    summary: ClassVar[str] = "your own prompts and conversations from a JSONL file, with real answers threaded back"
    Options = PromptsOptions

    def schedule(self, options: PromptsOptions, load: Load, *, key: str) -> Schedule:
        """Return a warm-up and a measured phase of the file's conversations."""
        corpus = read_prompts_file(options.file)
        measured = options.amount(load, sessions=len(corpus.conversations), turns=corpus.turns)
        phases = Passes(options=options, load=load, key=key, order=_order(corpus, options)).phases(measured)
        facts: dict[str, str | int | float | bool | None] = {
            "corpus": corpus.hash,
            "conversations": len(corpus.conversations),
            "order": options.order,
            "answers": options.answers,
            "marker": options.marker,
            "arrival": options.describe_arrival(load),
            "warmup_requests": options.warmup_requests(load),
            "requests": phases[-1].count,
            "duration_s": options.duration,
            "output_limit_tokens": options.output_tokens,
            "seed": options.seed,
        }
        return Schedule(phases=phases, request_limit_s=options.request_limit, facts=facts)

    def identity(self, options: PromptsOptions) -> WorkloadIdentity:
        """Return the hash of the file."""
        return WorkloadIdentity(corpus=read_prompts_file(options.file).hash)

    def repeats(self, options: PromptsOptions) -> bool:
        """Say that without the marker every point sends the same texts."""
        return not options.marker

    def estimate_s(self, options: PromptsOptions, load: Load) -> float | None:
        """Return the length of the measured phase, where it does not depend on the engine."""
        del load
        return options.duration


def _order(corpus: PromptsFile, options: PromptsOptions) -> Callable[[PhaseName, int], Sequence[PromptsTalk]]:
    """Return what says in which order the conversations start in a pass of a phase."""
    talks = [PromptsTalk(conversation=conversation, options=options) for conversation in corpus.conversations]

    def order(phase: PhaseName, lap: int) -> Sequence[PromptsTalk]:
        if options.order == "file":
            return talks
        shuffled = talks.copy()
        random.Random(f"order {phase} {lap} {options.seed}").shuffle(shuffled)  # noqa: S311 - an order, not a secret
        return shuffled

    return order


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptsTalk:
    """One conversation, as the options want it asked."""

    conversation: Conversation
    options: PromptsOptions

    @property
    def name(self) -> str:
        """Its line."""
        return f"line {self.conversation.line}"

    @property
    def turns(self) -> int:
        """One for each message of the user."""
        return self.conversation.turns

    def make(self, key: str, most: int) -> tuple[Turn, ...]:
        """Return its first turns; nothing continues the answer of the last one, which is therefore not kept."""
        marker = _marker(key) if self.options.marker else ""
        turns = _turns(self.conversation, self.options, marker)[:most]
        return (*turns[:-1], replace(turns[-1], keep_answer=False))


def _marker(key: str) -> str:
    return f"[{hashlib.sha256(key.encode()).hexdigest()[:8]}] "


def _turns(conversation: Conversation, options: PromptsOptions, marker: str) -> tuple[Turn, ...]:
    """Return one turn for each message of the user, each waiting for the one before.

    With live answers a turn brings only what is new, and continues the turn before; with recorded ones it brings all the file's messages so
    far. What the assistant said before the user's first message is kept either way, and what it says after the last one asks for nothing.
    """
    if conversation.text is not None:
        return (Turn(prompt=TextPrompt(text=marker + conversation.text), output_tokens=options.output_tokens),)
    first, *others = conversation.messages
    messages = (replace(first, content=marker + first.content), *others)
    live = options.answers == "live"
    turns: list[Turn] = []
    news: list[Message] = []
    for message in messages:
        if live and turns and message.role == "assistant":
            continue
        news.append(message)
        if message.role != "user":
            continue
        number = len(turns)
        turns.append(
            Turn(
                prompt=MessagesPrompt(messages=tuple(news), continues=number - 1 if live and number else None),
                after=(Edge(turn=number - 1),) if number else (),
                number=number,
                output_tokens=options.output_tokens,
                keep_answer=live,
            )
        )
        if live:
            news = []
    return tuple(turns)
