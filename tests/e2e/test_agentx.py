"""Recorded agents on llama.cpp, the real engine, scaled down: it finds in its prompt cache what the blocks promise. Never latencies."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from itertools import count

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ixbench.launch.ports import lease_ports
from ixbench.model.point import Load
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench_plugins.engines.llamacpp.adapter import LlamaCppAdapter
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions

pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
pytest.importorskip("gguf", reason="the extra llamacpp is not installed")

TRACES = ("trace_0086", "trace_0291", "trace_0331", "trace_0527")
START_LIMIT_S = 60.0
SCALE = 0.0625


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Return the URL of a server that keeps the last prompt of each slot, with a slot for every stream."""
    flags = ("--tiny-width", "256", "--tiny-layers", "1", "--slots", "12", "--context", "8192", "--threads", "1")
    with lease_ports(["http"]) as lease:
        port = lease.numbers["http"]
        command = [sys.executable, "-m", "ixbench_plugins.engines.llamacpp.serve", "--port", str(port), "--name", "tiny", *flags]
        log = tmp_path_factory.mktemp("llama") / "server.log"
        with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
            try:
                _wait_healthy(process, f"http://127.0.0.1:{port}", log)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.kill()


def _wait_healthy(process, url, log):
    end = time.monotonic() + START_LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)


def computed(url):
    """Return the prompt tokens that the server has computed so far: those in its cache do not count."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as response:
        families = text_string_to_metric_families(response.read().decode())
    return next(s.value for family in families for s in family.samples if s.name == "llamacpp:prompt_tokens_total")


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
        target = HttpTarget(url=llama, api="chat", model="tiny", adapter=LlamaCppAdapter(), request_limit_s=120.0)
        async with HttpChannel(target) as channel:
            await channel.prepare(schedule)
            before = computed(llama)
            numbers = count(1)
            report = await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")
            return report, computed(llama) - before

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
