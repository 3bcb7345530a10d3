"""Finds which turns of other streams a turn had waited for: those that were complete when it was sent, and after which nothing else was."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from ixbench_plugins.agentx.trace import TurnKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench_plugins.agentx.trace import Stream

_MS_PER_S = 1000.0


class _Interval(NamedTuple):
    """A turn in time; ordered by its end, then its start, then its number."""

    end_ms: float
    start_ms: float
    turn: int


def cross_stream_predecessors(streams: Iterable[Stream]) -> dict[TurnKey, tuple[TurnKey, ...]]:
    """Return, for each turn that has any, the turns of other streams of its scope that must have ended before it is sent.

    Overlap makes no edge; a turn that ends as another starts comes before it; equal starts are not ordered.
    """
    scopes: dict[str, list[Stream]] = {}
    for stream in streams:
        scopes.setdefault(stream.scope, []).append(stream)
    found: dict[TurnKey, tuple[TurnKey, ...]] = {}
    for members in scopes.values():
        if len(members) > 1:
            turns = {stream.id: _intervals(stream) for stream in members}
            ended = {name: sorted(intervals) for name, intervals in turns.items()}
            for name, intervals in turns.items():
                for interval in intervals:
                    if before := _frontier(name, interval.start_ms, ended):
                        found[TurnKey(name, interval.turn)] = before
    return found


def _intervals(stream: Stream) -> list[_Interval]:
    # Ends that touch a start do so in milliseconds, in which times were recorded: in seconds their sums are off by a rounding.
    return [
        _Interval(start + max(request.api_time_s or 0.0, 0.0) * _MS_PER_S, start, turn)
        for turn, request in enumerate(stream.requests)
        for start in (request.start_s * _MS_PER_S,)
    ]


def _frontier(name: str, start_ms: float, ended: dict[str, list[_Interval]]) -> tuple[TurnKey, ...]:
    last: list[tuple[str, _Interval]] = []
    for other, intervals in ended.items():
        if other != name and (interval := _last_before(intervals, start_ms)):
            last.append((other, interval))
    return tuple(
        sorted(
            TurnKey(other, one.turn)
            for other, one in last
            if not any(one.start_ms < later.start_ms and one.end_ms <= later.start_ms for _, later in last)
        )
    )


def _last_before(intervals: Sequence[_Interval], start_ms: float) -> _Interval | None:
    """Return the interval that ends last of those that started before a time and had ended by it."""
    place = bisect_right(intervals, start_ms, key=lambda interval: interval.end_ms)
    while place and intervals[place - 1].start_ms >= start_ms:
        place -= 1
    return intervals[place - 1] if place else None
