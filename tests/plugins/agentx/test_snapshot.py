"""The state of a tree at one instant: what is over, what is live, and who waits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench_plugins.agentx.snapshot import draw_snapshot, snapshot_at
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.tree import make_tree


@pytest.fixture(scope="module")
def tree(weka):
    return make_tree(
        weka.read(
            weka.trace(
                weka.request(0, 4, api_time=2.0),
                weka.request(10, 5, api_time=2.0),
                weka.subagent(15, "a", weka.request(20, [90]), weka.request(30, [90, 91]), duration_ms=20_000),
                weka.subagent(16, "b", weka.request(21, [80]), duration_ms=900_000),
                weka.request(40, 6),
                weka.request(50, 7),
            )
        )
    )


def live(snapshot):
    return {one.id: (one.next_turn, one.offset_s, one.waiting, one.primer_turn, one.primer_lead_s) for one in snapshot.live}


def test_before_the_spawning_turn_only_the_root_is_live(tree):
    assert live(snapshot_at(tree, 5000.0)) == {"t": (1, 5.0, False, 0, 5.0)}
    assert live(snapshot_at(tree, 0.0)) == {"t": (0, 0.0, False, None, 0.0)}


def test_a_turn_at_the_instant_is_still_to_come(tree):
    assert live(snapshot_at(tree, 10_000.0)) == {"t": (1, 0.0, False, 0, 10.0)}


def test_children_are_live_from_the_spawning_turn_on(tree):
    found = snapshot_at(tree, 12_000.0)
    assert live(found) == {"t": (2, 28.0, True, 1, 2.0), "t::sa:a": (0, 8.0, False, None, 0.0), "t::sa:b": (0, 9.0, False, None, 0.0)}
    assert dict(found.done) == {"t": 2, "t::sa:a": 0, "t::sa:b": 0}


def test_the_root_waits_only_for_children_that_are_live(tree):
    assert live(snapshot_at(tree, 25_000.0)) == {"t": (2, 15.0, True, 1, 15.0), "t::sa:a": (1, 5.0, False, 0, 5.0)}
    assert live(snapshot_at(tree, 35_000.0)) == {"t": (2, 5.0, False, 1, 25.0)}


def test_a_lane_may_have_no_root(weka):
    late = weka.subagent(1, "a", weka.request(90, [90]), duration_ms=99_000)
    tree = make_tree(weka.read(weka.trace(weka.request(0, 4), late)))
    assert live(snapshot_at(tree, 50_000.0)) == {"t::sa:a": (0, 40.0, False, None, 0.0)}


def test_a_single_start_leaves_nothing_to_draw(weka):
    tree = make_tree(weka.read(weka.trace(weka.request(7, 4))))
    assert draw_snapshot(tree, seed=1, lane=0, first=0.25, last=0.75).t_star_s == 7.0


def test_the_instant_of_the_reference(shared):
    (trace,) = read_corpus(str(shared / "data" / "traces" / "weka" / "trace_0291.json")).traces
    tree = make_tree(trace)
    assert round(draw_snapshot(tree, seed=42, lane=0, first=0.25, last=0.75).t_star_s * 1000, 6) == 955537.176103
    drawn = {draw_snapshot(tree, seed=seed, lane=lane, first=0.25, last=0.75).t_star_s for seed in (42, 43) for lane in (0, 1)}
    assert len(drawn) == 4
    assert all(1363 * 0.25 <= t_star_s <= 1363 * 0.75 for t_star_s in drawn)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), lane=st.integers(0, 99))
def test_what_holds_at_any_instant(tree, seed, lane):
    found = draw_snapshot(tree, seed=seed, lane=lane, first=0.0, last=1.0)
    assert found == draw_snapshot(tree, seed=seed, lane=lane, first=0.0, last=1.0)
    assert 0.0 <= found.t_star_s <= 50.0
    assert any(not one.waiting for one in found.live)
    for one in found.live:
        stream = tree.by_id[one.id]
        assert one.next_turn == found.done[one.id] < len(stream.requests)
        assert one.offset_s >= 0
        assert (one.primer_turn is None) == (one.next_turn == 0)
        assert one.primer_lead_s >= 0
