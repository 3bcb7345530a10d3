from __future__ import annotations

import pytest

from ixbench.measure.definition import Check
from ixbench.measure.failure import BadRecordError
from ixbench.measure.verdict import judge
from ixbench.model.result import Reason
from ixbench.testing.records import sample_measurement


def says(code, severity=None, *, limit=None, agentic_limit=None):
    """Return a check with this opinion that repeats the limit it was given."""

    def decide(_measurement, _metrics, in_force):
        return None if severity is None else Reason(code=code, value=1.0, limit=in_force, text="So it is.", severity=severity)

    return Check(code=code, limit=limit, agentic_limit=agentic_limit, explain="For a test.", decide=decide)


@pytest.mark.parametrize(
    ("severities", "status"),
    [
        ((), "valid"),
        ((None, None), "valid"),
        ((None, "warning"), "valid_with_warnings"),
        (("warning", "invalid"), "invalid"),
        (("invalid", "warning"), "invalid"),
    ],
)
def test_the_worst_reason_decides_and_all_are_kept(severities, status):
    verdict = judge(sample_measurement([]), {}, [says(f"c{i}", severity) for i, severity in enumerate(severities)], {})
    assert verdict.status == status
    assert [reason.severity for reason in verdict.reasons] == [severity for severity in severities if severity]


@pytest.mark.parametrize(("agentic", "limits", "expected"), [(False, {}, 0.01), (True, {}, 0.1), (False, {"a": 5}, 5), (True, {"a": 5}, 5)])
def test_the_limit_is_the_users_else_that_of_the_workload(agentic, limits, expected):
    check = says("a", "invalid", limit=0.01, agentic_limit=0.1)
    assert judge(sample_measurement([], agentic=agentic), {}, [check], limits).reasons[0].limit == expected


def test_one_limit_holds_for_agentic_workloads_too_where_they_have_no_other():
    assert judge(sample_measurement([], agentic=True), {}, [says("a", "invalid", limit=30)], {"b": 1}).reasons[0].limit == 30


def test_a_check_that_raises_is_a_warning_that_names_it():
    def decide(*_):
        raise ValueError("no\nttft_s")

    verdict = judge(sample_measurement([]), {}, [Check(code="acme_power", limit=None, explain="For a test.", decide=decide)], {})
    assert verdict.status == "valid_with_warnings"
    assert verdict.reasons[0].text == "the check acme_power could not decide: ValueError: no ttft_s"


def test_a_broken_client_is_no_warning():
    def decide(*_):
        raise BadRecordError("request r0: backwards")

    with pytest.raises(BadRecordError):
        judge(sample_measurement([]), {}, [Check(code="c", limit=None, explain="For a test.", decide=decide)], {})
