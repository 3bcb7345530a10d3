"""Makes the tree of a trace: which streams there are, which turn of the root spawns them, and which one waits for them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.crossing import cross_stream_predecessors
from ixbench_plugins.agentx.hidden import HiddenRules, split_agents
from ixbench_plugins.agentx.trace import EPSILON_S, Branch, Stream, Tree
from ixbench_plugins.agentx.workers import name_workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.agentx.hidden import SplitAgents
    from ixbench_plugins.agentx.trace import Request, SubagentEntry, Trace

DEFAULT_RULES = HiddenRules()


def make_tree(trace: Trace, rules: HiddenRules = DEFAULT_RULES) -> Tree:
    """Return the tree of a trace."""
    agents = split_agents(trace.requests, rules)
    root = Stream(
        id=trace.id, kind="root", requests=agents.main, scope=trace.id, tool_tokens=trace.tool_tokens, system_tokens=trace.system_tokens
    )
    spawns = _Spawns(root)
    kept = [entry for entry in trace.subagents if spawns.before(entry.index) is not None]
    subagents = [stream for entry in kept for stream in _subagent_streams(trace, entry, rules)]
    workers = _worker_streams(
        agents, rules, trace.block_size, name=f"{trace.id}::", scope=trace.id, prefix=(trace.tool_tokens, trace.system_tokens)
    )
    for entry in kept:
        children = [stream.id for stream in subagents if stream.entry_index == entry.index]
        spawns.add(f"{trace.id}:spawn:{entry.agent_id}", entry.index, entry.spawn_s, entry.end_s, children)
    spawns.next_kind()
    for number, worker in enumerate(workers):
        first = worker.requests[0]
        end_s = max(request.end_s for request in worker.requests)
        spawns.add(f"{trace.id}:flatspawn:{number}", first.index, first.start_s, end_s, [worker.id])
    streams = (root, *subagents, *workers)
    return Tree(
        trace=trace,
        streams=streams,
        branches=spawns.branches(),
        predecessors=cross_stream_predecessors(streams),
        dropped=tuple(entry for entry in trace.subagents if entry not in kept),
        seams_merged=agents.seams,
    )


class _Spawns:
    """Puts children with the same spawning and the same waiting turn of the root together."""

    def __init__(self, root: Stream) -> None:
        self._root = root.requests
        # In file order, which is not always that of the turns: of requests that started at one time a later one may come first.
        places = sorted((request.index, turn) for turn, request in enumerate(root.requests))
        self._indices = [index for index, _ in places]
        self._turns = [turn for _, turn in places]
        self._last_turns = list(accumulate(self._turns, max))
        self._branches: list[Branch] = []
        self._places: dict[tuple[int, int | None], int] = {}

    def before(self, index: int) -> int | None:
        """Return the last turn of the root before a place in the file."""
        place = bisect_left(self._indices, index)
        return self._last_turns[place - 1] if place else None

    def add(self, name: str, index: int, start_s: float, end_s: float, children: Sequence[str]) -> None:
        """Add the streams of one child: spawned at a place in the file, waited for by the first later turn that starts at its end."""
        spawn = self.before(index) or 0
        later = self._turns[bisect_right(self._indices, index) :]
        join = next((turn for turn in later if self._root[turn].start_s + EPSILON_S >= end_s), None)
        place = self._places.get((spawn, join))
        if place is None:
            self._places[spawn, join] = len(self._branches)
            self._branches.append(Branch(id=name, spawn_turn=spawn, join_turn=join, start_s=start_s, streams=tuple(children)))
            return
        old = self._branches[place]
        self._branches[place] = Branch(
            id=old.id, spawn_turn=spawn, join_turn=join, start_s=min(old.start_s, start_s), streams=(*old.streams, *children)
        )

    def next_kind(self) -> None:
        """Keep what comes now apart from what came so far."""
        self._places = {}

    def branches(self) -> tuple[Branch, ...]:
        """Return the branches; those whose children have no request are left out, as there is nothing to wait for."""
        return tuple(branch for branch in self._branches if branch.streams)


def _subagent_streams(trace: Trace, entry: SubagentEntry, rules: HiddenRules) -> list[Stream]:
    """Return the streams of a subagent: its own, and those of agents hidden in it. None where it has no request."""
    if not entry.requests:
        return []
    agents = split_agents(entry.requests, rules)
    name = f"{trace.id}::sa:{entry.agent_id}"
    main = Stream(
        id=name,
        kind="sa",
        requests=agents.main,
        scope=name,
        entry_index=entry.index,
        tool_tokens=entry.tool_tokens,
        system_tokens=entry.system_tokens,
    )
    prefix = (entry.tool_tokens, entry.system_tokens)
    return [main, *_worker_streams(agents, rules, trace.block_size, name=f"{name}:", scope=name, prefix=prefix, entry_index=entry.index)]


def _worker_streams(
    agents: SplitAgents, rules: HiddenRules, block_size: int, *, name: str, scope: str, prefix: tuple[int, int], entry_index: int = 0
) -> list[Stream]:
    streams = []
    for place, (worker, (kind, suffix, reduction)) in enumerate(zip(agents.workers, name_workers(agents, rules), strict=True), 1):
        tool, system = prefix if _has_prefix(worker.requests, agents.detected, -(-sum(prefix) // block_size)) else (0, 0)
        streams.append(
            Stream(
                id=f"{name}{suffix}",
                kind=kind,
                requests=tuple(worker.requests),
                scope=scope,
                entry_index=entry_index,
                place=place,
                tool_tokens=tool,
                system_tokens=system,
                reduction=reduction,
            )
        )
    return streams


def _has_prefix(worker: Sequence[Request], main: Sequence[Request], blocks: int) -> bool:
    """Whether a worker begins with the main agent's system message."""
    ids = worker[0].block_ids[:blocks]
    expected = next((request.block_ids[:blocks] for request in main if len(request.block_ids)), ids[:0])
    return blocks > 0 and len(ids) == len(expected) == blocks and bool(np.array_equal(ids, expected))
