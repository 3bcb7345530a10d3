"""One record under every tool's rules: prefill 200 ms, 20 ms a token, 32 tokens in chunks of four, an immediate role chunk."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from ixbench.measure.failure import BadRecordError
from ixbench.measure.tools import TOOLS, read_as
from ixbench.model.record import Chunks
from ixbench.testing.records import sample_record

MS = 1_000_000
ROWS = [
    (5, "role", None),
    *((200 + 80 * position, "text", 4) for position in range(8)),
    (762, "finish", None),
    (764, "usage", None),
    (765, "done", None),
]


def chunks_of(rows):
    return Chunks.of((ms * MS, kind, tokens, 1) for ms, kind, tokens in rows)


@pytest.fixture
def record():
    return replace(sample_record(), chunks=chunks_of(ROWS), close_ns=770 * MS, usage_output=32, output_asked=32)


WORKED = {
    "ixbench": (200, 18.06),
    "vllm": (5, 24.42),
    "sglang": (200, 18.39),
    "guidellm": (200, 23.75),
    "inference_perf": (200, 18.06),
    "mlperf_endpoints": (200, 20.00),
    "inferencex_fixed": (5, 24.42),
    "inferencex_agentx": (200, 18.06),
}


@pytest.mark.parametrize("tool", WORKED)
def test_the_worked_example_to_the_digit(record, tool):
    reading = read_as(tool, record)
    assert (round(1000 * reading["ttft"], 2), round(1000 * reading["tpot"], 2)) == WORKED[tool]


def test_the_worked_example_of_our_own_tail(record):
    assert read_as("ixbench", record)["tpot_tail"] == pytest.approx(0.02, rel=1e-12)


def test_aiperf_has_one_latency_a_request_and_calls_gaps_icl(record):
    reading = read_as("aiperf", record)
    assert (round(1000 * reading["ttft"], 2), round(1000 * reading["itl_request"], 2)) == (200, 18.06)
    assert reading["icl"] == [0.08] * 7
    assert "tpot" not in reading


def test_most_gaps_of_inference_perf_are_zero(record):
    gaps = read_as("inference_perf", record)["itl"]
    assert len(gaps) == 31
    assert gaps.count(0) == 24
    assert statistics.median(gaps) == 0


def test_where_the_latency_ends(record):
    ends = {tool: round(1000 * reading["e2el"]) for tool in TOOLS if "e2el" in (reading := read_as(tool, record))}
    assert ends == {
        "ixbench": 760,
        "vllm": 762,
        "sglang": 770,
        "guidellm": 770,
        "inference_perf": 770,
        "aiperf": 760,
        "mlperf_endpoints": 760,
        "inferencex_fixed": 762,
        "inferencex_agentx": 760,
    }


def test_token_counts_without_usage(record):
    bare = replace(record, usage_output=None, output_asked=40)
    assert read_as("vllm", bare)["tpot"] is None, "one token"
    assert read_as("sglang", bare)["tpot"] == pytest.approx(0.57 / 39), "what was asked for"
    assert read_as("guidellm", bare)["tpot"] == pytest.approx(0.76 / 8), "the number of chunks"
    assert read_as("guidellm", bare)["itl_request"] == pytest.approx(0.56 / 7)
    assert read_as("inference_perf", bare)["tpot"] == pytest.approx(0.56 / 31), "what the chunks hold"
    assert read_as("aiperf", bare)["itl_request"] == pytest.approx(0.56 / 31)
    assert read_as("mlperf_endpoints", bare)["tpot"] is None
    assert read_as("ixbench", bare)["tpot"] is None


def test_a_local_tokenizer_comes_second_or_first(record):
    local = replace(record, usage_output=None, local_output=30)
    assert read_as("vllm", local)["tpot"] == pytest.approx(0.757 / 29)
    assert read_as("guidellm", local)["tpot"] == pytest.approx(0.76 / 30)
    both = replace(record, usage_output=32, local_output=30)
    assert read_as("vllm", both)["tpot"] == pytest.approx(0.757 / 31)
    assert read_as("inference_perf", both)["tpot"] == pytest.approx(0.56 / 29)
    assert read_as("aiperf", both)["itl_request"] == pytest.approx(0.56 / 29)
    assert read_as("ixbench", both)["tpot"] == pytest.approx(0.56 / 31)


def test_what_tools_call_the_gaps(record):
    assert read_as("ixbench", record)["icl"] == read_as("aiperf", record)["icl"] == [0.08] * 7
    assert read_as("inferencex_fixed", record)["itl"] == read_as("vllm", record)["itl"] != [0.08] * 7


def test_tokens_of_an_answer_of_which_nothing_is_known(record):
    rows = [(ms, kind, None if ms == 280 else tokens) for ms, kind, tokens in ROWS]
    partly = replace(record, chunks=chunks_of(rows), usage_output=None, output_asked=None)
    counts = {tool: rules.times(partly).tokens for tool, rules in TOOLS.items()}
    assert counts == dict.fromkeys(TOOLS) | {"vllm": 1, "inferencex_fixed": 1, "guidellm": 8}
    empty = replace(partly, chunks=chunks_of(ROWS[:1]))
    assert {tool: rules.times(empty).tokens for tool, rules in TOOLS.items()} == counts | {"guidellm": 0}
    assert read_as("guidellm", replace(record, usage_output=0))["tpot"] is None


def test_only_the_first_chunk_is_left_out_by_mlperf(record):
    rows = [(ms, kind, 6 if ms == 200 else 2 if ms == 760 else tokens) for ms, kind, tokens in ROWS]
    assert read_as("mlperf_endpoints", replace(record, chunks=chunks_of(rows)))["tpot"] == pytest.approx(0.56 / 26)
    for unknown, tpot in ((760, pytest.approx(0.02)), (200, None)):
        rows = [(ms, kind, None if ms == unknown else tokens) for ms, kind, tokens in ROWS]
        assert read_as("mlperf_endpoints", replace(record, chunks=chunks_of(rows)))["tpot"] == tpot


def test_thinking_is_output_for_sglang(record):
    rows = [(ms, "think" if ms == 200 else kind, tokens) for ms, kind, tokens in ROWS]
    assert read_as("sglang", replace(record, chunks=chunks_of(rows))) == read_as("sglang", record)


def test_chunks_that_nobody_counted(record):
    rows = [(ms, kind, None) for ms, kind, _ in ROWS]
    uncounted = replace(record, chunks=chunks_of(rows))
    assert read_as("inference_perf", uncounted)["itl"] == [0.08] * 7
    assert read_as("mlperf_endpoints", uncounted)["tpot"] is None
    assert read_as("aiperf", replace(uncounted, usage_output=None))["itl_request"] is None


def test_tool_calls_are_no_tokens_for_sglang(record):
    rows = [(ms, "tool" if kind == "text" else kind, tokens) for ms, kind, tokens in ROWS]
    called = replace(record, chunks=chunks_of(rows))
    reading = read_as("sglang", called)
    assert (reading["ttft"], reading["tpot"], reading["itl"]) == (None, None, [])
    assert read_as("guidellm", called)["ttft"] == 0.2


@pytest.mark.parametrize("tool", TOOLS)
def test_an_empty_answer_is_never_a_zero(record, tool):
    rows = [row for row in ROWS if row[1] not in {"text", "role", "finish"}]
    reading = read_as(tool, replace(record, chunks=chunks_of(rows), usage_output=1))
    assert reading["ttft"] is None
    assert reading.get("tpot") is None
    assert reading.get("itl_request") is None


@pytest.mark.parametrize("tool", TOOLS)
def test_one_token_has_no_time_per_token(record, tool):
    rows = [(5, "role", None), (200, "text", 1), (202, "finish", None)]
    reading = read_as(tool, replace(record, chunks=chunks_of(rows), usage_output=1))
    assert reading.get("itl_request") is None
    assert reading.get("tpot") == (0.2 if tool == "guidellm" else None), "GuideLLM's includes the prefill"


def test_the_finish_of_an_empty_answer_is_vllms_token(record):
    reading = read_as("vllm", replace(record, chunks=chunks_of([(300, "finish", None)]), usage_output=1))
    assert (reading["ttft"], reading["e2el"], reading["itl"]) == (0.3, 0.3, [])


@pytest.mark.parametrize("tool", TOOLS)
def test_stamps_that_go_backwards_are_refused_under_every_rule(record, tool):
    with pytest.raises(BadRecordError):
        read_as(tool, replace(record, close_ns=1))
