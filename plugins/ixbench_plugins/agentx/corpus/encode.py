"""Writes a generated trace as a Weka file, one entry a line, equal bytes for equal traces.

A long session repeats nearly all of its ids in every request, so their text is cut and continued, not made again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ixbench_plugins.agentx.corpus.recorded import recorded_trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ixbench_plugins.agentx.corpus.compact import CompactStream, CompactTrace
    from ixbench_plugins.agentx.trace import Request, SubagentEntry

MS_PER_S = 1000


def encode(trace: CompactTrace) -> Iterator[str]:
    """Yield the text of the file in pieces; it is ASCII."""
    recorded = recorded_trace(trace, ids=False)
    head: dict[str, Any] = {"id": trace.id, "models": recorded.models, "block_size": recorded.block_size, "hash_id_scope": "local"}
    if trace.tool_tokens or trace.system_tokens:
        head |= {"tool_tokens": trace.tool_tokens, "system_tokens": trace.system_tokens}
    yield f'{_json(head)[:-1]},"requests":[\n'
    agents = list(zip(recorded.subagents, trace.agents, strict=True))
    for turn, request in enumerate(_requests(recorded.requests, trace.root)):
        yield f",\n{request}" if turn else request
        while agents and agents[0][1].spawn_turn == turn:
            entry, agent = agents.pop(0)
            yield f",\n{_subagent(entry, agent.stream)}"
    yield f'\n],"totals":{_json(_totals(trace))}}}\n'


def _subagent(entry: SubagentEntry, stream: CompactStream) -> str:
    fields = {
        "t": entry.spawn_s,
        "type": "subagent",
        "agent_id": entry.agent_id,
        "subagent_type": entry.subagent_type,
        "duration_ms": None if entry.duration_s is None else round(entry.duration_s * MS_PER_S),
        "total_tokens": entry.total_tokens,
        "tool_use_count": entry.tool_use_count,
        "status": entry.status,
        "models": entry.models,
    }
    return f'{_json(fields)[:-1]},"requests":[{",".join(_requests(entry.requests, stream))}]}}'


def _requests(requests: Iterable[Request], stream: CompactStream) -> Iterator[str]:
    for request, ids in zip(requests, _id_texts(stream), strict=True):
        before = {
            "t": request.start_s,
            "type": "s" if request.streamed else "n",
            "model": request.model,
            "in": request.input_tokens,
            "out": request.output_tokens,
        }
        after = {
            "input_types": request.input_types,
            "output_types": request.output_types,
            "stop": request.stop,
            "api_time": request.api_time_s,
            "think_time": request.think_time_s,
        }
        if request.ttft_s is not None:
            after["ttft"] = request.ttft_s
        yield f'{_json(before)[:-1]},"hash_ids":[{ids}],{_json(after)[1:]}'


def _id_texts(stream: CompactStream) -> Iterator[str]:
    """Yield the text of each request's ids."""
    text, next_id = "", stream.first_id
    ends = [0]
    """Length of the text of so many ids, each with its comma."""
    kept = stream.kept_blocks.tolist()
    if stream.prefix_blocks:
        text = _append(text, ends, range(stream.prefix_id, stream.prefix_id + stream.prefix_blocks))
        kept[0] = stream.prefix_blocks
    for keep, blocks in zip(kept, stream.blocks.tolist(), strict=True):
        del ends[keep + 1 :]
        text = _append(text[: ends[keep]], ends, range(next_id, next_id + blocks - keep))
        next_id += blocks - keep
        yield text[:-1]


def _append(text: str, ends: list[int], ids: Iterable[int]) -> str:
    pieces = [f"{number}," for number in ids]
    end = ends[-1]
    for piece in pieces:
        end += len(piece)
        ends.append(end)
    return text + "".join(pieces)


def _totals(trace: CompactTrace) -> dict[str, Any]:
    root, agents = _sums((trace.root,)), _sums(agent.stream for agent in trace.agents)
    combined = {key: root[key] + agents[key] for key in root}
    return {"parent_tokens": root, "subagent_tokens": agents, "combined_tokens": combined, "subagent_count": len(trace.agents)}


def _sums(streams: Iterable[CompactStream]) -> dict[str, int]:
    sums = [(int(stream.input_tokens.sum()), int(stream.output_tokens.sum())) for stream in streams]
    return {"input": sum(tokens for tokens, _ in sums), "output": sum(output for _, output in sums)}


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
