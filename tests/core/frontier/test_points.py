"""What of a run may stand on a frontier, and where."""

from __future__ import annotations

import math

import pytest

from ixbench.frontier.points import part, speed, usable_points


@pytest.mark.parametrize("value", [None, 0.0, -1.0, math.nan, math.inf])
def test_what_is_no_amount_is_no_part(value):
    assert part({"tpot_s": {"p50": value}}, "tpot_s", "p50") is None
    assert speed({"tpot_s": {"p50": value}}, "p50") is None


def test_a_part_is_a_number_of_a_table():
    assert part({"tpot_s": {"p50": 2}}, "tpot_s", "p50") == 2.0
    assert part({"tpot_s": 2.0}, "tpot_s", "p50") is None
    assert part({}, "tpot_s", "p50") is None


def test_a_time_whose_reciprocal_is_no_number_has_no_speed():
    assert speed({"tpot_s": {"p50": 5e-324}}, "p50") is None


def test_a_speed_that_is_told_counts_before_the_time():
    assert speed({"speed_tok_s_user": {"p90": 21.0}, "tpot_s": {"p90": 0.05}}, "p90") == 21.0
    assert speed({"speed_tok_s_user": {"p90": None}, "tpot_s": {"p90": 0.05}}, "p90") == 20.0


def test_one_id_that_two_runs_share_names_the_run_in_all(point, run):
    one = run([point("a-c1", 50.0, 100.0), point("b-c1", 50.0, 100.0)], id_="one")
    two = run([point("a-c1", 50.0, 100.0)], id_="two")
    assert [found.id for found in usable_points([one, two], "median")] == ["one/a-c1", "one/b-c1", "two/a-c1"]
    assert [found.id for found in usable_points([one], "median")] == ["a-c1", "b-c1"]
