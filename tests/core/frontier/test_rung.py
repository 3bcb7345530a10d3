from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ixbench.frontier.curve import frontier
from ixbench.frontier.errors import FrontierError
from ixbench.frontier.inverse import fastest_speed
from ixbench.frontier.rung import read_rung
from ixbench.frontier.steffen import slopes

MODES = ("steffen", "linear", "step")
MODE = st.sampled_from(MODES)
POINT = st.tuples(st.floats(1, 500), st.floats(1, 20_000))
POINTS = st.lists(POINT, min_size=1, max_size=20)
THREE = [(20.0, 1000.0), (50.0, 400.0), (100.0, 100.0)]


def knots_of(points):
    return [points[i] for i in frontier(points)]


@given(POINTS, MODE, st.floats(0, 1))
def test_a_read_lies_between_its_neighbours(points, mode, share):
    knots = knots_of(points)
    rung = min(knots[0][0] + share * (knots[-1][0] - knots[0][0]), knots[-1][0])
    read = read_rung(points, rung, mode=mode)
    assert read.value is not None
    assert max(y for x, y in knots if x >= rung) <= read.value <= min(y for x, y in knots if x <= rung)


@given(POINTS, MODE, st.floats(0, 1), st.floats(0, 1))
def test_a_faster_rung_never_has_a_higher_rate(points, mode, one, other):
    knots = knots_of(points)
    low, high = knots[0][0], knots[-1][0]
    slow, fast = sorted(min(low + share * (high - low), high) for share in (one, other))
    slow_value, fast_value = read_rung(points, slow, mode=mode).value, read_rung(points, fast, mode=mode).value
    assert slow_value is not None
    assert fast_value is not None
    assert fast_value <= slow_value * (1 + 1e-12)


@given(POINTS, MODE, st.sampled_from(["in_range", "min_slo"]))
def test_a_knot_is_returned_untouched(points, mode, range_policy):
    for x, y in knots_of(points):
        read = read_rung(points, x, mode=mode, range_policy=range_policy)
        assert (read.status, read.value, read.at_x) == ("exact", y, x)
        assert [points[i] for i in read.evidence] == [(x, y)]


@given(POINTS, MODE, st.floats(1, 600), st.data())
def test_the_order_of_the_points_does_not_matter(points, mode, rung, data):
    shuffled = data.draw(st.permutations(points))
    one, other = read_rung(points, rung, mode=mode), read_rung(shuffled, rung, mode=mode)
    assert (one.status, one.value, one.at_x) == (other.status, other.value, other.at_x)
    assert [points[i] for i in one.evidence] == [shuffled[i] for i in other.evidence]


@given(POINTS, MODE, st.floats(1, 600))
def test_dominated_points_change_nothing(points, mode, rung):
    one, other = read_rung(points, rung, mode=mode), read_rung(knots_of(points), rung, mode=mode)
    assert (one.status, one.value) == (other.status, other.value)


@given(POINTS, st.floats(1, 600))
def test_step_never_promises_more_than_the_smooth_modes(points, rung):
    step, smooth = (read_rung(points, rung, mode=mode, range_policy="min_slo").value for mode in ("step", "steffen"))
    assert (step is None) == (smooth is None)
    assert step is None or step <= smooth


@given(POINTS, MODE, st.floats(1, 600))
def test_evidence_brackets_the_rung(points, mode, rung):
    read = read_rung(points, rung, mode=mode)
    speeds = [points[i][0] for i in read.evidence]
    assert len(speeds) == {"exact": 1, "interpolated": 2, "meets_slo": 1}.get(read.status, 0)
    assert speeds == sorted(speeds)
    if read.status == "interpolated":
        assert speeds[0] < rung < speeds[1]


@given(st.lists(POINT, min_size=2, max_size=20))
def test_steffen_slopes_never_point_upwards_on_a_frontier(points):
    knots = knots_of(points)
    assert all(m < 0 for m in slopes([x for x, _ in knots], [y for _, y in knots])) or len(knots) == 1


def test_one_point_can_only_be_read_at_its_own_speed():
    assert read_rung([(50.0, 7.0)], 50).value == 7.0
    assert read_rung([(50.0, 7.0)], 49).status == "below_range"
    assert read_rung([(50.0, 7.0)], 51).status == "unreachable"
    assert read_rung([(50.0, 7.0)], 49, range_policy="min_slo").value == 7.0
    assert slopes([50], [7]) == [0.0]


def test_the_first_of_duplicates_is_the_evidence():
    assert read_rung([(50.0, 7.0), (20.0, 9.0), (50.0, 7.0)], 50).evidence == (0,)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("policy", "status", "value"), [("in_range", "below_range", None), ("min_slo", "meets_slo", 1000.0)])
def test_below_the_range_only_min_slo_gives_the_end_value(mode, policy, status, value):
    read = read_rung(THREE, 10, mode=mode, range_policy=policy)
    assert (read.status, read.value) == (status, value)
    assert read.at_x == (20.0 if value else None)
    assert read.evidence == ((0,) if value else ())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", ["in_range", "min_slo"])
def test_above_the_range_there_is_never_a_value(mode, policy):
    read = read_rung(THREE, math.nextafter(100, 200), mode=mode, range_policy=policy)
    assert (read.status, read.value, read.at_x, read.evidence) == ("unreachable", None, None, ())


def test_step_names_the_measured_point_that_keeps_the_promise():
    read = read_rung(THREE, 51, mode="step", range_policy="min_slo")
    assert (read.status, read.value, read.at_x, read.evidence) == ("meets_slo", 100.0, 100.0, (2,))


def test_only_smooth_reads_of_two_knots_are_marked():
    two = [(40.0, 10800.0), (60.0, 7200.0)]
    assert read_rung(two, 50).two_knots
    assert not read_rung(two, 40).two_knots
    assert not read_rung(two, 50, mode="linear").two_knots
    assert not read_rung(THREE, 60).two_knots


def test_no_point_reads_no_points_whatever_the_policy():
    assert {read_rung([], 50, mode=mode, range_policy=policy).status for mode in MODES for policy in ("in_range", "min_slo")} == {
        "no_points"
    }


@pytest.mark.parametrize("rung", [0, -1, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("points", [[], THREE])
def test_a_rung_that_is_no_speed_is_refused(rung, points):
    with pytest.raises(FrontierError, match="is no speed") as caught:
        read_rung(points, rung)
    assert caught.value.code == "bad_rung"


@pytest.mark.parametrize("changes", [{"mode": "cubic"}, {"range_policy": "anything"}])
@pytest.mark.parametrize("points", [[], THREE])
def test_an_unknown_mode_or_policy_is_refused(changes, points):
    with pytest.raises(FrontierError, match="allowed: ") as caught:
        read_rung(points, 50, **changes)
    assert caught.value.code == "bad_mode"


def test_a_bad_point_is_refused_even_where_it_would_not_be_read():
    with pytest.raises(FrontierError) as caught:
        read_rung([*THREE, (math.nan, 5.0)], 50)
    assert caught.value.code == "bad_point"


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1, 2], [1]), ([1, 1], [2, 1]), ([2, 1], [1, 2]), ([1, math.nan], [1, 2]), ([1, 2], [1, math.inf])]
)
def test_knots_that_are_none_are_refused(x, y):
    with pytest.raises(FrontierError) as caught:
        slopes(x, y)
    assert caught.value.code == "bad_knots"


def test_a_zero_slope_counts_as_rising():
    """sgn(0) is +1: next to a falling piece the signs cancel."""
    assert slopes([0, 1, 2], [5, 5, 3])[1] == 0.0
    assert slopes([0, 1, 2], [3, 3, 3]) == [0.0, 0.0, 0.0]


def test_a_straight_line_has_one_slope():
    assert slopes([0, 1, 2], [0, 0.5, 1]) == [0.5, 0.5, 0.5]
    assert slopes([0, 1, 2], [1, 0.5, 0]) == [-0.5, -0.5, -0.5]


# --- inverse ---------------------------------------------------------------------------------------------------------------------------


@given(st.lists(POINT, min_size=2, max_size=20), st.sampled_from(["steffen", "linear"]), st.floats(0.001, 0.999))
def test_inverse_undoes_a_read(points, mode, share):
    knots = knots_of(points)
    assume(len(knots) > 1)
    target = knots[0][1] + share * (knots[-1][1] - knots[0][1])
    assume(knots[-1][1] <= target <= knots[0][1])
    inverse = fastest_speed(points, target, mode=mode)
    assert inverse.x is not None
    read = read_rung(points, inverse.x, mode=mode)
    assert read.value is not None
    assert read.value >= target * (1 - 1e-12)
    faster = read_rung(points, inverse.x * (1 + 1e-9), mode=mode).value
    assert faster is None or faster <= target * (1 + 1e-9)


def test_inverse_at_and_outside_the_knots():
    for mode in MODES:
        assert fastest_speed(THREE, 1000, mode=mode) == fastest_speed(THREE, 1000)
        assert fastest_speed(THREE, 1000, mode=mode).status == "exact"
        assert fastest_speed(THREE, 1000.5, mode=mode).status == "unreachable"
        below = fastest_speed(THREE, 99, mode=mode)
        assert (below.status, below.x) == ("meets_target", 100.0)
        assert fastest_speed([], 99, mode=mode).status == "no_points"


def test_inverse_of_the_chord():
    read = fastest_speed(THREE, 700, mode="linear")
    assert read.status == "interpolated"
    assert read.x == pytest.approx(35.0, rel=1e-12)
    assert read_rung(THREE, read.x, mode="linear").value == 700
    assert read_rung(THREE, math.nextafter(read.x, 100), mode="linear").value < 700, "it is the last"


def test_inverse_step_names_a_measured_speed():
    read = fastest_speed(THREE, 399, mode="step")
    assert (read.status, read.x) == ("meets_target", 50.0)


@pytest.mark.parametrize("target", [0, -5, math.nan, math.inf])
def test_a_target_that_is_no_rate_is_refused(target):
    with pytest.raises(FrontierError) as caught:
        fastest_speed(THREE, target)
    assert caught.value.code == "bad_rate"


def test_inverse_refuses_an_unknown_mode():
    with pytest.raises(FrontierError) as caught:
        fastest_speed(THREE, 400, mode="cubic")
    assert caught.value.code == "bad_mode"
