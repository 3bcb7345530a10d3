from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.frontier.curve import frontier
from ixbench.frontier.errors import FrontierError

# Few distinct values, so that ties and duplicates are common.
COARSE = st.integers(1, 12).map(float)
FINE = st.floats(0.001, 1e6)
POINTS = st.lists(st.tuples(COARSE, COARSE) | st.tuples(FINE, FINE), max_size=40)
DIRECTION = st.sampled_from(["higher", "lower"])


def beats(one, other, x_better, y_better):
    x = (one[0] - other[0]) * (1 if x_better == "higher" else -1)
    y = (one[1] - other[1]) * (1 if y_better == "higher" else -1)
    return x >= 0 and y >= 0 and (x > 0 or y > 0)


@given(POINTS, DIRECTION, DIRECTION)
def test_nothing_on_the_frontier_is_beaten_and_nothing_off_it_is_unbeaten(points, x_better, y_better):
    on = frontier(points, x_better=x_better, y_better=y_better)
    for i in on:
        assert not any(beats(other, points[i], x_better, y_better) for other in points)
    for i in set(range(len(points))) - set(on):
        assert any(beats(points[k], points[i], x_better, y_better) or points[k] == points[i] for k in on)


@given(POINTS, DIRECTION, DIRECTION)
def test_x_rises_strictly_and_y_goes_one_way(points, x_better, y_better):
    knots = [points[i] for i in frontier(points, x_better=x_better, y_better=y_better)]
    falls = x_better == y_better
    for (x, y), (x_next, y_next) in pairwise(knots):
        assert x < x_next
        assert y > y_next if falls else y < y_next


@given(POINTS)
def test_the_frontier_of_a_frontier_is_itself(points):
    knots = [points[i] for i in frontier(points)]
    assert frontier(knots) == list(range(len(knots)))


@given(st.data(), POINTS)
def test_order_of_the_input_does_not_matter(data, points):
    shuffled = data.draw(st.permutations(points))
    assert [shuffled[i] for i in frontier(shuffled)] == [points[i] for i in frontier(points)]


@given(POINTS)
def test_planes_are_mirror_images(points):
    """Turning an axis upside down (1/x) turns its direction."""
    mirrored = [(1 / x, y) for x, y in points]
    if len({x for x, _ in mirrored}) == len({x for x, _ in points}):
        assert sorted(frontier(mirrored, x_better="lower")) == sorted(frontier(points))


def test_one_point_is_its_own_frontier():
    assert frontier([(5.0, 5.0)]) == [0]


def test_the_first_of_three_duplicates_stays_in_every_plane():
    points = [(9.0, 1.0), (3.0, 3.0), (3.0, 3.0), (3.0, 3.0)]
    assert frontier(points) == [1, 0]
    assert frontier(points, x_better="lower", y_better="higher") == [1]
    assert frontier(points, x_better="lower", y_better="lower") == [1, 0]
    assert frontier(points, x_better="higher", y_better="lower") == [0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -1.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_coordinate_that_is_no_positive_number_is_refused(bad, axis):
    broken = [5.0, 5.0]
    broken[axis] = bad
    with pytest.raises(FrontierError, match="point 1 is") as caught:
        frontier([(1.0, 1.0), (broken[0], broken[1])])
    assert caught.value.code == "bad_point"
    assert str(caught.value).startswith("point 1 is (")


def test_an_unknown_direction_is_refused():
    with pytest.raises(FrontierError, match="'up' is no direction of an axis; allowed: higher, lower") as caught:
        frontier([], x_better="up")
    assert caught.value.code == "bad_mode"
