"""What phases can ask for beside plain load: sessions taken up again, held back turns, capped idle time, and their own ends."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import count

import anyio
import pytest

from ixbench.model.schedule import Edge
from ixbench.replay.graph import ScheduleError

MS = 1_000_000
SECOND = 1000 * MS
FAILED = {"failure": "http_status", "http_status": 500}
OVERFLOW = {"failure": "http_status", "http_status": 400, "error_class": "context_overflow"}


class Source:
    """Gives each lane sessions of its own."""

    def __init__(self, make):
        self.make = make
        self.numbers = count()

    def draw(self, lane):
        return self.make(lane, next(self.numbers))


@pytest.fixture
def chain(session, turn):
    """Return a function that makes a session of turns one after another, 20 ms apart."""

    def make(name, turns, *, delay_ms=20, **fields):
        first = turn(0)
        rest = [turn(n, after=(Edge(turn=n - 1, delay_ns=delay_ms * MS),), resume_ns=n * 30 * MS) for n in range(1, turns)]
        return session(name, first, *rest, **fields)

    return make


@pytest.fixture
def sourced(phase):
    """Return a function that makes a phase of a source."""

    def make(draw, **fields):
        return phase(lambda: Source(draw), **fields)

    return make


class TestLanes:
    def test_a_source_learns_the_lane(self, replay, sourced, chain):
        done = replay(sourced(lambda lane, number: chain(f"l{lane}n{number}", 1) if number < 5 else None, lanes=2))
        assert [name for name, _, _ in done.times()] == ["l0n0", "l1n1", "l0n2", "l1n3", "l0n4"]

    def test_a_lane_without_a_session_stays_empty_while_others_run(self, replay, sourced, chain):
        done = replay(sourced(lambda lane, number: chain(f"l{lane}", 1) if lane == 1 and number < 3 else None, lanes=3))
        assert [(name, moment) for name, _, moment in done.times()] == [("l1", 0)]


class TestDone:
    def test_turns_that_are_done_are_not_sent_and_hold_nothing_up(self, replay, phase, chain):
        done = replay(phase([chain("a", 4, done=frozenset({0, 1}))]))
        assert done.times() == [("a", 2, 60), ("a", 3, 90)]
        assert done.times("due_ns") == [("a", 2, 60), ("a", 3, 90)]

    def test_a_join_waits_for_the_rest_and_for_its_own_moment(self, replay, phase, session, turn):
        turns = (
            turn(0),
            turn(0, stream="left", after=(Edge(turn=0, required=True),), resume_ns=5 * MS),
            turn(1, after=(Edge(turn=0, delay_ns=1 * MS), Edge(turn=1)), resume_ns=40 * MS),
        )
        done = replay(phase([session("a", *turns, done=frozenset({0}))]))
        assert done.times() == [("a:left", 0, 5), ("a", 1, 40)]

    def test_a_session_that_is_all_done_is_over_at_once(self, replay, phase, chain):
        done = replay(phase([chain("a", 2, done=frozenset({0, 1})), chain("b", 1)]))
        assert done.times() == [("b", 0, 0)]


class TestTakingUp:
    def test_the_next_phase_goes_on_in_the_state_reached(self, replay, phase, chain):
        warm = phase([chain("a", 5), chain("b", 5)], lanes=2, name="warmup", turns_per_lane=2, delays=False, output_limit=1)
        done = replay(warm, phase(None, lanes=2))
        assert done.times()[:4] == [("a", 0, 0), ("b", 0, 0), ("a", 1, 10), ("b", 1, 10)]
        # The phase begins at 20 ms; turn 2 is due 60 ms after that, and the others 20 ms after an end.
        assert done.times()[4:] == [(name, number, 20 + 60 + (number - 2) * 30) for number in (2, 3, 4) for name in ("a", "b")]
        assert [record.phase for record in done.records] == ["warmup"] * 4 + ["profile"] * 6

    def test_the_first_turn_can_go_at_once_and_the_others_as_much_earlier(self, replay, phase, session, turn):
        def begun(name, resume_ms):
            return session(name, turn(0), turn(1, after=(Edge(turn=0),), resume_ns=resume_ms * MS), done=frozenset({0}))

        done = replay(phase([begun("a", 500), begun("b", 470)], lanes=2, align_start=True))
        assert done.times() == [("b", 1, 0), ("a", 1, 30)]

    def test_lanes_draw_from_where_the_phase_before_did(self, replay, phase, chain):
        warm = phase((chain(f"s{n}", 2) for n in count()), lanes=2, name="warmup", turns_per_lane=3, delays=False)
        done = replay(warm, phase(None, lanes=2, duration_s=0.2))
        warmed = [(record.session_id, record.turn) for record in done.records if record.phase == "warmup"]
        assert warmed == [("s0", 0), ("s1", 0), ("s0", 1), ("s1", 1), ("s2", 0), ("s3", 0)]
        first = [(name, number) for name, number, _ in done.times()[6:10]]
        assert first == [("s2", 1), ("s3", 1), ("s4", 0), ("s5", 0)]

    def test_an_open_join_stays_open(self, replay, phase, session, turn):
        turns = (
            turn(0),
            turn(0, stream="left", after=(Edge(turn=0),)),
            turn(1, stream="left", after=(Edge(turn=1),), resume_ns=7 * MS),
            turn(1, after=(Edge(turn=0), Edge(turn=2, delay_ns=3 * MS))),
        )
        done = replay(phase([session("a", *turns)], name="warmup", turns_per_lane=2), phase(None))
        assert done.times() == [("a", 0, 0), ("a:left", 0, 10), ("a:left", 1, 27), ("a", 1, 40)]

    def test_what_was_cancelled_counts_as_ended(self, replay, phase, chain, memory_channel):
        channel = memory_channel(outcomes={("a", 0): {"takes_ms": 1000}})
        done = replay(phase([chain("a", 2)], name="warmup", duration_s=0.01, grace_s=0.01), phase(None), channel=channel)
        assert [(record.turn, record.cancelled, record.send_ns // MS) for record in done.records] == [(0, True, 0), (1, False, 50)]

    def test_there_must_be_something_to_go_on_with(self, replay, phase):
        with pytest.raises(ScheduleError, match="goes on with the sessions of lanes, and there are none before it"):
            replay(phase(None))


class TestBudget:
    def test_each_lane_sends_no_more_than_its_share(self, replay, phase, session, turn):
        wide = session("wide", turn(0), *(turn(0, stream=f"s{n}", after=(Edge(turn=0),)) for n in range(9)))
        done = replay(phase([wide], name="warmup", turns_per_lane=4), phase(None))
        assert [record.phase for record in done.records].count("warmup") == 4
        assert len({(record.session_id, record.turn) for record in done.records}) == 10
        assert done.report.phases[0].closed_ns == 10 * MS

    def test_a_lane_that_is_through_waits_for_the_others(self, replay, phase, chain, memory_channel):
        channel = memory_channel(outcomes={("b", 0): {"takes_ms": 300}})
        done = replay(phase([chain("a", 9), chain("b", 9)], lanes=2, turns_per_lane=2, delays=False), channel=channel)
        assert done.times() == [("a", 0, 0), ("b", 0, 0), ("a", 1, 10), ("b", 1, 300)]

    def test_requests_that_hang_are_cancelled_after_the_grace(self, replay, phase, chain, memory_channel):
        channel = memory_channel(outcomes={("a", 1): {"takes_ms": 10_000}})
        done = replay(phase([chain("a", 9)], turns_per_lane=2, delays=False, grace_s=0.5), channel=channel)
        assert [(record.turn, record.cancelled, record.close_ns // MS) for record in done.records] == [(0, False, 10), (1, True, 510)]

    def test_output_is_capped_by_the_phase(self, replay, phase, session, turn):
        turns = [turn(n, output_tokens=tokens) for n, tokens in enumerate((1000, 1, None))]
        done = replay(phase([session("a", *turns)], output_limit=2))
        assert [request.turn.output_tokens for _, request in done.channel.seen] == [2, 1, 2]

    def test_without_delays_turns_go_at_once(self, replay, phase, chain):
        done = replay(phase([chain("a", 3)], delays=False))
        assert done.times() == [("a", 0, 0), ("a", 1, 10), ("a", 2, 20)]
        assert done.times("due_ns") == [("a", 0, None), ("a", 1, None), ("a", 2, None)]

    @pytest.mark.parametrize("limit", [{"turns_per_lane": 1}, {"idle_limit_s": 1.0}, {"session_idle_limit_s": 1.0}])
    def test_limits_of_lanes_need_lanes(self, replay, phase, session, turn, limit):
        with pytest.raises(ScheduleError, match="which an open loop has not"):
            replay(phase([session("a", turn(), arrival_ns=0)], lanes=None, **limit))


class TestIdle:
    def test_a_long_wait_of_all_is_cut_short_for_all(self, replay, phase, chain):
        sessions = [chain("a", 2, delay_ms=60_000), chain("b", 2, delay_ms=75_000)]
        done = replay(phase(sessions, lanes=2, idle_limit_s=10.0))
        assert done.times() == [("a", 0, 0), ("b", 0, 0), ("a", 1, 10_010), ("b", 1, 20_020)]
        assert done.times("due_ns")[2:] == [("a", 1, 10_010), ("b", 1, 20_020)]
        report = done.report.phase("profile")
        assert (report.idle_jumps, report.idle_jumped_s) == (2, pytest.approx(50 + 4.99))
        assert (report.session_idle_jumps, report.session_idle_jumped_s) == (0, 0)

    def test_nothing_is_cut_while_a_request_is_in_flight(self, replay, phase, chain, memory_channel):
        channel = memory_channel(outcomes={("b", 0): {"takes_ms": 90_000}})
        done = replay(phase([chain("a", 2, delay_ms=60_000), chain("b", 1)], lanes=2, idle_limit_s=10.0), channel=channel)
        assert done.times()[2] == ("a", 1, 60_010)
        assert done.report.phase("profile").idle_jumps == 0

    def test_what_is_due_within_the_cap_is_left_alone(self, replay, phase, chain):
        done = replay(phase([chain("a", 2, delay_ms=10_000)], idle_limit_s=10.0))
        assert (done.times()[1][2], done.report.phase("profile").idle_jumps) == (10_010, 0)

    def test_the_start_of_a_phase_is_idle_time_too(self, replay, phase, session, turn):
        done = replay(phase([session("a", turn(0, delay_ns=60 * SECOND))], idle_limit_s=10.0))
        assert done.times() == [("a", 0, 10_000)]

    def test_the_wait_of_one_session_is_cut_short_while_others_work(self, replay, phase, chain, memory_channel):
        channel = memory_channel(outcomes={("b", 0): {"takes_ms": 900_000}})
        sessions = [chain("a", 3, delay_ms=700_000), chain("b", 1)]
        done = replay(phase(sessions, lanes=2, idle_limit_s=10.0, session_idle_limit_s=300.0), channel=channel)
        assert sorted(done.times(), key=lambda sent: sent[2:] + sent) == [("a", 0, 0), ("b", 0, 0), ("a", 1, 300_010), ("a", 2, 600_020)]
        report = done.report.phase("profile")
        assert (report.session_idle_jumps, report.session_idle_jumped_s, report.idle_jumps) == (2, 800, 0)

    def test_a_lane_that_draws_its_next_session_is_not_idle(self, replay, phase, chain):
        sessions = [chain("a", 1), chain("b", 2, delay_ms=60_000), chain("c", 3, delay_ms=5_000)]
        done = replay(phase(sessions, lanes=2, idle_limit_s=10.0))
        assert done.times() == [("a", 0, 0), ("b", 0, 0), ("c", 0, 10), ("c", 1, 5_020), ("c", 2, 10_030), ("b", 1, 20_040)]

    def test_joins_are_not_bypassed(self, replay, phase, session, turn):
        turns = (
            turn(0),
            turn(0, stream="left", after=(Edge(turn=0, delay_ns=50 * SECOND),)),
            turn(1, after=(Edge(turn=0, delay_ns=1 * SECOND), Edge(turn=1))),
        )
        done = replay(phase([session("a", *turns)], idle_limit_s=10.0))
        assert [(name, moment) for name, _, moment in done.times()] == [("a", 0), ("a:left", 10_010), ("a", 10_020)]

    def test_held_back_turns_are_no_timers(self, replay, phase, chain):
        warm = phase(
            [chain("a", 3, delay_ms=1), chain("b", 3, delay_ms=50_000)], lanes=2, turns_per_lane=2, idle_limit_s=10.0, name="warmup"
        )
        done = replay(warm, phase(None, lanes=2))
        assert done.times()[3] == ("b", 1, 10_000 + 21)


class TestOverflow:
    def test_ends_its_stream_and_lets_go_who_waited(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 1): OVERFLOW})
        turns = (
            turn(0),
            turn(0, stream="left", after=(Edge(turn=0, required=True),)),
            turn(1, stream="left", after=(Edge(turn=1, delay_ns=5 * SECOND),)),
            turn(2, stream="left", after=(Edge(turn=2, delay_ns=5 * SECOND),)),
            turn(1, after=(Edge(turn=0), Edge(turn=3))),
        )
        done = replay(phase([session("a", *turns)]), channel=channel)
        assert done.times() == [("a", 0, 0), ("a:left", 0, 10), ("a", 1, 20)]
        report = done.report.phase("profile")
        assert (report.early_ends, report.turns_skipped) == ({"context_overflow": 1}, 2)

    def test_children_of_a_turn_that_never_ran_do_not_run(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 0): OVERFLOW})
        turns = (
            turn(0),
            turn(1, after=(Edge(turn=0),)),
            turn(0, stream="child", after=(Edge(turn=1, required=True),)),
            turn(1, stream="child", after=(Edge(turn=2),)),
            turn(0, stream="other", after=(Edge(turn=0, required=True),)),
            turn(1, stream="other", after=(Edge(turn=4), Edge(turn=3))),
        )
        done = replay(phase([session("a", *turns), session("b", turn(0))]), channel=channel)
        assert [(name, number) for name, number, _ in done.times()] == [("a", 0), ("a:other", 0), ("a:other", 1), ("b", 0)]
        assert done.report.phase("profile").turns_skipped == 3


class TestUnfinished:
    def test_sessions_under_way_at_the_end_are_named(self, replay, phase, chain):
        done = replay(phase([chain("a", 2, delay_ms=10), chain("b", 9, delay_ms=400), chain("c", 1)], lanes=2, duration_s=1.0))
        assert done.report.phase("profile").unfinished == ("b",)

    def test_those_of_an_open_loop_too(self, replay, phase, chain):
        sessions = [chain("a", 2, arrival_ns=0), chain("b", 9, delay_ms=400, arrival_ns=5), chain("late", 1, arrival_ns=9 * SECOND)]
        done = replay(phase(sessions, lanes=None, duration_s=1.0))
        assert done.report.phase("profile").unfinished == ("b",)

    def test_what_came_to_its_end_is_not(self, replay, phase, chain, memory_channel):
        channel = memory_channel(outcomes={("b", 0): OVERFLOW})
        done = replay(phase([chain("a", 3), chain("b", 3)], lanes=2), channel=channel)
        assert done.report.phase("profile").unfinished == ()


class TestAborts:
    def test_a_failed_main_request_ends_a_phase_in_which_all_must_succeed(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 1): {**FAILED, "error_text": "out of memory"}})
        warm = phase([session("a", turn(0), turn(1, after=(Edge(turn=0),)))], name="warmup", main_must_succeed=True)
        done = replay(warm, phase([session("never", turn())]), channel=channel)
        assert done.report.ended == "aborted"
        assert done.report.cause == (
            "in the warmup phase every request of a main agent must succeed, and turn 1 of a failed: http_status: out of memory"
        )
        assert [phase.name for phase in done.report.phases] == ["warmup"]

    def test_a_failed_child_does_not(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 1): FAILED})
        warm = phase([session("a", turn(0), turn(1, depth=1, after=(Edge(turn=0),)))], name="warmup", main_must_succeed=True)
        done = replay(warm, phase([session("b", turn())]), channel=channel)
        assert (done.report.ended, done.report.cause, len(done.records)) == ("completed", None, 3)

    def test_too_many_failures_end_the_replay(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={(f"s{n}", 0): FAILED for n in (3, 7)})
        done = replay(phase([session(f"s{n}", turn()) for n in range(40)], failed_share_limit=0.1), channel=channel)
        assert (done.report.ended, done.report.cause) == ("aborted", "2 of 10 requests failed, more than 10%")
        assert len(done.records) == 10

    def test_exactly_the_share_is_allowed(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("s0", 0): FAILED})
        done = replay(phase([session(f"s{n}", turn()) for n in range(10)], failed_share_limit=0.1), channel=channel)
        assert (done.report.ended, len(done.records)) == ("completed", 10)

    def test_the_share_is_looked_at_after_as_many_results_as_there_are_lanes(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={(f"s{n}", 0): FAILED for n in range(40)})
        done = replay(phase([session(f"s{n}", turn()) for n in range(60)], lanes=20, failed_share_limit=0.1), channel=channel)
        assert (done.report.ended, done.report.cause) == ("aborted", "20 of 20 requests failed, more than 10%")


class LazyChain:
    """A thousand turns, each made when it is asked for."""

    def __init__(self, turn, begin):
        self.turn, self.begin = turn, begin
        self.made = {}

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        if index not in self.made:
            after = (Edge(turn=index - 1, delay_ns=5 * MS),) if index else ()
            self.made[index] = self.turn(index, after=after)
        return self.made[index]

    def first(self):
        return (self.begin,)

    def followers(self, index, anchor):
        return (index + 1,) if anchor == "end" and index < 999 else ()


def test_only_turns_that_are_played_are_made(replay, phase, session, turn):
    graph = LazyChain(turn, 500)
    lazy = session("a", done=range(500))
    object.__setattr__(lazy, "turns", graph)
    done = replay(phase([lazy], duration_s=0.1))
    assert [number for _, number, _ in done.times()] == list(range(500, 507))
    assert sorted(graph.made) == list(range(500, 508))


def test_a_record_says_which_blocks_a_cache_could_hold(replay, phase, session, turn):
    done = replay(phase([session("a", turn(prompt_blocks=9, hit_blocks=7))]))
    assert (done.records[0].prompt_blocks, done.records[0].hit_blocks) == (9, 7)


class TestAroundTheMeasuredPhase:
    @pytest.fixture
    def around(self):
        """Return a factory of context managers that note the moments, and how long each end takes."""

        class Around:
            def __init__(self):
                self.heard = []

            @asynccontextmanager
            async def __call__(self):
                self.heard.append("before")
                await anyio.sleep(0.5)
                yield
                self.heard.append("after")
                await anyio.sleep(0.25)

        return Around()

    @pytest.fixture
    def two(self, phase, session, turn):
        """Return a function that makes a phase of two requests at once."""
        return lambda name: phase([session(f"{name}{n}", turn()) for n in range(2)], lanes=2, name=name)

    def test_nothing_is_in_flight_at_either_end(self, replay, two, memory_channel, around):
        done = replay(two("warmup"), two("profile"), two("drain"), channel=memory_channel(takes_ms=100), around=around)
        assert around.heard == ["before", "after"]
        moments = {name[:-1]: moment for name, _, moment in done.times()}
        # The warm-up takes 100 ms, then half a second passes; after the phase a quarter of one.
        assert moments == {"warmup": 0, "profile": 600, "drain": 950}
        profile = done.report.phase("profile")
        assert (profile.start_ns / MS, profile.end_ns / MS) == (600, 700)

    @pytest.mark.parametrize("event", ["stop_at_ms", "died_at_ms"])
    def test_a_phase_does_not_begin_when_the_end_came_before_it(self, replay, two, around, event):
        done = replay(two("profile"), around=around, **{event: 200})
        assert (done.records, done.report.phases) == ([], ())
        assert done.report.ended == {"stop_at_ms": "stopped", "died_at_ms": "engine_died"}[event]
        assert around.heard == ["before", "after"]
