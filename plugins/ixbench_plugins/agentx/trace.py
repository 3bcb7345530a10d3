"""The nouns of a recorded session: what stands in a trace, and the tree of streams that is found in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

BlockIds = np.ndarray[tuple[int], np.dtype[np.integer]]
"""Ids of full blocks of a prompt, in order: int32 where they fit, else int64, read-only. Equal ids in one trace mean equal tokens."""

StreamKind = Literal["root", "sa", "aux", "wg", "fa"]
"""The main agent; a recorded subagent; and hidden agents: a one-shot helper, a member of a worker group, a solo agent."""

EPSILON_S = 1e-6
"""Times this close are one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Request:
    """One recorded request."""

    index: int
    """Place in its list of the file, counted from 0 and with subagent entries."""
    start_s: float
    """When it was sent, from the start of the trace: also for subagents, whatever the file counts from."""
    model: str
    input_tokens: int
    output_tokens: int
    """As recorded; a request with 0 is sent with a limit of 1."""
    block_ids: BlockIds
    """At most input_tokens // block_size; what they do not cover is filler."""
    streamed: bool
    """Whether the recording client streamed it. Both kinds are replayed alike."""
    api_time_s: float | None = None
    think_time_s: float | None = None
    ttft_s: float | None = None
    input_types: tuple[str, ...] = ()
    output_types: tuple[str, ...] = ()
    stop: str = ""

    @property
    def end_s(self) -> float:
        """When its answer was complete; an unknown or negative duration counts as 0."""
        return self.start_s + max(self.api_time_s or 0.0, 0.0)

    @property
    def context_tokens(self) -> int:
        """What a server must be able to hold: the prompt and the answer, of at least one token."""
        return self.input_tokens + max(self.output_tokens, 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubagentEntry:
    """A recorded subagent: spawned by the main agent, with requests of its own."""

    index: int
    """Place among the top-level entries of the file."""
    spawn_s: float
    agent_id: str
    requests: tuple[Request, ...]
    subagent_type: str = ""
    status: str = ""
    models: tuple[str, ...] = ()
    duration_s: float | None = None
    total_tokens: int | None = None
    tool_use_count: int | None = None
    tool_tokens: int = 0
    system_tokens: int = 0

    @property
    def end_s(self) -> float:
        """When the subagent was done: by its duration, else by the last end of its requests, else when it was spawned."""
        if self.duration_s is not None:
            return self.spawn_s + max(self.duration_s, 0.0)
        return max((request.end_s for request in self.requests), default=self.spawn_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """One recorded session: token counts, block ids, times and model names; no text."""

    id: str
    file: str
    """Where it was read, for messages."""
    line: int | None = None
    """Line of the file, where one file holds several traces."""
    block_size: int
    """Tokens in a block."""
    models: tuple[str, ...]
    tool_tokens: int = 0
    system_tokens: int = 0
    requests: tuple[Request, ...]
    """Top-level requests in file order: those of the main agent and of agents hidden among them."""
    subagents: tuple[SubagentEntry, ...] = ()
    """In file order; some may have nobody who spawned them."""

    def all_requests(self) -> Iterator[Request]:
        """Give the requests of all levels."""
        yield from self.requests
        for entry in self.subagents:
            yield from entry.requests

    @property
    def peak_context(self) -> int:
        """Largest context that any of its requests needs, in tokens."""
        return max(request.context_tokens for request in self.all_requests())


class TurnKey(NamedTuple):
    """One turn of a tree."""

    stream: str
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """A strictly sequential conversation of one agent."""

    id: str
    """`<trace>`, `<trace>::sa:<agent>`, `<trace>::fa:003`, `<trace>::sa:<agent>:aux:000`, ..."""
    kind: StreamKind
    requests: tuple[Request, ...]
    """Its turns in time order."""
    scope: str
    """Only streams with an equal scope wait for each other's turns: the root and its hidden agents, or a subagent and its own."""
    entry_index: int = 0
    """Of a subagent's streams: place of the subagent's entry in the file."""
    place: int = 0
    """0 for the stream of an agent itself, 1 and more for those hidden in a subagent."""
    tool_tokens: int = 0
    system_tokens: int = 0
    """Tokens at the start of turn 0 that are the system message's, with `tool_tokens`."""
    reduction: bool = False
    """An `aux` stream that condenses a long input into a short answer."""

    @property
    def depth(self) -> int:
        """0 for the main agent, 1 for all others."""
        return 0 if self.kind == "root" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """Streams that one turn of the root spawns together, and that one later turn of the root waits for."""

    id: str
    """`<trace>:spawn:<first agent>`, or `<trace>:flatspawn:<n>` for hidden agents."""
    spawn_turn: int
    """Turn of the root after which the children start."""
    join_turn: int | None
    """Turn of the root that waits for all of them; None: they run in the background."""
    start_s: float
    """When the first of them was spawned."""
    streams: tuple[str, ...]
    """Ids of the children, in file order."""

    @property
    def background(self) -> bool:
        """Whether no turn waits for it. It still keeps its tree from being finished."""
        return self.join_turn is None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """The root and all its descendants, and who waits for whom."""

    trace: Trace
    streams: tuple[Stream, ...]
    """The root first, then subagents, then hidden agents of the root."""
    branches: tuple[Branch, ...]
    predecessors: Mapping[TurnKey, tuple[TurnKey, ...]]
    """Turns of other streams that must have ended first. Turns without any are left out."""
    dropped: tuple[SubagentEntry, ...] = ()
    """Subagents that no turn of the root precedes: nothing can spawn them, so they are not played and count in nothing."""
    seams_merged: int = 0
    """How often a condensed context was recognised as the same agent's, at the top level."""
    by_id: Mapping[str, Stream] = field(init=False)
    """Streams by id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {stream.id: stream for stream in self.streams})

    @property
    def root(self) -> Stream:
        """The main agent's stream."""
        return self.streams[0]

    @property
    def joins(self) -> dict[int, tuple[Branch, ...]]:
        """For each root turn that waits for children: the branches that it waits for."""
        turns: dict[int, tuple[Branch, ...]] = {}
        for branch in self.branches:
            if branch.join_turn is not None:
                turns[branch.join_turn] = (*turns.get(branch.join_turn, ()), branch)
        return dict(sorted(turns.items()))

    def requests(self) -> Iterator[Request]:
        """Give all requests that are played."""
        for stream in self.streams:
            yield from stream.requests


def shared_blocks(one: BlockIds, other: BlockIds) -> int:
    """Return how many blocks two prompts have in common from the start."""
    length = min(len(one), len(other))
    if not length or one[0] != other[0]:
        return 0
    if one.dtype == other.dtype and one.__array_interface__["data"][0] == other.__array_interface__["data"][0]:
        return length  # prompts that begin each other lie at one place in memory
    differs = one[:length] != other[:length]
    first = int(differs.argmax())
    return first if differs[first] else length


def read_only(ids: NDArray[np.integer]) -> BlockIds:
    """Return the array, with writing switched off."""
    ids.flags.writeable = False
    return ids
