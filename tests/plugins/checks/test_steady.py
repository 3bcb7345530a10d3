"""Drift, spread, coverage and standstills: what makes a point one state and not several."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ixbench.measure.point import measure
from ixbench.measure.verdict import judge
from ixbench.model.point import Load
from ixbench.model.record import Chunks
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks.steady import STEADY
from ixbench_plugins.metrics import METRICS

S = 1_000_000_000


def closed(users, gaps, *, pause_s=0.0, **changes):
    """Return a closed loop: each user sends the next request as soon as the last has ended; `gaps` gives the time a token by time."""
    rows = []
    for user in range(users):
        at, number = 0.0, 0
        while at < 60.0:
            name = f"u{user}-{number}"
            rows.append(sample_record(name, send_s=at, gap_s=gaps(at), lane=user, **changes | {"due_ns": None}))
            at, number = rows[-1].close_ns / S + 0.001 + pause_s, number + 1
    return sorted(rows, key=lambda row: row.send_ns)


def reasons(rows, limits=None, **changes):
    measurement = sample_measurement(rows, **changes)
    return judge(measurement, measure(measurement, METRICS), STEADY, limits or {}).reasons


def codes(rows, limits=None, **changes):
    return [(reason.code, reason.severity) for reason in reasons(rows, limits, **changes)]


def test_a_load_that_stays_the_same_is_steady():
    assert codes(closed(4, lambda _: 0.02), load=Load(concurrency=4)) == []


def test_a_server_that_slows_down_is_not():
    (reason,) = reasons(closed(4, lambda at: 0.02 + 0.0002 * at), load=Load(concurrency=4))
    assert (reason.code, reason.severity, reason.limit) == ("not_steady", "invalid", 0.1)
    assert 0.2 < reason.value < 0.5
    assert reason.text.startswith("the output rate falls by ")


def test_the_user_may_allow_a_drift():
    assert codes(closed(4, lambda at: 0.02 + 0.0002 * at), {"not_steady": 0.6}, load=Load(concurrency=4)) == []


def test_a_server_that_comes_and_goes_varies_too_much():
    rows = closed(4, lambda at: 0.02 if int(at / 12) % 2 else 0.06)
    found = reasons(rows, load=Load(concurrency=4))
    assert {reason.code for reason in found} == {"not_steady"}
    assert any(reason.severity == "invalid" and "varies by" in reason.text for reason in found)
    assert not any("varies by" in reason.text for reason in reasons(rows, {"slice_spread": 0.8}, load=Load(concurrency=4)))


def test_in_a_short_point_a_spread_only_warns():
    rows = [row for row in closed(4, lambda at: 0.02 if int(at / 3) % 2 else 0.06) if row.send_ns < 15 * S]
    assert {severity for _, severity in codes(rows, load=Load(concurrency=4))} == {"warning"}


def test_a_drift_that_may_be_chance_only_warns():
    slow = {0: 0.020, 1: 0.024, 2: 0.020, 3: 0.025, 4: 0.024}
    rows = closed(4, lambda at: slow[min(int(at / 12), 4)])
    assert codes(rows, load=Load(concurrency=4)) == [("not_steady", "warning")]


def test_seconds_are_too_few_to_judge():
    rows = [row for row in closed(4, lambda at: 0.02 + 0.01 * at) if row.send_ns < 4 * S]
    assert codes(rows, load=Load(concurrency=4)) == []


def test_a_load_that_was_never_reached_has_no_steady_window():
    (reason,) = reasons(closed(4, lambda _: 0.02), load=Load(concurrency=16))
    assert (reason.code, reason.severity) == ("not_steady", "invalid")
    assert reason.text.startswith("no steady window was found: 4 of 16 requests")


def test_users_who_think_between_requests_need_not_all_be_busy():
    rows = [replace(row, due_ns=row.send_ns) for row in closed(4, lambda _: 0.02, pause_s=2.0)]
    assert codes(rows, load=Load(concurrency=4)) == []


# users who go in step: all read their prompts, then all answer


def waves(seed, *, users=8, count=None, drift=0.0, first=0, slow=1.0):
    """Return the requests of users who start each request together; half of the time nobody gets any output.

    :param drift: by how much less the last wave's rate is than the first's, as a share of their mean.
    :param first: waves that a cold server takes `slow` times as long for.
    """
    chance = random.Random(seed)
    count, reading = count or chance.randint(14, 40), chance.uniform(0.2, 0.8)
    at, rows = 0.0, []
    for wave in range(count):
        rate = (1 + drift * (0.5 - wave / (count - 1))) / (slow if wave < first else 1.0)
        took = chance.gauss(1.0, 0.02) / rate
        ends = []
        for user in range(users):
            length = took * chance.gauss(1.0, 0.01)
            gap = length * (1 - reading) / 15
            rows.append(sample_record(f"{wave}-{user}", send_s=at, ttft_s=length * reading, gap_s=gap, chunks=16, lane=user, due_ns=None))
            ends.append(at + length)
        at = max(ends) + 0.001
    return rows


def invalid(rows):
    return any(severity == "invalid" for _, severity in codes(rows, load=Load(concurrency=8)))


def test_waves_are_no_drift():
    assert sum(invalid(waves(seed)) for seed in range(200)) <= 1


def test_waves_do_not_even_warn():
    assert sum(bool(codes(waves(seed), load=Load(concurrency=8))) for seed in range(100)) <= 1


def test_a_fall_among_waves_is_found():
    assert sum(invalid(waves(seed, drift=0.15)) for seed in range(100)) >= 95


def test_a_warm_up_left_among_waves_is_found():
    assert all(invalid(waves(seed, count=30, first=6, slow=1.5)) for seed in range(20))


# open loops


def opened(rate, gaps, *, seconds=100.0, seed=3):
    chance, at, rows = random.Random(seed), 0.0, []
    while at < seconds:
        rows.append(sample_record(f"r{len(rows)}", send_s=at, gap_s=gaps(at)))
        at += chance.expovariate(rate)
    return rows


@pytest.mark.parametrize("seed", range(10))
def test_random_arrivals_are_no_drift(seed):
    assert codes(opened(1.0, lambda _: 0.02, seed=seed), load=Load(rate=1.0)) == []


def test_a_server_that_falls_behind_holds_more_and_more_requests():
    found = reasons(opened(2.0, lambda at: 0.02 + 0.005 * at), load=Load(rate=2.0))
    assert any(reason.severity == "invalid" and "in flight rises" in reason.text for reason in found)


# sessions of several requests


def sessions(count, gaps, *, turns=60):
    rows = []
    for number in range(count):
        for turn in range(turns):
            tree = f"s{number}"
            row = sample_record(
                f"{tree}-{turn}", send_s=1.5 * turn + 0.05 * number, gap_s=gaps(turn), session_id=tree, tree_id=tree, turn=turn
            )
            rows.append(row)
    return sorted(rows, key=lambda row: row.send_ns)


def test_sessions_that_drift_together_only_warn():
    (reason,) = reasons(sessions(8, lambda turn: 0.02 - 0.0002 * turn), agentic=True, load=Load(concurrency=8))
    assert (reason.code, reason.severity, reason.limit) == ("not_steady", "warning", 0.1)
    assert "95 % interval over sessions" in reason.text


def test_sessions_that_go_their_own_ways_are_not_held_to_it():
    def one(number):
        first, last = (0, 30) if number % 2 else (20, 60)
        return [row for row in sessions(8, lambda _: 0.02) if row.session_id == f"s{number}" and first <= row.turn < last]

    rows = sorted((row for number in range(8) for row in one(number)), key=lambda row: row.send_ns)
    assert codes(rows, agentic=True, load=Load(concurrency=8)) == []


def test_too_few_sessions_tell_no_drift():
    assert codes(sessions(4, lambda turn: 0.02 - 0.0002 * turn), agentic=True, load=Load(concurrency=4)) == []


# coverage


def test_a_phase_whose_end_brought_nothing_was_not_measured():
    rows = closed(2, lambda _: 0.02)
    (reason,) = [one for one in reasons(rows, load=Load(concurrency=2), start_ns=0, end_ns=70 * S) if one.code == "coverage"]
    assert (reason.severity, reason.limit) == ("invalid", 0.95)
    assert reason.value == pytest.approx(60 / 70, abs=0.02)
    assert "coverage" not in dict(codes(rows, {"coverage": 0.8}, load=Load(concurrency=2), start_ns=0, end_ns=70 * S))


def test_one_long_answer_at_the_end_is_excused():
    rows = closed(1, lambda _: 0.18)
    assert len(rows) < 12
    end = rows[-1].close_ns
    assert "coverage" not in dict(codes(rows, load=Load(concurrency=1), start_ns=0, end_ns=end))


def test_sessions_may_pause_at_the_end_as_before():
    rows = [row for row in sessions(6, lambda _: 0.02) if not 20 <= row.turn < 32]
    end = rows[-1].close_ns
    assert "coverage" not in dict(codes(rows, agentic=True, load=Load(concurrency=6), start_ns=0, end_ns=end + 12 * S))
    assert "coverage" in dict(codes(rows, agentic=True, load=Load(concurrency=6), start_ns=0, end_ns=end + 30 * S))


# standstill


def stalled(seconds):
    chunks = Chunks.of((round(at * S), "text", 1, 20) for at in (1.0, 1.02, 1.02 + seconds, 1.04 + seconds))
    return replace(sample_record("long"), chunks=chunks, close_ns=round((1.04 + seconds) * S))


@pytest.mark.parametrize(("seconds", "found"), [(59.0, False), (61.0, True)])
def test_a_minute_without_any_token_is_a_standstill(seconds, found):
    rows = [stalled(seconds), *(sample_record(f"r{i}", send_s=70.0 + i) for i in range(40))]
    (reason,) = [one for one in reasons(rows) if one.code == "no_progress"] or [None]
    assert (reason is not None) is found
    assert reason is None or (reason.value, reason.limit) == (pytest.approx(61.0), 60.0)


def test_where_gaps_are_long_by_nature_it_takes_ten_of_them():
    rows = [stalled(61.0), *(sample_record(f"r{i}", send_s=70.0 + 300 * i, gap_s=8.0) for i in range(40))]
    assert "no_progress" not in dict(codes(rows))


def test_the_user_may_be_more_patient():
    rows = [stalled(61.0), *(sample_record(f"r{i}", send_s=70.0 + i) for i in range(40))]
    assert "no_progress" not in dict(codes(rows, {"no_progress": 120}))
