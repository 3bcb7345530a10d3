"""Carries out a Schedule on a Channel: the one executor, for real engines and simulated ones. It knows turns, lanes and phases only."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import anyio

from ixbench.model.errors import first_error
from ixbench.model.exchange import TurnRequest
from ixbench.model.units import NS_PER_S
from ixbench.replay.clock import MonotonicClock
from ixbench.replay.lag import LagMonitor, run_queue_wait_s
from ixbench.replay.load import PhaseLoad
from ixbench.replay.progress import Progress
from ixbench.replay.quiet import collector_paused
from ixbench.replay.records import cancelled, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from ixbench.model.exchange import Channel
    from ixbench.model.record import RequestRecord
    from ixbench.model.schedule import Phase, PhaseName, Schedule
    from ixbench.replay.clock import Clock, ClockAnchor
    from ixbench.replay.load import Carry
    from ixbench.replay.session import Dispatch

STOP_GRACE_S = 5.0
"""How long requests in flight may still take after the user asked to stop."""
DEATH_GRACE_S = 1.0
"""The same after the engine died: some leave their streams hanging."""


FEWEST_RESULTS = 10
"""Shares of failures are looked at from so many results on."""

Ended = Literal["completed", "stopped", "engine_died", "aborted"]
"""How a replay ended; "aborted": by a rule of its own phases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """How a phase went."""

    name: PhaseName
    start_ns: int
    end_ns: int
    """When its last request had ended."""
    closed_ns: int | None
    """When nothing new could start any more; None where the sessions ran out first."""
    sent: int
    early_ends: Mapping[str, int]
    """Streams that ended before their last turn, by cause: "context_overflow", "no_answer" (a turn continues an answer that failed or is
    empty)."""
    turns_skipped: int
    """Turns that were never sent: the rest of these streams, and what made no sense without it."""
    unfinished: tuple[str, ...]
    """Sessions that were under way when it ended."""
    client_cpu_s: float
    """CPU seconds of this process."""
    client_wait_s: float | None = None
    """Seconds that this process could have run and had no core; None where the system does not tell."""
    idle_jumps: int = 0
    """How often time without any request in flight was cut short."""
    idle_jumped_s: float = 0.0
    """By how much in all."""
    session_idle_jumps: int = 0
    """The same for single sessions without a request in flight."""
    session_idle_jumped_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionReport:
    """What is known of a replay beside its records."""

    ended: Ended
    cause: str | None = None
    """Why it was aborted, in words."""
    phases: tuple[PhaseReport, ...]
    """The phases that began, in order."""
    clock: Literal["kernel", "read", "virtual"]
    anchor: ClockAnchor

    def phase(self, name: PhaseName) -> PhaseReport | None:
        """Return the last phase of that name."""
        return next((phase for phase in reversed(self.phases) if phase.name == name), None)

    def facts(self) -> dict[str, object]:
        """Return what a result should say about how the replay went, its measured phase above all."""
        found: dict[str, object] = {"ended": self.ended, "cause": self.cause}
        profile = self.phase("profile")
        if profile is not None:
            found |= {
                "early_ends": dict(profile.early_ends),
                "turns_skipped": profile.turns_skipped,
                "idle_jumps": profile.idle_jumps,
                "idle_jumped_s": profile.idle_jumped_s,
                "session_idle_jumps": profile.session_idle_jumps,
                "session_idle_jumped_s": profile.session_idle_jumped_s,
            }
        return found


async def execute(
    schedule: Schedule,
    channel: Channel,
    *,
    record: Callable[[RequestRecord], None],
    ids: Callable[[], str],
    clock: Clock | None = None,
    progress: Progress | None = None,
    stop: anyio.Event | None = None,
    died: anyio.Event | None = None,
    stop_grace_s: float = STOP_GRACE_S,
    around: Callable[[], AbstractAsyncContextManager[None]] | None = None,
) -> ExecutionReport:
    """Carry out all phases of a schedule.

    Turns start when all turns that they wait for have ended and their delay is over. A failed turn does not end its stream, with two
    exceptions: a prompt that the server finds too long, and a turn that continues an answer which failed or is empty. Turns of other
    streams that waited for the rest of such a stream wait no more. Nothing is retried.
    When a phase's time is over nothing new starts, requests in flight get its grace and are then cancelled.

    :param record: gets each record as its request ends; it must be quick.
    :param ids: gives a request id that is fresh in the run.
    :param progress: kept up to date, to be polled.
    :param stop: when set, nothing new starts, requests in flight get `stop_grace_s`, and the remaining phases are left out.
    :param died: the same for a dead engine, with one second of grace.
    :param around: entered right before a profile phase, when no request is in flight, and left right after the last one has ended.
    :raises ScheduleError: if the schedule cannot be carried out as it stands.
    :raises BadRecordError: if the stamps of a record go backwards.
    """
    executor = _Executor(
        channel=channel,
        record=record,
        ids=ids,
        clock=clock or MonotonicClock(),
        progress=progress or Progress(),
        stop_grace_s=stop_grace_s,
        around=around or nullcontext,
    )
    try:
        return await executor.run(schedule, stop, died)
    except BaseExceptionGroup as group:
        raise first_error(group) from None


@dataclass(frozen=True, slots=True)
class _End:
    """What can end a replay before its time."""

    event: anyio.Event | None
    reason: Literal["engine_died", "stopped"]
    grace_s: float

    @property
    def reached(self) -> bool:
        return self.event is not None and self.event.is_set()


@dataclass(slots=True, kw_only=True)
class _Executor:
    channel: Channel
    record: Callable[[RequestRecord], None]
    ids: Callable[[], str]
    clock: Clock
    progress: Progress
    stop_grace_s: float
    around: Callable[[], AbstractAsyncContextManager[None]]
    _lag: LagMonitor | None = None
    _load: PhaseLoad | None = None
    _carry: Carry | None = None
    _ended: Ended = "completed"
    _cause: str | None = None

    async def run(self, schedule: Schedule, stop: anyio.Event | None, died: anyio.Event | None) -> ExecutionReport:
        reports: list[PhaseReport] = []
        ends: tuple[_End, ...] = (_End(died, "engine_died", DEATH_GRACE_S), _End(stop, "stopped", self.stop_grace_s))
        async with anyio.create_task_group() as watchers:
            if self.clock.kind != "virtual":
                self._lag = LagMonitor(self.clock)
                watchers.start_soon(self._lag.run)
            for end in ends:
                watchers.start_soon(self._end_when, end)
            for phase in schedule.phases:
                if self._over(ends):
                    break
                measured = phase.name == "profile"
                async with self.around() if measured else nullcontext():
                    if self._over(ends):
                        break
                    # A collection stops the client, which virtual time does not see; there it would only cost a full one for each phase.
                    with collector_paused() if measured and self.clock.kind != "virtual" else nullcontext():
                        reports.append(await self._run_phase(phase))
            watchers.cancel_scope.cancel()
        return ExecutionReport(
            ended=self._ended,
            cause=self._cause if self._ended == "aborted" else None,
            phases=tuple(reports),
            clock=self.clock.kind,
            anchor=self.clock.anchor,
        )

    def _over(self, ends: tuple[_End, ...]) -> bool:
        """Say whether nothing new is to begin, and take down why."""
        reached = [end for end in ends if end.reached]
        if reached:
            self._ended = reached[0].reason
        return self._ended != "completed"

    async def _end_when(self, end: _End) -> None:
        """End the replay when the event is set; a dead engine outweighs the wish to stop."""
        if end.event is None:
            return
        await end.event.wait()
        if self._ended != "engine_died":
            self._ended = end.reason
        if self._load is not None:
            await self._load.close_within(min(end.grace_s, self._load.phase.grace_s))

    async def _run_phase(self, phase: Phase) -> PhaseReport:
        cpu_s, wait_s = time.process_time(), run_queue_wait_s()
        self.progress.begin(phase, self.clock.now_ns())
        load = self._load = PhaseLoad(phase=phase, clock=self.clock, sender=self._send, carry=self._carry)
        try:
            await load.run()
        finally:
            self._load = None
        self._carry = load.left
        return PhaseReport(
            name=phase.name,
            start_ns=load.start_ns,
            end_ns=self.clock.now_ns(),
            closed_ns=load.closed_ns,
            sent=self.progress.sent,
            early_ends=load.early_ends,
            turns_skipped=load.turns_skipped,
            unfinished=tuple(load.unfinished),
            client_cpu_s=time.process_time() - cpu_s,
            client_wait_s=(run_queue_wait_s() or 0.0) - wait_s if wait_s is not None else None,
            idle_jumps=load.caps.system.count,
            idle_jumped_s=load.caps.system.total_ns / NS_PER_S,
            session_idle_jumps=load.caps.sessions.count,
            session_idle_jumped_s=load.caps.sessions.total_ns / NS_PER_S,
        )

    async def _send(self, dispatch: Dispatch, load: PhaseLoad) -> tuple[RequestRecord, str | None]:
        """Send one turn and record what became of it, also when it is cancelled."""
        request = TurnRequest(
            req_id=self.ids(),
            session=dispatch.session,
            index=dispatch.index,
            phase=load.phase.name,
            lane=dispatch.lane,
            answers=dispatch.answers,
            memory=dispatch.memory,
            output_limit=load.phase.output_limit,
        )
        self.progress.sent += 1
        began_ns = self.clock.now_ns()
        dispatch.on_send(began_ns)
        load.flights[dispatch.scope] = None
        if self._lag is not None:
            self._lag.begin()
        try:
            exchange = await self.channel.send(request)
        except anyio.get_cancelled_exc_class():
            self._keep_cancelled(request, dispatch.due_ns, began_ns)
            raise
        finally:
            del load.flights[dispatch.scope]
            if self._lag is not None:
                self._lag.end()
        record = self._keep(finished(request, exchange, due_ns=dispatch.due_ns, lag_ns=self._lag_since(exchange.send_ns)))
        self._look_at_result(record, load)
        return record, exchange.answer

    def _look_at_result(self, record: RequestRecord, load: PhaseLoad) -> None:
        """End the replay where the phase's rules say so."""
        phase, progress = load.phase, self.progress
        if phase.main_must_succeed and record.depth == 0 and record.failure is not None:
            what = f"turn {record.turn} of {record.session_id} failed: {record.failure}: {record.error_text or record.error_class or ''}"
            self._abort(f"in the {phase.name} phase every request of a main agent must succeed, and {what}".rstrip(": "), load)
        limit = phase.failed_share_limit
        if limit is not None:
            results = progress.done - progress.cancelled
            failed = results - progress.ok
            if results >= max(phase.lanes or 0, FEWEST_RESULTS) and failed > limit * results:
                self._abort(f"{failed} of {results} requests failed, more than {limit:.0%}", load)

    def _abort(self, cause: str, load: PhaseLoad) -> None:
        if self._ended == "completed":
            self._ended, self._cause = "aborted", cause
            load.end(min(self.stop_grace_s, load.phase.grace_s))

    def _keep_cancelled(self, request: TurnRequest, due_ns: int | None, began_ns: int) -> None:
        lag_ns = self._lag_since(began_ns)
        self._keep(cancelled(request, due_ns=due_ns, send_ns=began_ns, close_ns=self.clock.now_ns(), lag_ns=lag_ns))

    def _lag_since(self, moment_ns: int) -> int:
        return self._lag.since(moment_ns) if self._lag is not None else 0

    def _keep(self, record: RequestRecord) -> RequestRecord:
        self.progress.count(record)
        self.record(record)
        return record
