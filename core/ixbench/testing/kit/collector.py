"""What every collector must hold to, as tests to subclass: it ends in time, leaves nothing, and costs its series at most."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
import psutil
import pytest

from ixbench.host.contracts.collector import CollectorTarget
from ixbench.launch.counters import EngineCounters
from ixbench.model.engine_metrics import EngineMetrics, MetricAlias
from ixbench.model.sample import Sample
from ixbench.run.sampling import sampling
from ixbench.testing.kit.contract import assert_given, assert_strict, assert_taken, options_of
from ixbench.testing.kit.plain import plain
from ixbench.testing.kit.stand_in import refused_url
from ixbench.testing.running import server_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ixbench.host.contracts.collector import Collector

CANARY = "ixbench-kit-canary-7b1d30"
"""Stands for the key that the engine's own endpoints want."""
SAMPLES = 2
"""So many samples are waited for."""
END_LIMIT_S = 60.0
OLDEST_NS = 60 * 10**9
"""How much older than the request for it a tool's reading may be."""
SERVER_METRICS = EngineMetrics(
    aliases=(
        MetricAlias(canonical="prompt_tokens", names=("scripted:prompt_tokens",)),
        MetricAlias(canonical="generation_tokens", names=("scripted:generation_tokens",)),
        MetricAlias(canonical="running", names=("scripted:running",)),
    )
)
"""How to read the page of the kit's server."""


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")  # told by a test, and as a sentence
class CollectorSuite:
    """Subclass it, give it the collector, and pytest finds the tests.

    They open it as a run does: on a server that answers, on one that is gone, and again. Where there is nothing to read on this machine a
    collector yields None, and that holds to all of it, too; override `machine` to bring what it needs, such as a vendor's tool.
    """

    collector: ClassVar[Collector]
    options: ClassVar[Mapping[str, Any] | None] = None
    """Its table of `[collectors]`; None = none is given."""
    reads_here: ClassVar[bool] = True
    """Whether it can read something on this machine; where it can, it must give samples."""

    limit_s: ClassVar[float] = 60.0
    """How long opening, sampling and closing may take in one test."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """See that there is a collector to test."""
        del metafunc
        assert_given(self, "collector")

    @pytest.fixture(autouse=True)
    def _nothing_left(self) -> Iterator[None]:
        """End the processes that a test leaves behind, which `test_it_can_be_opened_again_and_leaves_nothing` tells of."""
        process = psutil.Process()
        before = set(process.children(recursive=True))
        yield
        left = [child for child in process.children(recursive=True) if child not in before]
        for child in left:
            with suppress(psutil.Error):
                child.kill()
        psutil.wait_procs(left, END_LIMIT_S)
        if left:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()  # now, since what still holds one of them would complain in the middle of another test

    @pytest.fixture(autouse=True)
    def machine(self) -> None:
        """Bring what the collector needs on this machine."""

    def test_the_host_takes_it(self) -> None:
        """The collector is what `ixbench_collectors` may return: an instance with a plain name, a summary and an interval."""
        assert_taken("ixbench_collectors", self.collector)
        assert 0 < self.collector.interval_s < math.inf, f"interval_s is {self.collector.interval_s}"

    def test_unknown_options_are_refused(self) -> None:
        """A misspelt key is a fault; None has no keys at all."""
        assert_strict(self.collector.Options)
        assert self.options is None or self.collector.Options is not None, "options are given to a collector that has none"

    def test_samples_are_numbers_with_a_source(self) -> None:
        """Samples carry the collector's name, a name of their own, a moment of the clock of the records, and a finite number."""
        began_ns = time.monotonic_ns()
        samples, failures = self._on_a_server()
        assert failures == {}, f"it failed on a server that answers: {failures}"
        assert bool(samples) or not self.reads_here, "it gave no sample; set reads_here = False where this machine has nothing to read"
        for sample in samples:
            assert isinstance(sample, Sample), f"{sample!r} is no Sample"
            plain(sample)
            assert sample.source == self.collector.name, f"the source of {sample.name} is {sample.source!r}, not its collector"
            assert sample.name, "a sample without a name"
            assert isinstance(sample.value, int | float), f"{sample.name} is {sample.value!r}"
            assert math.isfinite(sample.value), f"{sample.name} is {sample.value}: what is not known is left out"
            assert all(isinstance(text, str) for pair in sample.labels.items() for text in pair), (
                f"labels of {sample.name}: {sample.labels}"
            )
            moment = began_ns - OLDEST_NS <= sample.ns <= time.monotonic_ns()
            assert moment, f"{sample.name}: ns is {sample.ns}, which is no moment of time.monotonic_ns() since the load began"

    def test_a_dead_target_is_a_warning(self) -> None:
        """Where engine and processes are gone, the point goes on: there is a sentence at most, and it ends in time."""
        with refused_url() as url:
            _, failures = anyio.run(self._sampled, self._target(url, pid=_ended_pid()))
        for name, text in failures.items():
            assert name == self.collector.name, f"a failure is told of {name!r}, which is another collector"
            assert text.strip(), "the failure says nothing"
            assert "\n" not in text, f"the failure is more than one line: {text}"

    def test_a_target_that_dies_is_a_warning(self) -> None:
        """The same where the server goes away while it is sampled."""

        async def run() -> dict[str, str]:
            with server_process() as server:
                target = self._target(server.url, pid=server.pid)
                async with self._counted(target) as counted:
                    kept: list[Sample] = []
                    with self._in_time():
                        async with sampling([self.collector], counted, kept.append, self._given()) as running:
                            await running.opened()
                            assert server.pid is not None
                            psutil.Process(server.pid).kill()
                            await anyio.sleep(min(self.collector.interval_s, 1.0) * 1.5)
                            await running.finish()
                return running.failures

        others = set(anyio.run(run)) - {self.collector.name}
        assert not others, f"failures are told of {', '.join(sorted(others))}, which are other collectors"

    def test_it_can_be_opened_again_and_leaves_nothing(self) -> None:
        """Closing ends processes and threads, twice in a row, also where the load was cut short."""
        process = psutil.Process()
        self._on_a_server()
        children, threads = {child.pid for child in process.children(recursive=True)}, _threads()
        for cut_short in (False, True):
            self._on_a_server(cut_short=cut_short)
            alive = [child for child in process.children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]
            left = [child for child in alive if child.pid not in children]
            names = ", ".join(child.name() for child in left)
            assert not left, f"it left processes behind: {names}; end in `finally` of open() what it starts"
            more = [name for ident, name in _threads().items() if ident not in threads]
            assert not more, f"it left threads behind: {', '.join(sorted(more))}"

    def test_no_secret_is_told(self) -> None:
        """The engine's key, which it gets to ask with, is in no sample and no failure."""
        samples, failures = self._on_a_server()
        with refused_url() as url:
            more, others = anyio.run(self._sampled, self._target(url, pid=_ended_pid()))
        assert CANARY not in f"{samples}{failures}{more}{others}", "a secret stands in a sample or a failure"

    def _on_a_server(self, *, cut_short: bool = False) -> tuple[list[Sample], dict[str, str]]:
        with server_process() as server:
            return anyio.run(self._sampled, self._target(server.url, pid=server.pid), cut_short)

    async def _sampled(self, target: CollectorTarget, cut_short: bool = False) -> tuple[list[Sample], dict[str, str]]:
        """Sample as a run does, until there are a few or the collector gave up; a load that is cut short comes to no orderly end."""
        kept: list[Sample] = []
        async with self._counted(target) as counted:
            with self._in_time():
                async with sampling([self.collector], counted, kept.append, self._given()) as running:
                    await running.opened()
                    if cut_short:
                        return kept, running.failures
                    with anyio.move_on_after(min(self.collector.interval_s, 1.0) * (SAMPLES + 0.5)):
                        while not running.failures and running.facts()[self.collector.name]["samples"] == 0:  # noqa: ASYNC110 - nothing tells
                            await anyio.sleep(0.02)
                    await running.finish()
        return kept, running.failures

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Bound a block that opens, samples and closes."""
        try:
            with anyio.fail_after(self.limit_s):
                yield
        except TimeoutError:
            raise AssertionError(f"opening, sampling and closing took more than {self.limit_s:g} s (limit_s)") from None

    def _given(self) -> dict[str, Any]:
        if self.options is None or self.collector.Options is None:
            return {}
        return {self.collector.name: options_of(self.collector.Options, self.options)}

    def _target(self, url: str, *, pid: int | None) -> CollectorTarget:
        return CollectorTarget(
            engine="scripted",
            url=url,
            pids=() if pid is None else (pid,),
            headers={"Authorization": f"Bearer {CANARY}"},
            metrics=SERVER_METRICS,
            gpus=(0, 1),
        )

    def _counted(self, target: CollectorTarget) -> _Counted:
        return _Counted(target)


class _Counted:
    """Gives a target the reader of its page for as long as it is sampled."""

    def __init__(self, target: CollectorTarget) -> None:
        import httpx

        self._target = target
        self._client = httpx.AsyncClient(base_url=target.url, headers=target.headers, timeout=2.0, trust_env=False)

    async def __aenter__(self) -> CollectorTarget:
        return replace(self._target, counters=EngineCounters(metrics=SERVER_METRICS, client=self._client))

    async def __aexit__(self, *about: object) -> None:
        await self._client.aclose()


def _ended_pid() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-IS", "-c", ""]) as ended:
        ended.wait(END_LIMIT_S)
    return ended.pid


def _threads() -> dict[int | None, str]:
    """Return the names of threads by their numbers, those of anyio's pool apart, which are kept for the next call and end with the loop."""
    return {thread.ident: thread.name for thread in threading.enumerate() if thread.is_alive() and "AnyIO worker" not in thread.name}
