"""Recorded traffic on llama.cpp, the real engine: lengths as it counts them, order, and what its own prompt cache finds in common."""

from __future__ import annotations

import json

from ixbench.api.workload import Load
from ixbench_plugins.workloads.azure import Azure, AzureOptions
from ixbench_plugins.workloads.mooncake import MooncakeOptions, MooncakeTrace

GROWING = [
    {"timestamp": 0, "input_length": 1200, "output_length": 4, "hash_ids": [1, 2, 3]},
    {"timestamp": 500, "input_length": 1700, "output_length": 4, "hash_ids": [1, 2, 4, 5]},
    {"timestamp": 900, "input_length": 2400, "output_length": 6, "hash_ids": [1, 2, 4, 6, 7]},
    {"timestamp": 1400, "input_length": 2500, "output_length": 2, "hash_ids": [1, 2, 4, 6, 8]},
]
TALK = [
    {"session_id": "a", "input_length": 700, "output_length": 20},
    {"session_id": "a", "input_length": 300, "output_length": 10, "delay": 20},
    {"session_id": "a", "input_length": 90, "output_length": 3, "delay": 0},
]
TURNS = (700, 1020, 1120)


def mooncake(folder, rows, load):
    path = folder / "trace.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return MooncakeTrace().schedule(MooncakeOptions(file=path, warmup=0), load, key="k")


def close(records, lengths):
    return all(abs(record.usage_input - tokens) <= max(8, 0.01 * tokens) for record, tokens in zip(records, lengths, strict=True))


def test_blocks_that_are_equal_are_found_in_the_prompt_cache(play_on_llamacpp, tmp_path):
    records = play_on_llamacpp(mooncake(tmp_path, GROWING, Load(concurrency=1)))
    assert close(records, [row["input_length"] for row in GROWING])
    assert [record.usage_output for record in records] == [row["output_length"] for row in GROWING]
    blocks = sum(record.prompt_blocks for record in records)
    theoretical = sum(record.hit_blocks for record in records) * 512 / sum(row["input_length"] for row in GROWING)
    measured = sum(record.usage_cached for record in records) / sum(record.usage_input for record in records)
    assert (blocks, sum(record.hit_blocks for record in records)) == (13, 9)
    assert abs(measured - theoretical) <= 0.02


def test_conversations_keep_their_beginning(play_on_llamacpp, tmp_path):
    records = play_on_llamacpp(mooncake(tmp_path, TALK, Load(concurrency=1)))
    assert close(records, TURNS)
    for record, before in zip(records[1:], TURNS, strict=False):
        assert before - 16 <= record.usage_cached <= before + 16
    assert records[1].due_ns - records[0].close_ns == 20_000_000
    assert records[2].send_ns >= records[1].close_ns


def test_azure_rows_have_their_lengths(play_on_llamacpp, tmp_path):
    path = tmp_path / "rows.csv"
    rows = [f"2024-01-01 00:00:{second:02}.5,{tokens},{output}" for second, tokens, output in ((0, 300, 3), (1, 90, 5), (3, 500, 2))]
    path.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]))
    schedule = Azure().schedule(AzureOptions(file=path, warmup=1), Load(rate=4.0), key="k")
    records = [record for record in play_on_llamacpp(schedule) if record.phase == "profile"]
    assert close(records, (300, 90, 500))
    assert [record.usage_output for record in records] == [3, 5, 2]
    assert [record.due_ns - records[0].due_ns for record in records] == [0, 166_666_667, 500_000_000]
