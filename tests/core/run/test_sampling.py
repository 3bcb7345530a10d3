"""Collectors at work: good ones are asked again and again, bad ones cost their own series and are named with the reason."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import ClassVar

import anyio
import pytest

from ixbench.host.contracts.collector import Collector, CollectorTarget
from ixbench.model.sample import Sample
from ixbench.replay.virtual import VirtualLoop
from ixbench.run.sampling import OPEN_LIMIT_S, sampling

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
        assert target is TARGET
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


def sampled(*collectors, for_s=10.5, write=None):
    """Return what was written in so many seconds of virtual time, and the failures."""
    written = []

    async def main():
        async with sampling(collectors, TARGET, write or written.append) as failed:
            await anyio.sleep(for_s)
        return failed

    return written, anyio.run(main, backend_options={"loop_factory": VirtualLoop})


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
        (Plain("bad", opens_s=OPEN_LIMIT_S + 1), "TimeoutError"),
        (Plain("bad", samples_s=1.5), "TimeoutError"),
        (Plain("bad", closes=OSError("already closed")), "OSError: already closed"),
    ],
    ids=["raises", "cannot be opened", "says nothing", "hangs when opened", "is slow", "fails at the end"],
)
def test_a_bad_collector_costs_its_series_and_nothing_else(bad, reason):
    good = Plain("good")
    written, failed = sampled(bad, good, for_s=14.5)
    assert failed == {"bad": reason}
    assert [sample.value for sample in written if sample.source == "good"] == list(range(1, 16))


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
        anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    assert (str(caught.value.exceptions[0]), collector.closed) == ("the replay broke", True)
