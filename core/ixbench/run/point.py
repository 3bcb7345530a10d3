"""One point from first request to verdict: prepare, replay, sample, measure, judge."""

from __future__ import annotations

import os
import secrets
import traceback
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from ixbench.campaign.address import is_local
from ixbench.host.contracts.collector import CollectorTarget
from ixbench.launch.errors import EngineError
from ixbench.measure.interval import intervals_of
from ixbench.measure.point import accounting, axis_of, measure
from ixbench.measure.verdict import judge
from ixbench.model.errors import InputError, IxbenchError, describe, first_error
from ixbench.model.result import Accounting, Axis, ClientReport, Failure, Reason, Verdict
from ixbench.replay.body import PromptError
from ixbench.replay.execute import execute
from ixbench.replay.graph import ScheduleError
from ixbench.replay.progress import Progress
from ixbench.replay.prompts.vocabulary import CalibrationError
from ixbench.run.asking import counters_of, watch_order
from ixbench.run.corpora import check_unchanged, corpus_of
from ixbench.run.gpu_preflight import machine_gpus
from ixbench.run.identity import gate_of, point_result
from ixbench.run.measured import TRACES, MeasuredPhase
from ixbench.run.measurement import assemble_measurement, lag_p99_s
from ixbench.run.sampling import sampling
from ixbench.run.vigil import vigil
from ixbench.store.folder import iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ixbench.campaign.campaign import Campaign
    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.launch.counters import EngineCounters
    from ixbench.launch.engine import RunningEngine
    from ixbench.measure.definition import Measurement, Metric
    from ixbench.model.accuracy import AccuracyResult
    from ixbench.model.engine_metrics import CacheReset
    from ixbench.model.point import Launch, Point
    from ixbench.model.record import FailureKind, RequestRecord
    from ixbench.model.result import PointResult
    from ixbench.model.schedule import Schedule
    from ixbench.replay.execute import ExecutionReport
    from ixbench.replay.http_channel import HttpChannel
    from ixbench.replay.prompts.calibrate import Calibration
    from ixbench.run.interrupt import Interruption
    from ixbench.run.sampling import Sampling
    from ixbench.run.state import PointPhase, PointState
    from ixbench.run.vigil import Vigil
    from ixbench.store.point import PointWriter

BROKEN_OFF: frozenset[FailureKind | None] = frozenset({"transport", "truncated", "server_error"})
"""Failures that the death of an engine shows as."""
_STOP_GRACE_S = 1.0
"""How long requests in flight may take when the user asks to stop: their point is measured again, so waiting longer gains nothing."""
_DEATH_LIMIT_S = 5.0
"""How long a dying process may take from the loss of its connections to its end."""
_SUSPICION_LIMIT_S = 10.0
"""How long the watch may take to decide whether an engine is dead whose server lives."""
_FRAMES_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PointJob:
    """What measuring a point needs beside the engine."""

    campaign: Campaign
    host: Host
    launch: Launch
    point: Point
    state: PointState
    changed: Callable[[PointState], None]
    """Told when the point enters another stage."""
    floor_s: float | None = None
    """TTFT of a server that answers at once, through this client."""
    corpus: WorkloadIdentity
    """What the workload said of what it replays when the run began."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What the engine says about itself, from the adapter's `provenance`."""
    cache_reset: CacheReset | None = None
    """What became of emptying the prefix cache; None = the engine has just started."""
    cache_note: str | None = None
    """What went wrong there."""
    profile: bool = False
    """Whether the server's own profiler is to run during the measured phase."""
    accuracy: AccuracyResult | None = None
    """What came of the accuracy gate of this launch; None = it has none, or none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """A point that is through, not yet sealed."""

    result: PointResult
    measurement: Measurement | None = None
    """What its metrics were computed from; None where there is nothing to compute from."""


class _ReplayError(Exception):
    """A workload, an adapter or the engine broke the replay: it costs this point, not the run."""

    def __init__(self, failure: Failure, code: str = "errors") -> None:
        self.failure = failure
        self.code = code
        super().__init__(failure.cause)


class PointStoppedError(Exception):
    """The user asked to stop while the point was running: it stays unsealed and is measured again by `--resume`."""


async def measure_point(
    job: PointJob, engine: RunningEngine, channel: HttpChannel, writer: PointWriter, interruption: Interruption
) -> MeasuredPoint:
    """Measure one point.

    :raises PointStoppedError: if the user asked to stop.
    :raises BadRecordError: if the client's own clock is broken.
    """
    started = datetime.now(UTC)
    _enter(job, "preparing")
    try:
        replayed = await _replay(job, engine, channel, writer, interruption)
    except BaseExceptionGroup as group:
        error = first_error(group)
        if not isinstance(error, _ReplayError):
            raise error from None
        return failed_point(job, error.failure, code=error.code, started=started)
    if replayed.report.ended == "stopped":
        raise PointStoppedError
    measurement = _measurement(job, engine, channel, writer, replayed)
    return _judged(job, measurement, _provenance(job, engine, replayed, started))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replayed:
    """A schedule that was replayed, beside the records and samples on disk."""

    schedule: Schedule
    calibration: Calibration | None
    """How its synthetic prompts were made; None where it has none."""
    report: ExecutionReport
    phase: MeasuredPhase
    sampled: Sampling
    engine_failure: Failure | None
    """Why the engine died; None = it lives."""


async def _replay(job: PointJob, engine: RunningEngine, channel: HttpChannel, writer: PointWriter, interruption: Interruption) -> _Replayed:
    """Prepare the prompts and replay the schedule, while the engine is watched and collectors sample.

    What `_prepare` and `_execute_watched` raise comes out in an exception group.
    """
    key = f"{secrets.token_hex(6)}:{job.point.id}"
    broken_off = 0

    def keep(record: RequestRecord) -> None:
        nonlocal broken_off
        broken_off += record.failure in BROKEN_OFF
        writer.record(record)

    phase = _measured_phase(job, engine, channel, interruption)
    target = _collector_target(job, engine, channel, phase.counters)
    order = watch_order(channel, phase.counters, build=phase.version, stall_limit_s=job.campaign.run.stall_limit)
    async with vigil(engine, order) as watched:
        schedule, calibration = await _prepare(job, engine, channel, interruption, watched, key=key)
        job.state.load = progress = Progress()
        _enter(job, "profile")
        async with sampling(job.host.collectors(), target, writer.sample, job.campaign.collectors) as sampled:
            with interruption.until_asked(), watched.until_dead():
                await sampled.opened()
            report = await _execute_watched(
                interruption.stop,
                watched.died,
                schedule=schedule,
                channel=channel,
                record=keep,
                progress=progress,
                key=key,
                around=phase.around,
            )
            with interruption.until_asked():
                await sampled.finish()
        failure = await death_of(engine) if broken_off else engine.failure()
        return _Replayed(schedule=schedule, calibration=calibration, report=report, phase=phase, sampled=sampled, engine_failure=failure)


def _measured_phase(job: PointJob, engine: RunningEngine, channel: HttpChannel, interruption: Interruption) -> MeasuredPhase:
    """Return what goes on around the measured phase, with what is to be noted before it begins."""
    adapter = channel.target.adapter
    counters, trouble = counters_of(adapter, engine)
    phase = MeasuredPhase(
        adapter=adapter,
        engine=engine,
        counters=counters,
        profile=job.profile,
        interruption=interruption,
        version=job.facts.get("engine_version"),
    )
    phase.note(job.cache_note, trouble)
    return phase


def _collector_target(job: PointJob, engine: RunningEngine, channel: HttpChannel, counters: EngineCounters | None) -> CollectorTarget:
    """Return what collectors may know of the engine."""
    return CollectorTarget(
        engine=job.launch.plan.engine,
        url=engine.url,
        pids=engine.pids,
        headers=dict(channel.target.headers),
        metrics=None if counters is None else counters.metrics,
        counters=counters,
        sku=job.point.deployment.hardware.sku,
        on_host=is_local(engine.url),
        gpus=machine_gpus(job.launch.plan, os.environ),
    )


async def _prepare(
    job: PointJob, engine: RunningEngine, channel: HttpChannel, interruption: Interruption, watched: Vigil, *, key: str
) -> tuple[Schedule, Calibration | None]:
    """Return the schedule, and how its prompts are made.

    :raises PointStoppedError: if the user asked to stop.
    :raises InputError: if the workload's files are not what they were when the run began.
    :raises _ReplayError: if the workload cannot build it, or the server cannot be prepared for it.
    """
    schedule = _schedule(job, key)
    calibration: Calibration | None = None
    try:
        with interruption.until_asked(), watched.until_dead():
            calibration = await channel.prepare(schedule)
    except CalibrationError as error:
        if (died := await death_of(engine)) is not None:
            raise _ReplayError(died, code="engine_died") from error
        raise _ReplayError(Failure(code="calibration_failed", cause=str(error), fix="")) from error
    except Exception as error:
        raise _ReplayError(_preparing_failed(error)) from error
    if interruption.asked:
        raise PointStoppedError
    if watched.died.is_set() and (died := engine.failure()) is not None:
        raise _ReplayError(died, code="engine_died")
    return schedule, calibration


def _schedule(job: PointJob, key: str) -> Schedule:
    """Return the schedule; the errors are those of `_prepare`."""
    try:
        schedule = job.host.workload(job.point.workload).schedule(job.point.workload_options, job.point.load, key=key)
        check_unchanged(job.point, job.corpus, corpus_of(job.point, job.host))
    except InputError:  # of files that could be read before: the run ends, and all that is left can be measured once they are back
        raise
    except Exception as error:
        raise _ReplayError(_preparing_failed(error)) from error
    return schedule


def _enter(job: PointJob, stage: PointPhase) -> None:
    job.state.enter(stage)
    job.changed(job.state)


async def death_of(engine: RunningEngine) -> Failure | None:
    """Return why the engine died, or None if it lives on; connections were lost, which may come before the end of its process."""
    if engine.pids:
        with anyio.move_on_after(_DEATH_LIMIT_S):
            return await engine.wait_dead()
    if engine.suspected():
        # The watch decides about it soon.
        with anyio.move_on_after(_SUSPICION_LIMIT_S):
            return await engine.wait_dead()
    return engine.failure()


async def _execute_watched(stop: anyio.Event, died: anyio.Event, *, key: str, **replay: Any) -> ExecutionReport:  # noqa: ANN401 - handed on
    """Replay, and tell the executor when the engine dies.

    :raises _ReplayError: if the schedule cannot be carried out, ends itself before it measures, or a plugin's code fails in it.
    """
    number = 0

    def ids() -> str:
        nonlocal number
        number += 1
        return f"{key}:{number}"

    try:
        report = await execute(**replay, ids=ids, stop=stop, died=died, stop_grace_s=_STOP_GRACE_S)
    except (PromptError, ScheduleError, CalibrationError) as error:
        raise _ReplayError(Failure(code="replay_failed", cause=str(error), fix="")) from error
    except EngineError as error:
        raise _ReplayError(error.failure) from error
    except IxbenchError:
        raise
    except Exception as error:
        raise _ReplayError(_unforeseen(error)) from error
    if report.ended == "aborted" and report.phase("profile") is None:
        raise _ReplayError(Failure(code="replay_aborted", cause=report.cause or "", fix=""))
    return report


def _preparing_failed(error: Exception) -> Failure:
    """Return why a point could not be prepared."""
    if isinstance(error, IxbenchError):
        return Failure(code="workload_failed", cause=str(error).replace("\n", "; "), fix="")
    return _unforeseen(error)


def _unforeseen(error: Exception) -> Failure:
    """Return the failure of code that broke: a plugin's, most likely, and the innermost lines tell whose."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES_SHOWN:]
    return Failure(
        code="replay_failed",
        cause=f"the replay broke with {describe(error)}",
        fix="Report it to the author of the workload or of the engine's adapter; the evidence says where it happened.",
        evidence=tuple(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames),
    )


def _measurement(job: PointJob, engine: RunningEngine, channel: HttpChannel, writer: PointWriter, replayed: _Replayed) -> Measurement:
    """Return what the point's metrics are computed from."""
    point, phase, report = job.point, replayed.phase, replayed.report
    workload, profile = job.host.workload(point.workload), report.phase("profile")
    # From the disk, where each went as its request ended: a long point takes no more memory while it runs than a short one.
    records = writer.records()
    questions, question_input = engine.questions()
    return assemble_measurement(
        point,
        workload,
        job.corpus,
        report,
        records,
        sku=job.host.sku(point.deployment.hardware.sku),
        goodput=job.campaign.goodput,
        read_samples=writer.samples,
        on_host=is_local(engine.url),
        engine_failure=replayed.engine_failure,
        lag_p99_s=lag_p99_s(records),
        client_cpu_s=profile.client_cpu_s if profile else None,
        client_wait_s=profile.client_wait_s if profile else None,
        clock=channel.stamped_by,
        engine_window=phase.window(),
        questions=questions,
        question_input=question_input,
        cache_reset=job.cache_reset,
        prompts_repeat=workload.repeats(point.workload_options),
        profiled=job.profile,
        acceptance_configured=job.launch.plan.identity.acceptance_length,
        acceptance_reported=phase.acceptance,
        server_changes=phase.server_changes,
        clock_drift_s=phase.clock_drift_s,
        log_findings=phase.log_findings,
        accuracy_gate=gate_of(job.campaign),
        accuracy=job.accuracy,
    )


def _provenance(job: PointJob, engine: RunningEngine, replayed: _Replayed, started: datetime) -> dict[str, object]:
    """Return how the point came about, for whoever reads its result."""
    report, phase, sampled, calibration = replayed.report, replayed.phase, replayed.sampled, replayed.calibration
    provenance: dict[str, object] = {
        "started": iso_utc(started),
        "finished": iso_utc(datetime.now(UTC)),
        "clock_anchor": {"wall_ns": report.anchor.wall_ns, "mono_ns": report.anchor.mono_ns},
        "schedule": dict(replayed.schedule.facts),
        "prompts": calibration.facts() if calibration is not None else None,
        "replay": report.facts(),
        "collectors": sampled.facts(),
        "collector_failures": dict(sampled.failures),
        "model_served": engine.model,
        "start": engine.start,
        "runtime": dict(engine.runtime),
        "notes": [*job.launch.plan.notes, *job.point.deployment.notes, *engine.notes, *engine.happened(), *phase.notes],
    }
    if job.profile:
        provenance[TRACES] = list(phase.traces)
    return provenance


def _judged(job: PointJob, measurement: Measurement, provenance: dict[str, object]) -> MeasuredPoint:
    failures: dict[str, str] = {}

    def failed(metric: Metric, error: Exception) -> None:
        failures[metric.name] = f"{job.host.source_of(metric)}: {describe(error)}"

    metrics = measure(measurement, job.host.metrics(), failed=failed)
    if failures:
        provenance["metric_failures"] = failures
    result = _result(
        job,
        verdict=judge(measurement, metrics, job.host.rules(), job.campaign.limits),
        failure=measurement.engine_failure,
        metrics=metrics,
        accounting=accounting(measurement),
        axis=axis_of(metrics, job.campaign.report.axis),
        client=ClientReport(
            floor_s=job.floor_s,
            lag_s=measurement.lag_p99_s,
            cpu_s=measurement.client_cpu_s,
            wait_s=measurement.client_wait_s,
            clock=measurement.clock or "read",
        ),
        energy=measurement.energy,
        intervals=intervals_of(measurement, job.point.id),
        provenance=provenance,
    )
    return MeasuredPoint(result=result, measurement=measurement)


def failed_point(job: PointJob, failure: Failure, *, code: str = "engine_died", started: datetime | None = None) -> MeasuredPoint:
    """Return a point that has no numbers, with its cause.

    :param code: the verdict's code: "engine_died", or "errors" where the engine lives but gave nothing to measure.
    """
    now = datetime.now(UTC)
    reason = Reason(code=code, value=None, limit=None, text=failure.cause)
    result = _result(
        job,
        verdict=Verdict(status="invalid", reasons=(reason,)),
        failure=failure,
        metrics={},
        accounting=Accounting(),
        axis=Axis(name="tpot", percentile=job.campaign.report.axis, tok_s_user=None),
        client=None,
        provenance={"started": iso_utc(started or now), "finished": iso_utc(now)},
    )
    return MeasuredPoint(result=result)


def _result(job: PointJob, **parts: Any) -> PointResult:  # noqa: ANN401 - handed on
    return point_result(
        host=job.host,
        launch=job.launch,
        point=job.point,
        evidence="measured",
        facts=job.facts,
        corpus=job.corpus,
        gate=gate_of(job.campaign),
        accuracy=job.accuracy,
        **parts,
    )
