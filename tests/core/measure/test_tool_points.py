"""One point under every tool's rules: the worked example as a point, the rates, and a reason for each number that differs."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure import tool_points
from ixbench.measure.tool_points import QUANTITIES, STATISTICS, read_point
from ixbench.measure.tool_words import REASONS, TOOL_RULES
from ixbench.measure.tools import TOOLS, read_as
from ixbench.model.point import Load
from ixbench.model.record import Chunks
from ixbench.testing.records import sample_measurement, sample_record

MS = 1_000_000
ROWS = [
    (5, "role", None),
    *((200 + 80 * position, "text", 4) for position in range(8)),
    (762, "finish", None),
    (764, "usage", None),
    (765, "done", None),
]


def answer(number=0, rows=ROWS, *, shift=None, **changes):
    """Return the worked example, sent so many milliseconds later."""
    start = 800 * number if shift is None else shift
    chunks = Chunks.of(((start + ms) * MS, kind, tokens, 1) for ms, kind, tokens in rows)
    record = replace(
        sample_record(f"r{number}", send_s=start / 1000), chunks=chunks, close_ns=(start + 770) * MS, usage_output=32, output_asked=32
    )
    return replace(record, **changes)


def read(records, **changes):
    return {point.tool: point for point in read_point(sample_measurement(records, **{"gpus": 8} | changes))}


@pytest.fixture(scope="module")
def worked():
    return read([answer(number) for number in range(40)])


def test_the_worked_example_as_a_point(worked):
    found = {
        tool: [None if one["p50"] is None else round(1000 * one["p50"], 2) for one in (point.ttft, point.tpot, point.itl, point.e2el)]
        for tool, point in worked.items()
    }
    assert found == {
        "ixbench": [200, 18.06, 80, 760],
        "vllm": [5, 24.42, 80, 762],
        "sglang": [200, 18.39, 80, 770],
        "guidellm": [200, 23.75, 18.06, 770],
        "inference_perf": [200, 18.06, 0, 770],
        "aiperf": [200, None, 18.06, 760],
        "mlperf_endpoints": [200, 20, None, 760],
        "inferencex_fixed": [5, 24.42, 80, 762],
        "inferencex_agentx": [200, 18.06, 18.06, 760],
    }


def test_a_point_of_equal_requests_has_the_numbers_of_the_request(worked):
    one = answer()
    for tool, point in worked.items():
        reading = read_as(tool, one)
        assert point.ttft["p50"] == pytest.approx(reading["ttft"], abs=5e-6)
        assert point.tpot["p50"] == (None if reading.get("tpot") is None else pytest.approx(reading["tpot"], abs=5e-6))


def test_when_it_all_began_changes_nothing(worked):
    assert read([answer(number, shift=50_000 + 800 * number) for number in range(40)]) == worked


def test_headline_rates(worked):
    wall, span = 39 * 0.8 + 0.77, 39 * 0.8 + 0.76
    tokens, output = 40 * 1032, 40 * 32
    steady = 39 * 0.8 - 0.76
    expected = {
        "ixbench": (tokens / span / 8, "tok/s/GPU, input and output"),
        "vllm": (output / wall, "tok/s, output"),
        "sglang": (output / wall, "tok/s, output"),
        "guidellm": (output / wall, "tok/s, output"),
        "inference_perf": (output / wall, "tok/s, output"),
        "aiperf": (output / wall, "tok/s, output"),
        "mlperf_endpoints": (38 * 32 / steady, "tok/s, output"),
        "inferencex_fixed": (tokens / wall / 8, "tok/s/GPU, input and output"),
        "inferencex_agentx": (tokens / wall / 8, "tok/s/GPU, input and output"),
    }
    assert {tool: (pytest.approx(point.throughput), point.throughput_unit) for tool, point in worked.items()} == expected


def test_the_denominators_are_the_phase_the_closes_or_the_steady_part():
    records = [answer(number) for number in range(40)]
    found = read(records, start_ns=-5_000 * MS, end_ns=60_000 * MS)
    assert found["aiperf"].throughput == pytest.approx(40 * 32 / 65)
    assert found["vllm"].throughput == pytest.approx(40 * 32 / 65)
    assert found["inference_perf"].throughput == pytest.approx(40 * 32 / (39 * 0.8 + 0.77))
    assert "(65 s)" in found["aiperf"].reasons["throughput"]


def test_a_request_that_begins_with_the_steady_part_belongs_to_it():
    found = read([answer(number, shift=760 * number) for number in range(10)])
    assert found["mlperf_endpoints"].throughput == pytest.approx(8 * 32 / (8 * 0.76))


def test_equal_numbers_of_unlike_units_are_told_apart():
    records = [answer(number, ROWS[:9], close_ns=(800 * number + 760) * MS, usage_input=0) for number in range(3)]
    found = read(records, gpus=1)
    assert found["vllm"].throughput == found["ixbench"].throughput == pytest.approx(96 / 2.36)
    assert "throughput" in found["vllm"].reasons
    assert "throughput" not in found["inferencex_fixed"].reasons


def test_what_was_not_counted_has_no_rate():
    unknown = read([answer(0), answer(1, usage_input=None)])
    assert (unknown["ixbench"].throughput, unknown["vllm"].throughput) == (None, pytest.approx(64 / 1.57))
    unknown = read([answer(0), answer(1, usage_output=None)])
    assert (unknown["ixbench"].throughput, unknown["aiperf"].throughput) == (None, pytest.approx(64 / 1.57))
    assert "hold an unknown number of tokens on average" in unknown["aiperf"].reasons["itl"]


def test_speeds_of_users(worked):
    assert worked["ixbench"].speed == pytest.approx(31 / 0.56)
    assert worked["vllm"].speed == pytest.approx(worked["vllm"].throughput)
    assert worked["aiperf"].speed == pytest.approx(31 / 0.56)
    assert worked["mlperf_endpoints"].speed == pytest.approx(50)
    assert worked["inferencex_fixed"].speed == pytest.approx(31 / 0.757)
    assert worked["inferencex_agentx"].speed == 1 / 0.01806
    assert {tool for tool, point in worked.items() if point.speed is None} == {"sglang", "guidellm", "inference_perf"}


def test_the_mean_of_reciprocals_is_not_the_reciprocal_of_a_percentile():
    fast = [(200, "text", 1), *((200 + 10 * step, "text", 1) for step in range(1, 32))]
    slow = [(200, "text", 1), *((200 + 18 * step, "text", 1) for step in range(1, 32))]
    found = read([answer(number, fast if number % 2 else slow, close_ns=10**12) for number in range(4)], agentic=True)
    assert found["aiperf"].speed == pytest.approx((1 / 0.010 + 1 / 0.018) / 2)
    assert found["ixbench"].speed == pytest.approx(1 / 0.018), "p90, since it is agentic"
    assert "mean over requests" in found["aiperf"].reasons["speed"]


def test_guidellm_weighs_requests_by_tokens_and_interpolates_nothing():
    long = [(200, "text", 8), *((200 + 10 * step, "text", 8) for step in range(1, 10))]
    records = [answer(0, long, usage_output=80), answer(1), answer(2)]
    point = read(records)["guidellm"]
    assert read(records[::-1])["guidellm"].tpot == point.tpot
    assert point.tpot["p50"] == pytest.approx(0.29 / 80), "80 of the 144 tokens"
    assert point.tpot["p90"] == pytest.approx(0.76 / 32)
    assert point.tpot["mean"] == pytest.approx((0.29 + 2 * 0.76) / 144)
    assert point.itl["mean"] == pytest.approx((0.09 + 2 * 0.56) / 141)
    assert point.ttft["p50"] == 0.2


def test_a_percentile_of_guidellm_is_the_value_up_to_which_that_share_lies():
    records = [answer(number, [(100 + number, "text", 32)]) for number in range(200)]
    ttft = read(records)["guidellm"].ttft
    assert (ttft["p50"], ttft["p90"], ttft["p99"]) == (0.199, 0.279, 0.297)


def test_guidellm_counts_what_unfinished_requests_said():
    stopped = answer(9, rows=[*ROWS[:4], (400, "think", None), (500, "tool", None)], cancelled=True)
    records = [answer(number) for number in range(4)]
    assert read([*records, stopped])["guidellm"].throughput == pytest.approx((4 * 32 + 14) / 7.97)
    assert "1 unfinished" in read([*records, stopped])["guidellm"].reasons["throughput"]


def test_inference_perf_has_zeros_where_chunks_hold_several_tokens(worked):
    assert worked["inference_perf"].itl["mean"] == pytest.approx(0.56 / 31)
    assert (worked["inference_perf"].itl["p50"], worked["inference_perf"].itl["p99"]) == (0, 0.08)
    assert "a chunk holds 4 tokens on average" in worked["inference_perf"].reasons["itl"]


def test_inferencex_keeps_five_decimals_and_no_p99(worked):
    point = worked["inferencex_agentx"]
    assert (point.tpot["p90"], point.tpot["p99"]) == (0.01806, None)


def test_every_number_that_differs_has_a_reason_and_no_other(worked):
    own = worked["ixbench"]
    assert own.reasons == {}
    for tool, point in worked.items():
        for name in QUANTITIES:
            theirs, ours = getattr(point, name), getattr(own, name)
            unit = name == "throughput" and point.throughput_unit != own.throughput_unit
            same = not unit and (
                all(same_number(theirs[part], ours[part]) for part in STATISTICS) if isinstance(ours, dict) else same_number(theirs, ours)
            )
            assert (name in point.reasons) != same, (tool, name)


def same_number(one, other):
    return one == other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9)


def test_large_counts_stand_in_reasons_without_an_exponent():
    rows = [(5, "role", None), (200, "text", 1500), (762, "finish", None), (764, "usage", None), (765, "done", None)]
    found = read([answer(number, rows, usage_output=1500) for number in range(4)])
    assert "(1500 tokens on average)" in found["mlperf_endpoints"].reasons["tpot"]


def test_reasons_speak_of_the_point(worked):
    assert "100 % of the answers begin with one" in worked["vllm"].reasons["ttft"]
    assert "10 ms (median) after the last output" in worked["sglang"].reasons["e2el"]
    assert "(4 tokens on average)" in worked["mlperf_endpoints"].reasons["tpot"]
    assert "the concurrency (1)" in worked["vllm"].reasons["speed"]


@pytest.mark.parametrize(
    ("first", "share"),
    [
        ("role", "50 %"),
        ("finish", "50 %"),
        ("text", "0 %"),
        ("think", "0 %"),
        ("tool", "0 %"),
        ("usage", "0 %"),
        ("done", "0 %"),
        ("error", "0 %"),
    ],
)
def test_how_many_answers_begin_without_output(first, share):
    rows = [(2, first, None), *ROWS[1:]]
    begins = [answer(0, rows), answer(1, ROWS[1:]), answer(2, ROWS[1:]), answer(3, rows)]
    assert tool_points._Facts.of(sample_measurement(begins)).values["role"] == share


@pytest.mark.parametrize("before", ["usage", "done", "error"])
def test_what_holds_no_choices_begins_no_answer(before):
    records = [answer(0, [(2, before, None), *ROWS])]
    assert tool_points._Facts.of(sample_measurement(records)).values["role"] == "100 %"


@pytest.mark.parametrize("kind", ["text", "think", "tool"])
def test_tokens_of_the_first_chunk_with_output(kind):
    rows = [ROWS[0], (150, kind, 6), *ROWS[1:]]
    assert "(5 tokens on average)" in read([answer(0, rows), answer(1)])["mlperf_endpoints"].reasons["tpot"]


def test_the_tail_is_a_median():
    found = read([answer(number, close_ns=(800 * number + 760 + tail) * MS) for number, tail in enumerate((20, 10, 39))])
    assert ", 20 ms (median) after the last output" in found["sglang"].reasons["e2el"]


def test_answers_without_output_end_in_no_tail():
    found = read([answer(0, [(5, "role", None), (762, "finish", None)])])
    assert "an unknown time (median) after the last output" in found["sglang"].reasons["e2el"]
    assert tool_points._Facts.of(sample_measurement([])).values["role"] == "none"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 ms"), (0.0123, "12.3 ms"), (0.9996, "0.9996 s"), (1.0, "1 s"), (65.432, "65.43 s"), (12_344.0, "12344 s")],
)
def test_times_stand_without_exponents(seconds, text):
    assert tool_points._seconds(seconds) == text


def test_what_a_server_does_not_count_is_told():
    rows = [(ms, kind, None) for ms, kind, _ in ROWS]
    found = read([answer(number, rows) for number in range(3)])
    assert found["mlperf_endpoints"].tpot["p50"] is None
    assert "not counted by this server" in found["mlperf_endpoints"].reasons["tpot"]


def test_without_gpus_the_whole_system_is_told():
    found = read([answer(number) for number in range(3)], gpus=None, load=Load(rate=1.0))
    assert found["ixbench"].throughput_unit == found["inferencex_fixed"].throughput_unit == "tok/s, input and output"
    assert "the whole system" in found["inferencex_fixed"].reasons["throughput"]
    assert found["ixbench"].throughput == pytest.approx(3 * 1032 / 2.36)
    assert found["vllm"].speed is None
    assert "none in an open loop" in found["vllm"].reasons["speed"]


def test_failures_are_no_part_of_it():
    records = [answer(number) for number in range(5)]
    slow = answer(2, shift=1700, failure="truncated", usage_output=999)
    for tool, point in read([*records, slow]).items():
        assert point.ttft == read(records)[tool].ttft
        assert point.tpot == read(records)[tool].tpot


def test_every_tool_has_rules_and_reasons_in_words():
    assert set(TOOL_RULES) == set(TOOLS)
    assert set(REASONS) == set(TOOLS) - {"ixbench"}
    for words in TOOL_RULES.values():
        assert list(words) == [*QUANTITIES, "percentiles", "tokens"]
        assert all(words.values())
    for reasons in REASONS.values():
        assert set(reasons) <= set(QUANTITIES)
        assert all(text.endswith(".") for text in reasons.values())


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(
                    st.integers(0, 400),
                    st.sampled_from(["role", "text", "think", "tool", "finish", "usage"]),
                    st.none() | st.integers(0, 5),
                ),
                max_size=8,
            ),
            st.none() | st.integers(0, 40),
            st.sampled_from([None, None, "truncated"]),
            st.booleans(),
        ),
        max_size=5,
    ),
    st.booleans(),
)
def test_whatever_the_records_are_every_tool_reads_them(drawn, agentic):
    records = []
    for number, (events, usage, failure, cancelled) in enumerate(drawn):
        rows = [(ms, kind, tokens) for ms, (_, kind, tokens) in zip(sorted(event[0] for event in events), events, strict=True)]
        changes = {"usage_output": usage, "failure": failure, "cancelled": cancelled and failure is None}
        records.append(answer(number, rows, **changes))
    points = read(records, agentic=agentic)
    assert list(points) == list(TOOLS)
    for point in points.values():
        json.dumps([point.ttft, point.itl, point.tpot, point.e2el, point.throughput, point.speed], allow_nan=False)
        assert all("{" not in reason for reason in point.reasons.values())
        for name in QUANTITIES:
            theirs, ours = getattr(point, name), getattr(points["ixbench"], name)
            if isinstance(ours, dict) and any(not same_number(theirs[part], ours[part]) for part in STATISTICS):
                assert name in point.reasons, (point.tool, name)
