from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure.steady import Window, in_flight_means, output_served, sending_window, steady_window, token_times
from ixbench.model.point import Load
from ixbench.model.record import Chunks
from ixbench.testing.records import sample_measurement, sample_record

S = 1_000_000_000
MS = 1_000_000


def lanes(count, turns, *, ramp_s=0.0, pause_s=0.001):
    """Return what a closed loop sends: each lane begins `ramp_s` after the one before it, its answers take 820 ms."""
    return [
        sample_record(f"l{lane}t{turn}", send_s=lane * ramp_s + turn * (0.82 + pause_s)) for lane in range(count) for turn in range(turns)
    ]


def test_the_ramp_ends_when_the_load_was_kept_for_a_median_latency():
    measurement = sample_measurement(lanes(4, 20, ramp_s=1.0), load=Load(concurrency=4))
    window = steady_window(measurement)
    assert window.start_ns == 3 * S + 820 * MS, "the fourth lane begins after 3 s, and one latency passes"
    assert window.end_ns == round((3 + 19 * 0.821) * S), "the last send"
    assert window.seconds == pytest.approx(19 * 0.821 - 0.82)


def one_after_another(*lengths_s, starts_s):
    """Return what a single lane sends: answers of one chunk that take so long."""
    return [
        sample_record(f"r{position}", send_s=start, ttft_s=length, chunks=1)
        for position, (start, length) in enumerate(zip(starts_s, lengths_s, strict=True))
    ]


def test_the_latency_that_passes_is_the_median():
    records = one_after_another(1, 2, 3, starts_s=(0, 1, 3))
    assert steady_window(sample_measurement(records)) == Window(start_ns=2 * S, end_ns=3 * S)


@pytest.mark.parametrize(("first_s", "start_s"), [(0.95, 1), (0.94, 2)])
def test_kept_is_95_in_a_hundred_of_the_time(first_s, start_s):
    records = one_after_another(first_s, 1, 1, 1, 1, starts_s=(0, 1, 2, 3, 4))
    assert steady_window(sample_measurement(records)).start_ns == start_s * S


def test_the_ramp_does_not_end_before_the_last_lane_begins():
    measurement = sample_measurement(lanes(2, 20, ramp_s=0.01), load=Load(concurrency=2))
    assert steady_window(measurement).start_ns == 830 * MS


def test_a_ramp_that_ends_with_the_last_send_leaves_nothing():
    assert steady_window(sample_measurement(one_after_another(1, 1, starts_s=(0, 1)))) is None


def test_a_load_that_is_reached_for_a_moment_only_is_not_steady():
    assert steady_window(sample_measurement(lanes(2, 20, ramp_s=0.6, pause_s=0.4), load=Load(concurrency=2))) is None
    assert steady_window(sample_measurement(lanes(2, 20), load=Load(concurrency=3))) is None
    assert steady_window(sample_measurement(lanes(2, 1), load=Load(concurrency=2))) is None, "all sent at once"


def test_without_answers_nothing_is_steady():
    assert steady_window(sample_measurement([])) is None
    failures = [sample_record(f"r{i}", send_s=i, failure="transport") for i in range(9)]
    assert steady_window(sample_measurement(failures)) is None


def test_failed_and_cancelled_requests_are_load_too():
    records = lanes(2, 20)
    records[20:] = [
        replace(record, failure="truncated") if i % 2 else replace(record, cancelled=True) for i, record in enumerate(records[20:])
    ]
    assert steady_window(sample_measurement(records, load=Load(concurrency=2))).start_ns == 820 * MS


def test_an_open_loop_reaches_its_own_mean():
    records = [sample_record(f"r{i}", send_s=i / 10) for i in range(200)]
    window = steady_window(sample_measurement(records, load=Load(rate=10.0)))
    assert window == Window(start_ns=800 * MS, end_ns=19_900 * MS), "with the ninth request, where the mean is 8.05"


def test_an_open_loop_need_only_come_to_its_mean():
    records = one_after_another(*[1] * 9, starts_s=range(9))
    assert steady_window(sample_measurement(records, load=Load(rate=1.0))) == Window(start_ns=0, end_ns=8 * S)


def test_warm_up_and_drain_belong_to_no_window():
    records = [*lanes(1, 9), sample_record("w", send_s=-9, phase="warmup"), sample_record("d", send_s=99, phase="drain")]
    measurement = sample_measurement(records)
    assert sending_window(measurement) == Window(start_ns=0, end_ns=round(8 * 0.821 * S))
    assert in_flight_means(measurement, sending_window(measurement).slices(1))[0] == pytest.approx(0.82 / 0.821)


def test_slices_are_equal_and_leave_no_gap():
    edges = Window(start_ns=5, end_ns=105).slices(5)
    assert edges.tolist() == [5, 25, 45, 65, 85, 105]


def test_requests_in_flight_over_time():
    records = [sample_record("a", send_s=0, close_ns=10 * S), sample_record("b", send_s=5, close_ns=30 * S, failure="truncated")]
    assert in_flight_means(sample_measurement(records), np.array([0, 5, 10, 20]) * S).tolist() == [1, 2, 1]


def test_tokens_stand_where_they_came():
    record = sample_record(chunks=10, gap_s=0.1, ttft_s=0.0, usage_cached=400)
    tokens = token_times(sample_measurement([record]), np.array([0, 250, 500, 900, 901]) * MS)
    assert tokens.output.tolist() == [3, 2, 4, 1], "a chunk on an edge belongs to what follows"
    assert (tokens.input.tolist(), tokens.cached.tolist()) == ([1000, 0, 0, 0], [400, 0, 0, 0])


def test_tokens_outside_the_edges_count_nowhere():
    tokens = token_times(sample_measurement([sample_record(chunks=10, gap_s=0.1, ttft_s=0.0)]), np.array([450, 650]) * MS)
    assert (tokens.output.tolist(), tokens.input.tolist()) == ([2], [0])
    for edges in (np.array([2, 3, 4]) * S, np.array([-3, -2, -1]) * S):
        tokens = token_times(sample_measurement([sample_record(chunks=10, ttft_s=0.0)]), edges)
        assert (tokens.output.tolist(), tokens.input.tolist()) == ([0, 0], [0, 0])


def test_chunks_hold_what_the_server_counted_in_them_else_equal_shares():
    stamps = [(0, "think", 6), (100 * MS, "text", 1), (200 * MS, "tool", 1), (300 * MS, "usage", None)]
    edges = np.array([0, 50, 400]) * MS

    def outputs(rows):
        record = replace(sample_record(close_ns=400 * MS, usage_output=8), chunks=Chunks.of((ns, kind, n, 1) for ns, kind, n in rows))
        return token_times(sample_measurement([record]), edges).output.tolist()

    assert outputs(stamps) == [6, 2]
    assert outputs([(ns, kind, None) for ns, kind, _ in stamps]) == pytest.approx([8 / 3, 16 / 3])
    assert outputs([stamps[0], *((ns, kind, None) for ns, kind, _ in stamps[1:])]) == pytest.approx([8 / 3, 16 / 3])
    assert outputs([(0, "text", 1), (100 * MS, "text", 0)]) == [8, 0], "none is a count too"
    assert outputs([(0, "text", 0), (100 * MS, "text", 0)]) == [4, 4], "unless it is all that was counted"


def test_output_is_served_from_the_send_on():
    records = [sample_record("a", ttft_s=0.5, gap_s=0.5, chunks=4), sample_record("b", send_s=1.0, ttft_s=0.0, chunks=1)]
    measurement = sample_measurement([*records, sample_record("empty", chunks=0, usage_output=7)])
    assert output_served(measurement, np.array([0, 1000, 2000, 3000]) * MS).tolist() == [2, 3, 0], "an instant answer comes after its send"
    assert output_served(measurement, np.array([500, 1500]) * MS).tolist() == [3]
    assert output_served(sample_measurement([records[1]]), np.array([0, S, S + 1])).tolist() == [0, 1]
    assert output_served(sample_measurement([sample_record(usage_output=None)]), np.array([0, S])) is None


def test_what_was_not_counted_is_not_known():
    edges = np.array([0, S])
    tokens = token_times(sample_measurement([sample_record("a"), sample_record("b", usage_output=None, usage_cached=None)]), edges)
    assert tokens.output is None
    assert (tokens.input.tolist(), tokens.cached.tolist()) == ([2000], [0])
    assert token_times(sample_measurement([sample_record(usage_cached=None)]), edges).cached is None
    assert token_times(sample_measurement([sample_record(usage_input=None)]), edges).input is None


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30), st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=8),
    st.integers(1, 7),
)
def test_no_token_is_lost_between_slices(drawn, parts):
    records = [
        sample_record(f"r{i}", send_s=send, ttft_s=ttft, chunks=chunks, chunk_tokens=tokens, gap_s=1.5)
        for i, (send, ttft, chunks, tokens) in enumerate(drawn)
    ]
    measurement = sample_measurement(records)
    tokens = token_times(measurement, Window(start_ns=0, end_ns=1000 * S).slices(parts))
    assert tokens.output.sum() == pytest.approx(sum(record.usage_output for record in records))
    assert tokens.input.sum() == 1000 * len(records)
