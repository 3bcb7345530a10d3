"""Draws the subagents of a trace: which root turns launch them, and all their requests at once, since there are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE
from ixbench_plugins.agentx.corpus.profile import AgentsPerTurn
from ixbench_plugins.agentx.corpus.timing import Timing, draw_timing, gaps_ms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ixbench_plugins.agentx.corpus.compact import Ints
    from ixbench_plugins.agentx.corpus.draws import NamedDraws
    from ixbench_plugins.agentx.corpus.profile import CorpusProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """All subagents of a trace, one after another in file order."""

    spawn_turns: Ints
    """Root turn that launched each; does not decrease."""
    gates: NDArray[np.bool_]
    """Whether the next root turn waits for it."""
    first: Ints
    """Place of each one's first request in the arrays below."""
    requests: Ints
    """How many each makes."""
    input_tokens: Ints
    output_tokens: Ints
    start_ms: Ints
    """Start of each request after its subagent's launch."""
    timing: Timing
    span_ms: Ints
    """From each one's launch to the end of its last request."""
    prefix_blocks: int
    """Leading blocks that all of them share."""


def draw_agents(profile: CorpusProfile, draws: NamedDraws, root_turns: int, *, streamed: bool) -> Agents | None:
    """Return the subagents of a root with so many turns, or None."""
    spawn_turns = _draw_spawn_turns(profile, draws, root_turns)
    requests = draws.whole(profile.agent_requests, len(spawn_turns))
    # A trace has its size; whoever comes when that is used up is left out.
    fits = np.cumsum(requests) <= profile.most_requests.value - root_turns
    spawn_turns, requests = spawn_turns[fits], requests[fits]
    agents, count = len(requests), int(requests.sum())
    if not agents:
        return None
    first = np.cumsum(requests) - requests
    output_tokens = draws.whole(profile.output, count)
    growth = draws.whole(profile.agent_growth, count)
    if profile.agent_growth_beyond_output:
        growth += output_tokens
    inputs, prefix_blocks = _draw_first_inputs(profile, draws, agents)
    input_tokens = np.minimum(np.repeat(inputs, requests) + _within(growth, first, requests), int(profile.most_input.value))
    timing = draw_timing(profile, draws, output_tokens, streamed=streamed, always=first + requests - 1)
    start_ms = _within(timing.busy_ms + gaps_ms(profile, profile.agent_gap.at(draws.shares(count))), first, requests)
    last = first + requests - 1
    return Agents(
        spawn_turns=spawn_turns,
        gates=draws.chances(profile.agent_gate_share, agents),
        first=first,
        requests=requests,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        start_ms=start_ms,
        timing=timing,
        span_ms=start_ms[last] + timing.busy_ms[last],
        prefix_blocks=prefix_blocks,
    )


def _draw_spawn_turns(profile: CorpusProfile, draws: NamedDraws, root_turns: int) -> Ints:
    if isinstance(profile.agents, AgentsPerTurn):
        launches = np.flatnonzero(draws.chances(profile.agents.share, root_turns))
        return np.repeat(launches, draws.whole(profile.agents.group, len(launches)))
    if not draws.chance(profile.agents.share):
        return np.empty(0, dtype=np.int64)
    return np.sort((draws.shares(draws.one(profile.agents.count)) * root_turns).astype(np.int64))


def _draw_first_inputs(profile: CorpusProfile, draws: NamedDraws, agents: int) -> tuple[Ints, int]:
    """Return each one's first input and how many blocks all share."""
    if profile.agent_task is None:
        return draws.whole(profile.agent_input, agents), 0
    tasks = draws.whole(profile.agent_task, agents)
    prefix_blocks = max(draws.one(profile.agent_input) - int(tasks[0]), 0) // BLOCK_SIZE
    return prefix_blocks * BLOCK_SIZE + tasks, prefix_blocks


def _within(steps: Ints, first: Ints, requests: Ints) -> Ints:
    """Return running sums of the steps before each request, from 0 in every subagent."""
    before = np.cumsum(steps) - steps
    return before - np.repeat(before[first], requests)
