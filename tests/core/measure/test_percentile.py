from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure.percentile import PooledNs, invert, percentile, percentile_ranks, summarise, thin

finite = st.floats(min_value=0, max_value=1e6, allow_subnormal=False)


def test_linear_interpolates_between_neighbours():
    assert percentile(range(1, 11), 90) == pytest.approx(9.1, rel=1e-12)
    assert percentile([100, 2, 10, 1], 60) == pytest.approx(8.4, rel=1e-12)


def test_nearest_takes_a_value_that_was_measured():
    assert percentile(range(1, 11), 90, "nearest") == 9
    assert percentile([5.0, 7.0], 0, "nearest") == 5
    assert percentile(range(1, 1001), 50, "nearest") == 500
    assert percentile(range(1, 11), 85, "nearest") == 9


def test_unknown_values_are_left_out_and_nothing_is_none():
    assert percentile([None, 3.0, math.nan], 50) == 3
    assert percentile([], 50) is None
    assert summarise([None, math.nan]) is None


def test_a_percentile_that_touches_a_penalised_failure_is_infinite():
    values = [1.0, 2.0, 3.0, math.inf]
    assert percentile(values, 50) == 2.5
    assert percentile(values, 67) == math.inf
    assert percentile(values, 100) == math.inf
    assert percentile([1.0, 2.0, math.inf], 50) == 2


@pytest.mark.parametrize("p", [-1, 100.5, math.nan])
def test_a_percentile_beyond_hundred_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 100"):
        percentile([1.0], p)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="allowed: linear, nearest"):
        percentile([1.0], 50, "lower")


@given(st.lists(finite, min_size=1, max_size=60), st.floats(min_value=0, max_value=100))
def test_linear_agrees_with_numpy(values, p):
    # A position within nine decimals of a whole one is taken for it, which moves a value by as much of the gap that it lies in.
    most = 1e-9 * (max(values) - min(values))
    assert percentile(values, p) == pytest.approx(float(np.percentile(values, p)), rel=1e-6, abs=1e-6 + most)


def test_a_position_between_two_values_is_not_rounded():
    assert percentile([0, 2000], 0.00390625) == 0.078125, "all of it is exact in binary"


def test_nine_decimals_of_a_position_count():
    assert percentile([0.0, 1.0], 4e-8) == 0
    assert percentile([0.0, 1.0], 4e-7) == pytest.approx(4e-9)


def test_a_whole_position_that_binary_cannot_hold_takes_its_value():
    assert 250 * 64.4 / 100 > 161
    assert percentile([0.0] * 162 + [math.inf] * 89, 64.4) == 0, "it does not touch the failures"


@given(st.lists(finite, min_size=1, max_size=60), st.floats(min_value=0, max_value=100), st.floats(min_value=0, max_value=100))
def test_percentiles_rise_and_stay_inside(values, one, other):
    low, high = percentile(values, min(one, other)), percentile(values, max(one, other))
    assert min(values) <= low <= high * (1 + 1e-12)
    assert high <= max(values) * (1 + 1e-12)


def test_summary_has_the_fixed_parts_in_order():
    summary = summarise([2.0, None, 4.0])
    assert summary == pytest.approx(
        {"mean": 3.0, "p50": 3.0, "p75": 3.5, "p90": 3.8, "p95": 3.9, "p99": 3.98, "min": 2.0, "max": 4.0, "n": 2}
    )
    assert list(summary) == ["mean", "p50", "p75", "p90", "p95", "p99", "min", "max", "n"]


def test_inverted_times_keep_p99_on_the_slow_side():
    speeds = invert(summarise([0.01, 0.02, 0.04]))
    assert speeds["p50"] == 50
    assert speeds["p99"] < speeds["p50"]
    assert (speeds["min"], speeds["max"], speeds["n"]) == (25, 100, 3)
    assert speeds["mean"] == pytest.approx(3 / 0.07), "the mean time, inverted, not the mean of the speeds"


def test_a_time_of_zero_has_no_rate():
    assert invert(summarise([0.0]))["p50"] is None
    assert invert(None) is None


@pytest.mark.parametrize(("n", "p", "expected"), [(100, 90, False), (99, 90, True), (1000, 99, False), (999, 99, True), (20, 50, False)])
def test_ten_values_must_lie_beyond_a_solid_percentile(n, p, expected):
    assert thin(n, p) is expected


def test_a_position_that_binary_cannot_hold_is_not_thin():
    assert thin(10_000, 99.9) is False


def exact_ranks(n, p, level=95):
    """Return the ranks by whole numbers."""
    weights = [math.comb(n, k) * p**k * (100 - p) ** (n - k) for k in range(n + 1)]
    most = Fraction((100 - level) * 100**n, 200)
    below, from_there = list(accumulate(weights)), list(accumulate(reversed(weights)))[::-1]
    low = max((rank for rank in range(1, n + 1) if below[rank - 1] <= most), default=None)
    high = min((rank for rank in range(1, n + 1) if from_there[rank] <= most), default=None)
    return (low, high) if low and high else None


def test_ranks_of_p90_among_a_hundred():
    assert percentile_ranks(100, 90) == (84, 96)


def test_a_hundred_values_do_not_enclose_p99():
    assert percentile_ranks(100, 99) is None


@pytest.mark.parametrize("level", [80, 95, 99])
@pytest.mark.parametrize("p", [1, 25, 50, 75, 90, 95, 99])
def test_ranks_agree_with_whole_numbers(p, level):
    counts = range(81)
    assert [percentile_ranks(n, p, level) for n in counts] == [exact_ranks(n, p, level) for n in counts]


def test_ranks_at_the_least_number_of_values():
    assert percentile_ranks(5, 50) is None
    assert percentile_ranks(6, 50) == (1, 6), "the smallest and the largest"
    assert percentile_ranks(2, 50, 50) == (1, 2), "each tail is exactly a quarter"
    assert percentile_ranks(2, 50, 0.5) == (1, 2)


def test_the_level_is_95_unless_another_is_asked_for():
    assert [percentile_ranks(37, 90, level) for level in (94, 95, 96)] == [(30, 37), (29, 37), None]
    assert percentile_ranks(37, 90) == (29, 37)


def test_ranks_of_many_values_do_not_underflow():
    low, high = percentile_ranks(100_000, 50)
    assert (low, high) == (49_690, 50_311), "as integer arithmetic has it"


@pytest.mark.parametrize("wrong", [(-1, 90, 95), (10, 0, 95), (10, 100, 95), (10, 90, 0), (10, 90, 100)])
def test_ranks_of_nonsense_are_refused(wrong):
    with pytest.raises(ValueError, match="ranks need"):
        percentile_ranks(*wrong)


@given(st.lists(st.lists(st.integers(0, 2**33), max_size=40), max_size=5))
def test_pooled_nanoseconds_are_summarised_as_their_seconds_to_the_last_bit(blocks):
    pooled = PooledNs(sum(map(len, blocks)) + 3)
    for block in blocks:
        pooled.add(np.array(block, dtype=np.int64))
    expected = summarise([ns / 1e9 for block in blocks for ns in block])
    assert pooled.summary() == expected
    assert pooled.summary() == expected, "asked again, when the values are gone"


def test_nanoseconds_around_four_bytes_keep_their_values():
    values = [2**32 + 1, 2**32, 2**32 - 1, 5]
    pooled = PooledNs(4)
    pooled.add(np.array(values, dtype=np.int64))
    assert pooled.summary() == summarise([ns / 1e9 for ns in values])
    long = PooledNs(1)
    long.add(np.array([2**40], dtype=np.int64))
    assert long.summary() == summarise([2**40 / 1e9]), "nothing else"


@pytest.mark.parametrize("count", [131_072, 131_073, 262_145, 1_000_003])
def test_the_mean_of_many_is_added_up_in_the_order_of_one_array(count):
    values = np.random.default_rng(count).lognormal(17, 1.5, count).astype(np.int64)
    pooled = PooledNs(count)
    for part in np.array_split(values, 7):
        pooled.add(part)
    assert pooled.summary() == summarise(values / 1e9)
