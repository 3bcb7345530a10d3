"""Who spawns whom, who waits for whom, and when a child starts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench_plugins.agentx.crossing import cross_stream_predecessors
from ixbench_plugins.agentx.delays import child_start, delay_s
from ixbench_plugins.agentx.hits import InfiniteCache, theoretical_hits, total, turns_in_order
from ixbench_plugins.agentx.stats import sum_statistics, tree_figures
from ixbench_plugins.agentx.trace import Request, Stream, TurnKey
from ixbench_plugins.agentx.tree import make_tree


def tree_of(weka, *entries, **more):
    return make_tree(weka.read(weka.trace(*entries, **more)))


def branches(tree):
    return [(branch.id, branch.spawn_turn, branch.join_turn, list(branch.streams)) for branch in tree.branches]


def test_a_turn_waits_for_the_subagents_that_had_ended(weka):
    tree = tree_of(
        weka,
        weka.request(0, 4),
        weka.subagent(2, "short", weka.request(2, [90]), duration_ms=3000),
        weka.subagent(2, "long", weka.request(2, [91]), duration_ms=18_000),
        weka.subagent(3, "short_too", weka.request(3, [92]), duration_ms=1000),
        weka.subagent(3, "endless", weka.request(3, [93]), duration_ms=90_000),
        weka.request(5, 5),
        weka.request(20, 6),
    )
    assert branches(tree) == [
        ("t:spawn:short", 0, 1, ["t::sa:short", "t::sa:short_too"]),
        ("t:spawn:long", 0, 2, ["t::sa:long"]),
        ("t:spawn:endless", 0, None, ["t::sa:endless"]),
    ]
    assert [branch.start_s for branch in tree.branches] == [2.0, 2.0, 3.0]
    assert [branch.background for branch in tree.branches] == [False, False, True]
    assert {turn: [branch.id for branch in found] for turn, found in tree.joins.items()} == {1: ["t:spawn:short"], 2: ["t:spawn:long"]}
    assert [(stream.id, stream.kind, stream.depth, stream.scope) for stream in tree.streams[:2]] == [
        ("t", "root", 0, "t"),
        ("t::sa:short", "sa", 1, "t::sa:short"),
    ]


@pytest.mark.parametrize(
    ("duration_ms", "requests", "join"),
    [(None, [(3, 1.5), (2.5, 0.5)], 1), (None, [(3, 7.5)], 2), (None, [], None), (-5, [(3, 60)], 1), (4000 - 0.0005, [(2, 1)], 1)],
)
def test_when_a_subagent_ends(weka, duration_ms, requests, join):
    inner = [weka.request(t, [90 + n], api_time=time) for n, (t, time) in enumerate(sorted(requests))]
    entry = weka.subagent(2, "a", *inner, duration_ms=duration_ms if duration_ms is None else round(duration_ms))
    tree = tree_of(weka, weka.request(0, 4), entry, weka.request(6, 5), weka.request(20, 6))
    assert [branch.join_turn for branch in tree.branches] == ([] if join is None else [join])


def test_a_subagent_without_anyone_before_it_is_dropped(weka):
    tree = tree_of(weka, weka.subagent(0, "a", weka.request(0, [90])), weka.request(0, 4), weka.subagent(1, "b", weka.request(1, [91])))
    assert [entry.agent_id for entry in tree.dropped] == ["a"]
    assert [stream.id for stream in tree.streams] == ["t", "t::sa:b"]
    found = tree_figures(tree)
    assert (found.requests, found.subagents, found.dropped_subagents) == (2, 1, 1)


def test_agents_hidden_in_a_subagent_are_its_branch_and_its_scope(weka):
    inner = (weka.request(2, [50, 51], api_time=5.0), weka.request(3, [50, 51, 52], out=5000), weka.request(8, [50, 51, 53]))
    tree = tree_of(weka, weka.request(0, 4), weka.subagent(2, "a", *inner, tool_tokens=64), weka.request(20, 5))
    assert branches(tree) == [("t:spawn:a", 0, 1, ["t::sa:a", "t::sa:a:aux:000"])]
    main, worker = tree.by_id["t::sa:a"], tree.by_id["t::sa:a:aux:000"]
    assert (main.scope, worker.scope, worker.kind, worker.depth) == ("t::sa:a", "t::sa:a", "aux", 1)
    assert (worker.tool_tokens, worker.system_tokens) == (64, 0)


def test_a_worker_has_the_system_message_only_if_it_begins_with_it(weka):
    def prefix(ids, **more):
        tree = tree_of(weka, weka.request(0, 4, api_time=9.0), weka.request(1, ids), weka.request(10, 5), **more)
        worker = tree.streams[1]
        return worker.tool_tokens, worker.system_tokens

    assert prefix([0, 1, 90], tool_tokens=65, system_tokens=63) == (65, 63)
    assert prefix([0, 90], tool_tokens=65, system_tokens=63) == (0, 0)
    assert prefix([0, 90], tool_tokens=64) == (64, 0)
    assert prefix([0, 1, 90]) == (0, 0)


def test_hidden_agents_hang_on_the_root(weka):
    tree = tree_of(
        weka,
        weka.request(0, 4, api_time=9.0),
        weka.request(1, [90], api_time=1.0),
        weka.request(2, [91], api_time=30.0),
        weka.request(10, 5),
        weka.request(30, 6),
    )
    assert branches(tree) == [
        ("t:flatspawn:0", 0, 1, ["t::aux:000"]),
        ("t:flatspawn:1", 0, None, ["t::aux:001"]),
    ]
    first = tree_of(weka, weka.request(5, [], out=1), weka.request(5, [7, 8]), weka.request(5, [9]), weka.request(9, [7, 8, 9]))
    assert [(branch.spawn_turn, branch.join_turn) for branch in first.branches] == [(1, 2)]


def test_delays_count_from_end_to_start(weka):
    stream = tree_of(
        weka,
        weka.request(0, 4, api_time=2.5, think_time=99.0),
        weka.request(4, 5, api_time=None),
        weka.request(7, 6, api_time=9.0),
        weka.request(16, [*range(6), 8]),
    ).root
    assert [delay_s(stream, turn) for turn in range(4)] == [0.0, 1.5, 3.0, 0.0]


def test_when_a_child_starts(weka):
    def start(spawn, first, api_time):
        entries = (weka.request(0, 4, api_time=api_time), weka.subagent(spawn, "a", weka.request(first, [90])), weka.request(99, 5))
        tree = tree_of(weka, *entries)
        return tuple(child_start(tree, tree.branches[0], tree.by_id["t::sa:a"]))

    assert start(5, 7, 3.0) == ("end", 2.0)
    assert start(5, 5, 5.0) == ("end", 0.0)
    assert start(5, 7, 6.0) == ("start", 7.0)
    assert start(5, 7, None) == ("end", 2.0)


def stream(name, *spans, scope="t"):
    requests = tuple(
        Request(
            index=n, start_s=t, api_time_s=time, model="m", input_tokens=1, output_tokens=1, block_ids=None, streamed=False
        )
        for n, (t, time) in enumerate(spans)
    )  # fmt: skip
    return Stream(id=name, kind="fa", requests=requests, scope=scope)


def edges(*streams):
    return {(key.stream, key.turn): [tuple(one) for one in found] for key, found in cross_stream_predecessors(streams).items()}


def test_what_has_ended_comes_first():
    assert edges(stream("a", (0, 1), (5, 1)), stream("b", (2, 3), (9, 1))) == {
        ("b", 0): [("a", 0)],
        ("a", 1): [("b", 0)],
        ("b", 1): [("a", 1)],
    }


def test_overlap_and_equal_starts_are_not_ordered():
    assert edges(stream("a", (0, 5)), stream("b", (4.999, 1))) == {}
    assert edges(stream("a", (3, None)), stream("b", (3, None))) == {}
    assert edges(stream("a", (3, None)), stream("b", (3.001, 1))) == {("b", 0): [("a", 0)]}


def test_ends_that_touch_are_ordered_in_spite_of_rounding():
    assert edges(stream("a", (1.1, 2.2)), stream("b", (3.3, 1))) == {("b", 0): [("a", 0)]}


def test_what_another_had_waited_for_is_not_waited_for_again():
    found = edges(stream("a", (0, 1)), stream("b", (2, 1)), stream("c", (0.5, 2)), stream("d", (4, 1)))
    assert found[("d", 0)] == [("b", 0), ("c", 0)]


def test_scopes_know_nothing_of_each_other():
    assert edges(stream("a", (0, 1)), stream("b", (2, 1), scope="other")) == {}


SPANS = st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 4)), max_size=5)


@settings(max_examples=300, deadline=None)
@given(spans=st.lists(SPANS, min_size=1, max_size=4))
def test_the_frontier_is_as_it_is_defined(spans):
    streams = [stream(name, *sorted(one, key=lambda span: span[0])) for name, one in zip("abcd", spans, strict=False)]
    expected = {}
    for target in streams:
        for turn, request in enumerate(target.requests):
            last = []
            for other in streams:
                ended = [
                    (one.end_s, one.start_s, TurnKey(other.id, n))
                    for n, one in enumerate(other.requests)
                    if other is not target and one.start_s < request.start_s and one.end_s <= request.start_s
                ]
                last += [max(ended)] if ended else []
            kept = sorted(key for end, start, key in last if not any(start < later and end <= later for _, later, _ in last))
            if kept:
                expected[TurnKey(target.id, turn)] = tuple(kept)
    assert cross_stream_predecessors(streams) == expected


def test_hits_are_leading_blocks_that_were_sent_before(weka):
    tree = tree_of(
        weka,
        weka.request(0, [1, 2, 3]),
        weka.request(10, [1, 2, 9, 3]),
        weka.subagent(10, "a", weka.request(10, [9, 3, 50]), weka.request(12, [])),
        weka.request(20, [1, 2, 9, 3, 50]),
    )
    found = {tuple(key): (hits.blocks, hits.total) for key, hits in theoretical_hits(tree).items()}
    assert found == {("t", 0): (0, 3), ("t", 1): (2, 4), ("t::sa:a", 0): (2, 3), ("t::sa:a", 1): (0, 0), ("t", 2): (5, 5)}
    assert total(theoretical_hits(tree).values()).share == 9 / 15
    assert total([]).share is None


@settings(max_examples=200, deadline=None)
@given(lists=st.lists(st.lists(st.integers(0, 6), max_size=6), min_size=1, max_size=10))
def test_the_cache_is_as_it_is_defined(weka, lists):
    requests = weka.read(weka.trace(*(weka.request(0, ids) for ids in lists))).requests
    cache, seen = InfiniteCache(), set()
    for request, ids in zip(requests, lists, strict=True):
        found = cache.send(request.block_ids)
        assert (found.blocks, found.total) == (next((n for n, one in enumerate(ids) if one not in seen), len(ids)), len(ids))
        seen.update(ids)


def test_turns_are_sent_by_time_then_place(weka):
    entries = (
        weka.request(0, 4),
        weka.subagent(0, "a", weka.request(5, [90])),
        weka.request(5, 5),
        weka.request(5, [70]),
        weka.request(9, 6),
    )
    assert [key.stream for key, _ in turns_in_order(tree_of(weka, *entries))] == ["t", "t::sa:a", "t", "t::aux:000", "t"]


def test_figures_add_up(weka):
    one = tree_figures(tree_of(weka, weka.request(0, 4, out=0), weka.request(9, 5, out=7)))
    assert one.to_json() == {
        "requests": 2,
        "streams": 1,
        "subagents": 0,
        "in_tokens": 9 * 64,
        "out_tokens": 7,
        "peak_context": 5 * 64 + 7,
        "theoretical_hit_rate": 4 / 9,
        "span_s": 9.0,
    }
    both = sum_statistics([one, one])
    assert (both.requests, both.in_tokens, both.peak_context, both.span_s, both.empty_answers) == (4, 18 * 64, 5 * 64 + 7, 18.0, 2)
    assert both.hits.share == one.hits.share
    assert sum_statistics([]).to_json()["theoretical_hit_rate"] is None
