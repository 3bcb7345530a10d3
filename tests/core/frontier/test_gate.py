"""Points share a ladder only where their launches were asked the same, or none was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.comparable import comparison_mismatches, mismatches, work_of
from ixbench.frontier.ladder import build_ladder
from ixbench.model.errors import InputError
from ixbench.testing.runs import sample_accuracy, sample_point, sample_run

PASSED = sample_accuracy(asked=10, right=9)


def point(name, accuracy=None, **changes):
    gate = accuracy.identity if accuracy is not None else None
    return replace(sample_point(name, speed_tok_s_user=50, rate_tok_s_gpu=1000, accuracy=gate, **changes), accuracy=accuracy)


def run(*points, id_="one"):
    return replace(sample_run(*points), id=id_)


def problems(*runs):
    return [f"{fault.where}: {fault.problem}" for fault in mismatches(runs)]


def test_equal_gates_share_a_ladder_and_so_do_runs_without_one():
    assert problems(run(point("a", PASSED)), run(point("b", replace(PASSED, right=10, seconds=1.0)), id_="two")) == []
    assert problems(run(point("a")), run(point("b"), id_="two")) == []


def test_a_point_that_was_not_gated_cannot_stand_beside_one_that_was():
    gated, old = run(point("a", PASSED)), run(point("b"), id_="two")
    said = "two: accuracy gate is 'not gated', but 'sha256:0123456789abcdef, at least 90 % right (last_number)' in one"
    assert problems(gated, old) == [said]
    with pytest.raises(InputError, match="accuracy gate is 'not gated'"):
        build_ladder([gated, old])
    ladder = build_ladder([gated, old], allow_mismatch=True)
    assert [text.partition(";")[0] for text in ladder.mismatches] == [said]
    assert [fault.problem for fault in comparison_mismatches(gated, old)] == [
        "accuracy gate is 'not gated', but 'sha256:0123456789abcdef, at least 90 % right (last_number)' in A"
    ]


@pytest.mark.parametrize("change", [{"questions": "sha256:other"}, {"required": 0.5}, {"match": "exact"}])
def test_other_questions_another_share_or_another_rule_are_another_gate(change):
    (problem,) = problems(run(point("a", PASSED)), run(point("b", replace(PASSED, **change)), id_="two"))
    assert problem.startswith("two: accuracy gate is ")


def test_an_imported_point_counts_as_not_gated():
    imported = replace(point("b"), origin="imported")
    assert problems(run(point("a", PASSED)), run(imported, id_="two"))
    assert problems(run(point("a")), run(imported, id_="two")) == []


def test_a_simulated_point_gives_no_answers_and_is_not_held_against_any():
    assert problems(run(point("a", PASSED)), run(point("b", evidence="simulated"), id_="two")) == []


def test_points_that_failed_their_gate_do_not_count_anyway():
    from ixbench.model.result import Reason, Verdict

    reason = Reason(code="accuracy_failed", value=0.1, limit=0.9, text="")
    failed = point("b", replace(PASSED, right=1), verdict=Verdict(status="invalid", reasons=(reason,)))
    both = run(point("a", PASSED), failed)
    assert problems(both) == []
    assert [member.id for curve in build_ladder([both]).curves for member in curve.members] == ["a"]


def test_many_runs_are_parted_by_their_gates():
    gated, old = run(point("a", PASSED)), run(point("b"))
    assert ("accuracy gate", PASSED.identity) in work_of(gated, gated.points[0])
    assert "accuracy gate" not in dict(work_of(old, old.points[0]))
