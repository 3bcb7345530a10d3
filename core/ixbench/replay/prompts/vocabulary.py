"""Learns from token counts alone which words cost one token each, and what a prompt costs before its first word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ixbench.model.errors import IxbenchError
from ixbench.replay.prompts.words import COMMON, SHORTEST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    Count = Callable[[str], Awaitable[int]]
    """Gives the server's prompt_tokens of a text, whatever the template adds included."""

ENOUGH_WORDS = 64
"""With so many words, chance makes two prompts share one word in 64 cases and two in 4,096."""
FEWEST_WORDS = 8
_GROUP = 24
_MOST_PROBES = 48
_LEADS = 8
_CALM_WORDS = 16
_FEWEST_CALM_WORDS = 4


class CalibrationError(IxbenchError):
    """The server's token counts do not allow prompts of the asked length: the point fails with this as its cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What was learnt about a server's tokens."""

    words: tuple[str, ...]
    """Words of equal cost, when they follow another word after a space."""
    cost: int
    """Tokens of each of them; 1 for every tokenizer that knows words."""
    others: Mapping[str, int] = field(default_factory=dict)
    """Words of other costs, to fill up where `cost` is not 1."""
    leads: Mapping[str, int]
    """Words that may come first, with the tokens of the prompt that consists of this word alone: template, start token and all."""

    @property
    def smallest(self) -> int:
        """Tokens of the shortest prompt there is."""
        return min(self.leads.values())


async def learn(count: Count) -> Vocabulary:
    """Learn a vocabulary from counts: a handful of tiny requests for most tokenizers, never more than about sixty.

    :param count: counts a whole prompt.
    :raises CalibrationError: if the counts make no sense.
    """
    costs = _Costs(count)
    await costs.start()
    for position in range(0, len(COMMON), _GROUP):
        if len(costs.singles) >= ENOUGH_WORDS or costs.hopeless:
            break
        await costs.group(COMMON[position : position + _GROUP])
    others: dict[str, int] = {}
    if len(costs.singles) >= FEWEST_WORDS:
        words, cost = tuple(costs.singles[:ENOUGH_WORDS]), 1
    else:
        await costs.each(SHORTEST)
        words, cost, others = costs.cheapest()
    leads = {word: await count(word) for word in words[:_LEADS]}
    return Vocabulary(words=words, cost=cost, others=others, leads=leads)


async def calmed(vocabulary: Vocabulary, count: Count) -> Vocabulary | None:
    """Return a vocabulary of words that never melt together when they stand side by side, or None if too few are found.

    A few tokenizers have tokens such as " of the"; each further word is tried next to all those kept so far, both ways round.
    """
    kept: list[str] = []
    leads: dict[str, int] = {}
    for word in reversed(vocabulary.words[: _MOST_PROBES + 1]):
        first = kept[0] if kept else word
        if first not in leads:
            leads[first] = await count(first)
        beside = [part for other in kept for part in (word, other)]
        if await count(" ".join((first, word, *beside, word, word))) == leads[first] + len(beside) + 3:
            kept.append(word)
        elif not kept:
            leads.clear()
        if len(kept) == _CALM_WORDS:
            break
    if len(kept) < _FEWEST_CALM_WORDS:
        return None
    for word in kept[:_LEADS]:
        leads[word] = await count(word)
    return Vocabulary(words=tuple(kept), cost=1, leads=leads)


class _Costs:
    """Weighs words: the difference between two counts is the cost of the words by which the texts differ."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._base = 0
        self._probes = 0
        self.singles: list[str] = []
        self.known: dict[str, int] = {}
        self.hopeless = False
        """Whether the tokenizer seems to have no whole words, or the probes are used up."""

    async def start(self) -> None:
        self._base = await self._count(COMMON[0])

    async def _weigh(self, words: Sequence[str]) -> int:
        """Return the tokens that the words add after another word."""
        self._probes += 1
        return await self._count(" ".join((COMMON[0], *words))) - self._base

    async def group(self, words: Sequence[str]) -> None:
        """Find the single-token words of a group, halving it where it holds others."""
        if self._probes >= _MOST_PROBES:
            self.hopeless = True
            return
        cost = await self._weigh(words)
        if cost == len(words):
            self.singles += words
            self.known |= dict.fromkeys(words, 1)
        elif len(words) == 1:
            self.known[words[0]] = cost
        elif cost >= 2 * len(words) and not self.singles:
            self.hopeless = True
        else:
            middle = len(words) // 2
            await self.group(words[:middle])
            await self.group(words[middle:])

    async def each(self, words: Sequence[str]) -> None:
        """Weigh words one by one, each four times over, and keep those whose cost is a whole number of tokens."""
        for word in words:
            cost, rest = divmod(await self._weigh([word, COMMON[0]] * 4) - 4 * await self._cost_of_base(), 4)
            if rest == 0 and cost > 0:
                self.known[word] = cost

    async def _cost_of_base(self) -> int:
        if COMMON[0] not in self.known:
            self.known[COMMON[0]] = await self._weigh([COMMON[0]])
        return self.known[COMMON[0]]

    def cheapest(self) -> tuple[tuple[str, ...], int, dict[str, int]]:
        """Return the words of the lowest cost of which there are at least two, and the others.

        :raises CalibrationError: if there are none.
        """
        for cost in sorted(set(self.known.values())):
            words = tuple(word for word, found in self.known.items() if found == cost)
            if cost > 0 and len(words) > 1:
                return words, cost, {word: found for word, found in self.known.items() if found > 0 and found != cost}
        raise CalibrationError(
            "the server's prompt_tokens do not grow with the words of a prompt, so no prompt of a given length can be made; "
            "use the workload 'prompts' with texts of your own"
        )
