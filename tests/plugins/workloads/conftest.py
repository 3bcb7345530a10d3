"""What tests of workloads that are played share: a scripted server, and a schedule sent to it."""

from __future__ import annotations

from itertools import count
from typing import Any

import anyio
import pytest

from ixbench.host.contracts.engine import EngineAdapter
from ixbench.replay.execute import execute
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.target import HttpTarget
from ixbench.testing.running import server_process


class Plain(EngineAdapter[Any]):
    """The common form of requests."""

    name = "plain"

    def plan(self, deployment):
        raise AssertionError("nothing is launched here")


@pytest.fixture
def play():
    """Return a function that plays a schedule against a server: records by send, and what the server saw of each."""

    def run(schedule, *, api="chat"):
        records = []

        async def main(url):
            target = HttpTarget(url=url, api=api, model="scripted", adapter=Plain(), request_limit_s=20.0)
            async with HttpChannel(target) as channel:
                await channel.prepare(schedule)
                numbers = count(1)
                return await execute(schedule, channel, record=records.append, ids=lambda: f"r{next(numbers)}")

        with server_process("--cached") as server:
            report = anyio.run(main, server.url)
            log = {entry["headers"]["x-request-id"]: entry for entry in server.log()}
        assert report.ended == "completed"
        assert {record.failure for record in records} == {None}
        return sorted(records, key=lambda record: record.send_ns), log

    return run
