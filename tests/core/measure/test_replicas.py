"""Averaging replicas: geometric, so that times and speeds agree, and never hiding what one of them lacks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure.replicas import mean, mean_metrics, spread, sum_accounting, worst_verdict
from ixbench.model.result import Accounting, Reason, Verdict

POSITIVE = st.floats(min_value=1e-6, max_value=1e9)


@given(st.lists(POSITIVE, min_size=1, max_size=20))
def test_the_mean_of_reciprocals_is_the_reciprocal_of_the_mean(times):
    assert mean([1 / value for value in times]) == pytest.approx(1 / mean(times), rel=1e-9)


@given(st.lists(POSITIVE, min_size=1, max_size=20))
def test_the_mean_lies_among_its_values_whatever_their_order(values):
    found = mean(values)
    assert min(values) * (1 - 1e-9) <= found <= max(values) * (1 + 1e-9)
    assert mean(values[::-1]) == pytest.approx(found)


def test_equal_replicas_keep_their_number_to_the_last_bit():
    assert mean([0.1] * 16) == 0.1
    assert mean([7, 7]) == 7


def test_zero_has_an_arithmetic_mean():
    assert mean([0.0, 4.0]) == 2.0


@pytest.mark.parametrize("values", [[], [None], [1.0, None]])
def test_what_one_replica_lacks_the_point_lacks(values):
    assert mean(values) is None


def test_metrics_are_averaged_part_by_part():
    replicas = [{"ttft_s": {"p50": 1.0, "p90": 4.0}, "failed_share": 0.0}, {"ttft_s": {"p50": 4.0, "p90": 9.0}, "failed_share": 0.0}]
    found = mean_metrics(replicas)
    assert found["ttft_s"] == {"p50": pytest.approx(2.0), "p90": pytest.approx(6.0)}
    assert found["failed_share"] == 0.0


def test_a_metric_that_is_undefined_in_one_replica_is_undefined():
    assert mean_metrics([{"ttft_s": {"p50": 1.0}}, {"ttft_s": None}]) == {"ttft_s": None}


def test_a_number_that_a_replica_lacks_is_undefined():
    assert mean_metrics([{"a": 1.0, "x": {"p50": 1.0}}, {"x": {}}]) == {"a": None, "x": {"p50": None}}
    assert spread([{"a": None, "b": 1.0, "x": {"p50": 1.0}}, {"a": 1.0, "x": {}}]) == {}


def test_the_spread_is_that_of_the_logarithms():
    replicas = [{"x": {"p50": math.exp(-0.1)}, "y": 1.0, "z": 0.0}, {"x": {"p50": math.exp(0.1)}, "y": 1.0, "z": 1.0}]
    assert spread(replicas) == {"x": {"p50": pytest.approx(0.1 * math.sqrt(2))}, "y": 0.0}
    assert spread(replicas[:1]) == {}
    three = spread([{"y": math.exp(log)} for log in (0.0, 0.1, 0.5)])
    assert three["y"] == pytest.approx(math.sqrt((0.2**2 + 0.1**2 + 0.3**2) / 2))


def test_requests_add_up():
    found = sum_accounting([Accounting(requests=3, ok=2, failed={"truncated": 1}), Accounting(requests=2, ok=1, cancelled=1, warmup=5)])
    assert found == Accounting(requests=5, ok=3, failed={"truncated": 1}, cancelled=1, warmup=5)
    assert found.requests == found.ok + sum(found.failed.values()) + found.cancelled


def test_the_worst_verdict_counts_and_says_in_how_many_replicas():
    thin = Reason(code="too_short", value=40, limit=100, text="thin", severity="warning")
    broken = Reason(code="errors", value=1, limit=0.01, text="errors")
    good = Verdict(status="valid")
    bad = Verdict(status="invalid", reasons=(broken,))
    found = worst_verdict([good, Verdict(status="valid_with_warnings", reasons=(thin,)), bad, good])
    assert found.status == "invalid"
    assert [reason.text for reason in found.reasons] == ["thin (in 1 of 4 replicas)", "errors (in 1 of 4 replicas)"]
    assert worst_verdict([good, good]) == Verdict(status="valid")
    warned = Verdict(status="valid_with_warnings", reasons=(thin,))
    assert worst_verdict([good, warned]).status == worst_verdict([warned, good]).status == "valid_with_warnings"
    assert worst_verdict([warned]) == warned, "of one replica nothing is counted"
    other = Verdict(
        status="valid_with_warnings", reasons=(Reason(code="too_short", value=50, limit=100, text="thick", severity="warning"),)
    )
    assert [reason.text for reason in worst_verdict([warned, other]).reasons] == ["thin (in 2 of 2 replicas)"]
