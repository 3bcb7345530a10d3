"""What the prompts of a Mooncake trace consist of: blocks with numbers of their own, whole conversations, and what they share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

import numpy as np

from ixbench_plugins.traces.mooncake_line import BLOCK_TOKENS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ixbench_plugins.traces.mooncake import Mooncake, MooncakeConversation

_MOST_SHARED = 4
"""Earlier conversations that are named for one prompt."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """One message: what a line brings, or the answer to it."""

    role: Literal["user", "assistant"]
    tokens: int
    blocks: NDArray[np.int64]
    """Numbers of its blocks, the last of which may be a part of one."""

    @property
    def whole_blocks(self) -> int:
        """Blocks without the part of one."""
        return self.tokens // BLOCK_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contents:
    """A conversation: messages of the user and answers in turns, beginning and ending with the user."""

    stream: str
    """Conversations whose prompts go on with one another are one stream: a cache holds what they have in common once."""
    parts: tuple[Part, ...]
    tokens: tuple[int, ...]
    """Length of the prompt of each turn, all before it included."""
    blocks: tuple[int, ...]
    """Whole blocks of each turn's prompt."""
    hit_blocks: tuple[int, ...]
    """Those at its start that a cache without bounds would hold."""
    shared: tuple[tuple[str, int], ...]
    """Streams of earlier conversations that begin alike, and how many tokens of the first prompt they have in common with it."""


def contents_of(trace: Mooncake, *, shortest: int) -> dict[str, Contents]:
    """Return the contents of all conversations that are given as lengths, by their streams.

    :param shortest: prompts that are recorded shorter begin with as many more tokens, all their own.
    """
    conversations = [conversation for conversation in trace.conversations if conversation.lines[0].kind == "tokens"]
    numbers = _Numbers()
    # Blocks of the file come first, so that those without ids can be given further numbers.
    known = {line.number: numbers.of(line.block_ids) for talk in conversations for line in talk.lines if line.block_ids is not None}
    prefixes = _Prefixes()
    return {talk.stream: _contents(talk, known, numbers, prefixes, shortest) for talk in conversations}


def _contents(
    talk: MooncakeConversation, known: dict[int, NDArray[np.int64]], numbers: _Numbers, prefixes: _Prefixes, shortest: int
) -> Contents:
    parts: list[Part] = []
    for turn, line in enumerate(talk.lines):
        tokens, blocks = line.input_tokens, known.get(line.number)
        if not turn and tokens < shortest:
            tokens = shortest
            blocks = blocks if blocks is not None and len(blocks) == _blocks(tokens) else None
        parts.append(Part(role="user", tokens=tokens, blocks=numbers.fresh(_blocks(tokens)) if blocks is None else blocks))
        if line is not talk.lines[-1]:
            answer = line.output_tokens or 1
            parts.append(Part(role="assistant", tokens=answer, blocks=numbers.fresh(_blocks(answer))))
    lengths = list(accumulate(part.tokens for part in parts))
    whole = list(accumulate(part.whole_blocks for part in parts))
    first = parts[0]
    stream, shared = prefixes.add(talk.stream, first.blocks[: first.whole_blocks].tolist())
    hit = max((count for _, count in shared), default=0)
    return Contents(
        stream=stream,
        parts=tuple(parts),
        tokens=tuple(lengths[::2]),
        blocks=tuple(whole[::2]),
        hit_blocks=(hit, *whole[:-1:2]),
        shared=tuple((name, count * BLOCK_TOKENS) for name, count in shared),
    )


def _blocks(tokens: int) -> int:
    return -(-tokens // BLOCK_TOKENS)


class _Numbers:
    """Gives the blocks of a file numbers from 0 on, whatever their ids are."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._next = 0

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers that are equal where ids are."""
        known = self._known
        found = [known.setdefault(number, len(known)) for number in ids.tolist()]
        self._next = len(known)
        return np.array(found, dtype=np.int64)

    def fresh(self, count: int) -> NDArray[np.int64]:
        """Return numbers that no other block has."""
        self._next += count
        return np.arange(self._next - count, self._next, dtype=np.int64)


class _Prefixes:
    """A tree of all beginnings, with the stream that went through each place last."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], int] = {}
        self._last: list[str] = [""]
        self._lengths: dict[str, int] = {}
        """Blocks of each stream's last prompt."""

    def add(self, name: str, blocks: Sequence[int]) -> tuple[str, list[tuple[str, int]]]:
        """Return the stream of a conversation, and streams that begin alike with the number of common blocks, the longest first.

        :param name: of the stream that it begins where it goes on with no other.
        """
        found: dict[str, int] = {}
        path: list[int] = []
        at = 0
        for depth, block in enumerate(blocks, 1):
            before = self._places.get((at, block))
            if before is None:
                before = self._places[at, block] = len(self._last)
                self._last.append(name)
            else:
                found[self._last[before]] = depth
            path.append(before)
            at = before
        shared = sorted(found.items(), key=lambda item: -item[1])[:_MOST_SHARED]
        if shared and self._lengths[shared[0][0]] == shared[0][1]:
            name = shared[0][0]
        for place in path:
            self._last[place] = name
        self._lengths[name] = len(blocks)
        return name, shared
