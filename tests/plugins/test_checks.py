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
    seconds_and_counts = {check.code for check in CHECKS if check.limit is not None and check.most is None}
    assert seconds_and_counts == {
        "too_short", "no_progress", "jit_in_window", "log_invalidates", "preemption", "implausible", "clock", "client_lag", "schedule_late",
    }  # fmt: skip
    assert shares.isdisjoint(seconds_and_counts)
    assert {check.most for check in CHECKS} == {1, None}
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


def test_one_percent_itself_may_fail():
    assert verdict([*records(198), *records(2, failure="transport")]).status == "valid"


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


@pytest.mark.parametrize(("overflows", "found"), [(1, []), (2, [0.02])])
def test_overflow_is_a_share_of_what_the_server_answered(overflows, found):
    """Neither requests that were cancelled nor those that never reached the server were answered."""
    rows = [
        *records(100 - overflows),
        *records(overflows, failure="http_status", http_status=400, error_class="context_overflow"),
        *records(50, cancelled=True),
        *records(50, failure="transport", http_status=None),
    ]
    reasons = verdict(rows, {"errors": 1}).reasons
    assert [reason.value for reason in reasons if "too long" in reason.text] == found


# usage, empty answers, lengths


def test_one_answer_without_usage_is_too_many():
    reasons = verdict([*records(), sample_record("n", failure="no_usage", usage_output=None)], {"errors": 1}).reasons
    assert [(reason.code, reason.value, reason.limit, reason.severity) for reason in reasons] == [("no_usage", 1, 0, "invalid")]


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
    assert verdict([*records(198), missed[0]], {"errors": 1}).status == "valid", "32 of 6400 tokens are 0.5 %"


@pytest.mark.parametrize(("promised", "found"), [(None, []), (32, []), (35, []), (36, ["length_mismatch"]), (29, ["length_mismatch"])])
def test_free_lengths_are_held_against_what_the_workload_promises(promised, found):
    rows = records(exact_length=False, output_asked=4096)
    assert [reason.code for reason in verdict(rows, output_mean=promised).reasons] == found


def test_a_tenth_from_what_the_workload_promises_is_allowed():
    assert verdict(records(exact_length=False, output_asked=4096, chunks=44), output_mean=40).status == "valid"


@pytest.mark.parametrize("free", [0, 100])
def test_answers_that_are_forced_or_not_counted_are_not_held_against_a_promise(free):
    rows = [
        *records(free, exact_length=False, output_asked=4096),
        *records(100, chunks=64),
        *records(100, exact_length=False, output_asked=4096, usage_output=None),
    ]
    assert [reason for reason in verdict(rows, output_mean=32).reasons if reason.code == "length_mismatch"] == []


@pytest.mark.parametrize("counted", [1050, None])
def test_a_twentieth_more_prompt_tokens_and_none_counted_are_allowed(counted):
    assert verdict(records(usage_input=counted, input_asked=1000)).status == "valid"


@pytest.mark.parametrize(("asked", "found"), [(None, []), (1040, []), (960, []), (1060, ["input_mismatch"]), (900, ["input_mismatch"])])
def test_prompts_must_have_the_length_asked_for(asked, found):
    assert [reason.code for reason in verdict(records(input_asked=asked)).reasons] == found


# enough to go by


def too_short(rows, **changes):
    """Return the reason of this code, or None."""
    return next((reason for reason in verdict(rows, **changes).reasons if reason.code == "too_short"), None)


@pytest.mark.parametrize(("count", "status"), [(29, "invalid"), (30, "valid_with_warnings"), (99, "valid_with_warnings"), (100, "valid")])
def test_thirty_successes_are_needed_and_a_hundred_for_solid_percentiles(count, status):
    found = verdict(records(count))
    assert found.status == status
    assert [reason.code for reason in found.reasons] == ([] if status == "valid" else ["too_short"])
    assert [reason.limit for reason in found.reasons] == {"invalid": [30], "valid_with_warnings": [100], "valid": []}[status]


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
    assert too_short(rows, agentic=True).text.endswith("measure for at least 8.2 s")
    assert too_short(rows, start_ns=0, end_ns=0).text.endswith("measure for at least 8.2 s"), "at no rate at all"
    assert too_short(rows, start_ns=0, end_ns=500 * MS).text.endswith(
        "or send at least 3280 requests (workload.requests, bench: --requests)"
    )
    assert too_short([sample_record(f"r{i}", send_s=i / 20) for i in range(140)], start_ns=0, end_ns=8_200 * MS) is None


@pytest.mark.parametrize(("slow", "apart_s", "short"), [(9, 0.2, False), (11, 0.4, True)])
def test_of_latencies_it_is_the_90th_percentile(slow, apart_s, short):
    """With one of a hundred more or less among the slow ones, p89 and p91 would say otherwise."""
    rows = [sample_record(f"r{i}", send_s=apart_s * i, **({"ttft_s": 19.38} if i < slow else {})) for i in range(100)]
    assert (too_short(rows) is not None) is short


def test_answers_without_any_output_have_no_latency_to_outlast():
    assert too_short(records(120, chunks=0, usage_output=1, output_asked=1), on_host=False) is None


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


@pytest.mark.parametrize(
    ("on_host", "ttft_s", "found"),
    [(True, 0.0005, []), (False, 0.0005, ["implausible"]), (False, 0.0009, ["implausible"]), (False, 0.001, []), (False, 0.2, [])],
)
def test_a_first_token_within_a_millisecond_comes_from_this_machine_only(on_host, ttft_s, found):
    assert [reason.code for reason in verdict(records(ttft_s=ttft_s), on_host=on_host).reasons] == found


def test_the_limit_itself_is_plausible():
    assert verdict(records(gap_s=0.0001, chunks=2)).status == "valid"


@pytest.mark.parametrize(("fast", "found"), [(50, []), (51, ["implausible"])])
@pytest.mark.parametrize("change", [{"ttft_s": 0.0005}, {"gap_s": 0.0}])
def test_of_a_hundred_and_one_answers_the_median_decides(fast, found, change):
    rows = [sample_record(f"r{i}", send_s=float(i), **(change if i < fast else {})) for i in range(101)]
    assert [reason.code for reason in verdict(rows, on_host=False).reasons if reason.code == "implausible"] == found


def test_answers_without_any_output_have_no_times_that_could_be_true():
    reasons = verdict(records(120, chunks=0, usage_output=1, output_asked=1), on_host=False).reasons
    assert [reason.code for reason in reasons] == ["empty_answers"]


def test_no_request_outlasts_the_measured_phase():
    rows = [*records(), sample_record("long", send_s=0.0, ttft_s=198.0)]
    reason = only(rows, start_ns=0, end_ns=100_000 * MS)
    assert (reason.code, reason.value, reason.limit) == ("implausible", 198.62, 100)
    assert verdict(rows, start_ns=0, end_ns=198_620 * MS).status == "valid"
