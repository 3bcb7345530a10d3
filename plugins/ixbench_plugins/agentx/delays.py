"""How long an agent waited between two requests, and how long after its spawning turn a child began: from end to start, as recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from ixbench_plugins.agentx.trace import Branch, Stream, Tree


class ChildStart(NamedTuple):
    """When the first turn of a child is due."""

    anchor: Literal["end", "start"]
    """Whether the delay counts from the spawning turn's end or from its send."""
    delay_s: float


def delay_s(stream: Stream, turn: int) -> float:
    """Return the wait before a turn, from the end of the turn before it; 0 for the first turn, and where the recording overlaps.

    The recorded think time is not used: it often is something else than this gap.
    """
    if not turn:
        return 0.0
    before = stream.requests[turn - 1]
    return max(0.0, (stream.requests[turn].start_s - before.start_s) - (before.api_time_s or 0.0))


def child_start(tree: Tree, branch: Branch, child: Stream) -> ChildStart:
    """Return when a child's first turn is due.

    It counts from the end of the spawning turn and the recorded spawn; where the spawn lies before that end, from the turn's send.
    """
    spawning = tree.root.requests[branch.spawn_turn]
    first_s = child.requests[0].start_s
    if branch.start_s < spawning.end_s:
        return ChildStart("start", max(first_s - spawning.start_s, 0.0))
    return ChildStart("end", max(first_s - branch.start_s, 0.0))
