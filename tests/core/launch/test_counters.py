"""The window of an engine's counters, on the scripted server's page."""

from __future__ import annotations

from dataclasses import replace

import anyio.lowlevel
import httpx
import pytest

from ixbench.launch import counters
from ixbench.launch.counters import CountersError, EngineCounters
from ixbench.model.engine_metrics import COUNTERS, EngineMetrics, MetricAlias
from ixbench.testing.scripted_server import ScriptedServer

pytestmark = pytest.mark.anyio

METRICS = EngineMetrics(
    aliases=(
        MetricAlias(canonical="running", names=("scripted:running",)),
        MetricAlias(canonical="generation_tokens", names=("scripted:generation_tokens",)),
        MetricAlias(canonical="preemptions", names=("scripted:preemptions",)),
    )
)


@pytest.fixture
async def server():
    server = ScriptedServer()
    await server.start()
    yield server
    await server.close()


@pytest.fixture
async def reader(server):
    async with httpx.AsyncClient(base_url=server.url, timeout=10) as client:
        yield EngineCounters(metrics=METRICS, client=client)


async def complete(client, tokens):
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": tokens}
    (await client.post("/v1/chat/completions", json=body)).raise_for_status()


async def test_only_what_is_counted_between_the_ends_is_in_the_window(reader):
    assert reader.window() is None
    await complete(reader.client, 7)
    await reader.begin()
    await complete(reader.client, 5)
    await reader.read()
    await complete(reader.client, 3)
    await reader.end()
    await complete(reader.client, 11)
    await reader.read()
    window = reader.window()
    assert window.delta == {"generation_tokens": 8.0}
    assert set(window.missing) == {*COUNTERS, "waiting", "kv_usage"} - {"generation_tokens"}
    assert window.promised == ("running", "generation_tokens", "preemptions")
    assert (window.reset, reader.failure) == (False, None)
    assert window.scrapes >= 4


async def test_a_window_waits_until_the_counters_stand_still(reader, server):
    async def late():
        for _ in range(3):
            await anyio.sleep(0.05)
            server.totals["generation_tokens"] += 1

    await reader.begin()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(late)
        await anyio.lowlevel.checkpoint()
        await reader.end()
    assert reader.window().delta == {"generation_tokens": 3.0}


async def test_counters_that_never_stand_still_are_waited_for_a_while_only(reader, server, monkeypatch):
    monkeypatch.setattr(counters, "SETTLE_LIMIT_S", 0.3)
    server.totals["running"] = 1
    await reader.begin()
    await reader.end()
    assert reader.window().maximum == {"running": 1.0}


async def test_values_that_are_refreshed_now_and_then_are_waited_for(reader, monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(counters.anyio, "sleep", sleep)
    reader.metrics = replace(METRICS, refresh_s=5.0)
    await reader.begin()
    await reader.end()
    assert slept.count(5.0) == 2


@pytest.mark.parametrize("missed", ["before", "after"])
async def test_without_a_reading_at_both_ends_no_increase_is_known(reader, missed):
    there, nowhere = reader.metrics, replace(METRICS, path="/nowhere")
    reader.metrics = nowhere if missed == "before" else there
    await reader.begin()
    reader.metrics = there
    await complete(reader.client, 5)
    await reader.read()
    reader.metrics = nowhere if missed == "after" else there
    await reader.end()
    window = reader.window()
    assert window.delta == {}
    assert set(COUNTERS) <= set(window.missing)
    assert reader.failure == f"{missed} the measured phase /nowhere answers status 404"
    assert window.scrapes > 0


async def test_a_page_that_is_not_there_or_does_not_come_is_one_error(reader, server, monkeypatch):
    reader.metrics = replace(METRICS, path="/nowhere")
    with pytest.raises(CountersError, match="/nowhere answers status 404"):
        await reader.read()
    reader.metrics = METRICS
    monkeypatch.setattr(counters, "READ_LIMIT_S", 0.0)
    with pytest.raises(CountersError, match="did not answer within 0 s"):
        await reader.read()
    monkeypatch.undo()
    await server.close()
    with pytest.raises(CountersError, match="could not be read"):
        await reader.read()
