"""Two ladders against one another: differences, verdicts, what counts against one, and the area under both."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from ixbench.frontier.area import area_difference
from ixbench.frontier.comparable import comparison_mismatches, same_prices, work_of
from ixbench.frontier.comparison import compare_ladders
from ixbench.frontier.difference import RateDifference, difference_of
from ixbench.frontier.draws import Draws
from ixbench.frontier.format import format_change
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.rung import read_rung
from ixbench.frontier.side import LadderSide, SureRead
from ixbench.frontier.student import compare, difference_bounds
from ixbench.model.price import Quote
from ixbench.model.result import Intervals
from ixbench.model.run import MetricNote

CURVE = ((20.0, 1000.0), (50.0, 400.0), (100.0, 100.0))


@pytest.fixture
def ladder(point, run):
    def make(*repeats, **changes):
        """Return the ladder of one curve; each repeat is its points, each a speed and a rate."""
        points = [
            replace(found, identity=replace(found.identity, repeat=number))
            for number, pairs in enumerate(repeats, 1)
            for place, (x, y) in enumerate(pairs, 1)
            for found in [point(f"vllm-c{place}" + (f"-rep{number}" if number > 1 else ""), x, y, deployment="vllm", **changes)]
        ]
        return build_ladder([run(points, campaign={"run": {"repeats": len(repeats)}})])

    return make


def row(found, target):
    return next(rung for rung in found.rungs if rung.target == target)


def at_50(values):
    return [((20.0, 2 * value), (50.0, value), (100.0, value / 2)) for value in values]


# --- one difference --------------------------------------------------------------------------------------------------------------------


def test_the_verdict_is_that_of_welch(shared, ladder):
    cases = json.loads((shared / "data" / "frontier" / "cases.json").read_text())["cases"]
    found = [case for case in cases if case["kind"] == "compare"]
    assert len(found) == 2
    for case in found:
        a, b = case["input"]["a"], case["input"]["b"]
        rung = row(compare_ladders(ladder(*at_50(b)), ladder(*at_50(a))), 50.0)  # the file takes b from a
        middle = sum(b) / len(b)
        assert rung.difference.share == pytest.approx(case["expected"]["difference"] / middle)
        assert (rung.difference.high_share - rung.difference.low_share) / 2 == pytest.approx(case["expected"]["margin"] / middle, rel=1e-3)
        assert (rung.difference.verdict in {"faster", "slower"}) == case["expected"]["distinguishable"]
        assert (rung.difference.basis, rung.a.runs, rung.b.draws) == ("repeats", 3, "repeats")


def test_faster_and_slower_are_told_by_repeats_alone():
    slow, fast = SureRead(value=100, draws=(99, 100, 101)), SureRead(value=120, draws=(119, 120, 121))
    assert difference_of(slow, fast).verdict == "faster"
    assert difference_of(fast, slow).verdict == "slower"
    assert difference_of(slow, replace(slow)).verdict == "cannot be told apart"
    single = difference_of(SureRead(value=100), SureRead(value=500))
    assert (single.share, single.verdict, single.basis, single.reason) == (4.0, "cannot be told apart", None, "1 run each")
    mixed = difference_of(replace(slow, kind="repeats"), SureRead(value=50))
    assert (mixed.verdict, mixed.reason) == ("cannot be told apart", "3 repeats and 1 run")


def test_single_runs_have_the_interval_of_what_varied_within_them():
    a, b = SureRead(value=100, within=(90, 105)), SureRead(value=80, within=(76, 90))
    found = difference_of(a, b)
    assert found.basis == "within_run"
    assert found.low_share == pytest.approx((-20 - math.hypot(4, 5)) / 100)
    assert found.high_share == pytest.approx((-20 + math.hypot(10, 10)) / 100)
    assert found.verdict == "cannot be told apart"
    assert (found.outside, found.explained, found.reason) == (True, False, "1 run each, more than varied within them")
    near = difference_of(a, SureRead(value=98, within=(90, 106)))
    assert (near.outside, near.explained, near.reason) == (False, True, "1 run each, no more than varied within them")
    half = difference_of(a, SureRead(value=80, within=(None, 90)))
    assert (half.low_share, half.outside) == (None, True)
    assert difference_of(a, SureRead(value=98, within=(None, 106))).reason == "1 run each"
    assert (half.basis, near.basis) == ("within_run", "within_run")


def test_a_single_run_that_is_faster_by_more_than_its_scatter_says_so_too():
    found = difference_of(SureRead(value=80, within=(76, 90)), SureRead(value=100, within=(95, 105)))
    assert 0 < found.low_share < 0.25 < found.high_share
    assert (found.outside, found.reason) == (True, "1 run each, more than varied within them")


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.1), (-0.1, 0.0)])
def test_an_interval_that_ends_at_no_difference_explains_it(low, high):
    found = RateDifference(share=0.05, low_share=low, high_share=high)
    assert (found.outside, found.explained) == (False, True)
    open_ = RateDifference(share=0.05, low_share=-0.1)
    assert (open_.outside, open_.explained) == (False, False)
    assert difference_of(SureRead(value=80, within=(76, 90)), SureRead(value=100, within=(95, None))).basis == "within_run"


def test_equal_repeats_without_scatter_are_not_told_apart():
    same = SureRead(value=100, draws=(100, 100), kind="repeats")
    found = difference_of(same, replace(same))
    assert (found.verdict, found.reason, found.share, found.low_share) == ("cannot be told apart", "the repeats scatter as much", 0, 0)


def test_a_speed_that_not_all_repeats_reach_is_said():
    found = difference_of(SureRead(value=100), SureRead(value=80, kind="repeats"))
    assert (found.verdict, found.reason) == ("cannot be told apart", "not all repeats reach it")


def test_the_bounds_of_a_difference_are_open_where_an_end_is():
    assert difference_bounds(10, (9, 12), 4, (3, 6)) == (6 - math.hypot(1, 2), 6 + math.hypot(2, 1))
    assert difference_bounds(10, (None, 12), 4, (3, 6)) == (None, 6 + math.hypot(2, 1))
    assert difference_bounds(10, (9, None), 4, (3, 6)) == (6 - math.hypot(1, 2), None)
    assert difference_bounds(10, (9, 12), 4, (None, None)) == (None, None)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0312, "+3.1 %"),
        (-0.0315, "-3.2 %"),
        (0.0, "0.0 %"),
        (-0.0004, "0.0 %"),
        (0.9996, "+100 %"),
        (1.5, "+150 %"),
        (-1.5, "-150 %"),
        (12.345, "+1,235 %"),
        (None, "-"),
    ],
)
def test_changes_in_print(share, text):
    assert format_change(share) == text


# --- rungs -----------------------------------------------------------------------------------------------------------------------------


def test_a_rung_that_b_does_not_reach_has_vanished_and_one_below_its_range_is_not_read(ladder):
    wide, fast, slow = ladder(CURVE), ladder(((60.0, 900.0), (210.0, 300.0))), ladder(((20.0, 1000.0), (60.0, 400.0)))
    found = compare_ladders(wide, slow, fail_on=0.03)
    assert row(found, 75.0).difference.verdict == "vanished"
    assert row(found, 75.0).failure == "at 75 tok/s/user: B has no value (unreachable), and A has one"
    assert row(compare_ladders(slow, wide), 75.0).difference.verdict == "new"
    found = compare_ladders(wide, fast, fail_on=0.03)
    assert [rung.difference.verdict for rung in found.rungs] == [
        "not read",
        "not read",
        *["cannot be told apart"] * 2,
        "new",
        "new",
    ]
    assert row(found, 50.0).difference.reason == "below the range of B: its slowest point has 60.0 tok/s/user"
    assert found.failures == ()
    assert row(compare_ladders(wide, slow), 200.0).difference.verdict == "not read"
    assert row(compare_ladders(fast, fast), 50.0).difference.reason == "", "neither has a value there"


def test_the_sides_of_a_rung(ladder):
    rung = row(compare_ladders(ladder(CURVE), ladder(tuple((x, 2 * y) for x, y in CURVE[:2]))), 50.0)
    assert [(side.tok_s_gpu, side.runs, side.reached, side.draws) for side in (rung.a, rung.b)] == [
        (400.0, 1, 1, None),
        (800.0, 1, 1, None),
    ]
    beyond = row(compare_ladders(ladder(CURVE), ladder(CURVE[:2])), 75.0).b
    assert (beyond.tok_s_gpu, beyond.runs, beyond.reached, beyond.nearest_tok_s_user) == (None, 1, 0, 50.0)
    assert rung.a.usd_per_mtok == pytest.approx(2 * rung.b.usd_per_mtok)
    assert row(compare_ladders(ladder(CURVE), ladder(CURVE), money=False), 50.0).a.usd_per_mtok is None
    twice = row(compare_ladders(ladder(CURVE, CURVE), ladder(CURVE)), 50.0).a
    assert (twice.runs, twice.reached, twice.draws) == (2, 2, "repeats")


def test_a_rung_that_some_repeats_of_b_do_not_reach_has_vanished(ladder):
    found = compare_ladders(ladder(CURVE, CURVE), ladder(CURVE, CURVE[:2]), fail_on=0.03)
    assert row(found, 75.0).failure == "at 75 tok/s/user: B has no value (unreachable, reached in 1 of 2 repeats), and A has one"


def test_of_several_curves_that_some_repeats_bring_to_a_rung_the_nearest_to_all_is_named(point, run):
    def repeated(name, speeds, **changes):
        return [point(f"{name}-c1" + (f"-rep{n}" if n > 1 else ""), x, 100.0, repeat=n, **changes) for n, x in enumerate(speeds, 1)]

    few = run(repeated("a", (80.0, 40.0)), range="min_slo", campaign={"run": {"repeats": 2}})
    many = run(repeated("b", (80.0, 80.0, 40.0, 40.0, 40.0), engine="atom"), id_="many", campaign={"run": {"repeats": 5}})
    whole = build_ladder([run([point("c-c1", 90.0, 100.0)], range="min_slo")])
    found = row(compare_ladders(whole, build_ladder([few, many]), fail_on=0.03), 50.0)
    assert found.failure == "at 50 tok/s/user: B has no value (unreachable, reached in 1 of 2 repeats), and A has one"


@pytest.mark.parametrize(
    ("b", "fails"),
    [
        ([396, 397, 398], ""),  # told apart, and less than the threshold
        ([360, 361, 362], "at 50 tok/s/user: B is slower, -10.0 %; allowed: -3.0 %"),
        ([300, 380, 420], ""),  # lower by more than the threshold, and the repeats scatter as much
        ([440, 441, 442], ""),
    ],
)
def test_what_counts_against_b_with_repeats(ladder, b, fails):
    found = compare_ladders(ladder(*at_50([400, 401, 402])), ladder(*at_50(b)), fail_on=0.03)
    assert row(found, 50.0).failure == fails
    assert row(compare_ladders(ladder(*at_50([400, 401, 402])), ladder(*at_50(b))), 50.0).failure == ""


def test_with_single_runs_the_threshold_decides_alone_unless_their_own_scatter_explains_it(point, run):
    def single(value, share):
        points = [
            replace(found, intervals=bootstrapped(found, share) if share else None)
            for place, (x, y) in enumerate(((20.0, 2 * value), (50.0, value), (100.0, value / 2)), 1)
            for found in [point(f"vllm-c{place}", x, y)]
        ]
        return build_ladder([run(points)])

    told = row(compare_ladders(single(400, None), single(380, None), fail_on=0.03), 50.0).failure
    assert told == "at 50 tok/s/user: -5.0 %; allowed: -3.0 %; 1 run each, so the threshold alone decides"
    assert row(compare_ladders(single(400, None), single(380, None), fail_on=0.06), 50.0).failure == ""
    assert row(compare_ladders(single(400, None), single(300, None), fail_on=0.25), 50.0).failure == "", "as much as is allowed"
    narrow = row(compare_ladders(single(400, 0.001), single(380, 0.001), fail_on=0.03), 50.0)
    assert (narrow.difference.verdict, "more than varied within them" in narrow.failure) == ("cannot be told apart", True)
    wide = row(compare_ladders(single(400, 0.1), single(380, 0.1), fail_on=0.03), 50.0)
    assert (wide.failure, wide.difference.explained) == ("", True)
    assert wide.a.low_tok_s_gpu < wide.a.tok_s_gpu < wide.a.high_tok_s_gpu


def bootstrapped(result, share):
    x, y = result.axis.tok_s_user, result.metrics["throughput_tok_s_gpu"]["total"]
    speeds, rates = ((value * (1 - share), value * (1 + share)) for value in (x, y))
    bounds = {"speed_tok_s_user": {"p50": speeds}, "throughput_tok_s_gpu": {"total": rates}}
    return Intervals(percentiles={}, bootstrap=bounds, sessions=100, resamples=1000)


def test_an_end_that_the_bad_ends_do_not_reach_is_open(point, run):
    points = [
        replace(found, intervals=bootstrapped(found, 0.1)) for found in (point("vllm-c1", 50.0, 400.0), point("vllm-c2", 78.0, 200.0))
    ]
    ladder = build_ladder([run(points)])
    draws = Draws(curve=ladder.curves[0], axis="median", mode="steffen", range_policy="in_range")
    low, high = draws.within(75.0, ("vllm-c1", "vllm-c2"))
    assert low is None
    assert high > row(ladder, 75.0).tok_s_gpu
    assert draws.within(75.0, ("vllm-c1", "unknown")) == (None, None)
    assert draws.kind is None


def draws_of(found, **settings):
    return Draws(curve=found.curves[0], **{"axis": "median", "mode": "linear", "range_policy": "in_range"} | settings)


def test_what_all_curves_of_a_side_were_drawn_as(ladder, point, run):
    assert LadderSide(ladder=ladder(CURVE, CURVE)).kind == "repeats"
    assert LadderSide(ladder=ladder(CURVE)).kind is None
    both = [point("a-c1", 50.0, 400.0), point("a-c1-rep2", 50.0, 410.0, repeat=2), point("b-c1", 60.0, 300.0, engine="atom")]
    alone = run([both[2]], id_="alone")
    mixed = build_ladder([run(both[:2], campaign={"run": {"repeats": 2}}), alone])
    assert LadderSide(ladder=mixed).kind is None


def test_no_draw_begins_or_ends_between_two_breaks(point, run):
    side = LadderSide(ladder=replicated(point, run, 1.0))
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


# --- replicas --------------------------------------------------------------------------------------------------------------------------


def replicated(point, run, scale, *, scatter=0.02, count=8, fastest=100.0):
    """Return the ladder of simulated points, each the geometric mean of replicas that lie around it."""
    places = ((20.0, 1000.0), (50.0, 400.0), (fastest, 100.0))
    replicas = {
        f"vllm-c{place}": [
            {
                "speed_tok_s_user": {"p50": x * math.exp(scatter * math.sin(3 * number + place))},
                "throughput_tok_s_gpu": {"total": scale * y * math.exp(scatter * math.cos(5 * number + place))},
            }
            for number in range(count)
        ]
        for place, (x, y) in enumerate(places, 1)
    }

    def mean(name, metric, part):
        return math.exp(sum(math.log(one[metric][part]) for one in replicas[name]) / count)

    parts = (("speed_tok_s_user", "p50"), ("throughput_tok_s_gpu", "total"))
    points = [point(name, *(mean(name, *both) for both in parts), evidence="simulated") for name in replicas]
    return build_ladder([run(points, evidence="simulated", read_replicas=lambda name: tuple(replicas[name]))])


def test_replicas_tell_two_simulated_runs_apart(point, run):
    a = replicated(point, run, 1.0)
    found = row(compare_ladders(a, replicated(point, run, 1.3)), 30.0)
    assert (found.difference.verdict, found.difference.basis, found.a.draws, found.a.runs) == ("faster", "repeats", "replicas", 8)
    assert found.difference.low_share < 0.3 < found.difference.high_share
    assert (found.a.reached, found.b.reached) == (8, 8)
    same = row(compare_ladders(a, replicated(point, run, 1.01)), 30.0)
    assert (same.difference.verdict, same.difference.reason) == ("cannot be told apart", "the replicas scatter as much")
    alone = row(compare_ladders(replicated(point, run, 1.0, count=1), replicated(point, run, 1.3, count=1)), 30.0)
    assert (alone.difference.basis, alone.a.draws, alone.a.runs) == (None, None, 1)


def test_a_rung_that_not_all_replicas_reach_is_that_of_the_one_mean(point, run):
    a = replicated(point, run, 1.0, fastest=100.2)
    frontiers = LadderSide(ladder=a).draws[a.curves[0].key].frontiers
    assert min(knots.x[-1] for knots in frontiers) < 100.0 < a.curves[0].readable.fastest
    side = row(compare_ladders(a, a), 100.0).a
    assert (side.runs, side.reached, side.draws) == (1, 1, "replicas")


def test_two_replicas_are_enough_and_each_leaves_the_other(point, run):
    draws = draws_of(replicated(point, run, 1.0, count=2), range_policy="min_slo")
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
    draws = Draws(curve=ladder.curves[0], axis="median", mode="steffen", range_policy="in_range").values(50.0)
    logs = [math.log(value) for value in values]
    expected = math.sqrt(sum((one - sum(logs) / 4) ** 2 for one in logs) / 3) * mean
    middle = sum(draws) / 4
    assert math.sqrt(sum((one - middle) ** 2 for one in draws) / 3) == pytest.approx(expected, rel=0.01)
    assert middle == pytest.approx(mean, rel=0.002)
    assert compare(draws, draws).difference == 0


# --- area ------------------------------------------------------------------------------------------------------------------------------


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
        LadderSide(ladder=replicated(point, run, 1.0)),
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


# --- what may be compared --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "other"}, "model is 'other', but 'moonshotai/Kimi-K3' in A"),
        ({"workload": "prompts"}, "workload is 'prompts', but 'fixed' in A"),
        ({"corpus": "beef"}, "corpus is 'beef', but not given in A"),
        ({"input_tokens": 99}, "input length is 99, but 1024 in A"),
        ({"hardware": "b200"}, "hardware is 'b200', but 'mi355x' in A"),
        ({"precision": "fp8"}, "precision is 'fp8', but 'fp4' in A"),
        ({"evidence": "simulated"}, "evidence is 'simulated', but 'measured' in A"),
        ({"origin": "imported"}, "origin is 'imported', but 'run' in A"),
    ],
)
def test_what_points_must_share(point, run, changes, words):
    a, b = run([point("a-c1", 50.0, 100.0)], id_="one"), run([point("b-c1", 50.0, 200.0, **changes)], id_="two")
    (fault,) = comparison_mismatches(a, b)
    assert (
        str(fault) == f"B: {words}; what differs so cannot be compared; --allow-mismatch does it all the same and says so on every output"
    )
    assert comparison_mismatches(a, replace(a, id="again")) == ()


def test_what_runs_must_share_and_what_not(point, run):
    a = run(
        [point("a-c1", 50.0, 100.0)],
        id_="one",
        versions={"ixbench": "1"},
        campaign={"workload": {"seed": 1, "duration": "1m", "kind": "fixed"}},
    )
    b = run(
        [point("b-c1", 50.0, 200.0, engine="atom", kv_offload="simple")],
        id_="two", versions={"ixbench": "2"}, campaign={"workload": {"seed": 2, "duration": "9m", "kind": "fixed"}}, axis="p90",
        quotes=(Quote(book="new", sku="mi355x", tier="t", label="T", usd_per_gpu_hour=9, as_of="", source=""),),
    )  # fmt: skip
    assert [fault.problem for fault in comparison_mismatches(a, b)] == [
        "[workload] seed is 2, but 1 in A",
        "version of ixbench is '2', but '1' in A",
        "speed axis is 'p90', but 'median' in A",
    ]
    assert not same_prices(a, b)
    assert same_prices(a, replace(b, quotes=a.quotes))
    assert not same_prices(a, replace(a, quotes=tuple(replace(quote, book="other") for quote in a.quotes)))


def test_a_side_may_hold_several_precisions_if_the_other_holds_the_same(point, run):
    precisions = ("int4", "fp8", "bf16", "fp4", "fp16")
    all_ = [point("a-c1", 50.0, 100.0, precision=precision) for precision in precisions]
    a = run(all_, id_="one")
    assert comparison_mismatches(a, run(all_[::-1], id_="two")) == ()
    (fault,) = comparison_mismatches(a, run(all_[:1], id_="two"))
    assert fault.problem == "precision is 'int4', but 'bf16, fp16, fp4, fp8, int4' in A"


def test_real_and_synthetic_acceptance_are_told_apart(point, run):
    real = point("a-c1", 50.0, 100.0, spec_method="mtp", acceptance_length={"configured": None, "realised": 2.5})
    made = point("a-c1", 50.0, 100.0, spec_method="mtp", acceptance_length={"configured": 3.75, "realised": 3.7})
    found = comparison_mismatches(run([real], id_="one"), run([made], id_="two"))
    assert [fault.problem for fault in found] == ["acceptance of drafts is 'synthetic', but 'real' in A"]
    assert comparison_mismatches(run([real], id_="one"), run([point("a-c1", 50.0, 100.0, spec_method="mtp")], id_="two")) == ()
    plain = point("b-c1", 50.0, 100.0)
    assert comparison_mismatches(run([plain, real], id_="one"), run([plain, made], id_="two")) == found


def test_what_is_not_known_is_none_of_the_values_of_a_side(point, run):
    unknown = run([point("a-c1", 50.0, 100.0, hardware=None)], id_="one")
    (fault,) = comparison_mismatches(unknown, run([point("a-c1", 50.0, 100.0)], id_="two"))
    assert fault.problem == "hardware is 'mi355x', but not given in A"
    both = [point("a-c1", 50.0, 100.0), point("b-c1", 50.0, 100.0, precision=None)]
    assert comparison_mismatches(run(both, id_="one"), run(both[:1], id_="two")) == ()


def test_points_after_one_that_is_not_usable_are_compared_too(point, run, invalid):
    a = run([point("a-c1", 50.0, 100.0)], id_="one")
    b = run([point("a-c1", 50.0, 100.0, verdict=invalid), point("a-c2", 50.0, 100.0, model="other")], id_="two")
    assert [fault.problem for fault in comparison_mismatches(a, b)] == ["model is 'other', but 'moonshotai/Kimi-K3' in A"]


def test_several_differences_end_with_one_advice(point, run):
    a = run([point("a-c1", 50.0, 100.0), point("b-c1", 50.0, 100.0, model="other")], id_="one")
    b = run([point("a-c1", 50.0, 100.0, hardware="b200")], id_="two")
    found = comparison_mismatches(a, b)
    assert [fault.problem for fault in found] == [
        "model is 'other', but 'moonshotai/Kimi-K3' in another point of it",
        "hardware is 'b200', but 'mi355x' in A",
    ]
    assert [bool(fault.advice) for fault in found] == [False, True]


def test_metrics_that_are_compared_must_mean_the_same(point, run):
    def noted(name, definition):
        note = MetricNote(name=name, unit="s", better="lower", needs=(), definition=definition, source="", plugin="builtin")
        return run([point("a-c1", 50.0, 100.0)], metrics=(note,))

    found = comparison_mismatches(noted("tpot_s", "One."), noted("tpot_s", "Another."))
    assert [fault.problem for fault in found] == ["definition of tpot_s is 'Another.', but 'One.' in A"]
    assert comparison_mismatches(noted("ttft_s", "One."), noted("ttft_s", "Another.")) == ()


def test_the_work_of_a_point_leaves_out_how_much_of_it_was_done(point, run):
    campaign = {"model": {"revision": "r1", "path": "/x"}, "workload": {"seed": 7, "requests": 9, "kind": "x"}}
    found = run([point("a-c1", 50.0, 100.0, corpus=None)], campaign=campaign)
    assert work_of(found, found.points[0]) == (
        ("model", "moonshotai/Kimi-K3"),
        ("workload", "fixed"),
        ("input length", "1024"),
        ("output length", "256"),
        ("revision", "r1"),
        ("kind", "x"),
        ("seed", "7"),
    )
