"""Finds agents that were recorded as one flat list: requests that go on with each other's prompts belong to one agent.

A client that runs several agents at once, or condenses a context, leaves a list in which prompts do not simply grow. Going through it in
time order, a request extends the agent whose whole last prompt it begins with; otherwise it founds another. Afterwards an agent whose
last prompt nobody went on with is joined to the one that began with the most of it: that is one agent with a condensed context.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.trace import EPSILON_S, shared_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.agentx.trace import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRules:
    """Where the borders lie."""

    preamble_tokens: int = 64
    """Longest answer of a first request that is set aside even though its blocks occur again."""
    seam_gap_s: float = 3600.0
    seam_share: float = 0.5
    """A context that comes later than the gap and keeps less than the share of the blocks is another agent's."""
    aux_requests: int = 1
    """Most requests of a helper."""
    aux_tokens: int = 16_384
    aux_share: float = 0.10
    """A helper's prompt is shorter than `aux_tokens`, or than this share of the main agent's longest prompt."""
    aux_other_model: bool = True
    """Whether a request to another model than the main agent's is a helper's, however long."""
    reduction_output_tokens: int = 4000
    """A reduction's answer is shorter, and not empty."""
    reduction_ratio: float = 20.0
    """A reduction's prompt is this many times longer than its answer, and at least `aux_tokens`."""
    group_size: int = 3
    """Fewest members of a worker group."""


@dataclass(slots=True, kw_only=True, eq=False)
class Chain:
    """One agent: its requests in time order, and where it began."""

    requests: list[Request] = field(default_factory=list)
    fork: Request | None = None
    """Last request of the chain that shared most of the first prompt, when this one began."""
    depth: int = 0
    """How many blocks it shared."""
    merged: bool = False
    """Whether it turned out to be the continuation of another."""
    tail: Request | None = None
    """Last request with block ids."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitAgents:
    """What a flat list was split into."""

    main: tuple[Request, ...]
    """The main agent's requests, with the preamble in front."""
    detected: tuple[Request, ...]
    """Those without the preamble: what workers are compared with."""
    workers: tuple[Chain, ...]
    """All other agents, by first request."""
    seams: int
    """How often a condensed context was joined to its agent."""


def split_agents(requests: Sequence[Request], rules: HiddenRules) -> SplitAgents:
    """Return the agents of a flat list of requests."""
    ordered = sorted(requests, key=_by_time)
    preamble, rest = _set_aside(ordered, rules)
    chains = _Chains()
    for request in rest:
        chains.place(request)
    seams = chains.merge(rules)
    live = [chain for chain in chains.chains if not chain.merged]
    for chain in live:
        # Requests that started at one time stay as they were joined; behind a preamble the file's order counts, as in the reference.
        in_file_order = chain is live[0] and preamble
        chain.requests.sort(key=_by_time if in_file_order else lambda request: request.start_s)
    # The first request founds the first chain, and nothing can be joined in front of that.
    detected = tuple(live[0].requests) if live else ()
    workers = sorted(live[1:], key=lambda chain: _by_time(chain.requests[0]))
    return SplitAgents(main=(*preamble, *detected), detected=detected, workers=tuple(workers), seams=seams)


def _by_time(request: Request) -> tuple[float, int]:
    return request.start_s, request.index


def _set_aside(ordered: Sequence[Request], rules: HiddenRules) -> tuple[Sequence[Request], Sequence[Request]]:
    """Return the preamble, if there is one, and the rest: a first request that nothing else builds on, as one for a title."""
    if len(ordered) > 1 and len(ordered[0].block_ids):
        first, rest = ordered[0], ordered[1:]
        alone = not any(shared_blocks(first.block_ids, other.block_ids) for other in rest)
        if alone and (first.output_tokens <= rules.preamble_tokens or not any(np.isin(first.block_ids, r.block_ids).any() for r in rest)):
            return [first], rest
    return (), ordered


class _Chains:
    """The chains of one list, while it is gone through."""

    def __init__(self) -> None:
        self.chains: list[Chain] = []
        self._owner: dict[int, Chain] = {}
        """Chain of a request, by its index."""
        self._forks: dict[int, list[Chain]] = {}
        """Chains that began at a request, by its index; only those that share a block."""
        self._requests: dict[int, Request] = {}
        self._by_first_block: dict[int, list[Chain]] = {}
        """Chains in order of age: prompts that share anything share their first block."""

    def place(self, request: Request) -> None:
        """Give a request to the agent it belongs to, as far as that can be told so far."""
        self._requests[request.index] = request
        if not self.chains:
            self.chains.append(Chain())
        if not len(request.block_ids):
            # Nothing can be told from it: it stays with the main agent, and nobody is compared with it.
            self.chains[0].requests.append(request)
            return
        chain = self._extended(request)
        if chain is None and self.chains[0].tail is None:
            chain = self.chains[0]
        if chain is None:
            chain = self._forked(request)
        chain.requests.append(request)
        if chain.tail is None:
            self._by_first_block.setdefault(int(request.block_ids[0]), []).append(chain)
        chain.tail = request
        self._owner[request.index] = chain

    def _extended(self, request: Request) -> Chain | None:
        """Return the agent whose whole last prompt the request begins with: the one with the longest, else the oldest."""
        best, longest = None, 0
        ids = request.block_ids
        for chain in self._by_first_block.get(int(ids[0]), ()):
            tail = chain.tail
            if tail is None or not longest < len(tail.block_ids) <= len(ids) or tail.model != request.model:
                continue
            if tail.end_s > request.start_s + EPSILON_S:
                continue
            if shared_blocks(tail.block_ids, ids) == len(tail.block_ids):
                best, longest = chain, len(tail.block_ids)
        return best

    def _forked(self, request: Request) -> Chain:
        """Return a new agent, which began at the last prompt it shares most blocks with: with the longest of these, else the oldest."""
        new = Chain()
        best = (0, 0)
        for chain in self._by_first_block.get(int(request.block_ids[0]), ()):
            if chain.tail is None:
                continue
            depth = shared_blocks(chain.tail.block_ids, request.block_ids)
            if depth and (depth, len(chain.tail.block_ids)) > best:
                best = (depth, len(chain.tail.block_ids))
                new.fork, new.depth = chain.tail, depth
        self.chains.append(new)
        if new.fork is not None:
            self._forks.setdefault(new.fork.index, []).append(new)
        return new

    def merge(self, rules: HiddenRules) -> int:
        """Join the agents that are one with a condensed context, and return how many were joined."""
        merged = 0
        waiting = sorted(self._forks)
        visited: set[int] = set()
        while waiting:
            index = heapq.heappop(waiting)
            tail, owner = self._requests[index], self._owner[index]
            if index in visited:
                continue
            visited.add(index)
            if owner.tail is not tail:
                # The longer context was gone on with: all that began here are other agents.
                continue
            forks = [chain for chain in self._forks[index] if not chain.merged]
            elected = self._elected(tail, forks, rules)
            if elected is None:
                continue
            self._join(owner, elected)
            merged += 1
            if self._look_again(owner, [chain for chain in forks if chain is not elected]) and owner.tail is not None:
                visited.discard(owner.tail.index)
                heapq.heappush(waiting, owner.tail.index)
        return merged

    def _elected(self, tail: Request, forks: Sequence[Chain], rules: HiddenRules) -> Chain | None:
        """Return the chain that goes on with a condensed context: the deepest, else the earliest, else the oldest."""
        possible = []
        for chain in forks:
            first = chain.requests[0]
            late = first.start_s - tail.end_s > rules.seam_gap_s and chain.depth / len(tail.block_ids) < rules.seam_share
            if chain.depth and tail.end_s <= first.start_s + EPSILON_S and first.model == tail.model and not late:
                possible.append(chain)
        return max(possible, key=lambda chain: (chain.depth, -chain.requests[0].start_s, -self.chains.index(chain)), default=None)

    def _join(self, owner: Chain, chain: Chain) -> None:
        owner.requests += chain.requests
        owner.tail = chain.tail
        chain.merged = True
        for request in chain.requests:
            self._owner[request.index] = owner

    def _look_again(self, owner: Chain, forks: Sequence[Chain]) -> bool:
        """Compare agents that began at a prompt with the one that has taken its place, and say whether any shares a block with it."""
        found = False
        for chain in forks:
            if owner.tail is None or not (depth := shared_blocks(owner.tail.block_ids, chain.requests[0].block_ids)):
                continue
            chain.fork, chain.depth = owner.tail, depth
            self._forks.setdefault(owner.tail.index, []).append(chain)
            found = True
        return found
