"""Writes a prompt of N tokens from a vocabulary: equal keys give equal text, different keys share no prefix but by chance."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING

from ixbench.model.counts import counted
from ixbench.replay.prompts.vocabulary import CalibrationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.replay.prompts.vocabulary import Vocabulary

_RING_WORDS = 1 << 15
"""Words drawn once; the body of a prompt is a stretch of them, so that a long prompt costs no more than a copy."""
_MARKER_WORDS = 16
"""Words drawn for each key alone."""


@dataclass(frozen=True, slots=True)
class Synthesiser:
    """Makes texts. Pure: a text depends on the vocabulary, the length and the key alone."""

    vocabulary: Vocabulary
    slope: float = 1.0
    """Measured tokens for each token reckoned; not 1 only where words melt together."""
    _ring: str = field(init=False, repr=False)
    _starts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Draw the ring of words."""
        chance = random.Random(f"ixbench {self.vocabulary.words}")  # noqa: S311 - text, not a secret
        words = [" " + word for word in chance.choices(self.vocabulary.words, k=_RING_WORDS)]
        object.__setattr__(self, "_ring", "".join(words))
        object.__setattr__(self, "_starts", [0, *accumulate(map(len, words))])

    def text(self, tokens: int, key: str) -> str:
        """Return a text whose prompt has `tokens` tokens, all that the server adds included.

        :raises CalibrationError: if the server adds more than that by itself.
        """
        digest = int.from_bytes(sha256(key.encode()).digest())
        vocabulary = self.vocabulary
        leads = [word for word, total in vocabulary.leads.items() if total <= tokens]
        if not leads:
            raise CalibrationError(
                f"a prompt of {counted(tokens, 'token')} cannot be made: one word takes {vocabulary.smallest} with what the server's "
                f"template adds; ask for at least {counted(vocabulary.smallest, 'input token')}"
            )
        digest, choice = divmod(digest, len(leads))
        lead = leads[choice]
        reckoned = round((tokens - vocabulary.leads[lead]) / self.slope)
        count, fill = self._parts(reckoned)
        marker: list[str] = []
        for _ in range(min(_MARKER_WORDS, count)):
            digest, choice = divmod(digest, len(vocabulary.words))
            marker.append(vocabulary.words[choice])
        body = self._stretch(digest % _RING_WORDS, count - len(marker))
        return " ".join((lead, *marker)) + body + "".join(" " + word for word in fill)

    @property
    def places(self) -> int:
        """How many different stretches of words there are to begin with."""
        return _RING_WORDS

    def words(self, start: int, tokens: int) -> str:
        """Return words of so many tokens to follow a text, always the same ones from one of the `places`."""
        count, fill = self._parts(round(tokens / self.slope))
        return self._stretch(start, count) + "".join(" " + word for word in fill)

    def stretches(self, starts: Sequence[int], tokens: int) -> list[str]:
        """Return the same for many places; a slice each where that is possible."""
        count, fill = self._parts(round(tokens / self.slope))
        if fill:
            return [self.words(start, tokens) for start in starts]
        ring, places = self._ring, self._starts
        return [
            ring[places[start] : places[start + count]] if start + count <= _RING_WORDS else self._stretch(start, count) for start in starts
        ]

    def _stretch(self, start: int, count: int) -> str:
        """Return `count` words of the ring from `start` on, each with a space before it."""
        parts = []
        while count > 0:
            end = min(start + count, _RING_WORDS)
            parts.append(self._ring[self._starts[start] : self._starts[end]])
            count -= end - start
            start = 0
        return "".join(parts)

    def _parts(self, tokens: int) -> tuple[int, list[str]]:
        """Return how many words, and which others, make up so many tokens; up to `cost` - 1 tokens short where it cannot be done."""
        cost = self.vocabulary.cost
        if tokens % cost == 0:
            return tokens // cost, []
        for word, other in sorted(self.vocabulary.others.items(), key=lambda item: item[1]):
            for count in range(1, cost):
                left = tokens - count * other
                if left >= 0 and left % cost == 0:
                    return left // cost, [word] * count
        return tokens // cost, []
