"""Draws traces from a profile. Trace i depends on the profile, the seed and i alone, so drawing more of them changes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.corpus.agents import Agents, draw_agents
from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE, END_TURN, TOOL_USE, UNRECORDED, CompactAgent, CompactStream, CompactTrace
from ixbench_plugins.agentx.corpus.draws import NamedDraws
from ixbench_plugins.agentx.corpus.root import draw_root
from ixbench_plugins.agentx.corpus.timing import MS_PER_S, Timing, draw_timing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench_plugins.agentx.corpus.compact import Ints
    from ixbench_plugins.agentx.corpus.profile import CorpusProfile
    from ixbench_plugins.agentx.corpus.root import Root

LAUNCH_MS = 1
"""From the end of the launching request to a subagent's first, and from a subagent's end to the root's next request: not an instant, so
that no rounding of sums of seconds puts the later one first."""

SUBAGENT_TYPES = ("Explore", "Explore", "Explore", "Explore", "Explore", "Explore", "Explore", "Explore", "general-purpose", "Plan")
"""Kinds of subagents in turn; informative."""


def generate(profile: CorpusProfile, sessions: int, seed: int) -> Iterator[CompactTrace]:
    """Yield this many traces, made one by one."""
    return (generate_trace(profile, seed, index) for index in range(sessions))


def generate_trace(profile: CorpusProfile, seed: int, index: int) -> CompactTrace:
    """Return one trace of the corpus that the profile and the seed name."""
    draws = NamedDraws(f"{profile.name}:{seed}:{index}")
    streamed = draws.chance(profile.streamed_share)
    root = draw_root(profile, draws)
    count = len(root.input_tokens)
    agents = draw_agents(profile, draws, count, streamed=streamed)
    always = np.empty(0, dtype=np.int64) if agents is None else agents.spawn_turns
    timing = draw_timing(profile, draws, root.output_tokens, streamed=streamed, always=always)
    start_ms, spawn_ms = _place(root, timing, agents)
    stream = CompactStream(
        start_s=start_ms / MS_PER_S,
        api_time_s=timing.api_time_s,
        ttft_s=timing.ttft_s,
        input_tokens=root.input_tokens,
        output_tokens=root.output_tokens,
        stops=np.where(timing.recorded, root.stops, UNRECORDED),
        kept_blocks=root.kept_blocks,
        hit_blocks=root.kept_blocks,
        first_id=1,
    )
    return CompactTrace(
        id=f"{profile.name}_{seed}_{index:04d}",
        root=stream,
        agents=() if agents is None else tuple(_placed(agents, spawn_ms, 1 + int(stream.new_blocks.sum()))),
        streamed=streamed,
        tool_tokens=root.tool_tokens,
        system_tokens=root.system_tokens,
    )


def _place(root: Root, timing: Timing, agents: Agents | None) -> tuple[Ints, Ints]:
    """Return when each root request starts and each subagent is launched: a root waits for its subagents, which wait for nothing."""
    steps = timing.busy_ms + root.gaps_ms
    start_ms = np.cumsum(steps) - steps
    if agents is None:
        return start_ms, np.empty(0, dtype=np.int64)
    spawn_ms = np.zeros(len(agents.requests), dtype=np.int64)
    for turn in np.unique(agents.spawn_turns).tolist():
        group = agents.spawn_turns == turn
        spawn = start_ms[turn] + timing.busy_ms[turn] + LAUNCH_MS
        spawn_ms[group] = spawn
        waits = agents.span_ms[group & agents.gates]
        if turn + 1 < len(start_ms) and len(waits):
            start_ms[turn + 1 :] += max(0, spawn + waits.max() + LAUNCH_MS - start_ms[turn + 1])
    return start_ms, spawn_ms


def _placed(agents: Agents, spawn_ms: Ints, next_id: int) -> Iterator[CompactAgent]:
    """Yield the subagents in file order, with ids from `next_id` on."""
    prefix_id = next_id if agents.prefix_blocks else 0
    next_id += agents.prefix_blocks
    blocks = agents.input_tokens // BLOCK_SIZE
    kept = np.concatenate(([0], blocks[:-1]))
    kept[agents.first] = 0
    hits = kept.copy()
    # The earliest is the first in file order, and finds nothing; the others find what they share with it.
    hits[agents.first[1:]] = agents.prefix_blocks
    stops = np.full(len(blocks), TOOL_USE)
    stops[agents.first + agents.requests - 1] = END_TURN
    stops = np.where(agents.timing.recorded, stops, UNRECORDED)
    start_s = (agents.start_ms + np.repeat(spawn_ms, agents.requests)) / MS_PER_S
    api_time_s = agents.timing.api_time_s
    for number, (first, requests, gates) in enumerate(
        zip(agents.first.tolist(), agents.requests.tolist(), agents.gates.tolist(), strict=True)
    ):
        part = slice(first, first + requests)
        stream = CompactStream(
            start_s=start_s[part],
            api_time_s=api_time_s[part],
            ttft_s=agents.timing.ttft_s[part],
            input_tokens=agents.input_tokens[part],
            output_tokens=agents.output_tokens[part],
            stops=stops[part],
            kept_blocks=kept[part],
            hit_blocks=hits[part],
            first_id=next_id,
            prefix_id=prefix_id,
            prefix_blocks=agents.prefix_blocks,
        )
        next_id += int(blocks[part.stop - 1]) - agents.prefix_blocks
        yield CompactAgent(
            agent_id=f"agent_{number + 1:03d}",
            subagent_type=SUBAGENT_TYPES[number % len(SUBAGENT_TYPES)],
            spawn_turn=int(agents.spawn_turns[number]),
            spawn_s=int(spawn_ms[number]) / MS_PER_S,
            duration_s=int(agents.span_ms[number]) / MS_PER_S if gates else None,
            stream=stream,
        )
