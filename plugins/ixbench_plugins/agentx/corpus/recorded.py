"""Turns a generated trace into the nouns of a recorded one: without block ids in no time, or with them, as reading its file gives it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE, END_TURN, STOPS, TOOL_USE
from ixbench_plugins.agentx.trace import Request, SubagentEntry, Trace, read_only

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench_plugins.agentx.corpus.compact import CompactAgent, CompactStream, CompactTrace
    from ixbench_plugins.agentx.trace import BlockIds

ROOT_MODEL = "recorded-large"
AGENT_MODEL = "recorded-small"
"""Names of models in generated traces; nothing is routed by them."""

_OUTPUT_TYPES = {TOOL_USE: ("text", "tool_use"), END_TURN: ("text",)}
_NO_IDS = read_only(np.empty(0, np.int32))


def recorded_trace(trace: CompactTrace, *, ids: bool) -> Trace:
    """Return the trace as a recorded one.

    Without ids its tree is the same, since a generated trace hides no agents; of its prompts only the lengths are known then.
    """
    turns = np.arange(len(trace.root.input_tokens))
    launched = np.searchsorted([agent.spawn_turn for agent in trace.agents], turns, side="left")
    return Trace(
        id=trace.id,
        file=f"generated {trace.id}",
        block_size=BLOCK_SIZE,
        models=(ROOT_MODEL,),
        tool_tokens=trace.tool_tokens,
        system_tokens=trace.system_tokens,
        requests=tuple(_requests(trace.root, (turns + launched).tolist(), ROOT_MODEL, streamed=trace.streamed, ids=ids)),
        subagents=tuple(_entry(agent, number, streamed=trace.streamed, ids=ids) for number, agent in enumerate(trace.agents)),
    )


def _entry(agent: CompactAgent, number: int, *, streamed: bool, ids: bool) -> SubagentEntry:
    stream = agent.stream
    count = len(stream.input_tokens)
    done = agent.duration_s is not None
    return SubagentEntry(
        index=agent.spawn_turn + 1 + number,
        spawn_s=agent.spawn_s,
        agent_id=agent.agent_id,
        requests=tuple(_requests(stream, range(count), AGENT_MODEL, streamed=streamed, ids=ids)),
        subagent_type=agent.subagent_type,
        status="completed" if done else "async_launched",
        models=(AGENT_MODEL,),
        duration_s=agent.duration_s,
        total_tokens=int(stream.input_tokens[-1] + stream.output_tokens[-1]) if done else None,
        tool_use_count=count - 1 if done else None,
    )


def _requests(stream: CompactStream, indexes: Sequence[int], model: str, *, streamed: bool, ids: bool) -> Iterator[Request]:
    ended_s, stop = 0.0, END_TURN
    columns = (stream.start_s, stream.input_tokens, stream.output_tokens, stream.stops, stream.api_time_s, stream.ttft_s)
    rows = zip(indexes, *(column.tolist() for column in columns), _id_lists(stream, ids=ids), strict=True)
    for turn, (index, start_s, tokens, output, reason, api_s, ttft_s, block_ids) in enumerate(rows):
        api_time_s = None if math.isnan(api_s) else api_s
        yield Request(
            index=index,
            start_s=start_s,
            model=model,
            input_tokens=tokens,
            output_tokens=output,
            block_ids=block_ids,
            streamed=streamed,
            api_time_s=api_time_s,
            think_time_s=round(start_s - ended_s, 1) if turn else 0.0,
            ttft_s=None if math.isnan(ttft_s) else ttft_s,
            input_types=("tool_result",) if stop == TOOL_USE else ("text",),
            output_types=_OUTPUT_TYPES.get(reason, ()),
            stop=STOPS[reason],
        )
        ended_s, stop = start_s + (api_time_s or 0.0), reason


def _id_lists(stream: CompactStream, *, ids: bool) -> Iterator[BlockIds]:
    """Yield each request's ids; requests that only grow share one array."""
    count = len(stream.input_tokens)
    if not ids:
        yield from (_NO_IDS for _ in range(count))
        return
    cuts = np.flatnonzero(stream.kept_blocks[1:] < stream.blocks[:-1]) + 1
    first = 0
    for end in (*cuts.tolist(), count):
        longest = read_only(stream.block_ids(end - 1).astype(np.int32))
        for blocks in stream.blocks[first:end].tolist():
            yield longest[:blocks]
        first = end
