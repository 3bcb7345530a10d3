"""Figures of a tree, for people who look at a corpus and for the totals of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.hits import Hits, theoretical_hits, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.agentx.trace import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStatistics:
    """What one trace, or all of a corpus, holds. Subagents that nothing can spawn count nowhere."""

    requests: int
    """Of all levels."""
    streams: int
    subagents: int
    in_tokens: int
    out_tokens: int
    peak_context: int
    """Largest in + max(out, 1), in tokens."""
    hits: Hits
    """Of an infinite prefix cache."""
    span_s: float
    """From the first to the last start; of several traces, the sum."""
    dropped_subagents: int
    empty_answers: int
    """Requests recorded with 0 output tokens, which are sent with a limit of 1."""

    def to_json(self) -> dict[str, int | float | None]:
        """Return the figures of `ixbench trace inspect --json`."""
        return {
            "requests": self.requests,
            "streams": self.streams,
            "subagents": self.subagents,
            "in_tokens": self.in_tokens,
            "out_tokens": self.out_tokens,
            "peak_context": self.peak_context,
            "theoretical_hit_rate": self.hits.share,
            "span_s": self.span_s,
        }


def tree_figures(tree: Tree) -> TraceStatistics:
    """Return the figures of one tree."""
    requests = list(tree.requests())
    starts = [request.start_s for request in requests]
    return TraceStatistics(
        requests=len(requests),
        streams=len(tree.streams),
        subagents=len(tree.trace.subagents) - len(tree.dropped),
        in_tokens=sum(request.input_tokens for request in requests),
        out_tokens=sum(request.output_tokens for request in requests),
        peak_context=max(request.context_tokens for request in requests),
        hits=total(theoretical_hits(tree).values()),
        span_s=max(starts) - min(starts),
        dropped_subagents=len(tree.dropped),
        empty_answers=sum(not request.output_tokens for request in requests),
    )


def sum_statistics(all_: Sequence[TraceStatistics]) -> TraceStatistics:
    """Return the figures of several trees together: sums, and the largest context."""
    return TraceStatistics(
        requests=sum(one.requests for one in all_),
        streams=sum(one.streams for one in all_),
        subagents=sum(one.subagents for one in all_),
        in_tokens=sum(one.in_tokens for one in all_),
        out_tokens=sum(one.out_tokens for one in all_),
        peak_context=max((one.peak_context for one in all_), default=0),
        hits=total(one.hits for one in all_),
        span_s=sum(one.span_s for one in all_),
        dropped_subagents=sum(one.dropped_subagents for one in all_),
        empty_answers=sum(one.empty_answers for one in all_),
    )
