"""One replica of a simulated point, from its options to its verdict: what a worker process carries out, on virtual time."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

import anyio

from ixbench.host.load import load_host
from ixbench.measure.point import accounting, measure
from ixbench.measure.verdict import judge
from ixbench.model.errors import Fault, InputError
from ixbench.replay.execute import execute
from ixbench.replay.virtual import VirtualClock, VirtualLoop
from ixbench.run.corpora import check_unchanged, corpus_of
from ixbench.run.measurement import assemble_measurement

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from ixbench.host.contracts.engine import Simulation
    from ixbench.host.contracts.workload import WorkloadIdentity
    from ixbench.host.host import Host
    from ixbench.measure.definition import Measurement
    from ixbench.model.launch import Scalar
    from ixbench.model.point import Point
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import Accounting, Metrics, Verdict
    from ixbench.model.schedule import Schedule
    from ixbench.replay.execute import ExecutionReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTask:
    """What a worker is given."""

    point: Point
    number: int
    """0 is the replica with the workload exactly as asked; its records are kept."""
    corpus: WorkloadIdentity
    """What the workload said of what it replays when the run began."""
    limits: Mapping[str, float]
    goodput: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaResult:
    """What a worker gives back."""

    number: int
    metrics: Metrics
    accounting: Accounting
    verdict: Verdict
    measurement: Measurement | None
    """Of replica 0, with its records; None for the others."""
    schedule_facts: Mapping[str, Scalar]


def set_up_worker(lifeline: Connection) -> None:
    """Leave Ctrl-C to the parent, and end when it closes the other end of the lifeline, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    ends: list[Connection | int] = [lifeline, *([parent.sentinel] if parent is not None else [])]

    def follow() -> None:
        wait(ends)
        os._exit(1)

    threading.Thread(target=follow, name="follow the parent", daemon=True).start()


def run_replica(task: ReplicaTask) -> ReplicaResult:
    """Carry out one replica. Pure but for the process that it runs in: equal tasks give equal results, to the last bit.

    :raises InputError: if nothing stands in for the engine, the workload cannot be built, or its files are not what they were.
    """
    host = load_host()
    point = task.point
    workload = host.workload(point.workload)
    options = workload.replica(point.workload_options, task.number)
    schedule = workload.schedule(options, point.load, key=f"{point.id}:{task.number}")
    check_unchanged(point, task.corpus, corpus_of(point, host))
    records, report = _replay(schedule, simulation_of(point, host))
    sku = host.sku(point.deployment.hardware.sku)
    measurement = assemble_measurement(point, workload, task.corpus, report, records, sku=sku, goodput=task.goodput)
    metrics = measure(measurement, host.metrics())
    return ReplicaResult(
        number=task.number,
        metrics=metrics,
        accounting=accounting(measurement),
        verdict=judge(measurement, metrics, host.rules(), task.limits),
        measurement=measurement if task.number == 0 else None,
        schedule_facts=dict(schedule.facts),
    )


def simulation_of(point: Point, host: Host) -> Simulation:
    """Return what stands in for a point's engine.

    :raises InputError: if nothing does.
    """
    deployment = point.deployment
    simulation = host.simulate(deployment)
    if simulation is None:
        what = f"{deployment.model.id or 'a model without a name'} on {deployment.hardware.sku or 'unknown hardware'}"
        raise InputError(
            Fault(where=f"deployment {deployment.name}", problem=f"nothing is known to simulate {deployment.engine} with {what}")
        )
    return simulation


def _replay(schedule: Schedule, simulation: Simulation) -> tuple[list[RequestRecord], ExecutionReport]:
    records: list[RequestRecord] = []
    number = 0

    def ids() -> str:
        nonlocal number
        number += 1
        return str(number)

    async def main() -> ExecutionReport:
        return await execute(schedule, simulation.channel(), record=records.append, ids=ids, clock=VirtualClock())

    return records, anyio.run(main, backend_options={"loop_factory": VirtualLoop})
