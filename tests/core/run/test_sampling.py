"""Collectors at work: good ones are asked again and again, bad ones cost their own series and are named with the reason."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import ClassVar

import anyio
import pytest

from ixbench.host.contracts.collector import Collector, CollectorTarget
from ixbench.model.sample import Sample
from ixbench.replay.virtual import VirtualLoop
from ixbench.run.sampling import FINISH_LIMIT_S, OPEN_LIMIT_S, sampling

TARGET = CollectorTarget(engine="acme", url="http://127.0.0.1:1", pids=(1,), headers={})


class Plain(Collector):
    """Takes as long as told, and fails where told."""

    name: ClassVar[str] = "plain"
    interval_s: ClassVar[float] = 1.0

    def __init__(self, name="plain", *, opens_s=0.0, samples_s=0.0, fails=None, at="sample", closes=None):
        self.name = name
        self.opens_s, self.samples_s, self.fails, self.at, self.closes = opens_s, samples_s, fails, at, closes
        self.asked = 0
        self.closed = False

    @asynccontextmanager
    async def open(self, target):
        assert target == TARGET
        await anyio.sleep(self.opens_s)
        if self.fails and self.at == "open":
            raise self.fails
        try:
            yield self
        finally:
            self.closed = True
            if self.closes:
                raise self.closes

    async def sample(self):
        await anyio.sleep(self.samples_s)
        self.asked += 1
        if self.fails and self.at == "sample" and self.asked == 3:
            raise self.fails
        return [Sample(ns=self.asked, source=self.name, name="count", value=self.asked)]


def run(main):
    return anyio.run(main, backend_options={"loop_factory": VirtualLoop})


def sampled(*collectors, for_s=10.5):
    """Return what was written in so many seconds of virtual time, and the failures."""
    written = []

    async def main():
        async with sampling(collectors, TARGET, written.append) as running:
            await anyio.sleep(for_s)
        return running.failures

    return written, run(main)


def test_a_collector_is_asked_at_its_interval_and_closed_at_the_end():
    collector = Plain()
    written, failed = sampled(collector)
    assert [sample.value for sample in written] == list(range(1, 12))
    assert (failed, collector.closed) == ({}, True)


def test_several_run_side_by_side():
    written, failed = sampled(Plain("a"), Plain("b"), for_s=1.5)
    assert [(sample.source, sample.value) for sample in written] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert failed == {}


def test_no_collectors_is_fine():
    assert sampled() == ([], {})


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Plain("bad", fails=OSError("no such device")), "OSError: no such device"),
        (Plain("bad", fails=OSError("no such device"), at="open"), "OSError: no such device"),
        (Plain("bad", fails=ZeroDivisionError()), "ZeroDivisionError"),
        (Plain("bad", opens_s=OPEN_LIMIT_S + 1), f"it was not open within {OPEN_LIMIT_S:g} s"),
        (Plain("bad", samples_s=1.5), "no sample came within 1 s"),
        (Plain("bad", closes=OSError("already closed")), "OSError: already closed"),
    ],
    ids=["raises", "cannot be opened", "says nothing", "hangs when opened", "is slow", "fails at the end"],
)
def test_a_bad_collector_costs_its_series_and_nothing_else(bad, reason):
    good = Plain("good")
    written, failed = sampled(bad, good, for_s=24.5)
    assert failed == {"bad": reason}
    assert [sample.value for sample in written if sample.source == "good"] == list(range(1, 26))


def test_one_that_hangs_for_ever_is_left_at_the_end():
    collector = Plain(opens_s=float("inf"))
    written, failed = sampled(collector, for_s=2.0)
    assert (written, failed) == ([], {})


def test_what_a_failing_collector_gave_before_is_kept():
    written, _ = sampled(Plain(fails=OSError("unplugged")))
    assert [sample.value for sample in written] == [1, 2]


def test_an_error_of_the_block_comes_out_and_the_collectors_are_closed():
    collector = Plain()

    async def main():
        async with sampling([collector], TARGET, lambda _: None):
            await anyio.sleep(0.5)
            raise LookupError("the replay broke")

    with pytest.raises(ExceptionGroup) as caught:
        run(main)
    assert (str(caught.value.exceptions[0]), collector.closed) == ("the replay broke", True)


class Finishing(Plain):
    """Reads something more when the load has ended."""

    def __init__(self, *, finishes_s=1.0, **how):
        super().__init__(**how)
        self.finishes_s = finishes_s

    async def finish(self):
        await anyio.sleep(self.finishes_s)
        return [Sample(ns=99, source=self.name, name="last", value=0)]


class Nothing(Plain):
    """Has nothing to read on this machine."""

    @asynccontextmanager
    async def open(self, target):
        yield None


def finished(collector, *, for_s=2.5):
    """Return what was written, the names of failures, and the seconds until all was closed."""
    written = []

    async def main():
        began = anyio.current_time()
        async with sampling([collector], TARGET, written.append) as running:
            await running.opened()
            await anyio.sleep(for_s)
            await running.finish()
            closed = collector.closed
        return running, closed, anyio.current_time() - began

    return written, *run(main)


def test_the_load_waits_until_sources_are_open_or_have_failed():
    async def main():
        slow, broken = Plain("slow", opens_s=3), Plain("broken", fails=OSError("unplugged"), at="open")
        async with sampling([slow, broken, Plain("dead", opens_s=60), Nothing("none")], TARGET, lambda _: None) as running:
            began = anyio.current_time()
            await running.opened()
            return anyio.current_time() - began, set(running.failures)

    assert run(main) == (OPEN_LIMIT_S, {"broken", "dead"})


def test_a_source_may_read_something_more_when_the_load_has_ended():
    written, running, closed, seconds = finished(Finishing())
    assert [sample.name for sample in written] == ["count"] * 3 + ["last"]
    assert (running.failures, closed, seconds) == ({}, True, 3.5)
    assert running.facts()["plain"]["samples"] == 4


def test_one_that_reads_nothing_more_is_closed_at_once():
    _, running, closed, seconds = finished(Plain())
    assert (running.failures, closed, seconds) == ({}, True, 2.5)


def test_one_that_does_not_come_to_an_end_is_left_behind():
    _, running, closed, seconds = finished(Finishing(finishes_s=600))
    assert (set(running.failures), closed, seconds) == ({"plain"}, False, 2.5 + FINISH_LIMIT_S)


def test_where_there_is_nothing_to_read_nobody_asks_again():
    written, running, _, seconds = finished(Nothing())
    assert (written, running.failures, seconds) == ([], {}, 2.5)
    assert running.facts() == {"plain": {"samples": 0, "cpu_s": 0.0}}


class Busy(Plain):
    """Computes a little, waits, computes again; a thread of its own computes as well."""

    cpu_s = 100.0

    async def sample(self):
        for _ in range(2):
            end = time.thread_time() + 0.02
            while time.thread_time() < end:
                pass
            await anyio.sleep(0.1)
        return []


def test_cost_is_what_its_steps_and_its_threads_took():
    _, running, _, _ = finished(Busy(), for_s=0.1)
    assert 100.04 <= running.facts()["plain"]["cpu_s"] < 100.2


def test_a_cancelled_sample_may_clean_up():
    cleaned = []

    class Careful(Plain):
        async def sample(self):
            try:
                await anyio.sleep_forever()
            finally:
                cleaned.append(True)

    _, running, _, _ = finished(Careful(), for_s=0.1)
    assert (cleaned, running.failures) == ([True], {"plain": "no sample came within 1 s"})
