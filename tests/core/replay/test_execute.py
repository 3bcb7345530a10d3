"""The executor, to the nanosecond, in virtual time: order, delays, due times, ends and cancellations."""

from __future__ import annotations

from itertools import count

import anyio
import pytest

from ixbench.measure.failure import BadRecordError
from ixbench.model.errors import IxbenchError
from ixbench.model.exchange import Exchange
from ixbench.model.prompt import Message, MessagesPrompt, SyntheticPrompt
from ixbench.model.record import Chunks
from ixbench.model.schedule import Edge, Schedule
from ixbench.replay.clock import MonotonicClock
from ixbench.replay.execute import execute
from ixbench.replay.graph import ScheduleError

MS = 1_000_000


def continues(index):
    return MessagesPrompt(messages=(Message(role="user", content="and then?"),), continues=index)


class TestClosedLoop:
    def test_lanes_draw_sessions_in_order(self, replay, phase, session, turn):
        done = replay(phase([session(f"s{n}", turn()) for n in range(5)], lanes=2))
        assert done.times() == [("s0", 0, 0), ("s1", 0, 0), ("s2", 0, 10), ("s3", 0, 10), ("s4", 0, 20)]
        assert [record.lane for record in sorted(done.records, key=lambda record: record.req_id)] == [0, 1, 0, 1, 0]
        assert done.report.ended == "completed"

    def test_a_lane_plays_a_session_to_its_end(self, replay, phase, session, turn):
        sessions = [session(name, turn(0), turn(1, after=(Edge(turn=0),))) for name in ("a", "b")]
        assert replay(phase(sessions)).times() == [("a", 0, 0), ("a", 1, 10), ("b", 0, 20), ("b", 1, 30)]

    def test_without_delays_nothing_is_due(self, replay, phase, session, turn):
        done = replay(phase([session("a", turn(0), turn(1, after=(Edge(turn=0),)))]))
        assert done.times("due_ns") == [("a", 0, None), ("a", 1, None)]

    def test_delays_count_from_the_close_of_the_turn_before(self, replay, phase, session, turn):
        turns = turn(0, delay_ns=5 * MS), turn(1, after=(Edge(turn=0, delay_ns=30 * MS),))
        done = replay(phase([session("a", *turns)]))
        assert done.times() == [("a", 0, 5), ("a", 1, 45)]
        assert done.times("due_ns") == [("a", 0, 5), ("a", 1, 45)]

    def test_never_more_sessions_than_lanes_and_endless_sessions_end_with_the_time(self, replay, phase, session, turn):
        def endless():
            for number in count():
                yield session(f"s{number}", turn())

        done = replay(phase(endless, lanes=2000, duration_s=0.025))
        assert done.channel.most == 2000
        assert len(done.records) == 2000 * 3
        assert len({record.req_id for record in done.records}) == len(done.records)
        assert all(record.ok for record in done.records)

    def test_more_lanes_than_sessions(self, replay, phase, session, turn):
        assert len(replay(phase([session("a", turn())], lanes=100)).records) == 1

    def test_an_unreachable_server_is_not_asked_without_pause(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(takes_ms=0)
        channel.outcomes = {(f"s{number}", 0): {"failure": "transport", "http_status": None} for number in range(100)}

        def endless():
            for number in count():
                yield session(f"s{number}", turn())

        done = replay(phase(endless, duration_s=10), channel=channel)
        assert 10 <= len(done.records) <= 20
        assert done.progress.failed == {"transport": len(done.records)}

    def test_sessions_that_end_are_not_held_up_by_an_unreachable_server(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(takes_ms=0)
        channel.outcomes = {(f"s{number}", 0): {"failure": "transport", "http_status": None} for number in range(100)}
        done = replay(phase([session(f"s{number}", turn()) for number in range(100)]), channel=channel)
        assert (len(done.records), done.report.phases[0].end_ns) == (100, 0)


class TestGraph:
    def test_a_join_waits_for_all_and_takes_the_latest_moment(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 1): {"takes_ms": 50}, ("a", 2): {"takes_ms": 20}})
        turns = (
            turn(0),
            turn(1, after=(Edge(turn=0),), stream="left"),
            turn(2, after=(Edge(turn=0),), stream="right"),
            turn(3, after=(Edge(turn=1, delay_ns=1 * MS), Edge(turn=2, delay_ns=35 * MS))),
        )
        done = replay(phase([session("a", *turns)]), channel=channel)
        assert [(stream, moment) for stream, _, moment in done.times()] == [("a", 0), ("a:left", 10), ("a:right", 10), ("a", 65)]
        assert done.records[-1].due_ns == 65 * MS
        assert {record.tree_id for record in done.records} == {"a"}

    def test_an_anchor_at_the_start_does_not_wait_for_the_end(self, replay, phase, session, turn):
        turns = turn(0), turn(1, after=(Edge(turn=0, anchor="start", delay_ns=3 * MS),))
        assert replay(phase([session("a", *turns)])).times() == [("a", 0, 0), ("a", 1, 3)]

    def test_roots_start_together(self, replay, phase, session, turn):
        done = replay(phase([session("a", turn(0), turn(1, delay_ns=4 * MS))]))
        assert done.times() == [("a", 0, 0), ("a", 1, 4)]
        assert done.times("due_ns") == [("a", 0, None), ("a", 1, 4)]

    def test_the_order_of_turns_in_the_session_does_not_matter(self, replay, phase, session, turn):
        assert replay(phase([session("a", turn(0, after=(Edge(turn=1),)), turn(1))])).times() == [("a", 1, 0), ("a", 0, 10)]

    @pytest.mark.parametrize(
        ("edges", "message"),
        [
            ({0: (1,), 1: (0,)}, "session a: turns 0, 1 wait for one another and never start"),
            ({1: (7,)}, "session a: turn 1 waits for turn 7, which does not exist"),
        ],
    )
    def test_impossible_graphs_are_refused(self, replay, phase, session, turn, edges, message):  # noqa: PLR0917 - fixtures
        turns = [turn(index, after=tuple(Edge(turn=before) for before in edges.get(index, ()))) for index in range(2)]
        with pytest.raises(ScheduleError, match=message):
            replay(phase([session("a", *turns)]))

    def test_a_session_without_turns_is_refused(self, replay, phase, session):
        with pytest.raises(ScheduleError, match="session a has no turns"):
            replay(phase([session("a")]))


class TestFailures:
    def test_a_failed_turn_does_not_end_its_session(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 0): {"failure": "http_status", "http_status": 500}})
        done = replay(phase([session("a", turn(0), turn(1, after=(Edge(turn=0),)))]), channel=channel)
        assert [record.failure for record in done.records] == ["http_status", None]
        assert (done.progress.ok, done.progress.failed, done.progress.sent - done.progress.done) == (1, {"http_status": 1}, 0)

    def test_a_context_overflow_ends_its_session_only(self, replay, phase, session, turn, memory_channel):
        overflow = {"failure": "http_status", "http_status": 400, "error_class": "context_overflow"}
        channel = memory_channel(outcomes={("a", 0): overflow})
        chain = turn(0), turn(1, after=(Edge(turn=0),)), turn(2, after=(Edge(turn=1),))
        done = replay(phase([session("a", *chain), session("b", *chain)]), channel=channel)
        assert [name for name, _, _ in done.times()] == ["a", "b", "b", "b"]
        report = done.report.phase("profile")
        assert (report.early_ends, report.turns_skipped, report.sent) == ({"context_overflow": 1}, 2, 4)

    @pytest.mark.parametrize("outcome", [{"failure": "truncated"}, {"answer": ""}])
    def test_without_the_answer_that_a_turn_continues_the_session_ends(self, replay, phase, session, turn, memory_channel, outcome):  # noqa: PLR0917 - fixtures
        channel = memory_channel(outcomes={("a", 0): outcome})
        chain = turn(0, keep_answer=True), turn(1, prompt=continues(0), after=(Edge(turn=0),))
        done = replay(phase([session("a", *chain), session("b", *chain)]), channel=channel)
        assert [name for name, _, _ in done.times()] == ["a", "b", "b"]
        report = done.report.phase("profile")
        assert (report.early_ends, report.turns_skipped) == ({"no_answer": 1}, 1)

    def test_answers_reach_the_turns_that_continue_them(self, replay, phase, session, turn):
        chain = (
            turn(0, keep_answer=True),
            turn(1, prompt=continues(0), after=(Edge(turn=0),), keep_answer=True),
            turn(2, prompt=continues(1), after=(Edge(turn=1),)),
        )
        done = replay(phase([session("a", *chain)]))
        assert [request.answers for _, request in done.channel.seen] == [{}, {0: "answer a.0"}, {0: "answer a.0", 1: "answer a.1"}]

    def test_continuing_an_answer_that_is_not_kept_is_the_workloads_fault(self, replay, phase, session, turn):
        with pytest.raises(ScheduleError, match="turn 1 continues turn 0, whose answer is not asked to be kept"):
            replay(phase([session("a", turn(0), turn(1, prompt=continues(0), after=(Edge(turn=0),)))]))

    def test_continuing_a_turn_that_is_not_waited_for_is_the_workloads_fault(self, replay, phase, session, turn):
        with pytest.raises(ScheduleError, match="turn 1 continues turn 0, but does not wait for it"):
            replay(phase([session("a", turn(0, keep_answer=True), turn(1, prompt=continues(0)))]))

    def test_an_error_of_the_channel_comes_out_as_itself(self, phase, session, turn):
        class Broken:
            async def send(self, request):
                raise IxbenchError("this prompt cannot be sent")

        async def main():
            await execute(
                Schedule(phases=(phase([session(f"s{n}", turn(), turn()) for n in range(4)], lanes=3),)),
                Broken(),
                record=lambda record: None,
                ids=lambda: "1",
            )

        with pytest.raises(IxbenchError, match="this prompt cannot be sent"):
            anyio.run(main)

    @pytest.mark.parametrize(
        "fields",
        [
            {"close_ns": 5},
            {"headers_ns": 9},
            {"chunks": Chunks.of([(12, "text", None, 1), (11, "text", None, 1)])},
            {"headers_ns": 12, "chunks": Chunks.of([(11, "text", None, 1)])},
            {"chunks": Chunks.of([(21, "text", None, 1)])},
        ],
    )
    def test_stamps_that_go_backwards_stop_the_run(self, phase, session, turn, fields):
        class Backwards:
            async def send(self, request):
                return Exchange(**({"send_ns": 10, "close_ns": 20} | fields))

        async def main():
            await execute(Schedule(phases=(phase([session("a", turn())]),)), Backwards(), record=lambda record: None, ids=lambda: "7")

        with pytest.raises(BadRecordError, match="request 7 go backwards"):
            anyio.run(main)


class TestOpenLoop:
    def test_sessions_start_at_their_arrival_whatever_is_in_flight(self, replay, phase, session, turn):
        sessions = [session(f"s{n}", turn(), arrival_ns=n * 3 * MS) for n in range(4)]
        done = replay(phase(sessions, lanes=None))
        assert [moment for _, _, moment in done.times()] == [0, 3, 6, 9]
        assert [moment for _, _, moment in done.times("due_ns")] == [0, 3, 6, 9]
        assert {record.lane for record in done.records} == {None}

    def test_every_turn_is_due(self, replay, phase, session, turn):
        done = replay(phase([session("a", turn(0), turn(1, after=(Edge(turn=0),)), arrival_ns=2 * MS)], lanes=None))
        assert done.times("due_ns") == [("a", 0, 2), ("a", 1, 12)]

    def test_arrivals_count_from_the_start_of_their_phase(self, replay, phase, session, turn):
        warm = phase([session("w", turn())], name="warmup")
        done = replay(warm, phase([session("a", turn(), arrival_ns=1 * MS)], lanes=None))
        assert done.times("due_ns") == [("w", 0, None), ("a", 0, 11)]

    def test_nothing_starts_after_the_duration(self, replay, phase, session, turn):
        def endless():
            for number in count():
                yield session(f"s{number}", turn(), arrival_ns=number * 10 * MS)

        done = replay(phase(endless, lanes=None, duration_s=0.045))
        assert [moment for _, _, moment in done.times()] == [0, 10, 20, 30, 40]

    def test_a_session_without_arrival_is_refused(self, replay, phase, session, turn):
        with pytest.raises(ScheduleError, match="session a has no arrival time"):
            replay(phase([session("a", turn())], lanes=None))


class TestEnds:
    def test_phases_run_in_order_and_are_noted(self, replay, phase, session, turn):
        phases = [phase([session(name, turn())], name=name) for name in ("warmup", "profile", "drain")]
        done = replay(*phases)
        assert [(record.phase, record.send_ns // MS) for record in done.records] == [("warmup", 0), ("profile", 10), ("drain", 20)]
        assert [(p.name, p.start_ns // MS, p.end_ns // MS) for p in done.report.phases] == [
            ("warmup", 0, 10),
            ("profile", 10, 20),
            ("drain", 20, 30),
        ]

    def test_in_flight_requests_get_the_grace_and_are_then_cancelled(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("a", 0): {"takes_ms": 60}, ("b", 0): {"takes_ms": 200}})
        sessions = [session("a", turn(0), turn(1, after=(Edge(turn=0),))), session("b", turn())]
        done = replay(phase(sessions, lanes=2, duration_s=0.05, grace_s=0.02), channel=channel)
        assert [(record.session_id, record.cancelled, record.ok, record.close_ns // MS) for record in done.records] == [
            ("a", False, True, 60),
            ("b", True, False, 70),
        ]
        assert done.records[1].failure is None
        report = done.report.phase("profile")
        assert (report.closed_ns // MS, report.end_ns // MS) == (50, 70)
        assert done.report.ended == "completed"
        assert (done.progress.done, done.progress.cancelled) == (2, 1)

    def test_a_cancelled_request_keeps_what_it_asked_for(self, replay, phase, session, turn, memory_channel):
        asked = turn(prompt=SyntheticPrompt(tokens=9, key="k"), output_tokens=3, exact_length=True)
        done = replay(phase([session("a", asked)], duration_s=0.001, grace_s=0), channel=memory_channel(takes_ms=1000))
        record = done.records[0]
        assert (record.cancelled, record.input_asked, record.output_asked, record.exact_length) == (True, 9, 3, True)

    def test_a_turn_that_waits_for_its_moment_is_given_up_at_the_end(self, replay, phase, session, turn):
        done = replay(phase([session("a", turn(0), turn(1, after=(Edge(turn=0, delay_ns=1000 * MS),)))], duration_s=0.05))
        assert done.times() == [("a", 0, 0)]
        assert done.report.phase("profile").end_ns == 50 * MS

    def test_stop_lets_nothing_start_and_leaves_the_other_phases_out(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(outcomes={("long", 0): {"takes_ms": 60_000}})
        warm = phase([session("long", turn()), *(session(f"s{n}", turn()) for n in range(100))], lanes=2, name="warmup")
        done = replay(warm, phase([session("never", turn())]), channel=channel, stop_at_ms=35, stop_grace_s=1.0)
        assert done.report.ended == "stopped"
        assert [phase.name for phase in done.report.phases] == ["warmup"]
        assert [record.session_id for record in done.records] == ["s0", "s1", "s2", "s3", "long"]
        assert (done.records[-1].cancelled, done.records[-1].close_ns // MS) == (True, 1035)

    def test_stop_before_the_first_phase(self, replay, phase, session, turn):
        async def main():
            stop = anyio.Event()
            stop.set()
            schedule = Schedule(phases=(phase([session("a", turn())]),))
            return await execute(schedule, None, record=None, ids=None, stop=stop)

        report = anyio.run(main)
        assert (report.ended, report.phases) == ("stopped", ())

    def test_a_dead_engine_ends_the_replay_soon(self, replay, phase, session, turn, memory_channel):
        channel = memory_channel(takes_ms=3_600_000)
        done = replay(phase([session("a", turn())]), phase([session("b", turn())]), channel=channel, died_at_ms=20)
        assert done.report.ended == "engine_died"
        assert [(record.session_id, record.cancelled, record.close_ns // MS) for record in done.records] == [("a", True, 1020)]

    def test_cancelling_the_replay_records_what_was_in_flight(self, phase, session, turn, memory_channel):
        records = []

        async def main():
            with anyio.move_on_after(0.02):
                await execute(
                    Schedule(phases=(phase([session("a", turn()), session("b", turn())], lanes=2),)),
                    memory_channel(takes_ms=1000, clock=MonotonicClock()),
                    record=records.append,
                    ids=lambda: "1",
                )

        anyio.run(main)
        assert sorted((record.session_id, record.cancelled) for record in records) == [("a", True), ("b", True)]


def test_progress_counts_the_phase_that_runs(replay, phase, session, turn, memory_channel):
    channel = memory_channel(outcomes={("a", 0): {"failure": "truncated", "usage_output": None}})
    done = replay(
        phase([session("w", turn())], name="warmup"), phase([session(n, turn()) for n in "abc"], count=3, duration_s=9), channel=channel
    )
    progress = done.progress
    assert (progress.phase, progress.expected, progress.duration_s, progress.started_ns) == ("profile", 3, 9, 10 * MS)
    assert (progress.sent, progress.done, progress.ok, progress.failed, progress.output_tokens) == (3, 3, 2, {"truncated": 1}, 8)


def test_cancelling_is_the_same_in_every_run(replay, phase, session, turn, memory_channel):
    def once():
        sessions = [session(f"s{number}", turn()) for number in range(40)]
        return replay(phase(sessions, lanes=40, duration_s=0.005, grace_s=0.001), channel=memory_channel(takes_ms=1000)).records

    assert [record.session_id for record in once()] == [f"s{number}" for number in range(40)]


def test_equal_schedules_give_equal_records(replay, phase, session, turn):
    def sessions():
        for number in range(50):
            yield session(f"s{number}", turn(0), turn(1, after=(Edge(turn=0, delay_ns=number * MS),)))

    first, second = (replay(phase(sessions, lanes=7)) for _ in range(2))
    assert first.records == second.records
