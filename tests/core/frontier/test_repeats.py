"""Rungs of points that were measured several times."""

from __future__ import annotations

import json

import pytest

from ixbench.frontier.cost_table import build_cost_table
from ixbench.frontier.errors import FrontierError
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.repeats import read_repeats
from ixbench.frontier.student import half_width

ONE = [(40.0, 800.0), (80.0, 200.0)]


def test_each_repeat_has_a_frontier_of_its_own():
    # Together the lucky (60, 900) of the second would dominate the first's (40, 800).
    found = read_repeats([ONE, [(60.0, 900.0), (80.0, 200.0)]], 60.0)
    assert [read.value for read in found.reads] == [read_repeats([ONE], 60.0).mean, 900.0]
    assert (found.status, found.reached) == ("interpolated", 2)


def test_one_repeat_has_no_interval():
    found = read_repeats([ONE], 40.0)
    assert (found.runs, found.reached, found.mean, found.half_width, found.status) == (1, 1, 800.0, None, "exact")


@pytest.mark.parametrize(
    ("second", "status"),
    [([(40.0, 800.0), (70.0, 200.0)], "unreachable"), ([(78.0, 800.0)], "below_range"), ([], "no_points")],
)
def test_a_rung_that_some_repeats_miss_has_no_mean(second, status):
    found = read_repeats([ONE, second], 75.0)
    assert (found.runs, found.reached, found.mean, found.half_width, found.status) == (2, 1, None, None, status)


def test_nothing_at_all():
    found = read_repeats([], 50.0)
    assert (found.runs, found.reached, found.mean, found.status) == (0, 0, None, "no_points")


def test_modes_and_ranges_are_those_of_single_reads():
    assert read_repeats([ONE, ONE], 60.0, mode="step").status == "meets_slo"
    assert read_repeats([ONE, ONE], 30.0, range_policy="min_slo").mean == 800.0
    with pytest.raises(FrontierError):
        read_repeats([ONE], 60.0, mode="cubic")


# --- on a ladder -----------------------------------------------------------------------------------------------------------------------


def repeated(point, name, rates, *, speeds=(60.0, 40.0), **changes):
    """Return a fast and a slow point, as often as there are pairs of rates."""
    rows = []
    for number, pair in enumerate(rates, start=1):
        suffix = "" if number == 1 else f"-rep{number}"
        for users, speed, rate in zip((1, 4), speeds, pair, strict=True):
            extra = {"concurrency": users, "deployment": name, "repeat": number}
            rows.append(point(f"{name}-c{users}{suffix}", speed, rate, **extra | changes))
    return rows


@pytest.fixture
def run3(run):
    """Make a run whose campaign asks for three repeats."""
    return lambda points, **changes: run(points, campaign={"run": {"repeats": 3}}, **changes)


def row(ladder, target):
    return next(rung for rung in ladder.rungs if rung.target == target)


RATES = [(700.0, 1000.0), (720.0, 1040.0), (690.0, 990.0)]


def test_a_rung_is_the_mean_of_the_repeats_with_its_interval(point, run3):
    ladder = build_ladder([run3(repeated(point, "a", RATES))])
    rung = row(ladder, 50.0)
    reads = [read_repeats([[(60.0, fast), (40.0, slow)]], 50.0).mean for fast, slow in RATES]
    assert rung.repeats.tok_s_gpu == pytest.approx(reads)
    assert rung.tok_s_gpu == pytest.approx(sum(reads) / 3)
    assert rung.usd_per_mtok == pytest.approx(1.5e6 / 3600 / rung.tok_s_gpu)
    assert rung.repeats.half_width_tok_s_gpu == pytest.approx(half_width(reads))
    assert (rung.repeats.runs, rung.repeats.reached, rung.status) == (3, 3, "interpolated")
    assert rung.points == ("a-c4", "a-c1", "a-c4-rep2", "a-c1-rep2", "a-c4-rep3", "a-c1-rep3")
    assert rung.operating_points == ("a-c4", "a-c1")
    assert rung.bracket == pytest.approx(0.4)


def test_a_read_between_two_points_is_no_surer_than_they_are(point, run3):
    repeats = row(build_ladder([run3(repeated(point, "a", RATES))]), 50.0).repeats
    assert repeats.neighbours_half_width_tok_s_gpu == pytest.approx(half_width([1000.0, 1040.0, 990.0]))
    assert repeats.uncertainty_tok_s_gpu == repeats.neighbours_half_width_tok_s_gpu > repeats.half_width_tok_s_gpu


def test_the_bracket_is_the_widest_of_all_repeats(point, run):
    pairs = ((1, 60.0, 1000.0), (1, 40.0, 1500.0), (2, 70.0, 900.0), (2, 30.0, 1600.0))
    points = [point(f"a-c{int(x)}" + ("-rep2" if n > 1 else ""), x, y, repeat=n) for n, x, y in pairs]
    assert row(build_ladder([run(points, campaign={"run": {"repeats": 2}})]), 50.0).bracket == pytest.approx(40 / 50)


def test_a_read_at_a_point_has_no_neighbours(point, run3):
    repeats = row(build_ladder([run3(repeated(point, "a", RATES), rungs=(60.0,))]), 60.0).repeats
    assert (repeats.neighbours_half_width_tok_s_gpu, repeats.half_width_tok_s_gpu) == (None, pytest.approx(half_width([700, 720, 690])))


def test_the_best_of_two_repeats_is_their_mean_and_of_one_alone_its_own(point, run):
    points = [point("a-c1", 50.0, 1000.0, ttft_s={"p50": 0.5}), point("a-c1-rep2", 50.0, 1100.0, repeat=2, ttft_s={"p50": 0.7})]
    twice = build_ladder([run(points, campaign={"run": {"repeats": 2}})])
    assert (twice.peak.tok_s_gpu, twice.best_ttft.s) == pytest.approx((1050.0, 0.6))
    points[1] = point("a-c1-rep2", 50.0, 1100.0, repeat=2, ttft_s=None)
    assert build_ladder([run(points, campaign={"run": {"repeats": 2}})]).best_ttft.s == 0.5


def test_repeats_are_one_operating_point(point, run3):
    ladder = build_ladder([run3(repeated(point, "a", RATES))])
    assert (ladder.configs, ladder.repeats) == (2, 3)
    assert ladder.peak.tok_s_gpu == pytest.approx(1010.0)
    assert ladder.peak.point == "a-c4"
    assert ladder.best_ttft.s == pytest.approx(0.7)


def test_points_of_different_repeats_are_never_pooled(point, run3):
    lucky = [(700.0, 1000.0), (1200.0, 1000.0), (690.0, 990.0)]
    ladder = build_ladder([run3(repeated(point, "a", lucky), rungs=(40.0,))])
    # Of the second repeat only the fast point is on the frontier: at 40 nothing can be read there, whatever the others say.
    rung = row(ladder, 40.0)
    assert (rung.tok_s_gpu, rung.status) == (None, "below_range")
    assert [(partly.reached, partly.runs, partly.engine) for partly in rung.partly] == [(2, 3, "vllm")]
    assert any("2 of 3 repeats of vllm" in note for note in ladder.notes)


def test_an_invalid_repeat_leaves_a_rung_without_a_mean(point, run3, invalid):
    points = repeated(point, "a", RATES)
    spoilt = [*points[:2], point("a-c1-rep2", 60.0, 720.0, repeat=2, verdict=invalid), *points[3:]]
    rung = row(build_ladder([run3(spoilt, rungs=(60.0,))]), 60.0)
    assert (rung.tok_s_gpu, rung.partly[0].reached) == (None, 2)


def test_a_repeat_that_was_not_measured_counts_as_missed(point, run3):
    rung = row(build_ladder([run3(repeated(point, "a", RATES[:2]), rungs=(60.0,))]), 60.0)
    assert (rung.status, rung.tok_s_gpu) == ("no_curve", None)
    assert (rung.partly[0].reached, rung.partly[0].runs) == (2, 3)


CLOSE = [(705.0, 1010.0), (715.0, 1030.0), (685.0, 985.0)]
FAR = [(350.0, 500.0), (360.0, 520.0), (345.0, 495.0)]


@pytest.mark.parametrize(("rates", "told"), [(CLOSE, False), (FAR, True)])
def test_the_runner_up_is_named_and_told_apart_or_not(point, run3, rates, told):
    points = [*repeated(point, "a", RATES), *repeated(point, "b", rates, engine="atom")]
    ladder = build_ladder([run3(points)])
    other = row(ladder, 50.0).runner_up
    assert (row(ladder, 50.0).engine, other.engine, other.distinguishable) == ("vllm", "atom", told)
    assert (abs(other.difference) > other.margin) is told
    assert other.difference == pytest.approx(row(ladder, 50.0).tok_s_gpu - other.tok_s_gpu)
    assert any("vllm and atom cannot be told apart" in note for note in ladder.notes) is not told


def test_one_run_each_says_nothing_about_the_difference(point, run):
    points = [point("a-c1", 50.0, 1000.0), point("b-c1", 50.0, 999.0, engine="atom")]
    ladder = build_ladder([run(points)])
    other = row(ladder, 50.0).runner_up
    assert (other.engine, other.difference, other.margin, other.distinguishable) == ("atom", None, None, None)
    assert (ladder.repeats, row(ladder, 50.0).repeats.runs, row(ladder, 50.0).repeats.half_width_tok_s_gpu) == (1, 1, None)


def test_under_priority_only_curves_of_one_bucket_are_compared(point, run3):
    points = [*repeated(point, "a", RATES), *repeated(point, "b", CLOSE, precision="fp8")]
    assert row(build_ladder([run3(points, policy="priority")]), 50.0).runner_up is None


def test_under_min_cost_prices_are_compared(point, run3):
    points = [*repeated(point, "a", RATES), *repeated(point, "b", FAR, engine="atom")]
    other = row(build_ladder([run3(points, policy="min_cost")]), 50.0).runner_up
    assert other.difference < 0
    assert abs(other.difference) < 1
    assert other.distinguishable


def test_json_keeps_its_keys_and_says_how_sure_it_is(point, run3):
    points = [*repeated(point, "a", RATES), *repeated(point, "b", CLOSE, engine="atom")]
    content = json.loads(json.dumps(build_ladder([run3(points)]).to_json()))
    rung = content["rungs"][1]
    assert content["repeats"] == 3
    assert (rung["repeats"]["runs"], rung["repeats"]["reached"], len(rung["repeats"]["tok_s_gpu"])) == (3, 3, 3)
    assert rung["runner_up"]["distinguishable"] is False
    assert content["curves"][0]["repeats"] == 3
    assert content["curves"][0]["points"][0].keys() == {"id", "x", "y", "on_frontier"}


def test_costs_rest_on_the_mean_and_on_the_mean_shares(point, run3):
    points = [
        point(f"a-c1{suffix}", 50.0, rate, repeat=number, throughput_tok_s_gpu={"total": rate, "output": output})
        for number, (suffix, rate, output) in enumerate([("", 1000.0, 100.0), ("-rep2", 1100.0, 220.0), ("-rep3", 900.0, 90.0)], start=1)
    ]
    view = run3(points)
    table = build_cost_table([view], build_ladder([view]))
    assert table.tok_s_gpu == pytest.approx(1000.0)
    assert table.output_share == pytest.approx((0.1 + 0.2 + 0.1) / 3)
    assert table.basis_note.endswith("they do not add up. Output and computed rates are those of the point itself.")
