"""Recorded traces come out exactly as the reference has them: streams, joins, edges, delays, instants and hits."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ixbench_plugins.agentx.delays import delay_s
from ixbench_plugins.agentx.snapshot import draw_snapshot
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.stats import tree_figures
from ixbench_plugins.agentx.tree import make_tree

OF_THE_FILE = ("bytes", "sha256", "git_blob")
OF_A_MESSAGE_LIST = ("context_resets",)
"""Depends on how another tool writes messages; it says nothing of the trace."""


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "traces"


@pytest.fixture(scope="module")
def corpus(folder):
    return read_corpus(str(folder / "weka"))


@pytest.fixture(scope="module")
def expected(folder):
    return json.loads((folder / "weka_expected.json").read_text())["traces"]


def answer(trace, asked):
    tree = make_tree(trace)
    found = tree_figures(tree)
    starts = [request.start_s for request in tree.requests()]
    snapshot = draw_snapshot(tree, seed=asked["seed"], lane=asked["lane"], first=asked["range"][0], last=asked["range"][1])
    return {
        "id": trace.id,
        "block_size": trace.block_size,
        "requests": found.requests,
        "requests_top_level": len(trace.requests),
        "subagents": found.subagents,
        "subagents_dropped": [entry.agent_id for entry in tree.dropped],
        "models": len({request.model for request in tree.requests()}),
        "in_tokens": found.in_tokens,
        "out_tokens": found.out_tokens,
        "peak_context": found.peak_context,
        "first_start_s": min(starts),
        "last_start_s": max(starts),
        "hit_blocks": found.hits.blocks,
        "total_blocks": found.hits.total,
        "theoretical_hit_rate": round(found.hits.share, 6),
        "streams": found.streams,
        "streams_by_kind": dict(Counter(stream.kind for stream in tree.streams)),
        "stream_turns": {stream.id: len(stream.requests) for stream in tree.streams},
        "seams_merged": tree.seams_merged,
        "reductions": sum(stream.reduction for stream in tree.streams),
        "branches_gating": sum(not branch.background for branch in tree.branches),
        "branches_background": sum(branch.background for branch in tree.branches),
        "joins": {str(turn): [branch.id for branch in branches] for turn, branches in tree.joins.items()},
        "cross_stream_edges": sum(map(len, tree.predecessors.values())),
        "turns_with_cross_stream_edges": len(tree.predecessors),
        "delay_ms_total": round(sum(delay_s(stream, turn) for stream in tree.streams for turn in range(len(stream.requests))) * 1000, 6),
        "snapshot": {
            **asked,
            "t_star_ms": round(snapshot.t_star_s * 1000, 6),
            "live": {
                live.id: {
                    "next_turn": live.next_turn,
                    "offset_ms": round(live.offset_s * 1000, 3),
                    "waiting_on_children": live.waiting,
                    "primer": live.primer_turn is not None,
                }
                for live in snapshot.live
            },
        },
    }


def test_all_of_the_reference(corpus, expected):
    assert len(corpus.traces) == len(expected) == 24
    for trace in corpus.traces:
        wanted = expected[f"{trace.id}.json"]
        asked = {key: wanted["snapshot"][key] for key in ("seed", "lane", "range")}
        assert answer(trace, asked) == {key: value for key, value in wanted.items() if key not in (*OF_THE_FILE, *OF_A_MESSAGE_LIST)}


def test_every_turn_belongs_to_one_stream(corpus):
    for trace in corpus.traces:
        tree = make_tree(trace)
        assert Counter(map(id, tree.requests())) == Counter(map(id, trace.all_requests()))
        for stream in tree.streams:
            times = [request.start_s for request in stream.requests]
            assert times == sorted(times)


def test_the_samples_are_read(folder):
    one, other = (read_corpus(str(folder / "samples" / name)) for name in ("traces.jsonl", "weka_subagents.json"))
    assert [trace.id for trace in one.traces] == ["ix_simple_0001", "ix_subagents_0001", "ix_flat_0001"]
    assert [trace.line for trace in one.traces] == [1, 2, 3]
    tree, same = make_tree(one.traces[1]), make_tree(other.traces[0])
    assert [(branch.id, branch.spawn_turn, branch.join_turn, branch.streams) for branch in tree.branches] == [
        ("ix_subagents_0001:spawn:explore_000", 0, 1, ("ix_subagents_0001::sa:explore_000", "ix_subagents_0001::sa:explore_001")),
        ("ix_subagents_0001:spawn:bg_000", 2, None, ("ix_subagents_0001::sa:bg_000",)),
    ]
    assert tree.branches == same.branches
    flat = make_tree(one.traces[2])
    assert [stream.id for stream in flat.streams] == ["ix_flat_0001", *(f"ix_flat_0001::aux:00{n}" for n in range(3))]
