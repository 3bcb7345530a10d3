"""Whether two rates differ: intervals, verdicts, and what each rests on."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from ixbench.frontier.comparison import compare_ladders
from ixbench.frontier.difference import RateDifference, difference_of
from ixbench.frontier.format import format_change
from ixbench.frontier.side import SureRead
from ixbench.frontier.student import difference_bounds

from .conftest import at_50, row


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
