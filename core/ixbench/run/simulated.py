"""Simulated points: replicas in worker processes, averaged into points. Their launches are planned and kept, and never started."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import anyio

from ixbench.launch.record import LAUNCH_FORMAT
from ixbench.measure.point import axis_of
from ixbench.measure.replicas import mean_metrics, spread, sum_accounting, worst_verdict
from ixbench.model.accuracy import SIMULATED_NOTE
from ixbench.model.counts import counted
from ixbench.model.errors import IxbenchError
from ixbench.model.events import PointFinished, PointStarted
from ixbench.model.result import ClientReport, reason_codes
from ixbench.plan.show import launch_plan_json, planned_commands
from ixbench.replay.progress import Progress
from ixbench.run.identity import point_result
from ixbench.run.replica import ReplicaTask, run_replica, set_up_worker, simulation_of
from ixbench.run.state import STAGE_OF_VERDICT
from ixbench.store.encode import to_json, write_atomic
from ixbench.store.folder import LAUNCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.campaign.campaign import Campaign
    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.model.point import Launch, Point
    from ixbench.model.result import PointResult
    from ixbench.model.secrets import Redactor
    from ixbench.run.interrupt import Interruption
    from ixbench.run.replica import ReplicaResult
    from ixbench.run.state import RunState
    from ixbench.run.view import View
    from ixbench.store.folder import RunFolder

_POLL_S = 0.1


@dataclass(slots=True, kw_only=True)
class SimulatedLoop:
    """The simulated part of a run."""

    campaign: Campaign
    host: Host
    folder: RunFolder
    state: RunState
    view: View
    interruption: Interruption
    redactor: Redactor
    corpora: Mapping[str, WorkloadIdentity]
    """What the workload of each point said of what it replays when the run began."""
    results: list[PointResult] = field(default_factory=list)
    """What this run has sealed, in order."""

    async def run(self, launches: Sequence[tuple[Launch, Sequence[Point]]]) -> None:
        """Simulate the points; returns early where the user asked to stop.

        :raises IxbenchError: if a worker fails, or the disk refuses.
        """
        if not launches:
            return
        for launch, points in launches:
            self._keep_launch(launch, points[0])
        # Spawned, not forked: this process runs an event loop, and a fork would copy its signal handlers and locks.
        context = get_context("spawn")
        reader, lifeline = context.Pipe(duplex=False)
        with (
            reader,
            lifeline,
            ProcessPoolExecutor(
                max_workers=len(os.sched_getaffinity(0)), mp_context=context, initializer=set_up_worker, initargs=(reader,)
            ) as pool,
        ):
            try:
                await self._points(pool, [(launch, point) for launch, points in launches for point in points])
            except BrokenProcessPool as error:
                raise IxbenchError("a worker of the simulation was killed, perhaps for lack of memory; go on with --resume") from error
            finally:
                # Whoever still computes is ended by it: a replica may take minutes, and nobody waits for its result any more.
                lifeline.close()
                pool.shutdown(wait=True, cancel_futures=True)

    def _keep_launch(self, launch: Launch, point: Point) -> None:
        """Keep the launch as it would be carried out, and what stands in for it."""
        simulation = simulation_of(point, self.host)
        content: dict[str, Any] = {"format": LAUNCH_FORMAT, "id": launch.id, "simulated": True, **launch_plan_json(launch.plan)}
        content["simulation"] = dict(simulation.facts)
        sku = self.campaign.sku
        commands = planned_commands(launch, self.host.runtime(launch.plan.runtime), vendor=sku.vendor if sku is not None else None)
        content["processes"] = [row | {"command": words} for row, words in zip(content["processes"], commands, strict=True)]
        content["notes"] = [*launch.plan.notes, *simulation.notes, *self._notes]
        write_atomic(self.folder.launch_folder(launch.id) / LAUNCH, to_json(content, self.redactor))

    @property
    def _notes(self) -> tuple[str, ...]:
        return (SIMULATED_NOTE,) if self.campaign.accuracy is not None else ()

    async def _points(self, pool: ProcessPoolExecutor, points: Sequence[tuple[Launch, Point]]) -> None:
        replicas = range(self.campaign.replicas)
        futures = {
            point.id: [
                pool.submit(
                    run_replica,
                    ReplicaTask(
                        point=point,
                        number=number,
                        corpus=self.corpora[point.id],
                        limits=self.campaign.limits,
                        goodput=self.campaign.goodput,
                    ),
                )
                for number in replicas
            ]
            for _, point in points
        }
        for launch, point in points:
            state = self.state.points[point.id]
            state.load = Progress(expected=len(replicas))
            state.enter("simulating")
            self.view.changed(state)
            self.host.emit(PointStarted(point_id=point.id))
            began = time.monotonic()
            while not all(future.done() for future in futures[point.id]):
                state.load.done = sum(future.done() for future in futures[point.id])
                if self.interruption.asked:
                    return
                await anyio.sleep(_POLL_S)
            if self.interruption.asked:
                return
            try:
                found = [future.result() for future in futures.pop(point.id)]
            except (CancelledError, asyncio.CancelledError):
                return
            self._seal(launch, point, found, seconds=time.monotonic() - began)

    def _seal(self, launch: Launch, point: Point, replicas: Sequence[ReplicaResult], *, seconds: float) -> None:
        simulation = simulation_of(point, self.host)
        metrics = mean_metrics([replica.metrics for replica in replicas])
        measurement = replicas[0].measurement
        assert measurement is not None
        result = point_result(
            host=self.host,
            launch=launch,
            point=point,
            evidence="simulated",
            facts=simulation.facts,
            corpus=self.corpora[point.id],
            verdict=worst_verdict([replica.verdict for replica in replicas]),
            failure=None,
            metrics=metrics,
            accounting=sum_accounting([replica.accounting for replica in replicas]),
            axis=axis_of(metrics, self.campaign.report.axis),
            client=ClientReport(floor_s=None, lag_s=None, cpu_s=None, clock="virtual"),
            provenance={
                "schedule": dict(replicas[0].schedule_facts),
                "simulation": {
                    "replicas": len(replicas),
                    "spread": spread([replica.metrics for replica in replicas]),
                    "mean": "geometric",
                },
                "notes": [*launch.plan.notes, *point.deployment.notes, *simulation.notes, *self._notes],
            },
        )
        with self.folder.start_point(point.id) as writer:
            for record in measurement.records:
                writer.record(record)
            writer.write_replicas(
                [{"number": one.number, "metrics": one.metrics, "accounting": one.accounting, "verdict": one.verdict} for one in replicas]
            )
            sealed = writer.seal(result, measurement)
        self.results.append(sealed)
        state = self.state.points[point.id]
        state.load, state.seconds = None, seconds
        state.detail = "; ".join([f"SIMULATED, {counted(len(replicas), 'replica')}", *reason_codes(sealed.verdict)])
        state.enter(STAGE_OF_VERDICT[sealed.verdict.status])
        self.view.changed(state)
        self.host.emit(PointFinished(point_id=sealed.id, result=sealed))
