from __future__ import annotations

import pytest

from ixbench.host.load import load_host
from ixbench.measure.point import measure
from ixbench.measure.verdict import judge
from ixbench.model.point import Load
from ixbench.model.result import Failure
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks import CHECKS
from ixbench_plugins.metrics import METRICS

MS = 1_000_000


def records(count=200, **changes):
    """Return successes one after another, each 0.82 s long."""
    return [sample_record(f"r{i}", send_s=float(i), **changes) for i in range(count)]


def verdict(rows, limits=None, **changes):
    measurement = sample_measurement(rows, **changes)
    return judge(measurement, measure(measurement, METRICS), CHECKS, limits or {})


def only(rows, limits=None, **changes):
    """Return the one reason that the verdict has."""
    (reason,) = verdict(rows, limits, **changes).reasons
    return reason


def test_the_host_gets_them_from_the_hook():
    found = {check.code for check in load_host().checks()}
    assert {check.code for check in CHECKS} <= found


def test_every_check_says_what_it_asks():
    assert len({check.code for check in CHECKS}) == len(CHECKS)
    assert all(check.explain.endswith(".") for check in CHECKS)


def test_limits_that_are_shares_may_be_0_to_1():
    shares = {check.code for check in CHECKS if "share" in check.explain.partition("(limit: ")[2].partition(")")[0]}
    assert shares >= {"errors", "context_overflow", "empty_answers", "cache_not_reset", "coverage", "gpu_dirty"}
    assert {check.most for check in CHECKS if check.code in shares} == {1}
    for check in CHECKS:
        assert check.most is None or 0 <= (check.limit or 0) <= check.most
        assert check.most is None or (check.agentic_limit or 0) <= check.most


def test_two_hundred_plain_successes_are_valid():
    assert verdict(records()).status == "valid"


# errors


@pytest.mark.parametrize(("failures", "agentic", "found"), [(2, False, False), (3, False, True), (22, True, False), (23, True, True)])
def test_one_percent_may_fail_and_ten_where_agents_work(failures, agentic, found):
    rows = [*records(), *(sample_record(f"f{i}", send_s=100.0 + i, failure="http_status", http_status=503) for i in range(failures))]
    reasons = verdict(rows, agentic=agentic).reasons
    assert [reason.code for reason in reasons] == (["errors"] if found else [])


def test_errors_name_the_kinds():
    rows = [*records(95), *records(3, failure="truncated"), *records(2, failure="transport")]
    reason = verdict(rows).reasons[0]
    assert (reason.code, reason.value, reason.limit) == ("errors", 0.05, 0.01)
    assert reason.text == "5 % of the requests failed (transport 2, truncated 3); allowed: 1 %"


def test_the_user_may_allow_more_errors():
    rows = [*records(), *(sample_record(f"f{i}", failure="transport") for i in range(10))]
    assert verdict(rows, {"errors": 0.2}).status == "valid"


def test_cancelled_requests_are_no_errors():
    assert verdict([*records(), *(sample_record(f"c{i}", cancelled=True) for i in range(50))]).status == "valid"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], "no request was sent"),
        (records(2, failure="transport"), "no request succeeded: transport 2"),
        (records(2, cancelled=True), "no request succeeded: all 2 were cancelled"),
    ],
)
def test_one_must_succeed(rows, text):
    reasons = verdict(rows).reasons
    assert [reason.code for reason in reasons] == ["errors", "too_short"]
    assert reasons[0].text == text


def test_context_overflow_has_a_limit_of_its_own():
    overflow = [sample_record(f"o{i}", failure="http_status", http_status=400, error_class="context_overflow") for i in range(3)]
    reason = only([*records(), *overflow], agentic=True)
    assert (reason.code, reason.value, reason.limit) == ("errors", 3 / 203, 0.01)
    assert "too long" in reason.text


# usage, empty answers, lengths


def test_one_answer_without_usage_is_too_many():
    reasons = verdict([*records(), sample_record("n", failure="no_usage", usage_output=None)], {"errors": 1}).reasons
    assert [(reason.code, reason.value, reason.severity) for reason in reasons] == [("no_usage", 1, "invalid")]


@pytest.mark.parametrize(("empty", "marked"), [(2, False), (3, True)])
def test_many_empty_answers_mark_the_point(empty, marked):
    rows = [*records(198), *(sample_record(f"e{i}", chunks=0, usage_output=1, output_asked=1) for i in range(empty))]
    found = verdict(rows)
    assert found.status == ("valid_with_warnings" if marked else "valid")
    assert [reason.code for reason in found.reasons] == (["empty_answers"] if marked else [])


def test_forced_lengths_must_be_met():
    missed = [sample_record(f"m{i}", send_s=100.0 + i, output_asked=64, failure="length_mismatch") for i in range(2)]
    reason = only([*records(), *missed], {"errors": 1})
    assert (reason.code, reason.value, reason.limit) == ("length_mismatch", 64 / (200 * 32 + 128), 0.005)
    assert verdict([*records(), *missed], {"errors": 1, "length_mismatch": 0.02}).status == "valid"


@pytest.mark.parametrize(("promised", "found"), [(None, []), (32, []), (35, []), (36, ["length_mismatch"]), (29, ["length_mismatch"])])
def test_free_lengths_are_held_against_what_the_workload_promises(promised, found):
    rows = records(exact_length=False, output_asked=4096)
    assert [reason.code for reason in verdict(rows, output_mean=promised).reasons] == found


@pytest.mark.parametrize(("asked", "found"), [(None, []), (1040, []), (960, []), (1060, ["input_mismatch"]), (900, ["input_mismatch"])])
def test_prompts_must_have_the_length_asked_for(asked, found):
    assert [reason.code for reason in verdict(records(input_asked=asked)).reasons] == found


# enough to go by


@pytest.mark.parametrize(("count", "status"), [(29, "invalid"), (30, "valid_with_warnings"), (99, "valid_with_warnings"), (100, "valid")])
def test_thirty_successes_are_needed_and_a_hundred_for_solid_percentiles(count, status):
    found = verdict(records(count))
    assert found.status == status
    assert [reason.code for reason in found.reasons] == ([] if status == "valid" else ["too_short"])


def test_the_user_may_ask_for_fewer():
    assert verdict(records(12), {"too_short": 10}).status == "valid_with_warnings"
    assert verdict(records(120), {"too_short": 500}).status == "invalid"


def test_the_window_must_last_ten_latencies():
    rows = [sample_record(f"r{i}", send_s=i / 100) for i in range(200)]
    reason = only(rows)
    assert (reason.code, reason.value) == ("too_short", 2.81)
    assert reason.limit == pytest.approx(8.2)
    assert reason.text.endswith("measure for at least 8.2 s, or send at least 584 requests (workload.requests, bench: --requests)")
    assert verdict([sample_record(f"r{i}", send_s=i / 25) for i in range(200)]).status == "valid"
    assert only(rows, {"errors": 1}, load=Load(rate=100.0)).text.endswith("measure for at least 8.2 s")


# the engine, and what cannot be


def test_a_dead_engine_makes_the_point_invalid_even_without_errors():
    reason = only(records(), engine_failure=Failure(code="oom", cause="The kernel killed it.", fix=""))
    assert (reason.code, reason.value, reason.limit) == ("engine_died", None, None)
    assert reason.text == "the engine was lost while the point ran: The kernel killed it."


def test_tokens_that_come_all_at_once_are_implausible():
    reason = only(records(gap_s=0.0))
    assert (reason.code, reason.value, reason.limit) == ("implausible", 0, 0.0001)
    assert verdict(records(gap_s=0.00005), {"implausible": 0.00001}).status == "valid"


def test_a_few_short_answers_at_once_are_no_reason():
    assert (
        verdict([*records(150), *(sample_record(f"s{i}", send_s=3.0 * i + 0.85, gap_s=0.0, chunks=2) for i in range(50))]).status == "valid"
    )


@pytest.mark.parametrize(("on_host", "found"), [(True, []), (False, ["implausible"])])
def test_a_first_token_within_a_millisecond_comes_from_this_machine_only(on_host, found):
    assert [reason.code for reason in verdict(records(ttft_s=0.0005), on_host=on_host).reasons] == found


def test_no_request_outlasts_the_measured_phase():
    rows = [*records(), sample_record("long", send_s=0.0, ttft_s=198.0)]
    reason = only(rows, start_ns=0, end_ns=100_000 * MS)
    assert (reason.code, reason.value, reason.limit) == ("implausible", 198.62, 100)
