"""Intervals beside a point's numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ixbench.measure.interval import intervals_of, percentile_bounds
from ixbench.measure.percentile import summarise
from ixbench.measure.point import span_s
from ixbench.model.point import Load
from ixbench.testing.records import sample_measurement, sample_record


def point(count=200, *, sessions=None, **changes):
    """Return a point whose requests follow one another, with TTFT and TPOT that vary."""
    chance = np.random.default_rng(11)
    rows = []
    for number in range(count):
        session = f"s{number if sessions is None else number % sessions}"
        ttft, gap = 0.1 + chance.exponential(0.1), 0.02 * (1 + 0.1 * chance.normal())
        rows.append(sample_record(f"r{number}", send_s=1.0 * number, ttft_s=ttft, gap_s=gap, session_id=session, tree_id=session))
    return sample_measurement(rows, **changes)


def test_the_percentiles_of_a_hundred_values_lie_between_known_ranks():
    found = percentile_bounds(np.arange(1.0, 101.0))
    assert found["p90"] == (84.0, 96.0)
    assert found["p99"] is None
    assert found["p50"] == (40.0, 61.0)


def test_no_value_no_interval():
    assert percentile_bounds(np.array([np.nan])) == {}
    assert set(percentile_bounds(np.array([1.0])).values()) == {None}
    assert intervals_of(sample_measurement([sample_record(failure="truncated")]), "p") is None


def test_every_interval_holds_its_percentile():
    measurement = point()
    found = intervals_of(measurement, "a-c1")
    for name, column in (("ttft_s", measurement.times.ttft), ("tpot_s", measurement.times.tpot), ("e2el_s", measurement.times.e2el)):
        summary = summarise(column)
        for part, both in found.percentiles[name].items():
            assert both is None or both[0] <= summary[part] <= both[1], (name, part)
    for name, column in (("ttft_s", measurement.times.ttft), ("tpot_s", measurement.times.tpot)):
        summary = summarise(column)
        for part, both in found.bootstrap[name].items():
            assert both[0] <= summary[part] <= both[1], (name, part)


def test_speeds_are_the_inverse_of_times_with_the_ends_changed():
    found = intervals_of(point(), "a-c1")
    for table in (found.percentiles, found.bootstrap):
        low, high = table["tpot_s"]["p90"]
        assert table["speed_tok_s_user"]["p90"] == (1 / high, 1 / low)


def test_the_same_point_gets_the_same_interval_in_every_run():
    assert intervals_of(point(), "a-c1") == intervals_of(point(), "a-c1")
    assert intervals_of(point(), "a-c1").bootstrap != intervals_of(point(), "a-c2").bootstrap
    assert intervals_of(point(), "a-c1").percentiles == intervals_of(point(), "a-c2").percentiles


def test_rates_vary_with_the_time_that_requests_take_though_all_are_equally_long():
    measurement = point(gpus=2)
    found = intervals_of(measurement, "a-c1")
    total = 200 * 1032 / span_s(measurement)
    low, high = found.bootstrap["throughput_tok_s"]["total"]
    assert low < total < high
    latency = measurement.times.e2el
    assert high - low == pytest.approx(2 * 1.96 * total * latency.std() / latency.mean() / 200**0.5, rel=0.15)
    assert found.bootstrap["throughput_tok_s_gpu"]["total"] == (low / 2, high / 2)


def test_in_an_open_loop_arrivals_are_given_and_equal_requests_bring_equal_rates():
    measurement = point(load=Load(rate=1.0))
    low, high = intervals_of(measurement, "a-r1").bootstrap["throughput_tok_s"]["output"]
    assert low == pytest.approx(high) == pytest.approx(200 * 32 / span_s(measurement))


def test_where_answers_take_as_long_as_their_tokens_the_rate_does_not_vary():
    records = [
        sample_record(f"r{number}", send_s=number, ttft_s=0.1, gap_s=0.1, chunks=tokens, usage_input=10 * tokens)
        for number in range(40)
        for tokens in [1 + number % 5]
    ]
    measurement = sample_measurement(records)
    found = intervals_of(measurement, "a-c1").bootstrap["throughput_tok_s"]
    assert found["total"] == pytest.approx((1320 / span_s(measurement),) * 2)
    assert found["output"] == pytest.approx((120 / span_s(measurement),) * 2)


@pytest.mark.parametrize(("field", "part", "whole"), [("usage_input", "total", 10_410), ("usage_output", "output", 10_288)])
def test_a_session_that_holds_nearly_all_tokens_may_be_drawn_never_or_several_times(field, part, whole):
    records = [sample_record(f"r{number}", send_s=number, usage_input=10) for number in range(10)]
    measurement = sample_measurement([replace(records[0], **{field: 10_000}), *records[1:]], load=Load(rate=1.0))
    rates = intervals_of(measurement, "a-r1").bootstrap["throughput_tok_s"]
    low, high = (end * span_s(measurement) / whole for end in rates[part])
    assert 0 < low < 0.1
    assert 2.5 < high < 5
    if field == "usage_input":
        assert rates["output"] == pytest.approx((320 / span_s(measurement),) * 2), "all hold as much of it"


def test_a_time_of_zero_has_no_interval_of_its_speed():
    found = intervals_of(sample_measurement([sample_record(f"r{n}", send_s=n, chunks=1, chunk_tokens=5) for n in range(40)]), "a-c1")
    assert found.percentiles["tpot_s"]["p50"] == (0.0, 0.0)
    assert found.percentiles["speed_tok_s_user"]["p50"] is None
    assert found.bootstrap["speed_tok_s_user"]["p50"] is None
    half = [sample_record(f"r{n}", send_s=n, chunks=1 + n % 2, chunk_tokens=5) for n in range(40)]
    found = intervals_of(sample_measurement(half), "a-c1")
    assert found.percentiles["tpot_s"]["p50"] == (0.0, pytest.approx(0.02 / 9))
    assert found.percentiles["speed_tok_s_user"]["p50"] is None


def test_without_gpus_there_is_no_rate_per_gpu():
    assert "throughput_tok_s_gpu" not in intervals_of(point(gpus=None), "a-c1").bootstrap


@pytest.mark.parametrize("field", ["usage_input", "usage_output"])
def test_without_usage_there_is_no_interval_of_rates(field):
    measurement = point()
    records = (replace(measurement.records[0], **{field: None}), *measurement.records[1:])
    found = intervals_of(sample_measurement(records), "a-c1").bootstrap
    assert found["throughput_tok_s"] == {"total": None, "output": None}
    assert found["ttft_s"]["p50"] is not None


def test_without_any_output_there_is_no_interval_of_rates():
    records = [sample_record(f"r{number}", send_s=number, chunks=0, usage_output=1) for number in range(9)]
    assert intervals_of(sample_measurement(records), "a-c1").bootstrap["throughput_tok_s"] == {"total": None, "output": None}


@pytest.mark.parametrize(("sessions", "resamples"), [(4, 0), (5, 1000)])
def test_few_sessions_leave_only_the_order_statistics(sessions, resamples):
    found = intervals_of(point(sessions=sessions), "a-c1")
    assert (found.sessions, found.resamples, bool(found.bootstrap)) == (sessions, resamples, resamples > 0)
    assert found.percentiles["ttft_s"]["p50"] is not None
