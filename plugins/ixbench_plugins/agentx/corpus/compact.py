"""A generated trace in compact form: all that a simulation needs of each request, with block ids only on demand.

The full ids of a large corpus take gigabytes; here they are two numbers a stream. A request keeps the first blocks of the one before
(`kept_blocks`) and goes on with ids that are new in the trace, counted upwards, so every id follows from the counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BLOCK_SIZE = 64
STOPS = ("tool_use", "end_turn", "")
TOOL_USE, END_TURN, UNRECORDED = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactStream:
    """The root or a subagent: one array item a request."""

    start_s: Floats
    """Starts, absolute in the recording."""
    api_time_s: Floats
    """How long the recorded request took; NaN where that was not recorded."""
    ttft_s: Floats
    """Recorded time to first token, or NaN."""
    input_tokens: Ints
    output_tokens: Ints
    stops: Ints
    """Places in `STOPS`."""
    kept_blocks: Ints
    """Leading blocks that equal those of the request before; 0 for the first."""
    hit_blocks: Ints
    """Leading blocks that any earlier request of the trace held: what an infinite cache would hit."""
    first_id: int
    """Id of the first block that is this stream's own."""
    prefix_id: int = 0
    prefix_blocks: int = 0
    """Blocks from `prefix_id` on that every request begins with, shared with other subagents of the trace."""

    @property
    def blocks(self) -> Ints:
        """Full blocks of each request: the length of its id list."""
        return self.input_tokens // BLOCK_SIZE

    @property
    def new_blocks(self) -> Ints:
        """Blocks of each request with ids that no request before it in any stream held."""
        new = self.blocks - self.kept_blocks
        new[0] -= self.prefix_blocks
        return new

    def block_ids(self, turn: int) -> Ints:
        """Return the ids of one request, made now: position p holds what the last request that did not keep p wrote there."""
        starts = self.kept_blocks.copy()
        starts[0] = self.prefix_blocks
        written = self.first_id + np.cumsum(self.new_blocks) - self.new_blocks
        length = int(self.blocks[turn])
        ids = np.empty(length, dtype=np.int64)
        at = turn
        while length > self.prefix_blocks:
            start = int(starts[at])
            if start < length:
                ids[start:length] = np.arange(length - start) + int(written[at])
                length = start
            at -= 1
        ids[:length] = np.arange(length) + self.prefix_id
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactAgent:
    """A subagent: its entry in the trace, and its requests."""

    agent_id: str
    subagent_type: str
    spawn_turn: int
    """Root turn that launched it."""
    spawn_s: float
    duration_s: float | None
    """None where it was launched in the background."""
    stream: CompactStream


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactTrace:
    """One recorded session, generated."""

    id: str
    root: CompactStream
    agents: tuple[CompactAgent, ...]
    """In file order: by the root turn that launched them."""
    streamed: bool
    """Whether its requests are recorded as streams."""
    tool_tokens: int = 0
    system_tokens: int = 0
    """Declared prefix of the root; 0: none declared."""

    @property
    def streams(self) -> tuple[CompactStream, ...]:
        """The root, then the subagents."""
        return (self.root, *(agent.stream for agent in self.agents))

    @property
    def requests(self) -> int:
        """Requests of all streams."""
        return sum(len(stream.input_tokens) for stream in self.streams)
