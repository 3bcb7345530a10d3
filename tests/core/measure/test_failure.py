from __future__ import annotations

import itertools

import pytest

from ixbench.measure.failure import BadRecordError, classify
from ixbench.model.errors import IxbenchError
from ixbench.model.record import FAILURE_KINDS

SUCCESS = {
    "http_status": 200,
    "finish_reason": "length",
    "done_seen": True,
    "usage_input": 1000,
    "usage_output": 32,
    "exact_length": True,
    "output_asked": 32,
}

FAULTS = {
    "cancelled": {"cancelled": True},
    "transport": {"http_status": None},
    "http_status": {"http_status": 503},
    "not_a_stream": {"event_stream": False},
    "server_error": {"error_event": True},
    "malformed": {"malformed": True},
    "truncated": {"done_seen": False},
    "no_usage": {"usage_output": None},
    "length_mismatch": {"output_asked": 40},
}


def test_a_complete_answer_is_a_success():
    assert classify(**SUCCESS) is None


@pytest.mark.parametrize("kind", FAULTS)
def test_each_fault_has_its_kind(kind):
    assert classify(**SUCCESS | FAULTS[kind]) == kind


def test_the_order_is_that_of_the_model():
    assert tuple(FAULTS) == ("cancelled", *FAILURE_KINDS)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(FAULTS, 2)))
def test_the_first_of_two_faults_counts(first, second):
    assert classify(**SUCCESS | FAULTS[second] | FAULTS[first]) == first


@pytest.mark.parametrize("cut", [{"finish_reason": None}, {"finish_reason": ""}, {"done_seen": None}, {"broken_off": True}])
def test_what_ends_early_is_truncated(cut):
    assert classify(**SUCCESS | cut) == "truncated"


def test_usage_that_was_not_asked_for_is_not_missed():
    assert classify(**SUCCESS | {"usage_asked": False, "usage_input": None, "usage_output": None}) is None


def test_prompt_tokens_belong_to_usage():
    assert classify(**SUCCESS | {"usage_input": None}) == "no_usage"


def test_a_length_that_was_not_forced_may_differ():
    assert classify(**SUCCESS | {"exact_length": False, "usage_output": 5}) is None


def test_an_empty_answer_is_a_success():
    assert classify(**SUCCESS | {"exact_length": False, "usage_output": 0, "finish_reason": "stop"}) is None


def test_a_bad_record_is_foreseen_and_has_a_code():
    assert issubclass(BadRecordError, IxbenchError)
    assert BadRecordError("x").code == "bad_record"
