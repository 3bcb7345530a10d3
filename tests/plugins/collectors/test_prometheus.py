from __future__ import annotations

import anyio
import pytest

from ixbench.api.engine import CollectorTarget, IxbenchError, Reading
from ixbench_plugins.collectors import prometheus
from ixbench_plugins.collectors.prometheus import MISSES_LIMIT, PrometheusCollector

pytestmark = pytest.mark.anyio

READING = Reading(series={"running": {("r", ()): 3.0}, "kv_usage": {("k", (("engine", "0"),)): 0.25, ("k", (("engine", "1"),)): 0.5}})


class Page:
    """Answers with what it was given, in turn; the last one for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def read(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, IxbenchError):
            raise answer
        if answer is None:
            await anyio.sleep_forever()
        return answer


def target(counters):
    return CollectorTarget(engine="e", url="http://127.0.0.1:1", pids=(), headers={}, counters=counters)


async def test_an_engine_without_a_page_has_no_series():
    async with PrometheusCollector().open(target(None)) as sampler:
        assert sampler is None


async def test_samples_have_canonical_names_and_one_moment():
    async with PrometheusCollector().open(target(Page(READING))) as sampler:
        samples = await sampler.sample()
    assert {sample.name: sample.value for sample in samples} == {"running": 3.0, "kv_usage": 0.5}
    assert len({sample.ns for sample in samples}) == 1
    assert {sample.source for sample in samples} == {"prometheus"}


async def test_a_page_that_was_never_there_is_told_at_once():
    with pytest.raises(IxbenchError, match="not there"):
        async with PrometheusCollector().open(target(Page(IxbenchError("not there")))):
            pass


async def test_some_readings_may_be_missed_and_many_in_a_row_may_not(monkeypatch):
    monkeypatch.setattr(prometheus, "_SAMPLE_LIMIT_S", 0.01)
    gone = IxbenchError("gone")
    async with PrometheusCollector().open(target(Page(READING, None, gone, READING, None, gone))) as sampler:
        assert [len(await sampler.sample()) for _ in range(3)] == [0, 0, 2]
        for _ in range(MISSES_LIMIT - 1):
            assert await sampler.sample() == ()
        with pytest.raises(IxbenchError, match="gone"):
            await sampler.sample()


async def test_a_page_that_never_comes_is_given_up(monkeypatch):
    monkeypatch.setattr(prometheus, "_SAMPLE_LIMIT_S", 0.001)
    async with PrometheusCollector().open(target(Page(READING, None))) as sampler:
        for _ in range(MISSES_LIMIT - 1):
            await sampler.sample()
        with pytest.raises(IxbenchError, match=f"{MISSES_LIMIT} times in a row"):
            await sampler.sample()


async def test_what_reading_the_pages_took_is_told():
    async with PrometheusCollector().open(target(Page(Reading(series=READING.series, cpu_s=0.25)))) as sampler:
        await sampler.sample()
        await sampler.sample()
        assert sampler.cpu_s == 0.5
