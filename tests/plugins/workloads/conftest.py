"""What tests of workloads that are played share: a scripted server, and a schedule sent to it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from functools import partial
from itertools import count
from typing import Any

import anyio
import pytest

from ixbench.host.contracts.engine import EngineAdapter
from ixbench.launch.ports import lease_ports
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench.testing.running import server_process

START_LIMIT_S = 60.0


class Plain(EngineAdapter[Any]):
    """The common form of requests."""

    name = "plain"

    def plan(self, deployment):
        raise AssertionError("nothing is launched here")


def played(schedule, url, *, api="chat", model="scripted"):
    """Play a schedule against a server; return the records by send."""
    records = []

    async def main():
        target = HttpTarget(url=url, api=api, model=model, adapter=Plain(), request_limit_s=60.0)
        async with HttpChannel(target) as channel:
            await channel.prepare(schedule)
            numbers = count(1)
            return await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")

    report = anyio.run(main)
    assert report.ended == "completed"
    assert {record.failure for record in records} == {None}
    return sorted(records, key=lambda record: record.send_ns)


@pytest.fixture
def play():
    """Return a function that plays a schedule against the scripted server: records by send, and what the server saw of each."""

    def run(schedule, *, api="chat"):
        with server_process("--cached") as server:
            records = played(schedule, server.url, api=api)
            log = {entry["headers"]["x-request-id"]: entry for entry in server.log()}
        return records, log

    return run


@pytest.fixture
def play_on_llamacpp(tmp_path):
    """Return a function that plays a schedule on a tiny model that llama.cpp serves."""
    pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
    pytest.importorskip("gguf", reason="the extra llamacpp is not installed")
    flags = ("--tiny-width", "256", "--tiny-layers", "1", "--slots", "2", "--context", "4096", "--threads", "1")
    with lease_ports(["http"]) as lease:
        port = lease.numbers["http"]
        command = [sys.executable, "-m", "ixbench_plugins.engines.llamacpp.serve", "--port", str(port), "--name", "tiny", *flags]
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
        log = tmp_path / "server.log"
        with log.open("wb") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as process:
            try:
                wait_healthy(process, f"http://127.0.0.1:{port}", log)
                yield partial(played, url=f"http://127.0.0.1:{port}", model="tiny")
            finally:
                process.kill()


def wait_healthy(process, url, log):
    end = time.monotonic() + START_LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
