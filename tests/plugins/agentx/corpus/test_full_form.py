"""What a compact trace says of its blocks is what the full ids say, and reading its file gives the same trace."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ixbench_plugins.agentx.corpus.encode import encode
from ixbench_plugins.agentx.corpus.generate import generate
from ixbench_plugins.agentx.corpus.profiles import AGENTX, OPEN
from ixbench_plugins.agentx.corpus.recorded import recorded_trace
from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.hits import InfiniteCache, turns_in_order
from ixbench_plugins.agentx.trace import Request, SubagentEntry, Trace
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.agentx.weka import read_trace


@pytest.fixture(scope="module", params=[(AGENTX, 8, 11), (OPEN, 60, 3)], ids=["agentx", "open"])
def corpus(request):
    profile, count, seed = request.param
    compact = list(generate(profile, count, seed))
    assert any(trace.agents for trace in compact)
    return [(trace, read("".join(encode(trace)))) for trace in compact]


def read(text):
    faults = FaultList("trace.json")
    trace = read_trace(text.encode(), faults)
    faults.raise_any()
    return trace


def values(item):
    """Return all that a noun holds, except what names its file."""
    return {
        name: tuple(values(part) for part in value)
        if name in ("requests", "subagents")
        else value.tolist()
        if isinstance(value, np.ndarray)
        else value
        for name in type(item).__slots__
        if name not in ("file", "line")
        for value in [getattr(item, name)]
    }


def test_the_strict_reader_gives_the_same_trace(corpus):
    for compact, full in corpus:
        assert isinstance(full, Trace)
        assert values(recorded_trace(compact, ids=True)) == values(full)


def test_without_ids_only_the_ids_are_missing(corpus):
    def without(item):
        if isinstance(item, dict):
            return {key: [] if key == "block_ids" else without(value) for key, value in item.items()}
        return tuple(without(part) for part in item) if isinstance(item, tuple) else item

    for compact, full in corpus:
        assert values(recorded_trace(compact, ids=False)) == without(values(full))


def test_the_tree_holds_the_streams_that_the_file_names(corpus):
    for compact, full in corpus:
        tree = make_tree(full)
        names = [compact.id, *(f"{compact.id}::sa:{agent.agent_id}" for agent in compact.agents)]
        assert [stream.id for stream in tree.streams] == names
        assert [len(stream.requests) for stream in tree.streams] == [len(stream.input_tokens) for stream in compact.streams]
        assert tree.dropped == ()


def test_the_tree_is_the_same_without_ids(corpus):
    for compact, full in corpus:
        with_ids, without = make_tree(full), make_tree(recorded_trace(compact, ids=False))
        assert [(stream.id, stream.kind, stream.scope) for stream in without.streams] == [
            (stream.id, stream.kind, stream.scope) for stream in with_ids.streams
        ]
        assert without.branches == with_ids.branches
        assert without.predecessors == with_ids.predecessors


def test_most_subagents_hold_up_the_next_turn(corpus):
    branches = [branch for _, full in corpus for branch in make_tree(full).branches]
    assert np.mean([branch.join_turn == branch.spawn_turn + 1 for branch in branches]) > 0.6


def test_hits_are_those_of_an_infinite_cache(corpus):
    for compact, full in corpus:
        tree, cache = make_tree(full), InfiniteCache()
        hits = {stream.id: [0] * len(stream.requests) for stream in tree.streams}
        for key, request in turns_in_order(tree):
            hits[key.stream][key.turn] = cache.send(request.block_ids).blocks
        assert list(hits.values()) == [stream.hit_blocks.tolist() for stream in compact.streams]


def test_ids_of_one_request_need_no_others(corpus):
    for compact, full in corpus:
        requests = [full.requests, *(entry.requests for entry in full.subagents)]
        for stream, recorded in zip(compact.streams, requests, strict=True):
            for turn in {0, len(recorded) // 2, len(recorded) - 1}:
                assert stream.block_ids(turn).tolist() == recorded[turn].block_ids.tolist()


def test_kept_blocks_are_what_two_requests_begin_with(corpus):
    for compact, full in corpus:
        for (before, after), kept in zip(pairwise(full.requests), compact.root.kept_blocks[1:], strict=True):
            length = min(len(before.block_ids), len(after.block_ids))
            equal = before.block_ids[:length] == after.block_ids[:length]
            assert (length if equal.all() else int(np.argmin(equal))) == kept


def test_the_values_of_every_field_are_compared():
    assert {"block_ids", "start_s", "api_time_s", "think_time_s"} <= set(Request.__slots__)
    assert {"duration_s", "requests"} <= set(SubagentEntry.__slots__)
