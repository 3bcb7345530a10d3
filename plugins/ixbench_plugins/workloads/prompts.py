"""The user's own prompts and conversations, replayed with the engine's real answers threaded back in."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from ixbench.api.workload import (
    Edge,
    Message,
    MessagesPrompt,
    Phase,
    Schedule,
    Session,
    TextPrompt,
    Turn,
    Workload,
    WorkloadIdentity,
)
from ixbench_plugins.workloads.corpus import Conversation, Corpus, read_corpus
from ixbench_plugins.workloads.load import MOST_TOKENS, Amount, PassesOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.workload import Load, PhaseName


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
        corpus = read_corpus(options.file)
        warmup = Amount(requests=options.warmup_requests(load))
        measured = options.amount(load, sessions=len(corpus.conversations), turns=corpus.turns)
        build = _Builder(options=options, corpus=corpus, load=load, key=key)
        phases = [build.phase("warmup", warmup)] if warmup.requests else []
        phases.append(build.phase("profile", measured))
        facts: dict[str, str | int | float | bool | None] = {
            "corpus": corpus.hash,
            "conversations": len(corpus.conversations),
            "order": options.order,
            "answers": options.answers,
            "marker": options.marker,
            "arrival": options.describe_arrival(load),
            "warmup_requests": warmup.requests,
            "requests": phases[-1].count,
            "duration_s": options.duration,
            "output_limit_tokens": options.output_tokens,
            "seed": options.seed,
        }
        return Schedule(phases=tuple(phases), request_limit_s=options.request_limit, facts=facts)

    def identity(self, options: PromptsOptions) -> WorkloadIdentity:
        """Return the hash of the file."""
        return WorkloadIdentity(corpus=read_corpus(options.file).hash)

    def repeats(self, options: PromptsOptions) -> bool:
        """Say that without the marker every point sends the same texts."""
        return not options.marker

    def estimate_s(self, options: PromptsOptions, load: Load) -> float | None:
        """Return the length of the measured phase, where it does not depend on the engine."""
        del load
        return options.duration


@dataclass(frozen=True, slots=True, kw_only=True)
class _Builder:
    """Builds the phases of one point."""

    options: PromptsOptions
    corpus: Corpus
    load: Load
    key: str

    def phase(self, name: PhaseName, amount: Amount) -> Phase:
        """Return a phase; its sessions are made as lanes draw them."""
        load, options = self.load, self.options
        requests = None if amount.endless else sum(turns for _, _, turns in self._plays(name, amount))
        arrivals = None if load.rate is None else options.arrivals_ns(load.rate, sum(1 for _ in self._plays(name, amount)), name)

        def sessions() -> Iterator[Session]:
            for number, (conversation, lap, turns) in enumerate(self._plays(name, amount)):
                marker = _marker(f"{self.key}:{name}:{lap}") if options.marker else ""
                yield Session(
                    id=f"{name}-{number}",
                    turns=_last_answer_dropped(turns_of(conversation, options, marker)[:turns]),
                    trace_id=f"line {conversation.line}",
                    arrival_ns=None if arrivals is None else arrivals[number],
                )

        # Where arrivals are given they end by themselves within the duration.
        duration_s = options.duration if amount.endless else None
        return Phase(name=name, sessions=sessions, lanes=load.concurrency, count=requests, duration_s=duration_s)

    def _plays(self, name: PhaseName, amount: Amount) -> Iterator[tuple[Conversation, int, int]]:
        """Yield conversations, the pass that each belongs to, and how many of its turns are played; equal on every call."""
        left = amount.requests
        for number, (conversation, lap) in enumerate(self._drawn(name)):
            if number == amount.sessions or left == 0:
                return
            turns = conversation.turns if left is None else min(conversation.turns, left)
            if left is not None:
                left -= turns
            yield conversation, lap, turns

    def _drawn(self, name: PhaseName) -> Iterator[tuple[Conversation, int]]:
        """Yield conversations in their order, with the number of the pass, without end."""
        for lap in count():
            order = list(self.corpus.conversations)
            if self.options.order == "shuffled":
                random.Random(f"order {name} {lap} {self.options.seed}").shuffle(order)  # noqa: S311 - an order, not a secret
            for conversation in order:
                yield conversation, lap


def _marker(text: str) -> str:
    return f"[{hashlib.sha256(text.encode()).hexdigest()[:8]}] "


def turns_of(conversation: Conversation, options: PromptsOptions, marker: str) -> tuple[Turn, ...]:
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


def _last_answer_dropped(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return the turns with the last one's answer not kept: nothing continues it."""
    return (*turns[:-1], replace(turns[-1], keep_answer=False))
