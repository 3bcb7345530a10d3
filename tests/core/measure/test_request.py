from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.measure import blocks
from ixbench.measure.blocks import refuse_backwards
from ixbench.measure.failure import BadRecordError
from ixbench.measure.percentile import summarise
from ixbench.measure.request import request_table, request_times
from ixbench.model.record import Chunks
from ixbench.testing.records import sample_record

MS = 1_000_000


def stream(*rows):
    """Return chunks from (milliseconds, kind, tokens)."""
    return Chunks.of((ms * MS, kind, tokens, 1) for ms, kind, tokens in rows)


def test_times_of_a_plain_stream():
    times = request_times(sample_record(send_s=5.0, due_ns=4_970 * MS))
    assert times.ttft == times.ttfa == 0.2
    assert times.e2el == 0.82
    assert times.tpot == times.tpot_tail == pytest.approx(0.02)
    assert times.speed == pytest.approx(50)
    assert times.e2e_norm == 0.82 / 32
    assert (times.dispatch_delay, times.ttft_sched, times.e2el_sched) == (0.03, 0.23, 0.85)
    assert times.icl == (0.02,) * 31
    assert times.stall == 0.02


def test_only_output_counts_neither_role_nor_finish():
    chunks = stream((5, "role", None), (100, "text", 1), (180, "text", 1), (900, "finish", None), (950, "usage", None), (990, "done", None))
    times = request_times(replace(sample_record(), chunks=chunks, close_ns=1_000 * MS, usage_output=2))
    assert (times.ttft, times.e2el, times.tpot, times.icl) == (0.1, 0.18, 0.08, (0.08,))


def test_thinking_is_the_first_token_but_not_the_first_answer():
    chunks = stream((100, "think", 1), (150, "think", 1), (300, "text", 1))
    times = request_times(replace(sample_record(), chunks=chunks, usage_output=3))
    assert (times.ttft, times.ttfa) == (0.1, 0.3)


def test_thinking_alone_has_no_answer():
    times = request_times(sample_record(kind="think"))
    assert times.ttft == 0.2
    assert times.ttfa is None


def test_a_tool_call_is_an_answer():
    times = request_times(sample_record(kind="tool"))
    assert times.ttft == times.ttfa == 0.2


def test_one_token_has_no_tpot():
    times = request_times(sample_record(chunks=1))
    assert (times.ttft, times.e2el, times.e2e_norm) == (0.2, 0.2, 0.2)
    assert times.tpot is times.tpot_tail is times.speed is times.stall is None
    assert times.icl == ()


def test_an_empty_answer_has_no_times_and_no_zeros():
    times = request_times(sample_record(chunks=0, usage_output=1))
    assert (times.ttft, times.ttfa, times.e2el, times.tpot, times.e2e_norm, times.ttft_sched, times.e2el_sched, times.stall) == (None,) * 8
    assert times.dispatch_delay == 0


def test_the_first_chunk_is_left_out_of_the_tail():
    times = request_times(sample_record(chunks=8, chunk_tokens=4, gap_s=0.08))
    assert times.tpot == pytest.approx(0.56 / 31)
    assert times.tpot_tail == pytest.approx(0.02)


def test_the_tail_is_undefined_where_chunks_are_not_counted():
    times = request_times(sample_record(chunk_tokens=None))
    assert times.tpot == pytest.approx(0.02)
    assert times.tpot_tail is None


def test_all_tokens_in_the_first_chunk_have_no_tail():
    times = request_times(sample_record(chunks=1, chunk_tokens=5))
    assert times.tpot == 0
    assert times.tpot_tail is None
    assert times.speed is None


def test_fewer_tokens_than_chunks_is_the_servers_word():
    assert request_times(sample_record(chunks=10, usage_output=5)).tpot == pytest.approx(0.18 / 4)


def test_without_usage_there_is_no_speed():
    times = request_times(sample_record(usage_output=None))
    assert times.ttft == 0.2
    assert times.tpot is times.e2e_norm is None


def test_without_a_due_time_nothing_is_late():
    times = request_times(sample_record(due_ns=None))
    assert times.dispatch_delay is times.ttft_sched is times.e2el_sched is None


def test_connecting_is_free_where_the_connection_is_reused():
    assert request_times(sample_record(conn_ns=30 * MS)).connect == 0.03
    assert request_times(sample_record(conn_reused=True, conn_ns=None)).connect == 0
    assert request_times(sample_record()).connect is None


def test_long_uptimes_lose_no_nanosecond():
    record = sample_record(chunks=0, due_ns=2**62, send_ns=2**62 + 1, close_ns=2**62 + 9, conn_ns=2**62 + 3)
    times = request_times(replace(record, chunks=Chunks.of([(2**62 + 8, "text", 1, 1)]), usage_output=1))
    assert (times.ttft, times.dispatch_delay, times.ttft_sched, times.connect) == (7e-9, 1e-9, 8e-9, 2e-9)


BACKWARDS = {
    "chunk before the send": {"chunks": stream((-1, "text", 1))},
    "chunk before its neighbour": {"chunks": stream((300, "text", 1), (299, "text", 1))},
    "chunk after the close": {"chunks": stream((2_000, "done", None))},
    "close before the send": {"chunks": Chunks(), "close_ns": -1},
    "connection before the send": {"conn_ns": -1},
    "head after the close": {"headers_ns": 10_000 * MS},
    "body written before the send": {"sent_ns": -5},
    "body written before the send on a reused connection": {"sent_ns": -5, "conn_reused": True},
}


@pytest.mark.parametrize("fault", BACKWARDS)
def test_stamps_that_go_backwards_are_refused_by_name(fault):
    records = [sample_record("good"), replace(sample_record("bad", close_ns=1_000 * MS), **BACKWARDS[fault])]
    with pytest.raises(BadRecordError, match=r"^request bad: "):
        request_table(records)
    with pytest.raises(BadRecordError, match=r"^request bad: "):
        refuse_backwards(records)


def test_records_may_follow_each_other_in_any_order():
    late, early = sample_record("late", send_s=10), sample_record("early", send_s=0)
    assert request_table([late, early]).ttft.tolist() == [0.2, 0.2]


def test_a_reused_connection_was_ready_before_the_send():
    assert request_times(sample_record(conn_reused=True, conn_ns=-5)).connect == 0


def test_records_are_looked_at_in_pieces_of_a_bounded_number_of_events(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CHUNKS", 5)
    records = [sample_record(f"r{row}", chunks=chunks) for row, chunks in enumerate((7, 2, 3, 1, 7, 0, 5))]
    pieces = [[len(record.chunks) for record in piece] for piece in blocks._split(records)]
    assert pieces == [[7], [2, 3], [1], [7], [0, 5]]
    assert list(blocks._split([])) == [[]]


def test_an_answer_without_gaps_has_no_longest():
    (block,) = blocks.content_blocks([sample_record(chunks=1), sample_record(chunks=3, gap_s=0.5)])
    assert block.longest_ns.tolist() == [-1, 500 * MS]


def test_no_records_make_an_empty_table():
    table = request_table([])
    assert len(table.ttft) == len(table.icl) == 0


@st.composite
def any_record(draw):
    send = draw(st.integers(min_value=0, max_value=10**15))
    kinds = draw(st.lists(st.sampled_from(["role", "text", "think", "tool", "finish", "usage", "done", "error"]), max_size=12))
    steps = [draw(st.integers(min_value=0, max_value=10**9)) for _ in kinds]
    tokens = [draw(st.none() | st.integers(min_value=0, max_value=9)) for _ in kinds]
    stamps = np.cumsum(steps).tolist()
    rows = [(send + ns, kind, count, 1) for ns, kind, count in zip(stamps, kinds, tokens, strict=True)]
    return sample_record(
        chunks=0,
        send_ns=send,
        due_ns=draw(st.none() | st.integers(min_value=0, max_value=10**15)),
        close_ns=send + (stamps[-1] if stamps else 0) + draw(st.integers(min_value=0, max_value=10**9)),
        usage_output=draw(st.none() | st.integers(min_value=0, max_value=60)),
    ), rows


@pytest.mark.parametrize("events", [1, 5, blocks.BLOCK_CHUNKS])
@given(drawn=st.lists(any_record(), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_table_is_what_the_definitions_give_read_one_by_one_to_the_last_bit(events, drawn, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CHUNKS", events)
    records = [replace(record, chunks=Chunks.of(rows)) for record, rows in drawn]
    table = request_table(records)
    pooled = []
    for row, record in enumerate(records):
        content = [chunk for chunk in record.chunks if chunk.kind in {"text", "think", "tool"}]
        gaps = [(b.ns - a.ns) / 1e9 for a, b in itertools.pairwise(content)]
        pooled += gaps
        n = record.usage_output
        first, last = (content[0].ns, content[-1].ns) if content else (None, None)
        answer = next((chunk.ns for chunk in content if chunk.kind != "think"), None)
        head = content[0].tokens if content else None
        expected = {
            "ttft": content and (first - record.send_ns) / 1e9,
            "ttfa": answer is not None and (answer - record.send_ns) / 1e9,
            "e2el": content and (last - record.send_ns) / 1e9,
            "tpot": content and n is not None and n >= 2 and (last - first) / 1e9 / (n - 1),
            "tpot_tail": content and n is not None and head is not None and n > head and (last - first) / 1e9 / (n - head),
            "e2e_norm": content and n and (last - record.send_ns) / 1e9 / n,
            "dispatch_delay": record.due_ns is not None and (record.send_ns - record.due_ns) / 1e9,
            "ttft_sched": content and record.due_ns is not None and (first - record.due_ns) / 1e9,
            "e2el_sched": content and record.due_ns is not None and (last - record.due_ns) / 1e9,
            "stall": gaps and max(gaps),
        }
        for name, value in expected.items():
            found = getattr(table, name)[row]
            undefined = value is False or value is None or value == [] or (name == "e2e_norm" and value == 0 and not n)
            assert np.isnan(found) if undefined else found == value, name
        assert (table.chunks[row], table.gaps[row], table.has_content[row]) == (len(content), len(gaps), bool(content))
        assert (table.first_ns[row], table.last_ns[row]) == ((first, last) if content else (record.send_ns, record.send_ns))
    assert table.icl.tolist() == pooled
    assert table.pooled_icl.summary() == summarise(pooled)


@given(drawn=st.lists(any_record(), min_size=1, max_size=6), data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_first_bad_record_is_named_whatever_the_block(drawn, data, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CHUNKS", data.draw(st.integers(1, 9)))
    records = [replace(record, req_id=f"r{row}", chunks=Chunks.of(rows)) for row, (record, rows) in enumerate(drawn)]
    wrong = data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1))
    for row in wrong:
        fault = data.draw(st.sampled_from(["chunks", "early", "late", "close"]))
        send = records[row].send_ns
        changes = {
            "chunks": {"chunks": Chunks.of([(send + 5, "text", 1, 1), (send + 4, "text", 1, 1)]), "close_ns": send + 9},
            "early": {"chunks": Chunks.of([(send - 1, "role", None, 1)])},
            "late": {"chunks": Chunks.of([(send + 10, "done", None, 1)]), "close_ns": send + 9},
            "close": {"chunks": Chunks(), "close_ns": send - 1},
        }
        records[row] = replace(records[row], **changes[fault])
    for refuse in (request_table, refuse_backwards):
        with pytest.raises(BadRecordError, match=rf"^request r{min(wrong)}: "):
            refuse(records)
