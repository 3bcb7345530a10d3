"""Gets synthetic prompts right before the load starts: learn the server's tokens, make prompts of the wanted lengths, have them counted."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, Protocol

from ixbench.host.contracts.engine import RequestSpec
from ixbench.model.prompt import BlockPrompt, Message, SyntheticPrompt
from ixbench.replay.graph import source_of
from ixbench.replay.prompts.block_framing import learn_blocks
from ixbench.replay.prompts.local_tokenizer import LocalTokenizer
from ixbench.replay.prompts.synthesis import Synthesiser
from ixbench.replay.prompts.vocabulary import CalibrationError, calmed, learn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ixbench.model.exchange import Exchange
    from ixbench.model.schedule import Phase, Schedule, Session, Turn
    from ixbench.replay.prompts.blocks import BlockWriter
    from ixbench.replay.prompts.vocabulary import Vocabulary
    from ixbench.replay.target import HttpTarget
SMALL_PROBE_LIMIT_S = 60.0
"""Bound on a probe of a few words: a server that takes longer for one token does not count as well."""
PROBE_LIMIT_S = 600.0
"""Bound on the longest probe: its prompt is filled without any load beside it."""
_SMALL_PROBE_CHARACTERS = 2000
_SLOWEST_FILL_CHARACTERS_PER_S = 100
"""Some twenty tokens a second: slower than a laptop's processor fills a prompt."""
_NO_ACCESS = frozenset({401, 403})
_SESSIONS_LOOKED_AT = 512
_ALLOWED_SHARE = 0.01
_ALLOWED_TOKENS = 8
_ALLOWED_SUM_SHARE = 0.005
_ROUNDS = 4
_BLOCK_LENGTHS = (256, 2048)
"""Lengths at which words are tried before they are put into blocks."""


class Ask(Protocol):
    """Sends one request outside of any load."""

    async def __call__(self, spec: RequestSpec, req_id: str, *, limit_s: float) -> Exchange:
        """Return what came back."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How synthetic prompts are made for a server, and how well their lengths are hit."""

    synthesiser: Synthesiser
    source: Literal["server", "tokenizer"]
    """Where the costs of words come from."""
    exact: bool
    """Whether every verified length was hit to the token."""
    lengths: tuple[int, ...]
    """Prompt lengths that the server has counted."""
    errors: tuple[int, ...]
    """Tokens counted less tokens asked, for each of them."""
    probes: int
    """Requests that it took; none of them is in any record."""
    writer: BlockWriter | None = None
    """Makes messages of blocks; None until a schedule had such prompts."""

    def facts(self) -> dict[str, object]:
        """Return what a result should say about it."""
        vocabulary = self.synthesiser.vocabulary
        return {
            "source": self.source,
            "exact": self.exact,
            "words": len(vocabulary.words),
            "tokens_per_word": vocabulary.cost * self.synthesiser.slope,
            "smallest_prompt_tokens": vocabulary.smallest,
            "verified_tokens": list(self.lengths),
            "errors_tokens": list(self.errors),
            "probes": self.probes,
            "template_tokens": asdict(self.writer.framing) if self.writer is not None else None,
        }


class _Prober:
    """Has the server count texts, by requests of one output token."""

    def __init__(self, ask: Ask, target: HttpTarget, *, limit_s: float) -> None:
        self._ask = ask
        self._target = target
        self._limit_s = limit_s
        self._run = uuid.uuid4().hex[:12]
        self.probes = 0

    def fresh_key(self) -> str:
        """Return a key that no prompt of the load has."""
        return f"probe {self._run} {self.probes}"

    async def count(self, text: str) -> int:
        """Return the prompt_tokens that the server reports for a text.

        :raises CalibrationError: if it reports none.
        """
        target = self._target
        if target.api == "chat":
            return await self.count_messages((Message(role="user", content=text),))
        return await self._counted(RequestSpec(model=target.model, api="completions", prompt=text, max_tokens=1))

    async def count_messages(self, messages: tuple[Message, ...]) -> int:
        """Return the same for messages.

        :raises CalibrationError: if the server reports none.
        """
        return await self._counted(RequestSpec(model=self._target.model, api="chat", messages=messages, max_tokens=1))

    async def _counted(self, spec: RequestSpec) -> int:
        self.probes += 1
        characters = len(spec.prompt or "") + sum(len(message.content) for message in spec.messages)
        limit_s = min(self._limit_s, probe_limit_s(characters))
        exchange = await self._ask(spec, f"probe-{self._run}-{self.probes}", limit_s=limit_s)
        if exchange.usage_input is not None:
            return exchange.usage_input
        if exchange.failure in {None, "no_usage"}:
            raise CalibrationError(
                "the server reports no token counts (usage.prompt_tokens), so neither can synthetic prompts be made nor tokens counted; "
                "switch usage in streams on at the server"
            )
        advice = "; name the variable of the API key in api_key_env (bench: --api-key-env)" if exchange.http_status in _NO_ACCESS else ""
        if exchange.error_class == "timeout":
            raise CalibrationError(
                "the server did not complete a request of one output token "
                f"(a prompt of {characters:,} characters, sent to count its tokens) within {limit_s:g} s: "
                + (
                    f"no answer had begun ({exchange.error_text})"
                    if exchange.http_status is None
                    else "its answer had begun but did not end; see whether it heeds max_tokens and ends its streams"
                )
            )
        what = "refuses" if exchange.http_status is not None and exchange.http_status >= 400 else "does not answer"  # noqa: PLR2004
        raise CalibrationError(
            f"the server {what} a request of one output token, sent to learn how it counts: "
            f"{exchange.failure}: {exchange.error_text}{advice}"
        )


def probe_limit_s(characters: int) -> float:
    """Return the bound on a probe of one output token, in seconds: short for a few words, more in proportion for a long prompt. Pure."""
    more = max(0, characters - _SMALL_PROBE_CHARACTERS) / _SLOWEST_FILL_CHARACTERS_PER_S
    return min(SMALL_PROBE_LIMIT_S + more, PROBE_LIMIT_S)


async def calibrate(schedule: Schedule, ask: Ask, target: HttpTarget, *, known: Calibration | None) -> Calibration | None:
    """Return how to make the synthetic prompts of a schedule; `known` is what an earlier schedule taught, and None if there are none.

    The schedule's request limit bounds each probe too.

    :raises CalibrationError: if the server gives no usable counts, or a length cannot be hit within 1 % or 8 tokens.
    """
    lengths, blocks = wanted_lengths(schedule), has_blocks(schedule)
    if blocks and target.api != "chat":
        raise CalibrationError("prompts of agents are messages, which need the chat API; this deployment uses /v1/completions")
    lengths = tuple(sorted({*lengths, *_BLOCK_LENGTHS})) if blocks else lengths
    prober = _Prober(ask, target, limit_s=min(schedule.request_limit_s, target.request_limit_s))
    if lengths and not _covers(known, lengths):
        source: Literal["server", "tokenizer"] = "server"
        if known is not None:
            synthesiser, source = known.synthesiser, known.source
        else:
            local = LocalTokenizer.load(target.tokenizer) if target.tokenizer is not None else None
            source = "server" if local is None else "tokenizer"
            synthesiser = Synthesiser(await (learn(prober.count) if local is None else _learn_locally(local, prober)))
        known = await _verified(synthesiser, lengths, prober, source)
    if blocks and known is not None and known.writer is None:
        writer = await learn_blocks(known.synthesiser, prober)
        known = replace(known, writer=writer, probes=max(prober.probes, known.probes))
    return known


def _covers(known: Calibration | None, lengths: tuple[int, ...]) -> bool:
    """Say whether what is known holds for all these lengths."""
    return known is not None and known.exact and min(known.lengths) <= lengths[0] and lengths[-1] <= max(known.lengths)


def has_blocks(schedule: Schedule) -> bool:
    """Say whether there are prompts of blocks among the first ones."""
    return any(
        isinstance(turn.prompt, BlockPrompt)
        for phase in schedule.phases
        for session in islice(_first_sessions(phase), 1)
        for turn in _first_turns(session)
    )


def wanted_lengths(schedule: Schedule) -> tuple[int, ...]:
    """Return the shortest, a middle and the longest synthetic prompt among the first sessions of all phases, in tokens."""
    found = sorted(
        {
            turn.prompt.tokens
            for phase in schedule.phases
            for session in _first_sessions(phase)
            for turn in _first_turns(session)
            if isinstance(turn.prompt, SyntheticPrompt)
        }
    )
    return tuple(sorted({found[0], found[len(found) // 2], found[-1]})) if found else ()


def _first_sessions(phase: Phase) -> Iterator[Session]:
    """Give the first sessions of a phase that has any of its own, as its lanes would draw them."""
    source = source_of(phase)
    if source is not None:
        for number in range(_SESSIONS_LOOKED_AT):
            session = source.draw(None if phase.lanes is None else number % phase.lanes)
            if session is None:
                return
            yield session


def _first_turns(session: Session) -> Iterable[Turn]:
    """Return the turns of a session, or the first ones where they are made one by one."""
    turns = session.turns
    return turns if isinstance(turns, tuple) else (turns[index] for index in turns.first())


async def _learn_locally(local: LocalTokenizer, prober: _Prober) -> Vocabulary:
    """Learn words from a local tokenizer; what the server adds to a text is the difference between its count and the local one."""
    vocabulary = await learn(local.count)
    word = vocabulary.words[0]
    added = await prober.count(word) - vocabulary.leads[word]
    return replace(vocabulary, leads={lead: total + added for lead, total in vocabulary.leads.items()})


async def _verified(
    synthesiser: Synthesiser, lengths: tuple[int, ...], prober: _Prober, source: Literal["server", "tokenizer"]
) -> Calibration:
    """Have the server count prompts of the wanted lengths; where they are missed, look for calmer words, then correct the slope."""
    counted: list[int] = []
    for attempt in range(_ROUNDS):
        counted = [await prober.count(synthesiser.text(length, prober.fresh_key())) for length in lengths]
        errors = [count - length for count, length in zip(counted, lengths, strict=True)]
        calm = await calmed(synthesiser.vocabulary, prober.count) if any(errors) and not attempt else None
        if calm is not None:
            synthesiser = Synthesiser(calm)
            continue
        if _close(lengths, errors):
            return Calibration(
                synthesiser=synthesiser,
                source=source,
                exact=not any(errors),
                lengths=lengths,
                errors=tuple(errors),
                probes=prober.probes,
            )
        fixed = synthesiser.vocabulary.smallest * len(lengths)
        reckoned = (sum(lengths) - fixed) / synthesiser.slope
        if reckoned <= 0 or sum(counted) <= fixed:
            break
        synthesiser = Synthesiser(synthesiser.vocabulary, slope=(sum(counted) - fixed) / reckoned)
    pairs = ", ".join(f"{count} for {length}" for count, length in zip(counted, lengths, strict=True))
    raise CalibrationError(
        f"the asked prompt lengths cannot be hit: the server counted {pairs} asked; a template that changes texts, or a tokenizer that "
        "joins words, does this; use the workload 'prompts' with texts of your own"
    )


def _close(lengths: tuple[int, ...], errors: list[int]) -> bool:
    """Say whether each length is hit within 1 % or 8 tokens, and their sum within 0.5 % (or the last token)."""
    each = all(abs(error) <= max(_ALLOWED_SHARE * length, _ALLOWED_TOKENS) for length, error in zip(lengths, errors, strict=True))
    return each and abs(sum(errors)) <= max(_ALLOWED_SUM_SHARE * sum(lengths), 1)
