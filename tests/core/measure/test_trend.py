"""Lines through a few slices."""

from __future__ import annotations

import numpy as np
import pytest

from ixbench.frontier.student import t_quantile
from ixbench.measure.trend import LEVEL, changes, trend


def test_a_line_changes_by_its_slope_times_the_slices():
    found = trend(np.array([80.0, 90.0, 100.0, 110.0, 120.0]))
    assert found.change == pytest.approx(0.5)
    assert found.error == 0
    assert found.spread == pytest.approx(np.std([80, 90, 100, 110, 120]) / 100)
    assert found.certain


def test_falling_is_negative():
    assert trend(np.array([3.0, 2.0, 1.0])).change == pytest.approx(-1.5)


def test_equal_slices_do_not_change():
    found = trend(np.full(5, 0.1 + 0.2))
    assert (found.change, found.error, found.spread) == (pytest.approx(0), 0, pytest.approx(0))


def test_scatter_makes_a_change_uncertain():
    values = np.array([100.0, 100.0, 100.0, 100.0, 130.0])
    found = trend(values)
    assert found.change == pytest.approx(6 * 5 / 106)
    residuals = values - (106 + 6 * np.array([-2, -1, 0, 1, 2]))
    assert found.error == pytest.approx(t_quantile(3, LEVEL) * np.sqrt(residuals @ residuals / 3 / 10) * 5 / 106)
    assert not found.certain


def test_a_step_is_no_scatter_that_excuses_it():
    found = trend(np.array([6.0, 6.0, *[10.0] * 8]))
    assert found.change == pytest.approx(0.42, abs=0.01)
    assert (found.error, found.certain) == (0, True)


def test_a_step_may_be_two_slices_from_the_end():
    assert trend(np.array([*[10.0] * 8, 6.0, 6.0])).error == 0


def test_the_error_around_a_step_is_that_of_two_levels_and_their_place():
    found = trend(np.array([6.1, 5.9, *[10.1, 9.9] * 4]))
    assert found.error == pytest.approx(t_quantile(7, LEVEL) * np.sqrt(10 * 0.01 / 7 / 82.5) * 10 / 9.2)


@pytest.mark.parametrize(("values", "fits"), [([1.0] * 3 + [2.0] * 3, True), ([1.0] * 3 + [2.0] * 2, False)])
def test_a_step_is_looked_for_among_six_slices_or_more(values, fits):
    assert (trend(np.array(values)).error == 0) is fits


def test_the_rounding_of_large_numbers_is_no_scatter_and_a_little_scatter_is_no_rounding():
    assert trend(1e9 * np.arange(1, 6) / 3).error == 0
    for mean, scatter in ((100, 1e-5), (1e12, 1e4)):
        assert trend(mean + scatter * np.array([0.0, 1.0, -1.0, 1.0, 0.0])).error > 0


def test_one_slice_that_differs_may_be_chance():
    assert not trend(np.array([6.0, *[10.0] * 9])).certain
    assert not trend(np.array([*[10.0] * 9, 6.0])).certain


def test_no_change_is_none_however_sure():
    assert not trend(np.full(5, 2.0)).certain


@pytest.mark.parametrize("scatter", [0.01, 0.05, 0.2])
def test_what_stays_the_same_seldom_drifts_for_certain(scatter):
    rows = 1 + scatter * np.random.default_rng(4).standard_normal((1000, 10))
    assert sum(found.certain for found in map(trend, rows)) <= 10


def test_a_drift_that_scatter_leaves_visible_is_certain():
    chance = np.random.default_rng(5)
    line = 1 - 0.15 * ((np.arange(10) + 0.5) / 10 - 0.5)
    found = [trend(line * (1 + 0.01 * chance.standard_normal(10))) for _ in range(200)]
    assert all(one.certain for one in found)
    assert np.mean([one.change for one in found]) == pytest.approx(-0.15, abs=0.005)


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [0.0, 0.0, 0.0]])
def test_too_little_has_no_trend(values):
    assert trend(np.array(values)) is None


def test_many_rows_at_once_are_the_same():
    rows = np.random.default_rng(2).random((20, 5))
    assert changes(rows) == pytest.approx([trend(row).change for row in rows])
    assert np.isnan(changes(np.zeros((1, 5))))[0]
