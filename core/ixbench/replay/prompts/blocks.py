"""Writes prompts of blocks as chat messages: equal ids are equal text, and the server counts as many tokens as were asked for.

What a template adds to each message, and the marker, must be part of the asked length. So the first block of a message is written with
fewer words by that much; since a block never changes its place in a message while it is kept, prompts still begin with the very text of
those before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from ixbench.model.prompt import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ixbench.model.prompt import BlockMessage, BlockPrompt
    from ixbench.replay.prompts.synthesis import Synthesiser


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """Tokens that a prompt has beside its words, each message with one word in it: as a server counted them."""

    alone: int
    """A message of the user."""
    with_system: int
    """A system message and a message of the user."""
    pair: int
    """What an answer and a further message of the user add."""
    marker: int
    """What a marker adds to a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWriter:
    """Makes messages. Pure: equal prompts give equal text."""

    synthesiser: Synthesiser
    framing: Framing
    _lead: str = field(init=False)

    def __post_init__(self) -> None:
        """Choose the word that every message begins with."""
        object.__setattr__(self, "_lead", next(iter(self.synthesiser.vocabulary.leads)))

    @property
    def lead(self) -> str:
        """The word that every message begins with; its tokens belong to the framing."""
        return self._lead

    def messages(self, prompt: BlockPrompt) -> tuple[Message, ...]:
        """Return the messages of a prompt."""
        layout, synthesiser = prompt.layout(), self.synthesiser
        starts = _places(layout.ids, prompt.corpus, synthesiser.places)
        block_tokens = prompt.block_tokens
        debt, marker = 0, prompt.marker
        found: list[Message] = []
        for message, added in self._framed(layout.messages, marked=bool(marker)):
            debt += added
            parts = [marker if message.role == "user" else "", self._lead]
            if message.role == "user":
                marker = ""
            at = message.start
            while debt > 0 and at < message.end:
                paid = min(debt, block_tokens)
                parts.append(synthesiser.words(starts[at], block_tokens - paid))
                debt -= paid
                at += 1
            parts += synthesiser.stretches(starts[at : message.end], block_tokens)
            if message is layout.messages[-1]:
                tail, key = layout.tail_tokens, layout.tail_key
            else:
                tail, key = message.tail_tokens, message.tail_key
            paid = min(debt, tail)
            debt -= paid
            if tail > paid:
                place = int.from_bytes(sha256(key.encode()).digest()[:8]) % synthesiser.places
                parts.append(synthesiser.words(place, tail - paid))
            found.append(Message(role=message.role, content="".join(parts)))
        return tuple(found)

    def _framed(self, messages: Sequence[BlockMessage], *, marked: bool) -> Iterator[tuple[BlockMessage, int]]:
        """Yield each message with the tokens that its framing adds."""
        framing = self.framing
        half = framing.pair // 2
        opened = False
        for place, message in enumerate(messages):
            if message.role == "system":
                added = framing.with_system - half
            elif message.role == "assistant":
                added = half
            elif opened:
                added = framing.pair - half
            else:
                opened = True
                added = (half if place else framing.alone) + (framing.marker if marked else 0)
            yield message, added


def _places(ids: NDArray[np.integer[Any]], corpus: str, places: int) -> list[int]:
    """Return where the words of each block begin: spread evenly, equal for equal ids (splitmix64)."""
    key = np.uint64(int.from_bytes(sha256(corpus.encode()).digest()[:8]))
    with np.errstate(over="ignore"):
        mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    found: list[int] = (mixed % np.uint64(places)).tolist()
    return found
