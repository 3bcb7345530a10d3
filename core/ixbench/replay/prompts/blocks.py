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
    from numpy.typing import NDArray

    from ixbench.model.prompt import BlockLayout, BlockPrompt
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
class WrittenPrompt:
    """The messages of a prompt, and what they were made of."""

    messages: tuple[Message, ...]
    layout: BlockLayout
    source: tuple[str, int, str]
    """Corpus, tokens of a block, and marker."""
    debts: tuple[int, ...]
    """What the framing up to each message leaves to be paid by those after it, tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWriter:
    """Makes messages. Pure: equal prompts give equal text."""

    synthesiser: Synthesiser
    framing: Framing
    _lead: str = field(init=False)
    """The word that every message begins with; its tokens belong to the framing."""

    def __post_init__(self) -> None:
        """Choose the first word."""
        object.__setattr__(self, "_lead", next(iter(self.synthesiser.vocabulary.leads)))

    def messages(self, prompt: BlockPrompt) -> tuple[Message, ...]:
        """Return the messages of a prompt."""
        return self.write(prompt).messages

    def write(self, prompt: BlockPrompt, before: WrittenPrompt | None = None) -> WrittenPrompt:
        """Return the messages of a prompt with what they were made of.

        :param before: an earlier prompt of the same stream: the messages that both begin with are taken from it.
        """
        layout = prompt.layout()
        source = (prompt.corpus, prompt.block_tokens, prompt.marker)
        shared = _shared(before, layout) if before is not None and before.source == source else 0
        texts = list(before.messages[:shared]) if before is not None else []
        debts = list(before.debts[:shared]) if before is not None else []
        debt = debts[-1] if debts else 0
        last = len(layout.messages) - 1
        written = layout.messages[shared - 1].end if shared else 0
        starts = _places(layout.ids[written:], prompt.corpus, self.synthesiser.places)
        opened = any(message.role == "user" for message in layout.messages[:shared])
        for place in range(shared, len(layout.messages)):
            message = layout.messages[place]
            mark = prompt.marker if message.role == "user" and not opened else ""
            debt += self._added(message.role, first=not place, opened=opened, marked=bool(mark))
            opened = opened or message.role == "user"
            if place == last:
                tail, key = layout.tail_tokens, layout.tail_key
            else:
                tail, key = message.tail_tokens, message.tail_key
            blocks = starts[message.start - written : message.end - written]
            content, debt = self._content(mark, debt, blocks, prompt.block_tokens, tail=(tail, key))
            texts.append(Message(role=message.role, content=content))
            debts.append(debt)
        return WrittenPrompt(source=source, layout=layout, messages=tuple(texts), debts=tuple(debts))

    def _content(self, mark: str, debt: int, starts: list[int], block_tokens: int, *, tail: tuple[int, str]) -> tuple[str, int]:
        """Return the text of a message, and how many tokens its framing still owes to the next ones."""
        synthesiser = self.synthesiser
        parts = [mark, self._lead]
        at = 0
        while debt > 0 and at < len(starts):
            paid = min(debt, block_tokens)
            parts.append(synthesiser.words(starts[at], block_tokens - paid))
            debt -= paid
            at += 1
        parts += synthesiser.stretches(starts[at:], block_tokens)
        tail_tokens, tail_key = tail
        paid = min(debt, tail_tokens)
        if tail_tokens > paid:
            place = int.from_bytes(sha256(tail_key.encode()).digest()[:8]) % synthesiser.places
            parts.append(synthesiser.words(place, tail_tokens - paid))
        return "".join(parts), debt - paid

    def _added(self, role: str, *, first: bool, opened: bool, marked: bool) -> int:
        """Return the tokens that the framing of a message adds.

        :param opened: whether a message of the user stands before it.
        """
        framing = self.framing
        half = framing.pair // 2
        if role == "system":
            return framing.with_system - half
        if role == "assistant":
            return half
        if opened:
            return framing.pair - half
        return (framing.alone if first else half) + (framing.marker if marked else 0)


def _shared(before: WrittenPrompt, layout: BlockLayout) -> int:
    """Return how many leading messages of a layout are those of an earlier prompt; the last one of either has a tail of its own."""
    length = min(len(before.layout.ids), len(layout.ids))
    different = before.layout.ids[:length] != layout.ids[:length]
    first = int(different.argmax()) if length else 0
    blocks = first if length and different[first] else length
    found = 0
    for one, other in zip(before.layout.messages[:-1], layout.messages[:-1], strict=False):
        if other.end > blocks or (one is not other and one != other):
            break
        found += 1
    return found


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
