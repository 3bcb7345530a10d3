"""What a corpus looks like: quantiles of its quantities and its shares, by the definitions of the published statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE, END_TURN, TOOL_USE, UNRECORDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ixbench_plugins.agentx.corpus.compact import CompactStream, CompactTrace, Ints
    from ixbench_plugins.agentx.corpus.laws import Floats

    Flags = NDArray[np.bool_]

FRESH_BELOW = 50_000
"""First inputs from here on are those of resumed sessions."""
COMPACTED_BELOW = 0.7
"""An input that falls below this share of the one before was compacted."""
_ROUNDING_S = 1e-6
"""By which differences of times may be off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """A corpus in numbers."""

    quantities: dict[str, Floats]
    """Every observation, sorted, by the quantity's name."""
    shares: dict[str, float]
    """Counts, means and shares by name."""

    def quantiles(self, name: str, percents: Sequence[float]) -> tuple[float, ...]:
        """Return percentiles of a quantity, by linear interpolation; without any observation NaN."""
        values = self.quantities[name]
        return tuple(float(value) for value in np.percentile(values, percents)) if len(values) else (np.nan,) * len(percents)

    def distance(self, name: str, quantiles: Sequence[float], percents: Sequence[float]) -> float:
        """Return the largest distance, at published quantiles, between the published distribution and this corpus."""
        values = self.quantities[name]
        low = np.searchsorted(values, quantiles, side="left") / max(len(values), 1)
        high = np.searchsorted(values, quantiles, side="right") / max(len(values), 1)
        # Where many observations have one value, the share lies anywhere between those below it and those up to it.
        shares = np.asarray(percents) / 100
        return float(np.max(np.maximum(np.maximum(low - shares, shares - high), 0.0)))


def statistics(traces: Iterable[CompactTrace]) -> Statistics:
    """Return the statistics of a corpus."""
    corpus = tuple(traces)
    roots = [trace.root for trace in corpus]
    agents = [agent.stream for trace in corpus for agent in trace.agents]
    streams = roots + agents
    first = np.array([root.input_tokens[0] for root in roots])
    quantities = {
        "requests per trace": np.array([trace.requests for trace in corpus]),
        "first input, fresh session": first[first < FRESH_BELOW],
        "first input, resumed session": first[first >= FRESH_BELOW],
        "input growth per root turn": _joined(roots, _growth),
        "new content per root turn": _joined(roots, lambda stream: _growth(stream) - stream.output_tokens[:-1][_grew(stream)]),
        "output tokens": _joined(streams, lambda stream: stream.output_tokens),
        "input tokens": _joined(streams, lambda stream: stream.input_tokens),
        "gap after tool use, s": _joined(roots, lambda stream: _gaps(stream, TOOL_USE)),
        "gap after end of turn, s": _joined(roots, lambda stream: _gaps(stream, END_TURN)),
        "gap before every root turn, s": _joined(roots, _gaps),
        "recorded time of a request, s": _joined(streams, lambda stream: stream.api_time_s[~np.isnan(stream.api_time_s)]),
        "requests per user turn": _joined(roots, _runs),
        "blocks lost where any are": _joined(roots, _lost),
        "input before a compaction": _joined(roots, lambda stream: stream.input_tokens[:-1][_compacted(stream)]),
        "input after a compaction": _joined(roots, lambda stream: stream.input_tokens[1:][_compacted(stream)]),
        "declared tool tokens": np.array([trace.tool_tokens for trace in corpus if trace.tool_tokens]),
        "declared system tokens": np.array([trace.system_tokens for trace in corpus if trace.system_tokens]),
        "subagents per trace that has any": np.array([len(trace.agents) for trace in corpus if trace.agents]),
        "requests per subagent": np.array([len(agent.input_tokens) for agent in agents]),
        "first input of a subagent": np.array([agent.input_tokens[0] for agent in agents]),
        "input growth per subagent turn": _joined(agents, _growth),
        "gap within a subagent, s": _joined(agents, _gaps),
        "span of a trace, s": np.array([max(stream.start_s[-1] for stream in trace.streams) for trace in corpus]),
        "peak input and output of a trace": np.array([_peak(trace) for trace in corpus]),
        "hit share of a trace": np.array([_hit_share(trace.streams) for trace in corpus]),
    }
    return Statistics(
        quantities={name: np.sort(np.asarray(values, dtype=np.float64)) for name, values in quantities.items()},
        shares=_shares(corpus, roots, agents),
    )


def _shares(corpus: Sequence[CompactTrace], roots: Sequence[CompactStream], agents: Sequence[CompactStream]) -> dict[str, float]:
    streams = (*roots, *agents)
    requests = sum(trace.requests for trace in corpus)
    inputs = sum(int(stream.input_tokens.sum()) for stream in streams)
    outputs = sum(int(stream.output_tokens.sum()) for stream in streams)
    hits = sum(int(stream.hit_blocks.sum()) for stream in streams)
    turns = sum(len(root.input_tokens) - 1 for root in roots)
    stops = np.concatenate([stream.stops for stream in streams])
    lost = _joined(roots, _lost)
    return {
        "traces": len(corpus),
        "requests": requests,
        "requests per trace, mean": requests / len(corpus),
        "requests of a trace, most": max(trace.requests for trace in corpus),
        "share of requests in subagents": sum(len(agent.input_tokens) for agent in agents) / requests,
        "share of traces with subagents": sum(bool(trace.agents) for trace in corpus) / len(corpus),
        "share of traces that begin fresh": sum(int(root.input_tokens[0]) < FRESH_BELOW for root in roots) / len(corpus),
        "input tokens, mean": inputs / requests,
        "input tokens, most": max(int(stream.input_tokens.max()) for stream in streams),
        "output tokens, mean": outputs / requests,
        "input share": inputs / (inputs + outputs),
        "hit share": hits / sum(int(stream.blocks.sum()) for stream in streams),
        "hit share of a trace, mean": float(np.mean([_hit_share(trace.streams) for trace in corpus])),
        "uncached tokens per request": (inputs - hits * BLOCK_SIZE) / requests,
        "share of requests that end the turn": float(np.mean(stops == END_TURN)),
        "share of requests without a record of time": float(np.mean(stops == UNRECORDED)),
        "share of root turns that lose blocks": len(lost) / turns,
        "share of root turns that are compactions": sum(int(_compacted(root).sum()) for root in roots) / turns,
        "share of root turns after more than 10 s": _above(roots, 10.0),
        "share of root turns after more than 300 s": _above(roots, 300.0),
    }


def _joined(streams: Sequence[CompactStream], values: Callable[[CompactStream], Ints | Floats]) -> Floats:
    return np.concatenate([np.empty(0), *(values(stream) for stream in streams)], dtype=np.float64)


def _grew(stream: CompactStream) -> Flags:
    return np.diff(stream.input_tokens) > 0


def _growth(stream: CompactStream) -> Ints:
    growth: Ints = np.diff(stream.input_tokens)
    return growth[growth > 0]


def _gaps(stream: CompactStream, stop: int | None = None) -> Floats:
    """Return the times from a request's end to the next start, where its time was recorded."""
    gaps: Floats = np.diff(stream.start_s) - stream.api_time_s[:-1]
    wanted = ~np.isnan(gaps) if stop is None else ~np.isnan(gaps) & (stream.stops[:-1] == stop)
    return gaps[wanted]


def _above(roots: Sequence[CompactStream], limit_s: float) -> float:
    gaps = _joined(roots, _gaps)
    return float(np.mean(gaps > limit_s + _ROUNDING_S))


def _runs(stream: CompactStream) -> Ints:
    """Return how many requests each finished turn of the user took."""
    runs: Ints = np.diff(np.flatnonzero(stream.stops == END_TURN), prepend=-1)
    return runs


def _lost(stream: CompactStream) -> Ints:
    lost = stream.blocks[:-1] - stream.kept_blocks[1:]
    return lost[lost > 0]


def _compacted(stream: CompactStream) -> Flags:
    return stream.input_tokens[1:] < COMPACTED_BELOW * stream.input_tokens[:-1]


def _peak(trace: CompactTrace) -> int:
    return max(int((stream.input_tokens + np.maximum(stream.output_tokens, 1)).max()) for stream in trace.streams)


def _hit_share(streams: Sequence[CompactStream]) -> float:
    return sum(int(stream.hit_blocks.sum()) for stream in streams) / sum(int(stream.blocks.sum()) for stream in streams)
