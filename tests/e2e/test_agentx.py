"""Recorded agents on llama.cpp, the real engine, scaled down: it finds in its prompt cache what the blocks promise. Never latencies."""

from __future__ import annotations

from itertools import count

import anyio
import pytest

from ixbench.model.point import Load
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench_plugins.engines.llamacpp.adapter import LlamaCppAdapter
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions

pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
pytest.importorskip("gguf", reason="the extra llamacpp is not installed")

TRACES = ("trace_0086", "trace_0291", "trace_0331", "trace_0527")
SCALE = 0.0625


@pytest.fixture(scope="module")
def llama(run_llama):
    """Return a server that keeps the last prompt of each slot, with a slot for every stream."""
    with run_llama("--slots", "12", "--context", "8192") as server:
        yield server


@pytest.fixture(scope="module")
def replayed(llama, shared, tmp_path_factory):
    """Replay 20 seconds of the preset quick; return the schedule, the records, and what the server computed for them."""
    folder = tmp_path_factory.mktemp("traces")
    for name in TRACES:
        (folder / f"{name}.json").symlink_to(shared / "data" / "traces" / "weka" / f"{name}.json")
    options = AgentXOptions(preset="quick", traces=str(folder), duration=20.0, scale=SCALE)
    schedule = AgentX().schedule(options, Load(concurrency=len(TRACES)), key="k")
    records = []

    async def main():
        target = HttpTarget(url=llama.url, api="chat", model="tiny", adapter=LlamaCppAdapter(), request_limit_s=120.0)
        async with HttpChannel(target) as channel:
            await channel.prepare(schedule)
            before, _ = llama.counted()
            numbers = count(1)
            report = await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")
            return report, llama.counted()[0] - before

    report, tokens = anyio.run(main)
    assert report.ended == "completed", report.cause
    return schedule, records, tokens


def test_all_requests_succeed_with_the_lengths_of_the_recording(replayed):
    _, records, _ = replayed
    assert {(record.failure, record.cancelled) for record in records} == {(None, False)}
    assert all(abs(record.usage_input - record.input_asked) <= max(8, 0.01 * record.input_asked) for record in records)
    assert abs(sum(record.usage_input - record.input_asked for record in records)) <= 0.005 * sum(record.input_asked for record in records)
    assert {record.usage_output for record in records if record.phase == "warmup"} == {1}
    assert all(record.usage_output == record.output_asked <= 64 for record in records)


def test_the_scale_stands_in_the_facts(replayed):
    schedule, *_ = replayed
    assert (schedule.facts["preset"], schedule.facts["scale"], schedule.facts["comparable"]) == (f"quick-v1+scale{SCALE:g}", SCALE, False)


def test_the_engine_finds_what_the_blocks_promise(replayed):
    """By what it says of each request, and by what it counted itself."""
    _, records, tokens = replayed
    first_plays = [record for record in records if record.ok and record.phase == "profile" and record.tree_id.endswith(":0")]
    assert len(first_plays) >= 15
    found = sum(record.usage_cached for record in first_plays) / sum(record.usage_input for record in first_plays)
    promised = sum(record.hit_blocks for record in first_plays) / sum(record.prompt_blocks for record in first_plays)
    assert found == pytest.approx(promised, abs=0.02)
    assert tokens == sum(record.usage_input - record.usage_cached for record in records)
