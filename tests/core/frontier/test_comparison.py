"""Two ladders against one another, rung by rung: what has vanished, and what counts against one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.comparison import compare_ladders
from ixbench.frontier.ladder import build_ladder

from .conftest import CURVE, at_50, bootstrapped, row


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
