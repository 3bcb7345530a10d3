"""The state of a tree at one instant of its recording: what a lane finds when it starts there instead of at the beginning."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench_plugins.agentx.trace import Branch, Stream, Tree

_MS_PER_S = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStream:
    """A stream that still has turns to play."""

    id: str
    next_turn: int
    offset_s: float
    """From the instant to the recorded start of the next turn."""
    waiting: bool
    """Whether the next turn waits for children that are live."""
    primer_turn: int | None
    """Last turn before the instant: sent once more with its whole prompt, it puts the stream's cache into the state of the instant.
    None where nothing came before.
    """
    primer_lead_s: float
    """From the recorded start of the primer's turn to the instant; 0 without primer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A tree at one instant."""

    t_star_s: float
    """The instant, from the start of the trace."""
    live: tuple[LiveStream, ...]
    """The root first, if it is live; then the children in the order of the branches."""
    done: Mapping[str, int]
    """How many turns of each stream lie before the instant: they count as ended."""


def draw_snapshot(tree: Tree, *, seed: int, lane: int, first: float, last: float) -> Snapshot:
    """Return the state at an instant that is drawn evenly from a stretch of the recording.

    `first` and `last` bound it, as shares of the time between the first and the last start of a turn. Equal seed, trace and lane give
    the same instant.
    """
    starts = [request.start_s * _MS_PER_S for request in tree.requests()]
    begin, end = min(starts), max(starts)
    low, high = begin + first * (end - begin), begin + last * (end - begin)
    digest = hashlib.sha256(f"{seed}:{tree.trace.id}:{lane}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    return snapshot_at(tree, float(random.uniform(low, high)) if high > low else low)


def snapshot_at(tree: Tree, t_star_ms: float) -> Snapshot:
    """Return the state at an instant.

    It is in milliseconds, as the reference draws it: in seconds a turn at the very instant could fall on its other side.
    """
    done = {stream.id: _turns_before(stream, t_star_ms) for stream in tree.streams}
    live: list[LiveStream] = []
    joins: set[int] = set()
    for branch in tree.branches:
        if _has_begun(tree, branch, t_star_ms, done[tree.root.id]):
            children = [tree.by_id[name] for name in branch.streams if done[name] < len(tree.by_id[name].requests)]
            live += [_live(child, t_star_ms, done[child.id], waiting=False) for child in children]
            if children and branch.join_turn is not None:
                joins.add(branch.join_turn)
    turn = done[tree.root.id]
    if turn < len(tree.root.requests):
        live.insert(0, _live(tree.root, t_star_ms, turn, waiting=turn in joins))
    return Snapshot(t_star_s=t_star_ms / _MS_PER_S, live=tuple(live), done=done)


def _turns_before(stream: Stream, t_star_ms: float) -> int:
    return next((turn for turn, request in enumerate(stream.requests) if request.start_s * _MS_PER_S >= t_star_ms), len(stream.requests))


def _has_begun(tree: Tree, branch: Branch, t_star_ms: float, root_done: int) -> bool:
    """Whether the children were spawned, or would be at once since their spawning turn is over."""
    spawning_ms = tree.root.requests[branch.spawn_turn].start_s * _MS_PER_S
    return t_star_ms >= branch.start_s * _MS_PER_S or (t_star_ms >= spawning_ms and root_done > branch.spawn_turn)


def _live(stream: Stream, t_star_ms: float, turn: int, *, waiting: bool) -> LiveStream:
    lead_ms = t_star_ms - stream.requests[turn - 1].start_s * _MS_PER_S if turn else 0.0
    return LiveStream(
        id=stream.id,
        next_turn=turn,
        offset_s=(stream.requests[turn].start_s * _MS_PER_S - t_star_ms) / _MS_PER_S,
        waiting=waiting,
        primer_turn=turn - 1 if turn else None,
        primer_lead_s=lead_ms / _MS_PER_S,
    )
