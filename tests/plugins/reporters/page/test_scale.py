"""Axes: values keep their order, ticks are round and lie on the axis, and a wide span becomes logarithmic."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench_plugins.reporters.page.scale import LOG_FROM, Scale, tick_label

VALUES = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=20)


@given(VALUES, st.integers(3, 12))
def test_every_value_and_every_tick_lies_on_the_axis(values, most):
    scale = Scale.of(values, start=50, end=950)
    assert all(scale.holds(value) and 50 <= scale.at(value) <= 950 for value in values)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert all(scale.holds(tick) for tick in ticks)


@given(VALUES)
def test_ticks_are_round(values):
    for tick in Scale.of(values, start=0, end=900).ticks(8):
        digits = f"{tick:.6e}".partition("e")[0].replace(".", "").strip("0")
        assert len(digits) <= 3


@given(VALUES)
def test_a_place_is_the_place_of_its_value(values):
    scale = Scale.of(values, start=50, end=950)
    for value in values:
        assert scale.value(scale.at(value)) == pytest.approx(value, rel=1e-6, abs=1e-6 * max(values))


def test_a_linear_axis_begins_at_zero_and_ends_above_the_largest_value():
    scale = Scale.of([40, 88.4], start=0, end=100)
    assert (scale.low, scale.logarithmic) == (0, False)
    assert scale.at(0) == 0
    assert scale.at(88.4) < 100
    assert scale.ticks(11) == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]


def test_a_wide_span_is_logarithmic():
    scale = Scale.of([10, 10 * LOG_FROM], start=0, end=100)
    assert scale.logarithmic
    assert scale.ticks(8) == [10, 20, 50, 100, 200]
    assert math.isclose(scale.at(50) - scale.at(10), scale.at(250) - scale.at(50))
    assert Scale.of([1, 1e9], start=0, end=100).ticks(6) == [1, 100, 10000, 1000000, 100000000]


def test_ticks_in_print():
    assert [tick_label(value) for value in (0, 0.05, 2.5, 12000, 1000000)] == ["0", "0.05", "2.5", "12,000", "1,000,000"]
    assert [tick_label(value, short=True) for value in (0, 500, 2500, 12000)] == ["0", "500", "2.5k", "12k"]
