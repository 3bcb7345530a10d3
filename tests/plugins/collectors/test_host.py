from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import anyio
import pytest

from ixbench.api.engine import CollectorTarget
from ixbench_plugins.collectors.host import HostCollector, HostSampler

pytestmark = pytest.mark.anyio

BUSY_TREE = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "print('up', flush=True)\\nwhile True: pass"])
"""


def target(*pids):
    return CollectorTarget(engine="test", url="http://127.0.0.1:1", pids=pids, headers={})


@pytest.fixture
def busy():
    """Return the pid of a process whose child keeps a core busy."""
    process = subprocess.Popen([sys.executable, "-c", BUSY_TREE], stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    yield process.pid
    os.killpg(process.pid, 9)
    process.communicate()


async def test_host_client_and_engine_are_told_apart(busy):
    before_ns = time.monotonic_ns()
    async with HostCollector().open(target(busy)) as sampler:
        await anyio.sleep(0.5)
        samples = await sampler.sample()
    assert {sample.source for sample in samples} == {"host"}
    assert all(before_ns <= sample.ns <= time.monotonic_ns() for sample in samples)
    values = {(sample.labels["scope"], sample.name): sample.value for sample in samples}
    assert set(values) == {
        ("host", "cpu_share"),
        ("host", "memory_bytes"),
        ("host", "load_1min"),
        ("client", "cpu_share"),
        ("client", "memory_bytes"),
        ("engine", "cpu_share"),
        ("engine", "memory_bytes"),
    }
    assert all(0 <= value <= 1.1 for (_, name), value in values.items() if name == "cpu_share")
    assert values["engine", "cpu_share"] > 0, "the child of the root counts too"
    assert values["host", "memory_bytes"] > values["engine", "memory_bytes"] > 1e6


async def test_a_server_that_is_not_ours_has_no_engine_series():
    async with HostCollector().open(target()) as sampler:
        scopes = {sample.labels["scope"] for sample in await sampler.sample()}
    assert scopes == {"host", "client"}


async def test_an_engine_that_is_gone_costs_its_series_only():
    process = await anyio.open_process([sys.executable, "-c", "import time; time.sleep(600)"])
    async with process, HostCollector().open(target(process.pid)) as sampler:
        process.kill()
        await process.wait()
        assert {sample.labels["scope"] for sample in await sampler.sample()} == {"host", "client"}


def test_the_first_look_has_no_shares_since_nothing_came_before():
    assert {sample.name for sample in HostSampler(pids=()).read()} == {"memory_bytes", "load_1min"}


async def test_reading_leaves_the_event_loop_alone(monkeypatch):
    threads = []
    read = HostSampler.read

    def noted(self):
        threads.append(threading.current_thread())
        return read(self)

    monkeypatch.setattr(HostSampler, "read", noted)
    async with HostCollector().open(target()) as sampler:
        await sampler.sample()
    assert len(threads) == 2
    assert threading.main_thread() not in threads
