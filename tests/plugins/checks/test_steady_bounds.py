"""The bounds of the rules on drift, spread, coverage and standstills: how long a part must be, how much is allowed, and who is excused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ixbench.measure.point import measure
from ixbench.measure.verdict import judge
from ixbench.model.point import Load
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks.steady import STEADY
from ixbench_plugins.metrics import METRICS

S = 1_000_000_000
ALONE, FIVE, OPEN = Load(concurrency=1), Load(concurrency=5), Load(rate=1.0)


def reasons(rows, limits=None, **changes):
    measurement = sample_measurement(rows, **changes)
    found = judge(measurement, measure(measurement, METRICS), STEADY, limits or {}).reasons
    assert not any("could not decide" in reason.text for reason in found)
    return found


def judged(*args, **changes):
    return bool(reasons(*args, **changes))


def row(name, send_s, took_s=0.5, *, tokens=16, **changes):
    """Return an answer that comes at once, at its end."""
    return sample_record(str(name), send_s=send_s, ttft_s=took_s, chunks=1, **{"usage_output": tokens, "due_ns": None} | changes)


def train(count, tokens=lambda _: 16, *, each_s=0.5, **changes):
    """Return one answer after the other; at concurrency 1 the steady part begins with the second."""
    return [row(number, each_s * number, each_s, tokens=tokens(number), **changes) for number in range(count)]


def falls(number):
    return 60 - 4 * number


def flickers(number):
    return 16 if number // 12 % 2 else 48


# how long


@pytest.mark.parametrize(("count", "found"), [(11, False), (12, True)])
def test_five_seconds_of_a_steady_part_are_judged(count, found):
    assert judged(train(count, falls), load=ALONE) is found


@pytest.mark.parametrize(("count", "severity"), [(61, "warning"), (62, "invalid")])
def test_a_spread_over_thirty_seconds_is_no_chance(count, severity):
    (reason,) = reasons(train(count, flickers), load=ALONE)
    assert (reason.code, reason.severity) == ("not_steady", severity)
    assert reason.text.startswith("the output rate varies by ")
    assert ("in slices of less than 6 s" in reason.text) is (severity == "warning")


@pytest.mark.parametrize(("last_s", "found"), [(4.9, False), (5.0, True)])
def test_five_seconds_below_the_load_are_judged(last_s, found):
    rows = [*(row(f"long{user}", 0.0, 10.0) for user in range(3)), row("last", last_s, 10.0)]
    assert judged(rows, load=FIVE) is found


@pytest.mark.parametrize(
    ("sent_s", "fast", "found"),
    [(6.0, 51, True), (6.0, 50, False), (7.5, 50, False), (8.0, 50, True), (5.8, 51, False)],
)
def test_in_an_open_loop_a_median_latency_is_left_out_first(sent_s, fast, found):
    """Half of 101 answers take one second, the others three."""
    took = [3.0 if number % 2 else 1.0 for number in range(101)]
    took[0] = 1.0 if fast == 51 else 3.0
    rows = [row(number, sent_s * number / 100, took[number], tokens=120 - number) for number in range(101)]
    assert judged(rows, load=OPEN) is found


@pytest.mark.parametrize(("seconds", "found"), [(4.9, False), (5.0, True)])
def test_sessions_of_five_seconds_are_judged(seconds, found):
    assert judged(sessions(8, lambda part: 40 - 30 * part, seconds=seconds), load=Load(concurrency=8)) is found


def test_a_single_request_has_no_part_to_judge():
    for load in (ALONE, OPEN):
        assert not judged(train(1), load=load)
        assert not judged(train(1), load=load, agentic=True)


# a load that was never reached


@pytest.mark.parametrize(("count", "found"), [(4, False), (3, True)])
def test_four_of_five_users_at_once_are_enough(count, found):
    rows = [row(f"{user}-{number}", 0.5 * number, lane=user) for number in range(40) for user in range(count)]
    (reason,) = reasons(rows, load=FIVE) or [None]
    assert (reason is not None) is found
    assert reason is None or (reason.value, reason.limit) == (pytest.approx(3), pytest.approx(4))


def test_the_mean_is_that_of_the_whole_phase():
    rows = [*(row(f"first{user}", 0.0, 10.0) for user in range(9)), *(row(f"later{second}", second, 1.0) for second in range(10, 20))]
    (reason,) = [one for one in reasons(rows, load=Load(concurrency=10)) if one.text.startswith("no steady window was found: ")]
    assert reason.value == pytest.approx(99 / 19)


@pytest.mark.parametrize("due", [lambda number: True, lambda number: number == 7])
def test_users_one_of_whom_waits_before_a_request_need_not_all_be_busy(due):
    rows = [replace(one, due_ns=one.send_ns if due(number) else None) for number, one in enumerate(train(40))]
    assert not judged(rows, load=FIVE)


# how much


def drift(rows, **changes):
    """Return the reason of a drift that is certain."""
    return next(reason for reason in reasons(rows, **changes) if reason.severity == "invalid" and "over the steady part" in reason.text)


def allowed(variation, successes):
    return 0.1 + 2 * math.sqrt(12 / 10) * variation / math.sqrt(max(successes / 10, 1))


def variation(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) / mean


@pytest.mark.parametrize("count", [8, 12, 42])
def test_outputs_of_unequal_length_explain_a_part(count):
    """A slice counts as one success where it holds fewer."""
    lengths = [400 - 400 * number // count for number in range(count)]
    for inputs in (1000, None):
        reason = drift(train(count, lambda number: lengths[number], each_s=1.0, usage_input=inputs), load=ALONE)
        assert reason.limit == pytest.approx(allowed(variation(lengths), count))


def test_so_do_prompts():
    rows = [replace(one, usage_input=100 if number % 2 else 300) for number, one in enumerate(slowing(42))]
    assert drift(rows, load=OPEN).limit == pytest.approx(allowed(0.5, 42))


def slowing(count, *, apart_s=0.5, each_s=0.1):
    """Return requests of an open load, each of which takes longer than the one before."""
    return [row(number, apart_s * number, 1 + each_s * number) for number in range(count)]


def test_so_do_arrivals_in_whatever_order_they_were_sent():
    rows = [replace(one, due_ns=one.send_ns) for one in slowing(60)]
    rows[10], rows[11] = replace(rows[10], due_ns=rows[11].due_ns), replace(rows[11], due_ns=rows[10].due_ns)
    assert drift(rows, load=OPEN).limit == pytest.approx(allowed(0, 60))
    gaps = [0.2 if number % 2 else 0.8 for number in range(59)]
    rows = [replace(one, due_ns=round(sum(gaps[:number]) * S)) for number, one in enumerate(rows)]
    assert drift(rows, load=OPEN).limit == pytest.approx(allowed(variation(gaps), 60))


def test_what_nobody_counted_and_what_never_came_explains_nothing():
    assert not judged(train(40, usage_output=None), load=ALONE)
    assert not judged(train(40, usage_output=0), load=ALONE)
    assert not judged(train(40, failure="truncated"), load=ALONE)
    empty = [replace(one, chunks=one.chunks.of([])) for one in train(40)]
    assert not judged(empty, load=OPEN)


# which way


def test_a_rate_that_rises_is_told_so():
    reason = drift(train(60, lambda number: 60 + number), load=ALONE)
    assert reason.text.startswith("the output rate rises by ")
    assert 0 < reason.value < 1


def background(counts, seconds=12):
    """Return requests that fail, so many of them in flight in each of some parts of the time."""
    return [
        row(f"b{part}-{number}", seconds * part, seconds, failure="truncated")
        for part, count in enumerate(counts)
        for number in range(count)
    ]


def test_a_drift_that_is_certain_goes_before_one_that_may_be_chance():
    rates = [20, 24, 20, 25, 24]
    rows = train(122, lambda number: rates[min(number // 24, 4)])
    (chance,) = reasons(rows, load=ALONE)
    assert (chance.severity, chance.text.startswith("the output rate rises by ")) == ("warning", True)
    (both,) = reasons(sorted([*rows, *background([1, 4, 1, 5, 5])], key=lambda one: one.send_ns), load=ALONE, limits={"slice_spread": 1})
    assert both.text == chance.text, "the first of two"
    (certain,) = reasons(sorted([*rows, *background([1, 2, 3, 4, 5])], key=lambda one: one.send_ns), load=ALONE, limits={"slice_spread": 1})
    assert (certain.severity, certain.text.startswith("the number of requests in flight rises by ")) == ("invalid", True)


def test_a_fall_that_may_be_chance_has_a_size():
    rates = [25, 20, 24, 20, 21]
    (chance,) = reasons(train(122, lambda number: rates[min(number // 24, 4)]), load=ALONE)
    assert chance.severity == "warning"
    assert chance.text.startswith("the output rate falls by ")
    assert chance.value > 0.1


# sessions


def sessions(count, tokens, *, seconds=60.0, turns=21, **changes):
    """Return sessions whose requests are sent together; `tokens` gives those of a turn by the part of the time that has passed."""
    rows = [
        row(
            f"s{number}-{turn}", seconds * turn / (turns - 1), 0.2, tokens=round(tokens(turn / (turns - 1))),
            session_id=f"s{number}", tree_id=f"s{number}", turn=turn, **changes,
        )
        for turn in range(turns)
        for number in range(count)
    ]  # fmt: skip
    return sorted(rows, key=lambda one: one.send_ns)


def apart(rows, tokens, **kept):
    """Return the rows with tokens that each session has of its own: `tokens` gets its number and the part of the time."""
    last = max(one.turn for one in rows)
    return [replace(one, usage_output=round(tokens(int(one.session_id[1:]), one.turn / last)), **kept) for one in rows]


@pytest.mark.parametrize(("first", "last", "word"), [(40, 20, "falls"), (20, 40, "rises")])
def test_a_drift_of_sessions_tells_its_interval(first, last, word):
    rows = apart(sessions(8, lambda _: 1), lambda number, part: (first + (last - first) * part) * (1 + 0.1 * number))
    (reason,) = reasons(rows, load=Load(concurrency=8))
    assert reason.severity == "warning"
    assert reason.value == pytest.approx(2 / 3, rel=0.1)
    low, high = (float(part.split(" %")[0]) for part in reason.text.split("sessions: ")[1].split(" to "))
    assert 10 < low < 100 * reason.value < high + 1
    assert reason.text.startswith(f"the output rate {word} by ")


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("spread", [0.35, 1.0])
def test_where_other_sessions_might_show_none_there_is_no_drift(sign, spread):
    """Sessions differ so much in how they drift that the interval of the mean begins below the limit, or on the other side of zero."""
    rows = apart(sessions(8, lambda _: 1), lambda number, part: 100 + 100 * sign * (0.2 + spread * (number - 3.5) / 3.5) * (part - 0.5))
    assert not judged(rows, load=Load(concurrency=8))
    assert judged(rows, load=Load(concurrency=8), limits={"not_steady": 0.001}) is (spread < 1)


def test_agents_and_sessions_of_several_requests_come_and_go():
    rows = train(62, flickers)
    assert judged(rows, load=ALONE)
    assert not judged(rows, load=ALONE, agentic=True)
    assert not judged([replace(one, session_id=f"s{number // 2}") for number, one in enumerate(rows)], load=ALONE)


# coverage


def coverage(rows, **changes):
    """Return the reason of this code, or None."""
    return next((reason for reason in reasons(rows, **changes) if reason.code == "coverage"), None)


def test_a_phase_counts_from_its_start():
    reason = coverage(train(100), load=ALONE, start_ns=-30 * S, end_ns=70 * S)
    assert reason.value == pytest.approx(0.8)
    assert "80 % of the measured phase of 100 s" in reason.text


def test_95_percent_are_enough():
    rows = [row("first", 0.0, 1.0), row("last", 94.0, 1.0)]
    assert coverage(rows, load=OPEN, start_ns=0, end_ns=100 * S) is None


@pytest.mark.parametrize(("left_s", "found"), [(8, False), (9, True)])
def test_as_long_as_the_longest_answer_is_excused(left_s, found):
    rows = [row("long", 0.0, 8.0), *(row(number, float(number), 1.0) for number in range(1, 50))]
    assert (coverage(rows, load=OPEN, start_ns=0, end_ns=(50 + left_s) * S) is not None) is found


@pytest.mark.parametrize(("left_s", "found"), [(9.5, False), (10.0, False), (10.5, True)])
def test_as_long_as_the_longest_pause_is_excused(left_s, found):
    rows = [row(number, at, 1.0, session_id="s") for number, at in enumerate((0.0, 5.0, 15.0, 20.0))]
    assert (coverage(rows, load=OPEN, agentic=True, start_ns=0, end_ns=round((21 + left_s) * S)) is not None) is found


def test_a_pause_is_between_neighbours_in_time():
    rows = [row("slow", 0.0, 5.0), row("fast", 1.0, 0.1), row("last", 6.0, 1.0)]
    assert coverage(rows, load=OPEN, agentic=True, start_ns=0, end_ns=round(12.5 * S)) is not None


def test_a_phase_without_length_has_no_end():
    assert coverage(train(1), load=ALONE, start_ns=0, end_ns=0) is None


@pytest.mark.parametrize(("phase_s", "found"), [(4.9, False), (5.0, True)])
def test_a_short_phase_may_end_late(phase_s, found):
    rows = [row(number, number / 100, 0.02) for number in range(100)]
    assert (coverage(rows, load=OPEN, start_ns=0, end_ns=round(phase_s * S)) is not None) is found


# standstill


@pytest.mark.parametrize(("seconds", "found"), [(61.0, False), (65.0, True)])
def test_ten_long_gaps_make_a_standstill(seconds, found):
    stamps = [sample_record().chunks.of([(round(at * S), "text", 1, 9) for at in (1.0, 1.0 + seconds)])]
    rows = [replace(sample_record("stalled"), chunks=stamps[0], close_ns=round((1.0 + seconds) * S))]
    rows += [sample_record(f"r{number}", send_s=70.0 + 200 * number, gap_s=6.2) for number in range(40)]
    assert any(reason.code == "no_progress" for reason in reasons(rows)) is found
