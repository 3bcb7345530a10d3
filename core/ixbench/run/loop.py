"""The loop over launches and points: start an engine, measure its points, stop it; an engine that fails costs its points, not the run."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from ixbench.launch.control import request_headers
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.launch.flag_check import FlagCheck
from ixbench.launch.gpu_gate import gate_for
from ixbench.launch.route import route_to
from ixbench.model.accuracy import accuracy_words
from ixbench.model.errors import IxbenchError, describe
from ixbench.model.events import LaunchFailed, LaunchReady, PointFinished, PointStarted
from ixbench.model.result import reason_codes
from ixbench.model.units import format_duration
from ixbench.replay.floor import measure_floor
from ixbench.replay.http_channel import HttpChannel
from ixbench.replay.progress import Progress
from ixbench.replay.target import HttpTarget
from ixbench.run.accuracy import GateJob, ask_gate
from ixbench.run.asking import as_asked, reset_cache
from ixbench.run.bench import output_rate
from ixbench.run.capabilities import capabilities_of
from ixbench.run.point import MeasuredPoint, PointJob, PointStoppedError, failed_point, measure_point
from ixbench.run.state import FINAL_PHASES, STAGE_OF_VERDICT
from ixbench.store.header import ClientFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ixbench.campaign.campaign import Campaign
    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.launch.engine import RunningEngine
    from ixbench.launch.flag_check import HelpText
    from ixbench.model.accuracy import AccuracyResult
    from ixbench.model.engine_metrics import CacheReset
    from ixbench.model.point import Launch, Point
    from ixbench.model.result import Failure, PointResult
    from ixbench.model.secrets import Redactor
    from ixbench.run.interrupt import Interruption
    from ixbench.run.state import RunState
    from ixbench.run.view import View
    from ixbench.store.folder import RunFolder

_PROVENANCE_LIMIT_S = 30.0
_FLOOR_REQUESTS = 50
_TELL_S = 60.0
"""How often a run that nobody sees live says how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cache:
    """What became of the prefix cache before a point."""

    reset: CacheReset | None = None
    """None: the engine has just started."""
    trouble: str | None = None


@dataclass(slots=True, kw_only=True)
class RunLoop:
    """One run over what is left of a plan."""

    campaign: Campaign
    host: Host
    folder: RunFolder
    state: RunState
    view: View
    interruption: Interruption
    redactor: Redactor
    corpora: Mapping[str, WorkloadIdentity]
    """What the workload of each point said of what it replays when the run began."""
    until: Callable[[Sequence[PointResult]], bool] | None = None
    """Asked after each point whether the rest is not worth measuring."""
    profile: str | None = None
    """Id of the point during which the server's own profiler is to run."""
    results: list[PointResult] = field(default_factory=list)
    """What this run has sealed, in order."""
    _last: bool = False
    """Whether no other launch comes after the one at work; with repeats a launch comes several times."""
    _floor_s: float | None = None
    """What the client itself adds to every TTFT."""
    _tries: Counter[str] = field(default_factory=Counter)
    _launch_tries: Counter[str] = field(default_factory=Counter)
    _help_texts: dict[tuple[str | None, ...], HelpText] = field(default_factory=dict)
    """What builds said when they were asked for their flags."""
    _gates: dict[str, AccuracyResult] = field(default_factory=dict)
    """What came of the accuracy gate of each launch; one that is started again answers for its earlier start."""

    async def run(self, launches: Sequence[tuple[Launch, Sequence[Point]]]) -> None:
        """Measure the points; returns early where the user asked to stop or `until` says so.

        :raises BadRecordError: if the client is broken.
        :raises InputError: if a workload's files are not what they were when the run began.
        :raises IxbenchError: if the disk refuses.
        """
        if launches:
            await self._measure_floor()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._tell)
                for number, (launch, points) in enumerate(launches, start=1):
                    self._last = number == len(launches)
                    queue = deque(points)
                    while queue and not self._over:
                        await self._one_start(launch, queue)
                tasks.cancel_scope.cancel()
        finally:
            for state in self.state.points.values():
                if state.stage not in FINAL_PHASES and state.stage != "waiting":
                    state.enter("stopped")
                    self.view.changed(state)

    async def _tell(self) -> None:
        while True:
            await anyio.sleep(_TELL_S)
            for state in self.state.points.values():
                if state.stage not in FINAL_PHASES and state.stage != "waiting":
                    self.view.going_on(state)

    @property
    def _over(self) -> bool:
        return self.interruption.asked or (self.until is not None and self.until(self.results))

    async def _one_start(self, launch: Launch, queue: deque[Point]) -> None:
        """Start the engine once and measure from the queue until it is empty, the engine dies, or the run is over."""
        first = queue[0]
        state = self.state.points[first.id]
        state.enter("starting" if launch.plan.processes else "connecting")
        self.view.changed(state)
        ready = tried = False

        def progress(_seconds: float, line: str) -> None:
            state.detail = line

        flags = self._flag_check(launch, first)
        try:
            start = start_engine(
                launch.id,
                launch.plan,
                runtime=self.host.runtime(launch.plan.runtime),
                folder=self.folder.launch_folder(launch.id),
                signatures=self.host.signatures(),
                on_progress=progress,
                redactor=self.redactor,
                gate=gate_for(
                    launch.plan,
                    self.host.sku(first.deployment.hardware.sku),
                    first.deployment.hardware.gpus,
                    self.host.hardware(),
                ),
                flags=flags,
                keep=(lambda: not queue and not self.interruption.asked) if self._kept else None,
            )
            with self.interruption.until_asked() as immune:
                async with start as engine:
                    ready = True
                    state.detail = ""
                    self.host.emit(LaunchReady(launch_id=launch.id, plan=launch.plan, url=engine.url, seconds=engine.started_s))
                    facts = await self._ask_provenance(launch, engine, first)
                    if flags is not None and (digest := flags.sha256) is not None:
                        facts["help_sha256"] = digest
                    immune()
                    async with HttpChannel(self._target(launch, engine, first), redactor=self.redactor) as channel:
                        asked = await self._ask_gate(launch, engine, channel, first, facts)
                        fresh = bool(launch.plan.processes) and not (asked and self._empties(launch, facts))
                        while queue and not self._over and engine.failure() is None:
                            cache = _Cache() if fresh else await self._empty_cache(launch, engine, queue[0], facts)
                            if self._over or (cache.reset == "needs_restart" and tried and launch.plan.processes):
                                break
                            fresh, tried = False, True
                            await self._one_point(launch, queue, engine, channel, facts=facts, cache=cache)
                    if (died := engine.failure()) is not None and not tried and not self._over:
                        # Ready and dead before the first request: starting it again and again would never end.
                        raise EngineError(died)  # noqa: TRY301 - told and counted as a start that failed, which it is
            if self._kept and not queue and engine.pids:
                self.view.say(f"{launch.id}: left running at {engine.url} as {engine.model}; end it with: {engine.end_command}")
        except EngineError as error:
            if self.interruption.asked and not ready:
                return
            self.host.emit(LaunchFailed(launch_id=launch.id, failure=error.failure))
            if tried or self.interruption.asked:
                # It was measured, and now it does not go away: whoever uses this machine next must know.
                self.view.say(f"{launch.id}: {error.failure.cause} {error.failure.fix}")
            else:
                self._launch_failed(launch, queue, error.failure)

    async def _ask_gate(
        self, launch: Launch, engine: RunningEngine, channel: HttpChannel, point: Point, facts: Mapping[str, object]
    ) -> bool:
        """Ask a launch the questions of the accuracy gate, once in a run of the loop; return whether any were asked now.

        :param point: the one that waits for it.
        """
        gate = self.campaign.accuracy
        if gate is None or launch.id in self._gates or engine.failure() is not None or self._over:
            return False
        state = self.state.points[point.id]
        state.load = Progress(expected=len(gate.questions))
        state.enter("accuracy")
        self.view.changed(state)
        job = GateJob(
            gate=gate,
            engine=engine,
            channel=channel,
            folder=self.folder.launch_folder(launch.id),
            redactor=self.redactor,
            progress=state.load,
            interruption=self.interruption,
            build=facts.get("engine_version"),
            stall_limit_s=self.campaign.run.stall_limit,
        )
        try:
            result = await ask_gate(job)
        finally:
            state.load = None
        if result is not None:
            self._gates[launch.id] = result
            self.view.say(f"{launch.id}: accuracy gate {accuracy_words(result)}; {format_duration(result.seconds)}")
        return True

    def _empties(self, launch: Launch, facts: Mapping[str, object]) -> bool:
        """Say whether the prefix cache can be emptied without a restart: the questions are in it, and no point should find them."""
        return capabilities_of(self.host.engine(launch.plan.engine), facts.get("engine_version"))[0].cache_reset == "call"

    def _flag_check(self, launch: Launch, point: Point) -> FlagCheck | None:
        """Return how the build is asked for its flags, or None where it is not started by us or its adapter knows no such command."""
        adapter = self.host.engine(launch.plan.engine)
        try:
            command = adapter.help_command(point.deployment) if launch.plan.processes else None
        except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
            self.view.say(f"{launch.id}: flags unverified: {self.host.source_of(adapter)}: help_command: {describe(error)}")
            return None
        return None if command is None else FlagCheck(command=command, check=adapter.check_help, known=self._help_texts)

    @property
    def _kept(self) -> bool:
        return self._last and self.campaign.run.keep_engine

    def _launch_failed(self, launch: Launch, queue: deque[Point], failure: Failure) -> None:
        """Give the launch another try where the user allows it; else none of its points can be measured."""
        self._launch_tries[launch.id] += 1
        if self._launch_tries[launch.id] <= self.campaign.run.retries:
            self.view.say(f"{launch.id}: {failure.cause} Trying again.")
            return
        while queue and not self._over:
            point = queue.popleft()
            job = self._job(launch, point, {})
            with self.folder.start_point(point.id) as writer:
                self._seal(job, failed_point(job, failure), writer, seconds=None)

    async def _empty_cache(self, launch: Launch, engine: RunningEngine, point: Point, facts: Mapping[str, object]) -> _Cache:
        """Empty the prefix cache before a point, so that it finds nothing of the one before."""
        state = self.state.points[point.id]
        state.detail = "emptying the prefix cache"
        state.enter("preparing")
        reset, trouble = None, None
        with self.interruption.until_asked():
            reset, trouble = await reset_cache(self.host.engine(launch.plan.engine), engine, build=facts.get("engine_version"))
        if trouble is not None and not launch.plan.processes:
            self.view.say(f"{point.id}: {trouble}")
        elif trouble is not None:
            self.view.say(f"{point.id}: {trouble}; the engine is started again")
        state.detail = ""
        return _Cache(reset=reset, trouble=trouble)

    async def _one_point(
        self,
        launch: Launch,
        queue: deque[Point],
        engine: RunningEngine,
        channel: HttpChannel,
        *,
        facts: Mapping[str, object],
        cache: _Cache,
    ) -> None:
        point = queue[0]
        job = replace(self._job(launch, point, facts), cache_reset=cache.reset, cache_note=cache.trouble)
        began = time.monotonic()
        self.host.emit(PointStarted(point_id=point.id))
        with self.folder.start_point(point.id) as writer:
            try:
                measured = await measure_point(job, engine, channel, writer, self.interruption)
            except PointStoppedError:
                return
            failure = measured.result.failure
            if failure is not None and engine.failure() is not None:
                self.host.emit(LaunchFailed(launch_id=launch.id, failure=failure))
                self._tries[point.id] += 1
                if self._tries[point.id] <= self.campaign.run.retries:
                    self.view.say(f"{point.id}: {failure.cause} Trying again with a fresh engine.")
                    return
            queue.popleft()
            self._seal(job, measured, writer, seconds=time.monotonic() - began)

    def _seal(self, job: PointJob, measured: MeasuredPoint, writer: Any, *, seconds: float | None) -> None:  # noqa: ANN401 - a PointWriter
        result = writer.seal(measured.result, measured.measurement)
        self.results.append(result)
        state = job.state
        state.seconds = seconds
        state.rate_tok_s = output_rate(result)
        state.detail = _detail(result)
        state.enter("failed" if result.failure is not None else STAGE_OF_VERDICT[result.verdict.status])
        self.view.changed(state)
        for name, why in _table(result.provenance.get("collector_failures")).items():
            self.view.say(f"{result.id}: collector {name} failed: {why}")
        self.host.emit(PointFinished(point_id=result.id, result=result))

    def _job(self, launch: Launch, point: Point, facts: Mapping[str, object]) -> PointJob:
        state = self.state.points[point.id]
        return PointJob(
            campaign=self.campaign,
            host=self.host,
            launch=launch,
            point=point,
            state=state,
            corpus=self.corpora[point.id],
            facts=facts,
            changed=self.view.changed,
            floor_s=self._floor_s,
            profile=point.id == self.profile,
            accuracy=self._gates.get(launch.id),
        )

    async def _measure_floor(self) -> None:
        """Find out what the client itself adds, and keep it; a machine where that fails can still measure."""
        try:
            floor = await measure_floor(requests=_FLOOR_REQUESTS)
        except IxbenchError as error:
            self.view.say(f"note: {error}")
            return
        self._floor_s = floor.floor_s
        self.folder.write_header(replace(self.folder.header(), client=ClientFacts(floor_s=floor.floor_s)))

    async def _ask_provenance(self, launch: Launch, engine: RunningEngine, point: Point) -> dict[str, object]:
        """Return what the engine says about itself; an engine that does not answer is no reason not to measure it."""
        adapter = self.host.engine(launch.plan.engine)
        facts: dict[str, object] = {"model": engine.model}
        try:
            with anyio.fail_after(_PROVENANCE_LIMIT_S):
                facts |= await adapter.provenance(as_asked(engine))
        except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
            facts["provenance_failure"] = f"{self.host.source_of(adapter)}: {describe(error)}"
            self.view.say(f"{point.id}: {launch.plan.engine} does not say what it is ({type(error).__name__})")
        return facts

    def _target(self, launch: Launch, engine: RunningEngine, point: Point) -> HttpTarget:
        plan = launch.plan
        route = route_to(plan, engine.url)
        return HttpTarget(
            url=route.url,
            uds=route.uds,
            proxy=route.proxy,
            api=plan.api,
            model=engine.model,
            adapter=self.host.engine(plan.engine),
            headers=request_headers(plan),
            ca_file=plan.ca_file,
            tokenizer=point.deployment.model.tokenizer,
        )


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _detail(result: PointResult) -> str:
    """Return why a point is not plainly valid, in a few words: the reports tell the sentences and what to do."""
    return result.failure.cause if result.failure is not None else ", ".join(reason_codes(result.verdict))
