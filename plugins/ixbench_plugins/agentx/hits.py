"""The best that a prefix cache of any size could do: which blocks of a prompt were in an earlier prompt of the same trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.trace import TurnKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench_plugins.agentx.trace import BlockIds, Request, Stream, Tree


@dataclass(frozen=True, slots=True)
class Hits:
    """Blocks of one prompt, or of many. Only whole blocks count; the tail of a prompt counts nowhere."""

    blocks: int = 0
    """Those at the start of a prompt that an infinite cache holds."""
    total: int = 0

    def __add__(self, other: Hits) -> Hits:
        return Hits(self.blocks + other.blocks, self.total + other.total)

    @property
    def share(self) -> float | None:
        """Blocks per total; None where no prompt has a block."""
        return self.blocks / self.total if self.total else None


class InfiniteCache:
    """Holds every block it was ever sent. One for each trace: their blocks have nothing in common."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._held: dict[tuple[int, str], BlockIds] = {}
        """The longest prompt that was sent of those that begin at one place in memory; keeping it keeps that place in use."""

    def send(self, ids: BlockIds) -> Hits:
        """Return the hits of a prompt, and hold its blocks from now on."""
        # Prompts that begin each other lie at one place in memory: what was sent of it needs no second look.
        place = (ids.__array_interface__["data"][0], ids.dtype.char)
        held = len(self._held.get(place, ()))
        if held >= len(ids):
            return Hits(len(ids), len(ids))
        rest = ids[held:].tolist()
        hits = next((number for number, block in enumerate(rest) if block not in self._seen), len(rest))
        self._seen.update(rest[hits:])
        self._held[place] = ids
        return Hits(held + hits, len(ids))


def turns_in_order(tree: Tree) -> list[tuple[TurnKey, Request]]:
    """Return all turns of a tree as they were sent: by time, then by their place in the file, their agent and their turn."""

    def place(item: tuple[Stream, int, Request]) -> tuple[float, int, int, int]:
        stream, turn, request = item
        if stream.scope == tree.root.id:
            return request.start_s, request.index, 0, 0
        return request.start_s, stream.entry_index, stream.place, turn

    turns = [(stream, turn, request) for stream in tree.streams for turn, request in enumerate(stream.requests)]
    return [(TurnKey(stream.id, turn), request) for stream, turn, request in sorted(turns, key=place)]


def theoretical_hits(tree: Tree) -> dict[TurnKey, Hits]:
    """Return the hits of every turn if all of the tree is sent as recorded, to an infinite cache that is empty at first."""
    cache = InfiniteCache()
    return {key: cache.send(request.block_ids) for key, request in turns_in_order(tree)}


def total(hits: Iterable[Hits]) -> Hits:
    """Return the sum."""
    return sum(hits, Hits())
