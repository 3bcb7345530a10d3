"""What becomes of the gate's answers: asked of a real server, over the channel that measures it."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import httpx
import pytest

from ixbench.host.contracts.engine import EngineAdapter, StreamQuirks
from ixbench.launch.engine import RunningEngine
from ixbench.model.accuracy import AccuracyGate, Question
from ixbench.model.prompt import Message
from ixbench.model.secrets import Redactor
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.progress import Progress
from ixbench.replay.target import HttpTarget
from ixbench.run.accuracy import GateJob, ask_gate
from ixbench.run.interrupt import Interruption
from ixbench.testing.running import server_process

pytestmark = pytest.mark.anyio
LIMIT = 5


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Plain(EngineAdapter[Any]):
    name: ClassVar[str] = "plain"

    def __init__(self, *, reliable):
        self.quirks = StreamQuirks(finish_reason_reliable=reliable)

    def plan(self, deployment):
        raise AssertionError("nothing is launched here")


@pytest.mark.parametrize(
    ("reply", "reliable", "cut"),
    [({}, True, 1), ({"finish": "stop"}, True, 0), ({"finish": "stop"}, False, 1), ({"finish": "stop", "tokens": 3}, False, 0)],
    ids=["says so", "ends by itself", "says stop at the limit", "ends before"],
)
async def test_an_answer_that_its_limit_ended_is_counted_where_the_engine_says_stop_of_it(tmp_path, reply, reliable, cut):
    (tmp_path / "script.json").write_text(json.dumps({"default": reply}))
    question = Question(line=1, messages=(Message(role="user", content="how many harbours?"),), answer="x", plain=True)
    gate = AccuracyGate(
        file="q.jsonl", questions=(question,), hash="h", at_least=0.5, match="exact", max_tokens=LIMIT, concurrency=1, time_limit_s=60.0
    )
    with server_process("--script", str(tmp_path / "script.json")) as server:
        target = HttpTarget(url=server.url, api="chat", model="scripted", adapter=Plain(reliable=reliable), request_limit_s=60.0)
        async with httpx.AsyncClient(base_url=server.url) as client, HttpChannel(target) as channel:
            result = await ask_gate(
                GateJob(
                    gate=gate,
                    engine=RunningEngine(launch_id="e-1", url=server.url, model="scripted", client=client, started_s=0.1),
                    channel=channel,
                    folder=tmp_path,
                    redactor=Redactor(),
                    progress=Progress(),
                    interruption=Interruption(),
                    build=None,
                    stall_limit_s=None,
                )
            )
    assert (result.asked, result.failed, result.cut) == (1, {}, cut)
