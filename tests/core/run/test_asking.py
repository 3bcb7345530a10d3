"""What a server says of itself at the end of a point, held against what it said before."""

from __future__ import annotations

from contextlib import nullcontext

import httpx
import pytest

from ixbench.host.contracts.engine import Capabilities
from ixbench.launch.engine import RunningEngine
from ixbench.replay.clock import ClockAnchor, drift_s, read_anchor
from ixbench.run.asking import changed_model, changed_version, reset_cache, served
from ixbench.run.capabilities import capabilities_of
from ixbench.run.interrupt import Interruption
from ixbench.run.measured import MeasuredPhase
from ixbench.testing.running import server_process

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Says:
    """An adapter that says one thing, or fails."""

    def __init__(self, answer):
        self.answer = answer
        self.profiled = []

    async def provenance(self, engine):
        del engine
        return self.say()

    def capabilities(self, build):
        del build
        return self.say()

    async def acceptance(self, engine):
        del engine

    async def profile(self, engine, *, on):
        del engine
        self.profiled.append(on)
        return ()

    def say(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def engine(url, client):
    return RunningEngine(launch_id="e-1", url=url, model="m", client=client, started_s=0.1)


async def test_a_server_lists_what_it_serves():
    with server_process() as server:
        async with httpx.AsyncClient(base_url=server.url) as client:
            assert await served(engine(server.url, client)) == ("scripted",)


async def test_a_server_that_is_gone_lists_nothing():
    async with httpx.AsyncClient(base_url="http://127.0.0.1:9") as client:
        assert await served(engine("http://127.0.0.1:9", client)) == ()


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (("m",), ("m", "n"), None),
        (("m",), ("n",), "it serves n and no longer m"),
        ((), ("n", "o"), "it serves n, o and no longer m"),
        (("n",), ("n",), None),
        (("m",), (), None),
    ],
    ids=["still there", "gone", "not told before", "never listed", "not told after"],
)
def test_a_model_that_is_no_longer_served(before, after, change):
    assert changed_model("m", before, after) == change


@pytest.mark.parametrize(
    ("answer", "change"),
    [
        ({"engine_version": "1"}, None),
        ({"engine_version": "2"}, "it says that it is version 2, and was 1 before"),
        ({}, None),
        (RuntimeError("no answer"), None),
    ],
)
async def test_a_version_that_is_another_one(answer, change):
    async with httpx.AsyncClient() as client:
        assert await changed_version(Says(answer), engine("http://h", client), version="1") == change


async def test_a_version_that_was_never_told_cannot_change():
    async with httpx.AsyncClient() as client:
        assert await changed_version(Says({"engine_version": "2"}), engine("http://h", client), version=None) is None


def test_clocks_drift_by_what_they_disagree_about():
    first = ClockAnchor(wall_ns=5_000_000_000, mono_ns=1_000_000_000)
    assert drift_s(first, ClockAnchor(wall_ns=9_000_000_000, mono_ns=3_000_000_000)) == 2.0
    assert drift_s(first, ClockAnchor(wall_ns=5_500_000_000, mono_ns=3_000_000_000)) == -1.5
    assert abs(drift_s(read_anchor(), read_anchor())) < 0.5


def test_what_an_engine_can_do_is_the_adapters_word():
    able = Capabilities(health_tells=False, profiler=True)
    assert capabilities_of(Says(able), "1.0") == (able, None)


@pytest.mark.parametrize(
    ("answer", "told"),
    [(RuntimeError("no table"), "engine can do: RuntimeError: no table"), ({}, "{} of what the engine can do, which is no Capabilities")],
    ids=["fails", "of another class"],
)
async def test_an_adapter_that_does_not_say_what_its_engine_can_do_costs_a_restart(answer, told):
    found, trouble = capabilities_of(Says(answer))
    assert found == Capabilities()
    assert trouble.endswith(told)
    async with httpx.AsyncClient() as client:
        assert await reset_cache(Says(answer), engine("http://h", client), build=None) == ("needs_restart", trouble)


@pytest.mark.parametrize("error", [None, RuntimeError("the replay broke")], ids=["well", "badly"])
async def test_however_the_measured_phase_ends_the_profiler_is_stopped(error):
    adapter = Says({})
    async with httpx.AsyncClient(base_url="http://127.0.0.1:9") as client:
        phase = MeasuredPhase(
            adapter=adapter, engine=engine("http://127.0.0.1:9", client), counters=None, profile=True, interruption=Interruption()
        )
        with nullcontext() if error is None else pytest.raises(RuntimeError, match="the replay broke"):
            async with phase.around():
                assert adapter.profiled == [True]
                if error is not None:
                    raise error
    assert adapter.profiled == [True, False]
