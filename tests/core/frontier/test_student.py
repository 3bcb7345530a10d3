"""Quantiles against published tables, intervals, and when two lists of reads differ."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.frontier.errors import FrontierError
from ixbench.frontier.student import compare, half_width, t_quantile, told_apart

TABLE = {1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 4: 2.7764451, 5: 2.5705818, 9: 2.2621572, 10: 2.2281389, 30: 2.0422725, 120: 1.9799304}
"""Two-sided 95 %, from printed tables."""


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_are_those_of_the_tables(freedom):
    assert t_quantile(freedom) == pytest.approx(TABLE[freedom], abs=1e-6)


@pytest.mark.parametrize(("freedom", "level", "value"), [(1, 0.5, 1.0), (2, 0.99, 9.9248432), (5, 0.9, 2.0150484), (10, 0.99, 3.1692727)])
def test_other_levels(freedom, level, value):
    assert t_quantile(freedom, level) == pytest.approx(value, abs=1e-6)


def test_many_degrees_of_freedom_come_to_the_normal_quantile():
    assert t_quantile(10**9) == pytest.approx(1.9599640, abs=3e-4)


@pytest.mark.parametrize(("freedom", "level"), [(0, 0.95), (-1, 0.95), (3, 0.0), (3, 1.0)])
def test_what_is_no_quantile_is_refused(freedom, level):
    with pytest.raises(ValueError, match="degree of freedom"):
        t_quantile(freedom, level)


def test_an_interval_needs_two_values():
    assert half_width([]) is None
    assert half_width([5.0]) is None
    assert half_width([1.0, 3.0]) == pytest.approx(12.7062047 * math.sqrt(2) / math.sqrt(2))
    assert half_width([4.0, 4.0, 4.0]) == 0


def test_two_lists_that_overlap_are_not_told_apart():
    found = compare([5500, 5600, 5450], [5600, 5500, 5700])
    assert found.difference == pytest.approx(-83.3333333)
    # 1.4 degrees of freedom too many would give another quantile: they are rounded down.
    assert found.margin == pytest.approx(3.1824463 * math.sqrt((5833.3333333 + 10000) / 3), rel=1e-6)
    assert not found.distinguishable


def test_two_lists_far_apart_are():
    assert compare([5500, 5520, 5490], [6100, 6130, 6080]).distinguishable


def test_the_freedom_of_two_lists_of_two_of_which_one_does_not_scatter_is_one():
    assert compare([1.0, 3.0], [5.0, 5.0]).margin == pytest.approx(12.7062047)
    assert compare([1.0, 3.0], [5.0, 7.0]).margin == pytest.approx(4.3026527 * math.sqrt(2)), "two of each that scatter alike have two"


def test_told_apart_needs_two_of_each():
    assert told_apart([1.0, 2.0], [1.0]) is None
    assert told_apart([1.0], [1.0, 2.0]) is None
    assert told_apart([1.0, 2.0], [100.0, 101.0]) is True
    assert told_apart([1.0, 2.0], [1.5, 2.5]) is False


def test_without_any_spread_every_difference_counts():
    assert compare([5.0, 5.0], [6.0, 6.0]).distinguishable
    assert not compare([5.0, 5.0], [5.0, 5.0]).distinguishable


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0, 2.0]), ([1.0, 2.0], []), ([1.0], [2.0])])
def test_one_run_tells_nothing_of_its_spread(a, b):
    with pytest.raises(FrontierError) as caught:
        compare(a, b)
    assert caught.value.code == "too_few_repeats"


def test_what_is_no_number_cannot_be_compared():
    with pytest.raises(FrontierError, match="finite"):
        compare([1.0, math.nan], [1.0, 2.0])


REPEATED = st.lists(st.floats(1.0, 1e6), min_size=2, max_size=6)


@given(REPEATED, REPEATED)
def test_the_order_of_the_lists_changes_only_the_sign(a, b):
    one, other = compare(a, b), compare(b, a)
    assert one.difference == -other.difference
    assert one.margin == pytest.approx(other.margin, rel=1e-9)
    assert one.margin >= 0
