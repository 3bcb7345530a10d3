"""Collectors with one fault each: `breaks` names the tests of the suite that must find it, and no other may."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager

import anyio
from pydantic import BaseModel

from ixbench.api.engine import Collector, Sample
from ixbench.testing import CollectorSuite


class Good(Collector):
    """Nothing is wrong with it."""

    name = "good"
    summary = "a good collector"
    interval_s = 0.2

    @asynccontextmanager
    async def open(self, target):
        """Yield the sampler."""
        self.target = target
        yield self

    def read(self):
        """Return a sample."""
        return Sample(ns=time.monotonic_ns(), source=self.name, name="pids_count", value=float(len(self.target.pids)))

    async def sample(self):
        """Return one sample."""
        return [self.read()]


class TestGood(CollectorSuite):
    breaks = ()
    collector = Good()


def changed(**members):
    return type("Changed", (Good,), members)()


def sampled(**fields):
    about = {"name": "x_count", "value": 1.0, "source": "good"}
    return changed(read=lambda self: Sample(**{"ns": time.monotonic_ns()} | about | fields))


class TestSilent(CollectorSuite):
    breaks = ("test_the_host_takes_it",)
    collector = changed(summary="")


class Loose(BaseModel):
    path: str = ""


class TestLoose(CollectorSuite):
    breaks = ("test_unknown_options_are_refused",)
    collector = changed(Options=Loose)


class TestNothing(CollectorSuite):
    breaks = ("test_samples_are_numbers_with_a_source",)

    async def nothing(self):
        return []

    collector = changed(sample=nothing)


class TestNothingHere(CollectorSuite):
    breaks = ()
    collector = TestNothing.collector
    reads_here = False


class TestForeignSource(CollectorSuite):
    breaks = ("test_samples_are_numbers_with_a_source",)
    collector = sampled(source="other")


class TestNotANumber(CollectorSuite):
    breaks = ("test_samples_are_numbers_with_a_source",)
    collector = sampled(value=float("nan"))


class TestAnotherClock(CollectorSuite):
    breaks = ("test_samples_are_numbers_with_a_source",)
    collector = changed(read=lambda self: Sample(ns=time.time_ns(), source="good", name="x_count", value=1.0))


class Chatty(Good):
    """Tells the key."""

    async def sample(self):
        """Return one sample with the target's headers."""
        return [Sample(ns=time.monotonic_ns(), source="good", name="x_count", value=1.0, labels=self.target.headers)]


class TestChatty(CollectorSuite):
    breaks = ("test_no_secret_is_told",)
    collector = Chatty()


class Threads(Good):
    """Starts a thread and forgets it."""

    @asynccontextmanager
    async def open(self, target):
        """Yield the sampler."""
        self.target = target
        threading.Thread(target=time.sleep, args=(20,), daemon=True, name="forgotten").start()
        yield self


class TestThreads(CollectorSuite):
    breaks = ("test_it_can_be_opened_again_and_leaves_nothing",)
    collector = Threads()


class Processes(Good):
    """Starts a process and forgets it."""

    started = []  # noqa: RUF012 - kept so that nothing complains of it

    @asynccontextmanager
    async def open(self, target):
        """Yield the sampler."""
        self.target = target
        self.start()
        yield self

    def start(self):
        """Start it."""
        self.started.append(subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(20)"]))


class TestProcesses(CollectorSuite):
    breaks = ("test_it_can_be_opened_again_and_leaves_nothing",)
    collector = Processes()


class Deadly(Good):
    """Takes the point with it when the engine does not answer, and says nothing."""

    @asynccontextmanager
    async def open(self, target):
        """Yield the sampler."""
        from ixbench.launch.ports import is_listening

        self.target = target
        self.port = int(target.url.rpartition(":")[2])
        if not is_listening(self.port):
            raise SystemExit(1)
        yield self

    async def sample(self):
        """Return one sample."""
        from ixbench.launch.ports import is_listening

        if not is_listening(self.port):
            raise SystemExit(1)
        return [self.read()]


class TestDeadly(CollectorSuite):
    breaks = ("test_a_dead_target_is_a_warning", "test_a_target_that_dies_is_a_warning", "test_no_secret_is_told")
    collector = Deadly()


class Stubborn(Good):
    """Cannot be cancelled while it waits for a server."""

    @asynccontextmanager
    async def open(self, target):
        """Yield the sampler."""
        from ixbench.launch.ports import is_listening

        self.target = target
        if not is_listening(int(target.url.rpartition(":")[2])):
            with anyio.CancelScope(shield=True):
                await anyio.sleep(3)
        yield self


class TestStubborn(CollectorSuite):
    breaks = ("test_a_dead_target_is_a_warning", "test_no_secret_is_told")
    collector = Stubborn()
    limit_s = 2.0
