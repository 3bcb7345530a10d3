from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ixbench.measure.definition import Metric
from ixbench.measure.failure import BadRecordError
from ixbench.measure.point import accounting, axis_of, failed_share, length_error, measure, span_s, token_sums, window_s
from ixbench.model.errors import PluginError
from ixbench.testing.records import sample_measurement, sample_record

MS = 1_000_000


def metric(name, compute):
    return Metric(name=name, unit="x", better="neither", definition="For a test.", compute=compute)


def mixed():
    """Return two successes, three failures, a cancelled request, a warm-up and a drain request."""
    return sample_measurement(
        [
            sample_record("w", phase="warmup", failure="transport"),
            sample_record("a"),
            sample_record("b", chunks=0, usage_output=1, resent=True),
            sample_record("c", failure="http_status", error_class="context_overflow"),
            sample_record("d", failure="http_status"),
            sample_record("e", failure="transport"),
            sample_record("f", cancelled=True),
            sample_record("g", phase="drain"),
        ]
    )


def test_every_request_of_the_profile_has_one_outcome():
    counts = accounting(mixed())
    assert counts.requests == counts.ok + sum(counts.failed.values()) + counts.cancelled == 6
    assert (counts.ok, counts.cancelled, counts.warmup, counts.resent) == (2, 1, 1, 1)
    assert list(counts.failed.items()) == [("transport", 1), ("http_status", 2)]
    assert (counts.empty_answers, counts.context_overflow) == (1, 1)


def test_only_a_refusal_by_status_is_a_context_that_was_too_long():
    broken = sample_record(failure="truncated", error_class="context_overflow")
    refused = [sample_record(failure="http_status", error_class=error) for error in ("context_overflow", "context_overflow", None)]
    assert accounting(sample_measurement([broken, *refused])).context_overflow == 2


def test_cancelled_requests_are_neither_ok_nor_failed():
    assert failed_share(mixed()) == 3 / 5
    assert failed_share(sample_measurement([sample_record(cancelled=True)])) is None
    assert failed_share(sample_measurement([])) is None


def test_a_share_of_one_in_a_hundred_is_exactly_that():
    records = [sample_record(f"r{position}", failure=None if position else "transport") for position in range(100)]
    assert failed_share(sample_measurement(records)) == 0.01


def test_metrics_stand_in_the_order_given():
    results = measure(sample_measurement([]), [metric("b_s", lambda _: 2.0), metric("a_s", lambda _: {"mean": 1})])
    assert list(results.items()) == [("b_s", 2.0), ("a_s", {"mean": 1})]


def test_results_are_plain_json_numbers():
    parts = {"nan": math.nan, "inf": math.inf, "f": np.float64(1.5), "i": np.int64(3), "none": None}
    results = measure(sample_measurement([]), [metric("x", lambda _: parts)])
    assert json.loads(json.dumps(results, allow_nan=False)) == {"x": {"nan": None, "inf": None, "f": 1.5, "i": 3, "none": None}}
    assert type(results["x"]["i"]) is int


def test_a_metric_that_raises_is_named():
    with pytest.raises(PluginError, match=r"^metric broken_s: ZeroDivisionError: "):
        measure(sample_measurement([]), [metric("broken_s", lambda _: 1 / 0)])


def test_a_metric_that_raises_costs_itself_alone_where_somebody_is_told():
    told = []
    broken, sound = metric("broken_s", lambda _: 1 / 0), metric("sound_s", lambda _: 1.0)
    results = measure(sample_measurement([]), [broken, sound], failed=lambda one, error: told.append((one.name, type(error))))
    assert results == {"broken_s": None, "sound_s": 1.0}
    assert told == [("broken_s", ZeroDivisionError)]


def test_what_cannot_be_measured_at_all_stops_the_reading_whoever_is_told():
    def refuse(_):
        raise BadRecordError("the record is broken")

    with pytest.raises(BadRecordError):
        measure(sample_measurement([]), [metric("x", refuse)], failed=lambda *_: None)


@pytest.mark.parametrize(
    "changes", [{"phase": "warmup", "failure": "transport"}, {"phase": "warmup"}, {"failure": "transport"}, {"cancelled": True}, {}]
)
def test_a_bad_record_stops_the_reading_whatever_its_phase_and_outcome(changes):
    bad = sample_record("bad", **changes, close_ns=-1)
    with pytest.raises(BadRecordError, match="request bad"):
        measure(sample_measurement([sample_record("good"), bad]), [], failed=lambda *_: None)


@pytest.mark.parametrize(("percentile", "part"), [("median", "p50"), ("p50", "p50"), ("p90", "p90"), ("mean", "mean")])
def test_the_axis_is_the_reciprocal_of_a_statistic_of_tpot(percentile, part):
    axis = axis_of({"tpot_s": {"p50": 1.0, "p90": 0.5, "mean": 0.25}}, percentile)
    assert (axis.name, axis.percentile) == ("tpot", percentile)
    assert axis.tok_s_user == {"p50": 1.0, "p90": 2.0, "mean": 4.0}[part]


@pytest.mark.parametrize("metrics", [{}, {"tpot_s": None}, {"tpot_s": {}}])
def test_without_speeds_there_is_no_place_on_the_axis(metrics):
    assert axis_of(metrics, "p90").tok_s_user is None


def test_an_unknown_axis_is_refused():
    with pytest.raises(ValueError, match=r"'p42' is no speed axis; allowed: median, "):
        axis_of({}, "p42")


def test_the_span_runs_from_the_first_send_to_the_last_output_of_successes():
    records = [
        sample_record("failed", send_s=0, failure="truncated"),
        sample_record("empty", send_s=1, chunks=0, usage_output=1),
        sample_record("one", send_s=2, close_ns=60_000 * MS),
        sample_record("late", send_s=9, cancelled=True),
    ]
    assert span_s(sample_measurement(records)) == 1.82
    assert span_s(sample_measurement([records[0], records[1]])) is None, "no output, no span"
    assert span_s(sample_measurement([])) is None


def test_the_window_is_the_phase_as_noted_or_as_seen():
    records = [
        sample_record("w", send_s=-100, phase="warmup"),
        sample_record("a", send_s=1),
        sample_record("b", send_s=3, failure="transport"),
    ]
    assert window_s(sample_measurement(records)) == 2.82
    assert window_s(sample_measurement(records, start_ns=0, end_ns=10_000 * MS)) == 10
    assert window_s(sample_measurement([], start_ns=0, end_ns=5_000 * MS)) == 5
    assert window_s(sample_measurement([])) is None
    assert window_s(sample_measurement([], end_ns=5_000 * MS)) is None, "nobody knows when it began"
    assert window_s(sample_measurement([], start_ns=0)) is None


def test_token_sums_of_successes():
    records = [sample_record("a", usage_cached=600), sample_record("b", usage_cached=None), sample_record("c", failure="truncated")]
    sums = token_sums(sample_measurement(records))
    assert (sums.input, sums.output, sums.cached, sums.total, sums.computed) == (2000, 64, 600, 2064, 1464)


def test_sums_are_unknown_as_soon_as_one_answer_was_not_counted():
    sums = token_sums(sample_measurement([sample_record("a"), sample_record("b", usage_output=None, usage_asked=False)]))
    assert (sums.input, sums.output, sums.total, sums.computed) == (2000, None, None, None)
    sums = token_sums(sample_measurement([sample_record("a"), sample_record("b", usage_input=None)]))
    assert (sums.input, sums.output, sums.total, sums.computed) == (None, 64, None, None)


def test_caching_is_unknown_where_no_answer_speaks_of_it():
    sums = token_sums(sample_measurement([sample_record(usage_cached=None)]))
    assert (sums.cached, sums.computed) == (None, None)
    none = token_sums(sample_measurement([]))
    assert (none.input, none.output, none.cached, none.computed) == (0, 0, 0, 0), "nothing was counted, and nothing was missed"


def test_the_length_error_counts_answers_that_failed_by_it():
    records = [
        sample_record("a"),
        sample_record("b", output_asked=40, failure="length_mismatch"),
        sample_record("free", exact_length=False, output_asked=500),
        sample_record("cut", output_asked=500, failure="truncated"),
        sample_record("stopped", output_asked=500, cancelled=True),
    ]
    assert length_error(records) == 8 / 72
    assert length_error(records[2:]) is None
