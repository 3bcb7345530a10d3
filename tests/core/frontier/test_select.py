from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.errors import FrontierError
from ixbench.frontier.select import Curve, in_scope, is_speculative, select

A = Curve(key="a", engine="vllm", precision="fp4", speculative=False, date="2026-09-01", points=((50.0, 5000.0), (80.0, 2500.0)))
B = replace(A, key="b", engine="sglang")


def at(curve, factor):
    return replace(curve, points=tuple((x, y * factor) for x, y in curve.points))


def winner(*curves, rung=50, **options):
    chosen = select(curves, rung, **options)
    return chosen.curve.key if chosen.curve else chosen.status


@pytest.mark.parametrize("curves", [(A, at(B, 2)), (at(B, 2), A)])
def test_the_larger_value_wins_in_any_order(curves):
    assert winner(*curves) == "b"


def test_the_winner_may_change_from_rung_to_rung():
    flat = replace(B, points=((50.0, 4000.0), (80.0, 3500.0)))
    assert winner(A, flat) == "a"
    assert winner(A, flat, rung=80) == "b"


def test_ties_go_to_the_newer_evidence_then_the_newer_curve_then_the_smaller_key():
    assert winner(A, B) == winner(B, A) == "a"
    assert winner(A, replace(B, date="2026-09-02")) == "b"
    newer_evidence = replace(A, dates=("2026-09-05", "2026-09-01"))
    assert winner(newer_evidence, replace(B, date="2026-09-02")) == "a"


def test_only_the_points_that_are_used_count_for_the_date_of_the_evidence():
    other_end = replace(B, dates=("2026-09-01", "2026-12-31"))
    assert winner(A, other_end) == "a"
    assert winner(A, other_end, rung=80) == "b"
    assert winner(A, other_end, rung=65) == "b"


def test_an_unreadable_curve_leaves_the_rung_to_the_others():
    faster_elsewhere = replace(A, points=((90.0, 9000.0),))
    assert winner(faster_elsewhere, B) == "b"


@pytest.mark.parametrize(
    ("points", "status"),
    [
        ([], "no_curve"),
        ([((60.0, 500.0),), ((40.0, 800.0),)], "below_range"),
        ([((40.0, 800.0),), ((30.0, 900.0),)], "unreachable"),
        ([()], "no_curve"),
        ([(), ((40.0, 800.0),)], "unreachable"),
    ],
)
def test_why_nothing_could_be_read(points, status):
    assert winner(*[replace(A, key=str(i), points=own) for i, own in enumerate(points)]) == status


def test_two_points_of_two_curves_are_not_one_curve():
    curves = [replace(A, points=((40.0, 800.0),)), replace(B, points=((60.0, 500.0),))]
    assert winner(*curves) == "below_range"
    assert select(curves, 50, range_policy="min_slo").read.value == 500.0


def test_step_and_min_slo_reach_the_read():
    chosen = select([A], 60, mode="step", range_policy="min_slo")
    assert (chosen.status, chosen.read.value, chosen.read.at_x) == ("meets_slo", 2500.0, 80.0)
    assert select([A], 10, mode="step").status == "below_range"
    assert select([A], 65, mode="linear").read.value == 3750.0


def test_the_range_is_that_of_all_curves_together():
    wide = replace(B, points=((20.0, 6000.0), (200.0, 100.0)))
    chosen = select([A, wide], 60)
    assert (chosen.slowest, chosen.fastest) == (20.0, 200.0)


def test_the_runner_up_is_the_second_of_three_whatever_its_bucket():
    third, second = replace(at(B, 0.5), key="third"), replace(at(B, 0.9), key="second", precision="fp8", speculative=True)
    for curves in ([A, third, second], [second, A, third]):
        assert select(curves, 50).runner_up.curve.key == "second"
    assert select([A], 50).runner_up is None


# --- repeats ---------------------------------------------------------------------------------------------------------------------------

TWICE = replace(A, points=(*A.points, (55.0, 4400.0), (90.0, 2000.0)), repeats=((0, 1), (2, 3)))


def test_two_repeats_are_read_as_one():
    chosen = select([TWICE], 60, mode="linear")
    first, second = 5000 - 2500 / 3, 4400 - 2400 / 7
    assert chosen.read.value == pytest.approx((first + second) / 2)
    assert (chosen.read.evidence, chosen.read.two_knots) == ((0, 1, 2, 3), False)
    promised = select([TWICE], 60, mode="step")
    assert (promised.read.value, promised.read.at_x) == (2250.0, 80.0), "what holds for both"


def test_two_repeats_can_be_read_where_both_can():
    chosen = select([TWICE], 60)
    assert (chosen.slowest, chosen.fastest) == (55.0, 80.0)


def test_two_repeats_of_each_are_compared_and_one_of_either_is_not():
    other = replace(at(TWICE, 0.5), key="other")
    assert select([TWICE, other], 60).runner_up.difference.difference > 0
    assert select([TWICE, replace(at(A, 0.5), key="other")], 60).runner_up.difference is None


def test_one_read_of_a_curve_with_two_knots_is_enough_to_say_so():
    mixed = replace(TWICE, points=(*TWICE.points, (70.0, 3000.0)), repeats=((0, 1), (2, 4, 3)))
    assert select([mixed], 60).read.two_knots
    assert not select([replace(mixed, repeats=((2, 4, 3),))], 60).read.two_knots


def test_repeats_that_all_miss_a_rung_are_not_partly_there():
    assert select([TWICE], 40).partly == ()
    assert [(curve.key, repeats.reached) for curve, repeats in select([TWICE], 85).partly] == [("a", 1)]


# --- min_cost --------------------------------------------------------------------------------------------------------------------------


def test_min_cost_takes_the_cheaper_tokens_not_the_larger_rate():
    dear, cheap = replace(at(A, 1.2), usd_per_gpu_hour=3.0), replace(B, usd_per_gpu_hour=1.5)
    assert winner(dear, cheap) == "a"
    chosen = select([dear, cheap], 50, policy="min_cost")
    assert chosen.curve.key == "b"
    assert chosen.usd_per_mtok == pytest.approx(1.5e6 / (3600 * 5000))


def test_equal_cost_goes_to_the_larger_value():
    assert winner(replace(at(A, 2), usd_per_gpu_hour=4.0), replace(B, usd_per_gpu_hour=2.0), policy="min_cost") == "a"
    assert winner(replace(A, usd_per_gpu_hour=2.0), replace(at(B, 2), usd_per_gpu_hour=4.0), policy="min_cost") == "b"


@pytest.mark.parametrize("curves", [(A, B), (replace(A, usd_per_gpu_hour=1.0), B)])
def test_min_cost_without_prices_is_refused(curves):
    with pytest.raises(FrontierError) as caught:
        select(curves, 50, policy="min_cost")
    assert caught.value.code == "no_price"


def test_min_cost_without_any_price_is_refused_where_nothing_reaches_the_rung_too():
    with pytest.raises(FrontierError) as caught:
        select([A, B], 500, policy="min_cost")
    assert caught.value.code == "no_price"
    assert select([], 50, policy="min_cost").status == "no_curve"


def test_a_price_that_a_curve_out_of_reach_lacks_does_not_matter():
    assert winner(replace(A, usd_per_gpu_hour=1.0), replace(B, points=((40.0, 9000.0),)), policy="min_cost") == "a"


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("policy", ["max_throughput", "min_cost"])
def test_a_price_that_is_none_is_refused(price, policy):
    with pytest.raises(FrontierError) as caught:
        select([replace(A, usd_per_gpu_hour=price)], 50, policy=policy)
    assert caught.value.code == "bad_price"


def test_without_a_price_there_is_no_cost():
    assert select([A], 50).usd_per_mtok is None


# --- priority --------------------------------------------------------------------------------------------------------------------------

FP4, FP8 = replace(A, key="fp4"), replace(A, key="fp8", precision="fp8")
SPEC_FP4, SPEC_FP8 = replace(FP4, key="spec fp4", speculative=True), replace(FP8, key="spec fp8", speculative=True)


def test_priority_goes_down_the_buckets_and_ignores_rates():
    order = [SPEC_FP4, SPEC_FP8, FP4, FP8]
    for i, first in enumerate(order):
        later = [at(curve, 10 + k) for k, curve in enumerate(order[i + 1 :])]
        assert winner(*reversed([first, *later]), policy="priority") == first.key


def test_an_unreadable_bucket_passes_the_rung_on():
    assert winner(replace(SPEC_FP4, points=((40.0, 9000.0),)), FP8, policy="priority") == "fp8"


def test_within_a_bucket_the_larger_value_wins():
    assert winner(FP4, at(replace(FP4, key="other"), 1.01), policy="priority") == "other"
    assert select([FP4, at(replace(FP4, key="other"), 1.01)], 50, policy="priority").runner_up.curve.key == "fp4"


def test_other_precisions_do_not_compete_under_priority():
    bf16 = at(replace(A, key="bf16", precision="bf16"), 9)
    unknown = at(replace(A, key="unknown", precision=None), 9)
    assert winner(bf16, unknown, FP8, policy="priority") == "fp8"
    assert winner(bf16, unknown, policy="priority") == "no_curve"
    assert winner(bf16, unknown, FP8) == "bf16"


@pytest.mark.parametrize(
    ("method", "speculative"), [(None, False), ("", False), ("none", False), ("Off", False), ("mtp", True), ("eagle3", True)]
)
def test_what_counts_as_speculative(method, speculative):
    assert is_speculative(method) is speculative


# --- scope -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "scope", "inside"),
    [
        ("atom", "all", True),
        ("atom", "community", False),
        ("dynamo-vllm", "community", True),
        ("SGLang", "community", True),
        ("atom", ("atom", "vllm"), True),
        ("dynamo-vllm", ("atom", "vllm"), False),
        ("atom", (), False),
    ],
)
def test_scope(engine, scope, inside):
    assert in_scope(engine, scope) is inside


def test_an_excluded_engine_wins_nothing():
    atom = at(replace(A, key="atom", engine="atom"), 9)
    assert winner(atom, B) == "atom"
    assert winner(atom, B, scope="community") == "b"
    assert winner(atom, B, scope=("atom",)) == "atom"
    assert winner(atom, scope="community") == "no_curve"


@pytest.mark.parametrize("changes", [{"policy": "best"}, {"mode": "cubic"}, {"range_policy": "any"}, {"scope": "vendor"}])
def test_unknown_settings_are_refused(changes):
    with pytest.raises(FrontierError) as caught:
        select([A], 50, **changes)
    assert caught.value.code == "bad_mode"


def test_bad_points_and_rungs_are_refused():
    with pytest.raises(FrontierError) as caught:
        select([replace(A, points=((50.0, 0.0),))], 50)
    assert caught.value.code == "bad_point"
    with pytest.raises(FrontierError) as caught:
        select([A], -50)
    assert caught.value.code == "bad_rung"
