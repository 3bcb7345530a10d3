"""Draws of sessions: against arithmetic that can be done by hand, and against what is known of the distributions."""

from __future__ import annotations

import numpy as np
import pytest

from ixbench.measure import bootstrap
from ixbench.measure.bootstrap import FEWEST_RESAMPLES, FEWEST_SESSIONS, MOST_SESSIONS, RESAMPLES, Resampling, bounds
from ixbench.measure.percentile import percentile

SINGLE = [str(number) for number in range(200)]


def values(count=200):
    return np.random.default_rng(7).exponential(size=count)


def test_equal_seeds_draw_the_same_and_others_do_not():
    one, same, other = (Resampling.of(SINGLE, seed).percentiles(values(), (50, 90)) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_each_draw_takes_as_many_sessions_as_there_are():
    draws = np.concatenate(list(Resampling.of(SINGLE, 3).draws()))
    assert draws.shape == (RESAMPLES, 200)
    assert set(draws.sum(axis=1)) == {200}


@pytest.mark.parametrize("count", [200, 20])
def test_percentiles_are_those_of_the_drawn_values(count):
    resampling, numbers = Resampling.of(SINGLE[:count], 3), values(count)
    draws = np.concatenate(list(resampling.draws()))
    found = resampling.percentiles(numbers, (50, 90, 99))
    for row in (0, 1, 999):
        drawn = np.repeat(numbers, draws[row])
        assert found[row, :3] == pytest.approx([percentile(drawn, p) for p in (50, 90, 99)])
        assert found[row, 3] == pytest.approx(drawn.mean())


def test_undefined_values_take_no_part():
    numbers = values()
    numbers[::2] = np.nan
    resampling = Resampling.of(SINGLE, 3)
    draw = next(resampling.draws())[0]
    assert resampling.percentiles(numbers, (50,))[0, 0] == pytest.approx(percentile(np.repeat(numbers, draw), 50))


def test_a_single_value_is_all_of_its_percentiles():
    numbers = np.full(200, np.nan)
    numbers[7] = 5.0
    resampling = Resampling.of(SINGLE, 3)
    drawn = np.concatenate(list(resampling.draws()))[:, 7] > 0
    found = resampling.percentiles(numbers, (50, 100))
    assert np.all(found[drawn] == 5.0)
    assert np.all(np.isnan(found[~drawn]))
    assert 0 < drawn.sum() < RESAMPLES


def test_nothing_known_gives_no_interval():
    found = Resampling.of(SINGLE, 3).percentiles(np.full(200, np.nan), (50,))
    assert bounds(found[:, 0]) is None


def test_requests_of_a_session_are_drawn_together():
    # Ten sessions of twenty equal values each: drawn one by one the mean would be known more than four times as well.
    sessions = [str(number // 20) for number in range(200)]
    numbers = np.repeat(np.arange(10.0), 20)
    together = bounds(Resampling.of(sessions, 1).percentiles(numbers, (50,))[:, 1])
    apart = bounds(Resampling.of(SINGLE, 1).percentiles(numbers, (50,))[:, 1])
    assert together[1] - together[0] > 3 * (apart[1] - apart[0])


def test_the_interval_of_a_mean_is_as_wide_as_theory_says():
    numbers = np.random.default_rng(5).normal(10.0, 2.0, size=400)
    low, high = bounds(Resampling.of([str(i) for i in range(400)], 1).percentiles(numbers, (50,))[:, 1])
    assert high - low == pytest.approx(2 * 1.96 * numbers.std() / 20, rel=0.1)
    assert low < numbers.mean() < high


@pytest.mark.parametrize(("sessions", "drawn"), [(0, False), (FEWEST_SESSIONS - 1, False), (FEWEST_SESSIONS, True)])
def test_a_few_sessions_cannot_be_drawn_from(sessions, drawn):
    assert (Resampling.of([str(number) for number in range(sessions)], 1) is not None) is drawn


def test_very_many_sessions_are_drawn_in_blocks_of_neighbours_and_less_often():
    count = 1_000_000
    resampling = Resampling.of([str(number) for number in range(count)], 1)
    assert (resampling.count, resampling.resamples) == (MOST_SESSIONS, FEWEST_RESAMPLES)
    assert np.array_equal(np.unique(resampling.sessions, return_counts=True)[1], np.full(MOST_SESSIONS, count // MOST_SESSIONS))
    assert np.all(np.diff(resampling.sessions) >= 0)


@pytest.mark.parametrize(
    ("requests", "sessions", "resamples"), [(2000, 2000, 1000), (2001, 2000, 1000), (50_000, 2000, 500), (200_000, 2000, 200)]
)
def test_the_more_requests_the_fewer_resamples(requests, sessions, resamples):
    found = Resampling.of([str(number) for number in range(requests)], 1)
    assert (found.count, found.resamples) == (sessions, resamples)


@pytest.mark.parametrize("at_once", [1, 200 * 300, 200 * 1000])
def test_the_draws_do_not_depend_on_how_many_are_made_at_once(at_once, monkeypatch):
    whole = np.concatenate(list(Resampling.of(SINGLE, 3).draws()))
    monkeypatch.setattr(bootstrap, "_AT_ONCE", at_once)
    assert np.array_equal(np.concatenate(list(Resampling.of(SINGLE, 3).draws())), whole)


def test_bounds_leave_out_a_fortieth_on_either_side():
    assert bounds(np.arange(1001.0)) == (25.0, 975.0)
    assert bounds(np.array([])) is None
    assert bounds(np.array([1.0, np.nan, 2.0])) is None, "one that gave nothing is enough"


def test_sums_are_taken_over_sessions():
    resampling = Resampling.of(["a", "a", "b", "c", "d", "e"], 1)
    rows = [np.array([float(number), 10.0 * number]) for number in range(1, 7)]
    assert resampling.rows_by_session(rows).tolist() == [[3, 30], [3, 30], [4, 40], [5, 50], [6, 60]]
    by_session = resampling.by_session(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert by_session.tolist() == [3.0, 3.0, 4.0, 5.0, 6.0]
    draw = next(resampling.draws())[0]
    assert resampling.sums(by_session[:, None])[0, 0] == pytest.approx(draw @ by_session)
