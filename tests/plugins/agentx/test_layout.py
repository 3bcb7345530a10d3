"""Which block stands in which message: every rule on small traces, and what must hold on all recorded ones."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ixbench_plugins.agentx.replay.contents import recorded_contents, whole_ids
from ixbench_plugins.agentx.replay.plan import TracePlan
from ixbench_plugins.agentx.replay.sizes import Sizes
from ixbench_plugins.agentx.sources import read_corpus
from ixbench_plugins.agentx.trace import shared_blocks
from ixbench_plugins.agentx.tree import make_tree

KEPT = range(100)


def planned(trace, **sizes):
    tree = make_tree(trace)
    return TracePlan(tree, recorded_contents(tree), Sizes.of(trace.block_size, **sizes))


@pytest.fixture
def layouts(weka):
    """Return a function that lays out prompts given as (ids, tail, out of the turn), as text: S, U and A a block, + for a tail."""

    def make(*turns, prefix=0):
        requests = [weka.request(10 * n, ids, out=out) | {"in": len(list(ids)) * 64 + tail} for n, (ids, tail, out) in enumerate(turns)]
        plan = planned(weka.read(weka.trace(*requests, system_tokens=64 * prefix)))
        assert len(plan.streams) == 1
        return [shown(plan.streams[0].layout.of(turn)) for turn in range(len(turns))]

    return make


def shown(layout):
    parts = [message.role[0].upper() * (message.end - message.start) for message in layout.messages]
    return " ".join(parts) + ("+" if layout.tail_tokens else "")


class TestRules:
    def test_the_first_prompt_is_system_and_user(self, layouts):
        assert layouts((range(5), 9, 1), prefix=2) == ["SS UUU+"]
        assert layouts((range(5), 0, 1)) == ["UUUUU"]

    def test_a_system_message_leaves_the_user_something_to_say(self, layouts):
        assert layouts((range(3), 0, 1), prefix=3) == ["SS U"]
        assert layouts((range(3), 1, 1), prefix=3) == ["SSS +"]

    def test_news_are_the_answer_then_the_user(self, layouts):
        assert layouts((range(3), 9, 100), (range(8), 3, 64), (range(10), 0, 1)) == ["UUU+", "UUU AA UUU+", "UUU AA UUU A U"]

    def test_the_answer_is_cut_to_what_is_new(self, layouts):
        assert layouts((range(3), 9, 1000), (range(5), 9, 1)) == ["UUU+", "UUU AA +"]

    def test_without_a_tail_the_last_new_block_is_the_users(self, layouts):
        assert layouts((range(3), 9, 1000), (range(5), 0, 1)) == ["UUU+", "UUU A U"]

    def test_a_cut_may_fall_inside_a_message(self, layouts):
        assert layouts((range(4), 0, 64), ([0, 1, 2, 50, 51], 0, 1)) == ["UUUU", "UUU A U"]

    def test_nothing_new_but_a_tail_goes_to_the_user(self, layouts):
        assert layouts((range(4), 0, 64), (range(4), 5, 1), (range(6), 5, 1)) == ["UUUU", "UUUU+", "UUUU A U+"]

    def test_no_user_left_after_the_cut_gives_all_to_the_user(self, layouts):
        assert layouts((range(5), 0, 64), ([0, 1, 70, 71, 72], 0, 1), prefix=2) == ["SS UUU", "SS UUU"]
        assert layouts((range(5), 0, 64), ([0, 70, 71], 0, 1), prefix=2) == ["SS UUU", "S UU"]

    def test_where_a_later_prompt_ends_the_user_has_begun(self, layouts):
        """The third prompt is cut back to the sixth block and adds nothing, so the answer in the second must end before that one."""
        assert layouts((range(3), 9, 64 * 4), (range(9), 9, 1), (range(6), 0, 1)) == ["UUU+", "UUU AA UUUU+", "UUU AA U"]
        assert layouts((range(3), 9, 64 * 4), (range(9), 9, 1), (range(6), 1, 1)) == ["UUU+", "UUU AAAA UU+", "UUU AAA +"]

    def test_a_retry_is_the_same_again(self, layouts):
        assert layouts((range(3), 9, 64), (range(5), 0, 64), (range(5), 0, 1)) == ["UUU+", "UUU A U", "UUU A U"]

    def test_going_back_is_the_same_as_going_straight(self, layouts, weka):
        requests = [weka.request(10 * n, range(2 + n)) for n in range(6)]
        layout = planned(weka.read(weka.trace(*requests))).streams[0].layout
        straight = [shown(layout.of(turn)) for turn in range(6)]
        assert [shown(layout.of(turn)) for turn in reversed(range(6))] == straight[::-1]


class TestSizes:
    def test_lengths_are_the_recorded_ones(self):
        sizes = Sizes.of(64)
        assert (sizes.prompt(650, 10), sizes.output(0), sizes.output(500)) == ((650, 10), 1, 500)

    def test_blocks_are_scaled_as_a_whole(self):
        sizes = Sizes.of(64, scale=0.1)
        assert sizes.block_tokens == 6
        assert sizes.prompt(10 * 64 + 32, 10) == (63, 3)
        assert (sizes.output(100), sizes.output(1), sizes.context(64, 1, 640)) == (9, 1, 66)

    def test_answers_are_capped_but_contexts_are_not(self):
        sizes = Sizes.of(64, output_cap=64)
        assert (sizes.output(5000), sizes.context(64, 1, 5000)) == (64, 5064)

    def test_the_smallest_prompt_has_a_token(self):
        assert Sizes.of(64, scale=0.02).prompt(10, 0) == (1, 1)


def test_all_recorded_traces_keep_the_rules(shared):
    """Messages cover all blocks, take turns and end with the user; no block changes its role while it is kept."""
    turns = 0
    for trace in read_corpus(str(shared / "data" / "traces" / "weka")).traces:
        plan = planned(trace)
        for stream in plan.streams:
            roles = []
            for turn, request in enumerate(stream.stream.requests):
                layout = stream.layout.of(turn)
                assert [message.start for message in layout.messages[1:]] == [message.end for message in layout.messages[:-1]]
                assert (layout.messages[0].start, layout.messages[-1].end) == (0, len(layout.ids))
                assert layout.messages[-1].role == "user"
                taking = [message.role for message in layout.messages if message.role != "system"]
                assert all(one != other for one, other in pairwise(taking))
                assert taking[0] == "user"
                assert len(layout.ids) * 64 + layout.tail_tokens == request.input_tokens
                assert (layout.ids == whole_ids(request, 64)).all()
                before, roles = roles, [message.role for message in layout.messages for _ in range(message.start, message.end)]
                kept = stream.contents.kept_blocks[turn]
                assert roles[:kept] == before[:kept]
                turns += 1
    assert turns == 2340


def test_shared_blocks_at_one_place_in_memory(weka):
    one, other = (request.block_ids for request in weka.read(weka.trace(weka.request(0, [1, 2, 3]), weka.request(1, [1, 2, 4]))).requests)
    assert (shared_blocks(one, other), shared_blocks(one, one), shared_blocks(one, one[:0])) == (2, 3, 0)
