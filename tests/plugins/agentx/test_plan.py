"""Plans of generated traces say the same as plans of these traces with all ids; lanes draw them in order, and none that is too large."""

from __future__ import annotations

import pytest

from ixbench.api.workload import InputError
from ixbench_plugins.agentx.corpus.generate import generate_trace
from ixbench_plugins.agentx.corpus.profiles import AGENTX, OPEN
from ixbench_plugins.agentx.corpus.recorded import recorded_trace
from ixbench_plugins.agentx.replay.contents import generated_contents, recorded_contents
from ixbench_plugins.agentx.replay.corpora import TraceSampler, find_traces
from ixbench_plugins.agentx.replay.lanes import FirstPlays
from ixbench_plugins.agentx.replay.plan import TracePlan
from ixbench_plugins.agentx.replay.sizes import Sizes
from ixbench_plugins.agentx.tree import make_tree


def smallest(profile, count):
    """Return small traces with subagents, which are quick to look at."""
    traces = (generate_trace(profile, 3, index) for index in range(80))
    return sorted((trace for trace in traces if trace.agents), key=lambda trace: sum(int(s.blocks.sum()) for s in trace.streams))[:count]


@pytest.mark.parametrize("compact", [*smallest(AGENTX, 4), *smallest(OPEN, 1)], ids=lambda compact: compact.id)
def test_a_generated_trace_needs_no_ids(compact):
    tree = make_tree(recorded_trace(compact, ids=False))
    whole = make_tree(recorded_trace(compact, ids=True))
    sizes = Sizes.of(64)
    lean, full = TracePlan(tree, generated_contents(tree, compact), sizes), TracePlan(whole, recorded_contents(whole), sizes)
    assert [(plan.name, plan.first, len(plan), plan.spawn) for plan in lean.streams] == [
        (plan.name, plan.first, len(plan), plan.spawn) for plan in full.streams
    ]
    assert lean.peak_context == full.peak_context
    for one, other in zip(lean.streams, full.streams, strict=True):
        for name in ("blocks", "kept_blocks", "hit_blocks"):
            assert list(getattr(one.contents, name)) == list(getattr(other.contents, name)), name
        for turn in range(len(one)):
            index = one.first + turn
            assert lean.after(one, turn) == full.after(other, turn)
            assert [lean.followers(index, anchor) for anchor in ("start", "end")] == [
                full.followers(index, anchor) for anchor in ("start", "end")
            ]
            mine, its = one.layout.of(turn), other.layout.of(turn)
            assert mine.messages == its.messages
            assert (mine.ids == its.ids).all()
            assert (mine.tail_tokens, mine.tail_key) == (its.tail_tokens, its.tail_key)


def test_edges_and_followers_are_the_same_thing_twice(shared):
    """Whoever waits for a turn is told when it ends, or is sent."""
    for trace in find_traces(str(shared / "data" / "traces" / "weka"), seed=0)._corpus.traces:
        tree = make_tree(trace)
        plan = TracePlan(tree, recorded_contents(tree), Sizes.of(64))
        waiting = {
            (edge.turn, edge.anchor, stream.first + turn)
            for stream in plan.streams
            for turn in range(len(stream))
            for edge in plan.after(stream, turn)
        }
        told = {
            (index, anchor, other) for index in range(plan.turns) for anchor in ("start", "end") for other in plan.followers(index, anchor)
        }
        assert told == waiting


class TestLanes:
    @pytest.fixture
    def sampler(self):
        return TraceSampler(find_traces("builtin", seed=1), scale=1.0, output_cap=None, max_context=None)

    def test_draw_traces_in_order_round_and_round(self, sampler):
        assert [sampler.at(number).id for number in (0, 1, 392, 393)] == [f"agentx_1_{number:04d}" for number in (0, 1, 392, 0)]

    def test_leave_out_what_does_not_fit(self):
        traces = find_traces("builtin", seed=1)
        small = TraceSampler(traces, scale=1.0, output_cap=None, max_context=200_000)
        drawn = [small.at(number) for number in range(5)]
        assert all(plan.peak_context <= 200_000 for plan in drawn)
        everything = [traces.plan(index, scale=1.0, output_cap=None) for index in range(40)]
        assert [plan.id for plan in drawn] == [plan.id for plan in everything if plan.peak_context <= 200_000][:5]

    def test_nothing_that_fits_is_refused(self):
        with pytest.raises(InputError, match="no trace fits into 10 tokens"):
            TraceSampler(find_traces("builtin", seed=1), scale=1.0, output_cap=None, max_context=10).at(0)

    def test_plays_of_one_trace_are_counted_whoever_plays_it(self, shared):
        traces = find_traces(str(shared / "data" / "traces" / "weka" / "trace_0504.json"), seed=0)
        sampler = TraceSampler(traces, scale=1.0, output_cap=None, max_context=None)
        first = FirstPlays.draw(sampler, lanes=3, run_id="r", seed=42, start_range=(0.25, 0.75))
        source = first.sessions()
        ids = [source.draw(lane).id for lane in (0, 1, 2, 1, 0)]
        assert ids == ["trace_0504:0:0", "trace_0504:1:1", "trace_0504:2:2", "trace_0504:1:3", "trace_0504:0:4"]
        markers = {play.marker for play in first.plays}
        assert len(markers) == 3
        again = FirstPlays.draw(sampler, lanes=3, run_id="r", seed=42, start_range=(0.25, 0.75))
        assert {play.marker for play in again.plays} == markers

    def test_a_marker_is_the_published_hash(self, sampler):
        import hashlib

        first = FirstPlays.draw(sampler, lanes=1, run_id="run", seed=42, start_range=(0.25, 0.75))
        expected = hashlib.sha256(f"run:0:0:{first.plays[0].plan.id}".encode()).hexdigest()[:12]
        assert first.plays[0].marker == f"[rid:{expected}]\n\n"
