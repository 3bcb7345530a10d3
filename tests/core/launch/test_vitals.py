"""Signs of life of a server: what its health path and a completion say, and what its counters show of motion."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import anyio
import httpx
import pytest

from ixbench.launch import vitals
from ixbench.launch.vitals import Motion, Vitals
from ixbench.measure.exposition import Reading
from ixbench.model.engine_metrics import EngineMetrics

pytestmark = pytest.mark.anyio

METRICS = EngineMetrics(aliases=(), live_counters=("generation_tokens",))


async def asked(plan, answer, limit_s=20.0):
    """Return what a completion of one token says, and the questions that were asked."""
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://test") as client:
        found = Vitals(plan=plan, client=client, model="m")
        return await found.completes(limit_s), found.questions


@pytest.mark.parametrize(("status", "alive"), [(200, True), (404, True), (499, True), (500, False), (503, False)])
async def test_who_refuses_is_not_dead(launch_plan, status, alive):
    said, questions = await asked(launch_plan(), lambda _: httpx.Response(status, json={"usage": {"prompt_tokens": 3}}))
    assert (said, questions.asked, questions.input) == (alive, 1, 3)


async def test_no_answer_is_no_sign_of_life(launch_plan):
    async def never(_request):
        await anyio.sleep_forever()

    def refused(request):
        raise httpx.ConnectError("refused", request=request)

    for answer in (never, refused):
        said, questions = await asked(launch_plan(), answer, limit_s=0.05)
        assert (said, questions.asked, questions.input) == (False, 1, None)


async def test_what_a_question_holds_is_remembered(launch_plan):
    bodies = [{"usage": {"prompt_tokens": 3}}, {}, {"usage": {"prompt_tokens": 4}}]
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, json=bodies.pop(0))), base_url="http://test"
    ) as client:
        found = Vitals(plan=launch_plan(), client=client, model="m")
        counted = []
        for _ in range(3):
            await found.completes(20.0)
            counted.append(found.questions.input)
    assert (counted, found.questions.asked) == ([3, 3, 4], 3)


async def test_an_answer_of_the_health_path_is_not_waited_for_longer(launch_plan, server, monkeypatch):
    monkeypatch.setattr(vitals, "HEALTH_LIMIT_S", 1000.0)
    paths = []

    def answer(request):
        paths.append(request.url.path)
        return httpx.Response(200)

    usual = server()
    own = replace(usual, readiness=replace(usual.readiness, health_path="/alive"))
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://test") as client:
        for plan in (launch_plan(own), launch_plan()):
            with anyio.fail_after(20):
                assert await Vitals(plan=plan, client=client, model="m").health() is None
    assert paths == ["/alive", "/health"]


class Engine:
    """Counters and requests on a clock that the test moves."""

    def __init__(self, monkeypatch, metrics=METRICS, **totals):
        self.now, self.arrived, self.in_flight, self.metrics, self.totals = 1000.0, 1000.0, 1, metrics, totals
        monkeypatch.setattr(vitals, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.motion = Motion(flow=lambda: (self.in_flight, self.now - self.arrived), counters=self)
        self.motion.silent_s()

    async def read(self):
        return Reading(series={name: {(name, ()): value} for name, value in self.totals.items()})

    def at(self, second, *, since=0.0):
        """Return for how long nothing has come at this second; the last byte came at another."""
        self.now, self.arrived = 1000.0 + second, 1000.0 + since
        return self.motion.silent_s()

    async def counts(self, *, asked=False, **totals):
        """Return whether the counters show life once they have changed so."""
        self.totals |= totals
        return await self.motion.count(asked=asked)

    @property
    def said(self):
        return self.motion.counted, self.motion.flat, self.motion.idle


async def test_requests_that_come_after_a_pause_begin_a_silence_of_their_own(monkeypatch):
    engine = Engine(monkeypatch)
    assert engine.at(5.0) == 5.0
    engine.in_flight = 0
    assert engine.at(6.0) == 0
    engine.in_flight = 1
    assert engine.at(100.0) == 0
    assert engine.at(103.0) == 3.0


async def test_what_the_page_said_ends_with_the_silence(monkeypatch):
    for running, said in ((1.0, (True, True, False)), (0.0, (True, False, True))):
        engine = Engine(monkeypatch, generation_tokens=7.0, running=running)
        engine.at(5.0)
        await engine.counts()
        await engine.counts()
        assert engine.said == said
        engine.at(6.0, since=5.5)
        assert engine.said[1:] == (False, False)
        await engine.counts()
        assert not engine.motion.flat, "one reading knows nothing"


async def test_an_engine_that_does_not_say_what_runs_has_our_requests(monkeypatch):
    engine = Engine(monkeypatch, generation_tokens=7.0)
    assert [await engine.counts(), await engine.counts()] == [False, False]
    assert engine.said == (True, True, False)


@pytest.mark.parametrize("totals", [{}, {"running": 0.0}])
async def test_a_page_without_what_moves_tells_nothing(monkeypatch, totals):
    engine = Engine(monkeypatch, **totals)
    assert [await engine.counts(), await engine.counts()] == [False, False]
    assert engine.said == (False, False, False)


async def test_what_moves_while_it_is_asked_shows_neither_life_nor_a_standstill(monkeypatch):
    engine = Engine(monkeypatch, generation_tokens=7.0, running=1.0)
    await engine.counts()
    assert await engine.counts(asked=True, generation_tokens=8.0) is False
    assert engine.said == (True, False, False)


async def test_what_was_once_preempted_or_loaded_may_be_again(monkeypatch):
    engine = Engine(monkeypatch, generation_tokens=7.0, preemptions=0.0, external_cache_hits=0.0)
    await engine.counts()
    assert (engine.motion.recomputes, engine.motion.loads) == (False, False)
    await engine.counts(preemptions=1.0)
    assert (engine.motion.recomputes, engine.motion.loads) == (True, False)
    await engine.counts(preemptions=0.0, external_cache_hits=1.0)
    assert (engine.motion.recomputes, engine.motion.loads) == (True, True)
    await engine.counts(external_cache_hits=0.0)
    assert (engine.motion.recomputes, engine.motion.loads) == (True, True)
    silent = Engine(monkeypatch, generation_tokens=7.0)
    await silent.counts()
    assert (silent.motion.recomputes, silent.motion.loads) == (False, False)


@pytest.mark.parametrize(("refresh_s", "survived_s"), [(0.0, 10.0), (4.0, 6.0)])
async def test_what_shows_life_ends_a_standstill_that_is_remembered_once(monkeypatch, refresh_s, survived_s):
    engine = Engine(monkeypatch, replace(METRICS, refresh_s=refresh_s), generation_tokens=7.0, running=1.0)
    engine.at(5.0)
    await engine.counts()
    engine.at(10.0)
    assert await engine.counts(generation_tokens=8.0) is True
    assert (engine.motion.survived.longest_s, engine.motion.still_s()) == (survived_s, refresh_s)
    engine.at(10.0, since=10.0)
    assert engine.motion.survived.longest_s == survived_s
    assert engine.motion.still_s() == 0
