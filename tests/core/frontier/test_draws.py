"""Draws behind a curve: repeats, replicas, and what varied within one run."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ixbench.frontier.comparison import compare_ladders
from ixbench.frontier.draws import CurveDraws
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.rung import read_rung
from ixbench.frontier.side import LadderSide
from ixbench.frontier.student import compare
from ixbench.model.result import Intervals

from .conftest import CURVE, bootstrapped, draws_of, replicated, row


def test_an_end_that_the_bad_ends_do_not_reach_is_open(point, run):
    points = [
        replace(found, intervals=bootstrapped(found, 0.1)) for found in (point("vllm-c1", 50.0, 400.0), point("vllm-c2", 78.0, 200.0))
    ]
    ladder = build_ladder([run(points)])
    draws = CurveDraws(curve=ladder.curves[0], axis="median", mode="steffen", range_policy="in_range")
    low, high = draws.within(75.0, ("vllm-c1", "vllm-c2"))
    assert low is None
    assert high > row(ladder, 75.0).tok_s_gpu
    assert draws.within(75.0, ("vllm-c1", "unknown")) == (None, None)
    assert draws.kind is None


def test_what_all_curves_of_a_side_were_drawn_as(ladder, point, run):
    assert LadderSide(ladder=ladder(CURVE, CURVE)).kind == "repeats"
    assert LadderSide(ladder=ladder(CURVE)).kind is None
    both = [point("a-c1", 50.0, 400.0), point("a-c1-rep2", 50.0, 410.0, repeat=2), point("b-c1", 60.0, 300.0, engine="atom")]
    alone = run([both[2]], id_="alone")
    mixed = build_ladder([run(both[:2], campaign={"run": {"repeats": 2}}), alone])
    assert LadderSide(ladder=mixed).kind is None


def test_no_draw_begins_or_ends_between_two_breaks():
    side = LadderSide(ladder=replicated(1.0))
    ends = {end for draws in side.draws.values() for knots in draws.frontiers for end in (knots.x[0], knots.x[-1])}
    assert len(ends) == 16
    assert ends <= set(side.breaks)
    assert list(side.breaks) == sorted(side.breaks)


def test_two_repeats_are_draws(ladder):
    draws = draws_of(ladder(CURVE, tuple((x, 1.1 * y) for x, y in CURVE)))
    assert (draws.kind, draws.values(50.0)) == ("repeats", pytest.approx((400.0, 440.0)))
    assert draws.within(50.0, ("vllm-c2",)) == (None, None)


def test_repeats_stand_in_place_of_what_varied_within_each(point, run):
    points = [point("vllm-c1", 50.0, 400.0), point("vllm-c1-rep2", 50.0, 410.0, repeat=2)]
    known = [replace(found, intervals=bootstrapped(found, 0.1)) for found in points]
    twice = draws_of(build_ladder([run(known, campaign={"run": {"repeats": 2}})]), range_policy="min_slo")
    assert twice.within(45.0, ("vllm-c1", "vllm-c1-rep2")) == (None, None)
    assert None not in draws_of(build_ladder([run(known[:1])]), range_policy="min_slo").within(45.0, ("vllm-c1",))


def test_what_varied_within_moves_speeds_and_rates_together(point, run):
    points = [point(f"vllm-c{place}", x, y) for place, (x, y) in enumerate(CURVE, 1)]
    known = [replace(found, intervals=bootstrapped(found, 0.1)) for found in points[:2]]
    draws = draws_of(build_ladder([run([*known, points[2]])]))
    low, high = (
        [(x * share, y * share) for x, y in CURVE[:2]] + [CURVE[2]] for share in (0.9, 1.1)
    )  # the last point has no intervals and stays
    expected = tuple(read_rung(corner, 40.0, mode="linear").value for corner in (low, high))
    assert draws.within(40.0, ("vllm-c1", "vllm-c2")) == pytest.approx(expected)
    assert draws.within(75.0, ("vllm-c2", "vllm-c3")) == (None, None)
    assert draws.within(40.0, ()) == (None, None)


@pytest.mark.parametrize(
    ("bootstrap", "known"),
    [
        ({"speed_tok_s_user": {"p50": (40.0, 60.0)}, "throughput_tok_s_gpu": {"total": (0.5, 0.9)}}, True),
        ({"speed_tok_s_user": {"p50": (-1.0, 60.0)}, "throughput_tok_s_gpu": {"total": (0.5, 0.9)}}, False),
        ({"speed_tok_s_user": {"p50": (40.0, 60.0)}, "throughput_tok_s_gpu": {"total": (0.0, 0.9)}}, False),
        ({"speed_tok_s_user": {"p50": (40.0, 60.0)}}, False),
        ({"throughput_tok_s_gpu": {"total": (0.5, 0.9)}}, False),
        ({"speed_tok_s_user": {"p50": None}, "throughput_tok_s_gpu": {"total": (0.5, 0.9)}}, False),
    ],
)
def test_intervals_are_known_where_both_are_amounts(point, run, bootstrap, known):
    found = replace(point("vllm-c1", 50.0, 0.7), intervals=Intervals(percentiles={}, bootstrap=bootstrap, sessions=100, resamples=1000))
    draws = draws_of(build_ladder([run([found])]), range_policy="min_slo")
    assert draws.within(40.0, ("vllm-c1",)) == ((0.5, 0.9) if known else (None, None))


def test_replicas_tell_two_simulated_runs_apart():
    a = replicated(1.0)
    found = row(compare_ladders(a, replicated(1.3)), 30.0)
    assert (found.difference.verdict, found.difference.basis, found.a.draws, found.a.runs) == ("faster", "repeats", "replicas", 8)
    assert found.difference.low_share < 0.3 < found.difference.high_share
    assert (found.a.reached, found.b.reached) == (8, 8)
    same = row(compare_ladders(a, replicated(1.01)), 30.0)
    assert (same.difference.verdict, same.difference.reason) == ("cannot be told apart", "the replicas scatter as much")
    alone = row(compare_ladders(replicated(1.0, count=1), replicated(1.3, count=1)), 30.0)
    assert (alone.difference.basis, alone.a.draws, alone.a.runs) == (None, None, 1)


def test_a_rung_that_not_all_replicas_reach_is_that_of_the_one_mean():
    a = replicated(1.0, fastest=100.2)
    frontiers = LadderSide(ladder=a).draws[a.curves[0].key].frontiers
    assert min(knots.x[-1] for knots in frontiers) < 100.0 < a.curves[0].readable.fastest
    side = row(compare_ladders(a, a), 100.0).a
    assert (side.runs, side.reached, side.draws) == (1, 1, "replicas")


def test_two_replicas_are_enough_and_each_leaves_the_other():
    draws = draws_of(replicated(1.0, count=2), range_policy="min_slo")
    assert (draws.kind, len(draws.values(10.0))) == ("replicas", 2)


@pytest.mark.parametrize(
    ("evidence", "replicas"),
    [
        ("measured", {"vllm-c1": 3, "vllm-c2": 3}),
        ("simulated", {"vllm-c1": 3, "vllm-c2": 2}),
        ("simulated", {"vllm-c1": 3, "vllm-c2": 0}),
        ("simulated", {"vllm-c1": 3, "vllm-c2": "speed_tok_s_user"}),
        ("simulated", {"vllm-c1": 3, "vllm-c2": "throughput_tok_s_gpu"}),
    ],
)
def test_points_that_were_not_simulated_alike_have_no_replicas(point, run, evidence, replicas):
    whole = {"speed_tok_s_user": {"p50": 50.0}, "throughput_tok_s_gpu": {"total": 400.0}}
    rows = {name: (whole,) * count if isinstance(count, int) else (whole, whole, whole | {count: None}) for name, count in replicas.items()}
    points = [point("vllm-c1", 50.0, 400.0, evidence=evidence), point("vllm-c2", 100.0, 100.0, evidence=evidence)]
    draws = draws_of(build_ladder([run(points, read_replicas=rows.__getitem__)]))
    assert (draws.kind, draws.values(50.0)) == (None, ())
    assert draws_of(build_ladder([run(points)])).kind is None, "none are kept"


def test_pseudo_values_of_a_point_have_the_scatter_of_its_replicas(point, run):
    # At a knot whose speed every replica shares, leaving one out is what any mean does: the jackknife finds its standard error.
    values = (100.0, 110.0, 95.0, 105.0)
    mean = math.exp(sum(map(math.log, values)) / 4)
    replicas = [{"speed_tok_s_user": {"p50": 50.0}, "throughput_tok_s_gpu": {"total": value}} for value in values]
    ladder = build_ladder([run([point("vllm-c1", 50.0, mean, evidence="simulated")], read_replicas=lambda _: tuple(replicas))])
    draws = CurveDraws(curve=ladder.curves[0], axis="median", mode="steffen", range_policy="in_range").values(50.0)
    logs = [math.log(value) for value in values]
    expected = math.sqrt(sum((one - sum(logs) / 4) ** 2 for one in logs) / 3) * mean
    middle = sum(draws) / 4
    assert math.sqrt(sum((one - middle) ** 2 for one in draws) / 3) == pytest.approx(expected, rel=0.01)
    assert middle == pytest.approx(mean, rel=0.002)
    assert compare(draws, draws).difference == 0
