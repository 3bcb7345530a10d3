"""What the prompts of a trace consist of: which of their blocks stood in earlier prompts, and the ids themselves when text is made."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from ixbench_plugins.agentx.hits import theoretical_hits
from ixbench_plugins.agentx.trace import TurnKey, shared_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.agentx.corpus.compact import CompactStream, CompactTrace
    from ixbench_plugins.agentx.trace import BlockIds, Request, Stream, Tree


class StreamContents(Protocol):
    """The prompts of one stream. Lists hold one number a turn."""

    @property
    def blocks(self) -> Sequence[int]:
        """Whole blocks."""
        ...

    @property
    def kept_blocks(self) -> Sequence[int]:
        """Leading blocks that equal those of the turn before; 0 for the first turn."""
        ...

    @property
    def hit_blocks(self) -> Sequence[int]:
        """Leading blocks that an infinite cache would hold."""
        ...

    def ids(self, turn: int) -> BlockIds:
        """Return the ids of a prompt."""
        ...

    def shared_at_first(self) -> Sequence[tuple[str, int]]:
        """Return the streams with which the first prompt shares leading blocks, and how many: of their last prompts before it."""
        ...


class RecordedContents:
    """The prompts of a stream whose ids were read."""

    def __init__(self, tree: Tree, stream: Stream, hits: Sequence[int]) -> None:
        self._tree = tree
        self._stream = stream
        lists = [whole_ids(request, tree.trace.block_size) for request in stream.requests]
        self.blocks = [len(ids) for ids in lists]
        self.kept_blocks = [0, *(shared_blocks(before, after) for before, after in pairwise(lists))]
        self.hit_blocks = hits

    def ids(self, turn: int) -> BlockIds:
        """Return the ids of a prompt."""
        return whole_ids(self._stream.requests[turn], self._tree.trace.block_size)

    def shared_at_first(self) -> Sequence[tuple[str, int]]:
        """Compare the first prompt with the last ones of all other streams before it."""
        first = self._stream.requests[0]
        mine = self.ids(0)
        found = []
        for other in self._tree.streams:
            earlier = [request for request in other.requests if request.start_s < first.start_s]
            if other is not self._stream and earlier:
                blocks = shared_blocks(mine, whole_ids(earlier[-1], self._tree.trace.block_size))
                found.append((other.id, blocks))
        return [(name, blocks) for name, blocks in found if blocks]


class GeneratedContents:
    """The prompts of a stream of a generated trace: ids are made when they are asked for."""

    def __init__(self, stream: CompactStream, earlier: Sequence[str]) -> None:
        """Keep the stream and the names of subagents before it."""
        self._compact = stream
        self._earlier = earlier
        self.blocks: list[int] = stream.blocks.tolist()
        self.kept_blocks: list[int] = stream.kept_blocks.tolist()
        self.hit_blocks: list[int] = stream.hit_blocks.tolist()

    def ids(self, turn: int) -> BlockIds:
        """Make the ids of a prompt."""
        return self._compact.block_ids(turn)

    def shared_at_first(self) -> Sequence[tuple[str, int]]:
        """Return the subagents before it: they share a prefix, if the trace has one."""
        blocks = self._compact.prefix_blocks
        return [(name, blocks) for name in self._earlier] if blocks else []


def recorded_contents(tree: Tree) -> dict[str, StreamContents]:
    """Return the prompts of all streams of a tree whose ids were read."""
    hits = theoretical_hits(tree)
    return {
        stream.id: RecordedContents(tree, stream, [hits[TurnKey(stream.id, turn)].blocks for turn in range(len(stream.requests))])
        for stream in tree.streams
    }


def generated_contents(tree: Tree, trace: CompactTrace) -> dict[str, StreamContents]:
    """Return the prompts of all streams of a generated trace; its tree has one stream for each of its own."""
    root, *agents = tree.streams
    found: dict[str, StreamContents] = {root.id: GeneratedContents(trace.root, ())}
    names: list[str] = []
    for stream, agent in zip(agents, trace.agents, strict=True):
        found[stream.id] = GeneratedContents(agent.stream, tuple(names))
        names.append(stream.id)
    return found


def whole_ids(request: Request, block_size: int) -> BlockIds:
    """Return the ids of whole blocks: one more may be recorded, for a part of a block."""
    return request.block_ids[: request.input_tokens // block_size]
