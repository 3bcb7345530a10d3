"""A point counts only if the launch behind it answers as its campaign asks."""

from __future__ import annotations

import pytest

from ixbench.measure.point import measure
from ixbench.measure.verdict import judge
from ixbench.testing.records import sample_measurement, sample_record
from ixbench.testing.runs import sample_accuracy
from ixbench_plugins.checks.accuracy import ACCURACY
from ixbench_plugins.metrics import METRICS

GATE = sample_accuracy(asked=10, right=9).identity


def verdict(**changes):
    measurement = sample_measurement([sample_record()], **changes)
    return judge(measurement, measure(measurement, METRICS), ACCURACY, {"accuracy_failed": 0.0})


def test_without_a_gate_nothing_is_judged():
    assert verdict().status == "valid"


@pytest.mark.parametrize("right", [9, 10])
def test_enough_right_answers_let_the_point_count(right):
    assert verdict(accuracy_gate=GATE, accuracy=sample_accuracy(asked=10, right=right)).status == "valid"


def test_too_few_right_answers_do_not_whatever_limits_say():
    found = verdict(accuracy_gate=GATE, accuracy=sample_accuracy(asked=10, right=6, failed={"transport": 2}, cut=1))
    assert found.status == "invalid"
    (reason,) = found.reasons
    assert (reason.code, reason.value, reason.limit) == ("accuracy_failed", 0.6, 0.9)
    assert reason.text == ("6 of 10 answers are right (60 %), wanted: 90 %; 2 without an answer (transport 2); 1 cut off by max_tokens")


@pytest.mark.parametrize(
    ("changes", "words"),
    [({}, ""), ({"cut": 2}, "; 2 cut off by max_tokens"), ({"failed": {"timeout": 1}}, "; 1 without an answer (timeout 1)")],
)
def test_the_text_holds_what_there_is_to_tell(changes, words):
    (reason,) = verdict(accuracy_gate=GATE, accuracy=sample_accuracy(asked=10, right=6, **changes)).reasons
    assert reason.text == f"6 of 10 answers are right (60 %), wanted: 90 %{words}"


def test_a_gate_that_did_not_run_is_a_gate_that_failed():
    lacking = "no question was answered (http_status 10); the first said: status 503: busy"
    (reason,) = verdict(accuracy_gate=GATE, accuracy=sample_accuracy(asked=10, right=0, lacking=lacking)).reasons
    assert (reason.code, reason.value, reason.limit, reason.severity) == ("accuracy_failed", None, 0.9, "invalid")
    assert reason.text == f"the accuracy gate did not run: {lacking}"


def test_a_gate_without_a_result_is_a_gate_that_failed():
    (reason,) = verdict(accuracy_gate=GATE, accuracy=None).reasons
    assert (reason.code, reason.value, reason.severity) == ("accuracy_failed", None, "invalid")
    assert "there is no result of this launch" in reason.text
