from __future__ import annotations

import pytest

from ixbench.measure.verdict import judge
from ixbench.model.engine_metrics import COUNTERS, GAUGES, EngineWindow
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks.counters import COUNTERS as CHECKS

EXPECTED = (
    "prompt_tokens", "generation_tokens", "prefix_cache_hits", "prefix_cache_queries", "preemptions", "running", "waiting", "kv_usage",
)  # fmt: skip
PROMISED = ("prompt_tokens", "generation_tokens", "preemptions", "accepted_tokens", "drafts", "external_cache_hits", "running")


def window(*, maximum=(("running", 1.0),), **delta):
    counted = {"prompt_tokens": 10_000.0, "generation_tokens": 320.0, "preemptions": 0.0} | delta
    counted = {name: value for name, value in counted.items() if value is not None}
    known = {*counted, *dict(maximum)}
    missing = tuple(name for name in (*COUNTERS, *GAUGES) if name not in known)
    return EngineWindow(delta=counted, maximum=dict(maximum), missing=missing, scrapes=9, promised=PROMISED)


def ten(**changes):
    """Return ten successes of 1000 prompt and 32 output tokens."""
    records = changes.pop("records", [sample_record(f"r{number}", send_s=float(number)) for number in range(10)])
    return sample_measurement(records, **{"engine_window": window()} | changes)


def reasons(measurement, limits=None):
    return {reason.code: reason for reason in judge(measurement, {}, CHECKS, limits or {}).reasons}


def test_an_engine_that_counts_what_it_answered_is_fine():
    assert reasons(ten()) == {}


def test_without_counters_nothing_is_asked():
    assert reasons(ten(engine_window=None)) == {}


def test_a_restart_is_told_and_its_counts_are_not_compared():
    found = reasons(ten(engine_window=EngineWindow(delta={"prompt_tokens": 5.0}, reset=True, scrapes=3, promised=("prompt_tokens",))))
    assert set(found) == {"engine_restarted"}
    assert found["engine_restarted"].severity == "invalid"


@pytest.mark.parametrize(
    ("delta", "value", "words"),
    [
        ({"prompt_tokens": 10_200.0}, 0.02, "for others too"),
        ({"prompt_tokens": 9_000.0}, 0.1, "not those of the server"),
        ({"generation_tokens": 330.0}, 10 / 320, "counted 330 generation_tokens"),
        ({"generation_tokens": 0.0}, 1.0, "comes to 320"),
        ({"prompt_tokens": 0.0, "generation_tokens": 320.0}, 1.0, "comes to 10000"),
    ],
)
def test_tokens_by_counter_and_by_usage_must_agree(delta, value, words):
    reason = reasons(ten(engine_window=window(**delta)))["metrics_missing"]
    assert reason.value == pytest.approx(value)
    assert (reason.severity, reason.limit) == ("invalid", 0.01)
    assert words in reason.text
    assert reasons(ten(engine_window=window(**delta)), {"metrics_missing": 2.0}) == {}


@pytest.mark.parametrize("prompt_tokens", [9_900.0, 10_100.0])
def test_one_percent_off_is_allowed(prompt_tokens):
    assert reasons(ten(engine_window=window(prompt_tokens=prompt_tokens))) == {}


def test_work_where_nothing_was_sent_is_that_of_others():
    reason = reasons(ten(records=[], engine_window=window(generation_tokens=0.0)))["metrics_missing"]
    assert (reason.severity, reason.value) == ("invalid", 1.0)
    assert "comes to 0: 100 % off" in reason.text
    assert "for others too" in reason.text


@pytest.mark.parametrize(
    ("delta", "input_each", "fine"),
    [
        ({"generation_tokens": 328.0, "prompt_tokens": 10_400.0}, 50, True),
        ({"generation_tokens": 320.0, "prompt_tokens": 10_000.0}, 50, True),
        ({"generation_tokens": 332.0, "prompt_tokens": 10_400.0}, 50, False),
        ({"generation_tokens": 328.0, "prompt_tokens": 10_600.0}, 50, False),
        ({"generation_tokens": 310.0}, 50, False),
        ({"prompt_tokens": 90_000.0}, None, True),
        ({"prompt_tokens": 9_000.0}, None, False),
    ],
)
def test_what_was_asked_beside_the_load_may_have_been_counted(delta, input_each, fine):
    """Eight questions of one token each, whose prompts the server may have measured."""
    found = reasons(ten(engine_window=window(**delta), questions=8, question_input=input_each))
    assert ("metrics_missing" not in found) == fine


@pytest.mark.parametrize("counted", [288.0, 310.0, 320.0])
def test_of_a_request_without_usage_anything_up_to_what_it_asked_may_have_been_counted(counted):
    cut = sample_record("cut", send_s=9.0, usage_output=None, usage_input=None, failure="truncated", finish_reason=None)
    records = [*(sample_record(f"r{number}", send_s=float(number)) for number in range(9)), cut]
    assert "metrics_missing" not in reasons(ten(records=records, engine_window=window(generation_tokens=counted, prompt_tokens=9_500.0)))


@pytest.mark.parametrize(("counted", "value", "words"), [(144.0, 0.5, "not those of the server"), (400.0, 0.25, "for others too")])
def test_what_lies_outside_is_held_against_the_nearer_bound(counted, value, words):
    cut = sample_record("cut", send_s=9.0, usage_output=None, failure="truncated", finish_reason=None)
    records = [*(sample_record(f"r{number}", send_s=float(number)) for number in range(9)), cut]
    reason = reasons(ten(records=records, engine_window=window(generation_tokens=counted)))["metrics_missing"]
    assert reason.value == pytest.approx(value)
    assert "comes to 288 to 320" in reason.text
    assert words in reason.text


def test_one_request_that_nothing_bounds_is_enough():
    lost = {"usage_output": None, "failure": "truncated", "finish_reason": None}
    records = [sample_record("free", output_asked=None, exact_length=False, resent=True, **lost), sample_record("asked", **lost)]
    for order in (records, records[::-1]):
        for questions in (0, 8):
            counted = window(generation_tokens=90_000.0, prompt_tokens=2_000.0)
            found = reasons(ten(records=order, engine_window=counted, questions=questions, question_input=0))
            assert "metrics_missing" not in found


def test_where_nothing_bounds_what_was_lost_only_too_little_is_wrong():
    cut = sample_record("cut", usage_output=None, output_asked=None, exact_length=False, failure="truncated", finish_reason=None)
    assert "metrics_missing" not in reasons(ten(records=[cut], engine_window=window(generation_tokens=5000.0, prompt_tokens=1000.0)))
    assert "at least" in reasons(
        ten(records=[cut, sample_record("r")], engine_window=window(generation_tokens=3.0, prompt_tokens=2000.0))
    )["metrics_missing"].text  # fmt: skip


@pytest.mark.parametrize(
    ("prompt_tokens", "known", "fine"),
    [
        (1000.0, True, True), (2000.0, True, True), (2100.0, True, False), (900.0, True, False),
        (0.0, False, True), (2000.0, False, True), (2100.0, False, False),
    ],
)  # fmt: skip
def test_a_request_that_was_sent_twice_may_be_counted_twice(prompt_tokens, known, fine):
    records = [sample_record("r", resent=True, usage_input=1000 if known else None)]
    found = reasons(ten(records=records, engine_window=window(prompt_tokens=prompt_tokens, generation_tokens=32.0)))
    assert ("metrics_missing" not in found) is fine


def test_a_counter_that_should_be_there_warns():
    reason = reasons(ten(engine_window=window(preemptions=None, maximum=())))["metrics_missing"]
    assert (reason.severity, reason.value) == ("warning", 2)
    assert "preemptions, running" in reason.text


@pytest.mark.parametrize("name", EXPECTED)
def test_each_of_what_an_engine_should_tell_is_missed(name):
    nothing = EngineWindow(delta={}, maximum={}, missing=(*COUNTERS, *GAUGES), scrapes=9, promised=(name,))
    reason = reasons(ten(engine_window=nothing))["metrics_missing"]
    assert (reason.severity, reason.value) == ("warning", 1)
    assert f"does not give {name} over" in reason.text


def test_speculation_and_outer_tiers_are_missed_only_where_they_are_asked_for():
    assert reasons(ten(acceptance_configured=None)) == {}
    (missed,) = reasons(ten(acceptance_configured=3.0)).values()
    assert "accepted_tokens, drafts" in missed.text
    assert reasons(ten(acceptance_configured=3.0, acceptance_reported=3.0)) == {}


@pytest.mark.parametrize(
    ("accepted", "reported", "expected"),
    [(205.0, None, None), (180.0, None, 0.2 / 3), (None, 3.1, None), (None, 3.3, 0.1)],
)
def test_the_realised_acceptance_must_be_the_configured_one(accepted, reported, expected):
    drafts = None if accepted is None else 100.0
    found = reasons(
        ten(acceptance_configured=3.0, acceptance_reported=reported, engine_window=window(accepted_tokens=accepted, drafts=drafts))
    )
    if expected is None:
        assert found == {}
    else:
        assert found["acceptance_mismatch"].value == pytest.approx(expected)
        assert found["acceptance_mismatch"].severity == "invalid"


def test_a_twentieth_off_is_allowed():
    assert reasons(ten(acceptance_configured=2.5, engine_window=window(accepted_tokens=162.5, drafts=100.0))) == {}


def test_real_acceptance_is_held_against_nothing():
    assert reasons(ten(engine_window=window(accepted_tokens=180.0, drafts=100.0))) == {}


def test_few_requests_may_be_preempted():
    assert reasons(ten(engine_window=window(preemptions=0.1))) == {}
    assert "preemption" not in reasons(ten(records=[], engine_window=window(preemptions=2.0)))
    reason = reasons(ten(engine_window=window(preemptions=2.0)))["preemption"]
    assert (reason.value, reason.severity) == (0.2, "invalid")
    assert reasons(ten(engine_window=window(preemptions=2.0)), {"preemption": 0.5}) == {}


def test_a_profiled_point_is_no_result():
    assert reasons(ten(profiled=True))["profiled"].severity == "invalid"
