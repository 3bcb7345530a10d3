"""The area under two frontiers, over the speeds that both reach."""

from __future__ import annotations

import pytest

from ixbench.frontier.area import area_difference
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.side import LadderSide
from ixbench.frontier.student import compare

from .conftest import CURVE, at_50, replicated


@pytest.mark.parametrize("mode", ["linear", "step", "steffen"])
def test_the_area_is_that_of_the_lines_that_are_read(point, run, mode):
    def side(places):
        points = [point(f"vllm-c{place}", x, y) for place, (x, y) in enumerate(places, 1)]
        return LadderSide(ladder=build_ladder([run(points, interpolation=mode)]))

    a, b = side(((20.0, 1000.0), (50.0, 400.0), (100.0, 100.0))), side(((30.0, 900.0), (80.0, 300.0)))
    found = area_difference(a, b)
    assert (found.from_tok_s_user, found.to_tok_s_user, found.covered_tok_s_user) == (30.0, 80.0, pytest.approx(50.0))
    steps = 20_000
    width = 50.0 / steps
    for side_, area in ((a, found.a_area), (b, found.b_area)):
        slow = sum(side_.at(30.0 + width * (number + 0.5)).value for number in range(steps)) * width
        assert area == pytest.approx(slow, rel=1e-4)
    if mode == "linear":
        assert found.b_area == pytest.approx(30_000)
        assert found.a_area == pytest.approx((800 + 400) / 2 * 20 + (400 + 220) / 2 * 30)
    assert found.difference.share == pytest.approx(found.b_area / found.a_area - 1)
    assert found.a_mean_tok_s_gpu == pytest.approx(found.a_area / 50)


def test_the_area_of_repeats_tells_apart(ladder):
    one, two = LadderSide(ladder=ladder(*at_50([400, 402, 404]))), LadderSide(ladder=ladder(*at_50([500, 503, 505])))
    found = area_difference(one, two).difference
    assert (found.verdict, found.basis) == ("faster", "repeats")
    assert found.share == pytest.approx(0.25, abs=0.01)
    # Curves of one shape have areas in the proportion of their rates.
    margin = compare([500, 503, 505], [400, 402, 404]).margin / 402
    assert found.share == pytest.approx(1508 / 1206 - 1)
    assert (found.low_share, found.high_share) == pytest.approx((found.share - margin, found.share + margin))


def test_the_area_under_straight_lines(point, run):
    a, b = (
        LadderSide(ladder=build_ladder([run([point("vllm-c1", *one), point("vllm-c2", *two)], interpolation="linear")]))
        for one, two in (((20.0, 1000.0), (60.0, 200.0)), ((30.0, 900.0), (70.0, 100.0)))
    )
    found = area_difference(a, b)
    assert (found.from_tok_s_user, found.to_tok_s_user, found.covered_tok_s_user) == (30.0, 60.0, 30.0)
    assert (found.a_area, found.b_area) == pytest.approx((15_000, 18_000))
    assert (found.a_mean_tok_s_gpu, found.b_mean_tok_s_gpu, found.difference.share) == pytest.approx((500, 600, 0.2))


def test_the_area_under_a_cubic(ladder):
    side = LadderSide(ladder=ladder(((20.0, 1000.0), (60.0, 200.0))))
    # The chord's 24,000 and (60 - 20)^2 x (m0 - m1) / 12, where the tangents are 1.5 and 0.75 times the slope of -20.
    assert area_difference(side, side).a_area == pytest.approx(24_000 - 1600 * 15 / 12)


def test_what_not_all_repeats_of_either_side_reach_is_not_covered(ladder):
    whole, short = LadderSide(ladder=ladder(CURVE, CURVE)), LadderSide(ladder=ladder(CURVE, CURVE[:2]))
    for found in (area_difference(whole, short), area_difference(short, whole)):
        assert (found.from_tok_s_user, found.to_tok_s_user, found.covered_tok_s_user) == (20.0, 50.0, pytest.approx(30.0))


def test_what_not_all_replicas_of_either_side_reach_is_not_covered(point, run):
    drawn, plain = (
        LadderSide(ladder=replicated(1.0)),
        LadderSide(ladder=build_ladder([run([point("vllm-c1", 9.0, 2000.0), point("vllm-c2", 300.0, 1.0)])])),
    )
    frontiers = drawn.draws[drawn.ladder.curves[0].key].frontiers
    for found in (area_difference(drawn, plain), area_difference(plain, drawn)):
        assert found.from_tok_s_user == max(knots.x[0] for knots in frontiers)
        assert found.to_tok_s_user == min(knots.x[-1] for knots in frontiers)


def test_no_area_where_no_speed_is_shared(ladder):
    one, two = LadderSide(ladder=ladder(((20.0, 900.0), (40.0, 500.0)))), LadderSide(ladder=ladder(((50.0, 900.0), (90.0, 500.0))))
    assert area_difference(one, two) is None
    assert area_difference(one, LadderSide(ladder=ladder(((30.0, 700.0),)))) is None


def test_a_gap_between_two_curves_is_left_out(point, run):
    places = (("vllm", 20.0, 900.0), ("vllm", 40.0, 800.0), ("atom", 60.0, 500.0), ("atom", 80.0, 300.0))
    gapped = run([point(f"{engine}-c{place}", x, y, engine=engine) for place, (engine, x, y) in enumerate(places, 1)])
    whole = run([point("vllm-c1", 10.0, 1000.0), point("vllm-c2", 100.0, 100.0)])
    found = area_difference(*(LadderSide(ladder=build_ladder([view])) for view in (whole, gapped)))
    assert (found.from_tok_s_user, found.to_tok_s_user, found.covered_tok_s_user) == (20.0, 80.0, pytest.approx(40.0))
