"""Whether a running engine still works while it is measured: its processes, its log, its health, and whether anything moves.

An engine that dies tells so in one of these within seconds. One that hangs says nothing at all, and neither does one that is busy: so
silence alone never counts. A health path that fails counts once nothing else arrives either.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from ixbench.launch.diagnose import diagnose
from ixbench.launch.standstill import STALL_LIMIT_S, Standstill
from ixbench.launch.suspicion import Suspicion
from ixbench.launch.vitals import Motion, Survived
from ixbench.model.result import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ixbench.launch.counters import EngineCounters
    from ixbench.launch.fatal import FatalSearch
    from ixbench.launch.progress import ProgressWatch
    from ixbench.launch.tail import LogTail
    from ixbench.launch.vitals import Flow, Prefill, Vitals
    from ixbench.launch.workers import Workers
    from ixbench.model.launch import LaunchPlan

_TICK_S = 0.25
_WORKERS_S = 1.0
_HEALTH_S = 2.0
"""Time between two looks at the health path."""
_HEALTH_AGAIN_S = 0.5
_MISSES = 3
_UNHEALTHY_S = 5.0
"""Shortest time over which the misses must lie."""
_BUSY_SHARE = 0.2
"""Of a core: a server that computes so much while it answers nothing is busy, and gets more time."""
_BUSY_LIMIT_S = 9.0
"""The time that it gets unless `[run] stall_limit` says another: a server may read a long prompt before it listens again, but one that
spins for ever computes as well."""
_ASK_LIMIT_S = 5.0


def _not_known(again: bool) -> float | None:
    del again
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOrder:
    """What one point wants to be watched beside processes, log and health path."""

    flow: Flow
    prefill_s: Prefill = _not_known
    counters: EngineCounters | None = None
    """None: the engine has none."""
    health_tells: bool = True
    """Whether the health path notices a dead engine; where it does not, a completion of one token is asked for after a silence."""
    stall_limit_s: float | None = None
    """So long without a byte and without a sign of life means that the engine stands still; None = what its counters and the prompts
    under way allow to say."""


@dataclass(slots=True, kw_only=True)
class EngineWatch:
    """Watches one launched engine from its readiness on; `watch` is called for each point."""

    plan: LaunchPlan
    vitals: Vitals
    exited: Callable[[], Failure | None]
    """Returns why a process that we started has ended."""
    log: Path
    tail: LogTail
    """Of the log, from readiness on."""
    search: FatalSearch
    workers: Workers
    progress: ProgressWatch
    """Of the same log."""
    notes: list[str] = field(default_factory=list)
    """What happened to the engine without ending it."""
    _failure: Failure | None = None
    _suspicions: list[Suspicion] = field(default_factory=list)
    _stopped: dict[int, Suspicion] = field(default_factory=dict)
    """Of workers that are stopped by a signal, by their number."""
    _survived: Survived = field(default_factory=Survived)

    @property
    def suspected(self) -> bool:
        """Whether there is a reason to believe that the engine is dead, and nothing to decide it yet."""
        return bool(self._suspicions)

    async def watch(self, order: WatchOrder) -> Failure:
        """Return when the engine has died or hangs; wait for ever otherwise, so cancel it."""
        self._failure = None
        self.vitals.questions.asked = 0
        motion = Motion(flow=order.flow, counters=order.counters, survived=self._survived)
        async with anyio.create_task_group() as tasks:
            for look in (self._processes(order), self._health(order), self._motion(order, motion)):
                tasks.start_soon(self._until_failed, look, tasks.cancel_scope)
        assert self._failure is not None  # each of them ends with a failure only
        return self._failure

    async def _until_failed(self, look: Awaitable[Failure], scope: anyio.CancelScope) -> None:
        failure = await look
        self._failure = self._failure or failure
        scope.cancel()

    async def _processes(self, order: WatchOrder) -> Failure:
        """Watch processes and log."""
        next_workers = 0.0
        while True:
            if (failure := self.exited()) is not None:
                return failure
            now = time.monotonic()
            if (fatal := self.search.take(self.tail)) is not None:
                found = Failure(
                    code=fatal.signature.id,
                    cause=fatal.signature.cause,
                    fix=fatal.signature.fix,
                    evidence=(f"line {fatal.line}: {fatal.text}",),
                )
                self._suspicions.append(Suspicion(since=now, failure=found, what=f"its log said '{fatal.text}'"))
            if now >= next_workers:
                next_workers = now + _WORKERS_S
                self._look_at_workers(now)
            for suspicion in tuple(self._suspicions):
                if (failure := await self._judged(suspicion, order)) is not None:
                    return failure
            await anyio.sleep(_TICK_S)

    def _look_at_workers(self, now: float) -> None:
        """Suspect the engine for each worker that has ended, and for each that is stopped, as long as it is."""
        for worker in self.workers.died():
            what = f"process {worker.birth.pid} ({worker.name}) ended"
            cause = f"A worker of engine {self.plan.engine}, {what} while its server lived on."
            self._suspicions.append(Suspicion(since=now, failure=self._explained("engine_worker_died", cause), what=what))
        stopped = {worker.birth.pid: worker for worker in self.workers.stopped()}
        for pid, worker in stopped.items():
            if pid not in self._stopped:
                what = f"process {pid} ({worker.name}) was stopped by a signal"
                failure = self._explained("engine_worker_stopped", f"A worker of engine {self.plan.engine}, {what}, and nothing moves.")
                self._stopped[pid] = Suspicion(since=now, failure=failure, what=what)
                self._suspicions.append(self._stopped[pid])
        for pid in self._stopped.keys() - stopped.keys():
            suspicion = self._stopped.pop(pid)
            if suspicion in self._suspicions:
                self._drop(suspicion)

    def _drop(self, suspicion: Suspicion) -> None:
        self._suspicions.remove(suspicion)
        self.notes.append(f"while it was measured, {suspicion.what}; the engine went on answering")

    async def _judged(self, suspicion: Suspicion, order: WatchOrder) -> Failure | None:
        """Return the failure once nothing speaks against it; drop the suspicion where the engine goes on."""
        in_flight, silent_s = order.flow()
        said = suspicion.judge(in_flight=in_flight, silent_s=silent_s, now=time.monotonic())
        if said == "ask":
            said = "alive" if await self.vitals.completes(_ASK_LIMIT_S) else "dead"
        if said == "dead":
            return suspicion.failure
        if said == "alive":
            self._drop(suspicion)
        return None

    async def _health(self, order: WatchOrder) -> Failure:
        misses, began, cpu_s, waited_s = 0, 0.0, 0.0, 0.0
        busy_limit_s = order.stall_limit_s or _BUSY_LIMIT_S
        problem: str | None = None
        while True:
            await anyio.sleep(_HEALTH_S if problem is None else _HEALTH_AGAIN_S)
            if not misses:
                began, cpu_s, waited_s = time.monotonic(), self.workers.server_cpu_s(), self.workers.server_waited_s()
            problem = await self.vitals.health()
            passed_s = time.monotonic() - began
            if problem is None or order.flow()[1] < passed_s:
                # An engine from which tokens come is alive, whatever its health path says.
                misses = 0
                continue
            misses += 1
            busy = self.workers.server_cpu_s() - cpu_s > _BUSY_SHARE * passed_s
            # A server that others keep from running is late, and hangs no more than they do.
            ran_s = passed_s - (self.workers.server_waited_s() - waited_s)
            if misses >= _MISSES and ran_s >= (busy_limit_s if busy else _UNHEALTHY_S):
                stopped = " Its server is stopped by a signal." if self.workers.server_is_stopped() else ""
                cause = (
                    f"Engine {self.plan.engine} hangs: {self.vitals.health_path} failed {misses} times in {passed_s:.0f} s ({problem}), "
                    f"and nothing else arrived meanwhile.{stopped}"
                )
                return self._explained("engine_unhealthy", cause)

    async def _motion(self, order: WatchOrder, motion: Motion) -> Failure:
        standstill = Standstill(
            motion=motion,
            vitals=self.vitals,
            prefill_s=order.prefill_s,
            progress=self.progress,
            health_tells=order.health_tells,
            limit_s=order.stall_limit_s,
            # What an engine may do without a word while it gets ready, it may do here.
            build_limit_s=self.plan.stall_limit_s or STALL_LIMIT_S,
        )
        stall = await standstill.found()
        cause = f"Engine {self.plan.engine} stands still: no byte of any answer for {stall.silent_s:.0f} s, and {stall.what}."
        fix = f"Read the engine's log: {self.log}. If it may need more than {stall.limit_s:.0f} s there, raise [run] stall_limit."
        return self._explained("engine_stalled", cause, fix)

    def _explained(self, code: str, cause: str, fix: str = "") -> Failure:
        """Return a failure with what the log says since the engine was ready."""
        found = diagnose(self.search.recent, self.search.signatures, engine=self.plan.engine)
        root = found.root
        if root is None:
            return Failure(code=code, cause=cause, fix=fix or f"Read the engine's log: {self.log}.", evidence=found.tail)
        return Failure(
            code=code, cause=f"{cause} {root.signature.cause}", fix=root.signature.fix, evidence=(f"line {root.line}: {root.text}",)
        )
