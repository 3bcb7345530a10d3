"""The plan of a trace: its turns numbered through, with delays, edges and lengths. Made once, then played by any lane at any time."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.workload import NS_PER_S, Edge
from ixbench_plugins.agentx.delays import child_start, delay_s
from ixbench_plugins.agentx.replay.layout import LayoutPlan
from ixbench_plugins.agentx.snapshot import draw_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.workload import Anchor
    from ixbench_plugins.agentx.replay.contents import StreamContents
    from ixbench_plugins.agentx.replay.sizes import Sizes
    from ixbench_plugins.agentx.snapshot import Snapshot
    from ixbench_plugins.agentx.trace import Request, Stream, Tree, TurnKey

MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamPlan:
    """One stream of a trace."""

    name: str
    """As it stands in records: "main", "sa:<agent>", "fa:003"."""
    stream: Stream
    first: int
    """Index of its first turn in the session."""
    contents: StreamContents
    layout: LayoutPlan
    spawn: Edge | None = None
    """Of its first turn, to the turn of the root that spawns it; None for the root."""

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.stream.requests)


class TracePlan:
    """All streams of a trace in the form that sessions are made from."""

    def __init__(self, tree: Tree, contents: Mapping[str, StreamContents], sizes: Sizes) -> None:
        """Give the turns numbers: to those of the root first, then stream by stream."""
        self.id = tree.trace.id
        self.sizes = sizes
        self._tree = tree
        spawns = _spawns(tree)
        streams: list[StreamPlan] = []
        first = 0
        for stream in tree.streams:
            prefix = -(-(stream.tool_tokens + stream.system_tokens) // tree.trace.block_size)
            streams.append(
                StreamPlan(
                    name=MAIN if stream is tree.root else stream.id.removeprefix(f"{tree.trace.id}::"),
                    stream=stream,
                    first=first,
                    contents=contents[stream.id],
                    layout=LayoutPlan(stream, contents[stream.id], sizes, prefix_blocks=prefix),
                    spawn=spawns.get(stream.id),
                )
            )
            first += len(stream.requests)
        self.streams = tuple(streams)
        self.turns = first
        self.names = {plan.stream.id: plan.name for plan in streams}
        self._firsts = [plan.first for plan in streams]
        self._by_id = {plan.stream.id: plan for plan in streams}
        self.joins, self._joined = self._find_joins()
        self._spawned: dict[tuple[int, Anchor], list[int]] = {}
        for plan in streams:
            if plan.spawn is not None:
                self._spawned.setdefault((plan.spawn.turn, plan.spawn.anchor), []).append(plan.first)
        self.crossing: dict[int, tuple[int, ...]] = {}
        self._crossed: dict[int, list[int]] = {}
        for key, before in tree.predecessors.items():
            index = self.index(key)
            self.crossing[index] = tuple(self.index(other) for other in before)
            for other in self.crossing[index]:
                self._crossed.setdefault(other, []).append(index)

    @property
    def peak_context(self) -> int:
        """Largest context that any of its requests needs, in tokens as they are sent."""
        sizes = self.sizes
        return max(
            sizes.context(request.input_tokens, blocks, request.output_tokens)
            for plan in self.streams
            for request, blocks in zip(plan.stream.requests, plan.contents.blocks, strict=True)
        )

    @property
    def start_s(self) -> float:
        """When the first request was sent."""
        return min(plan.stream.requests[0].start_s for plan in self.streams)

    def index(self, key: TurnKey) -> int:
        """Return the number of a turn in the session."""
        return self._by_id[key.stream].first + key.turn

    def place(self, index: int) -> tuple[StreamPlan, int]:
        """Return the stream of a turn, and its number there."""
        plan = self.streams[bisect_right(self._firsts, index) - 1]
        return plan, index - plan.first

    def request(self, index: int) -> Request:
        """Return the recorded request of a turn."""
        plan, turn = self.place(index)
        return plan.stream.requests[turn]

    def stream(self, name: str) -> StreamPlan:
        """Return a stream by its id in the trace."""
        return self._by_id[name]

    def after(self, plan: StreamPlan, turn: int) -> tuple[Edge, ...]:
        """Return what a turn waits for."""
        index = plan.first + turn
        edges: list[Edge] = []
        if turn:
            edges.append(Edge(turn=index - 1, delay_ns=round(delay_s(plan.stream, turn) * NS_PER_S)))
        elif plan.spawn is not None:
            edges.append(plan.spawn)
        if plan.spawn is None:
            edges += [Edge(turn=last) for last in self.joins.get(turn, ())]
        edges += [Edge(turn=before) for before in self.crossing.get(index, ())]
        return tuple(edges)

    def followers(self, index: int, anchor: Anchor) -> list[int]:
        """Return the turns that wait for a turn's end, or for its send."""
        found = list(self._spawned.get((index, anchor), ()))
        if anchor == "end":
            plan, turn = self.place(index)
            if turn + 1 < len(plan):
                found.append(index + 1)
            elif (joining := self._joined.get(index)) is not None:
                found.append(joining)
            found += self._crossed.get(index, ())
        return found

    def draw(self, *, seed: int, lane: int, start_range: tuple[float, float]) -> Snapshot:
        """Return the state in which a lane finds the trace."""
        return draw_snapshot(self._tree, seed=seed, lane=lane, first=start_range[0], last=start_range[1])

    def _find_joins(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        """Return the last turns of the children that each root turn waits for, and the same the other way round."""
        joins: dict[int, list[int]] = {}
        joined: dict[int, int] = {}
        for branch in self._tree.branches:
            if branch.join_turn is not None:
                lasts = [self._by_id[name].first + len(self._by_id[name]) - 1 for name in branch.streams]
                joins.setdefault(branch.join_turn, []).extend(lasts)
                joined |= dict.fromkeys(lasts, branch.join_turn)
        return joins, joined


def _spawns(tree: Tree) -> dict[str, Edge]:
    """Return when each child begins: after its spawning turn, which has the same number in the session, as the root comes first."""
    edges = {}
    for branch in tree.branches:
        for name in branch.streams:
            start = child_start(tree, branch, tree.by_id[name])
            edges[name] = Edge(turn=branch.spawn_turn, delay_ns=round(start.delay_s * NS_PER_S), anchor=start.anchor, required=True)
    return edges
