"""One phase of load: lanes that draw sessions, or arrivals that start them, until these end or the time is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from ixbench.replay.clock import NS_PER_S
from ixbench.replay.session import ScheduleError, SessionPlayer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.abc import TaskGroup

    from ixbench.model.record import RequestRecord
    from ixbench.model.schedule import Phase, Session
    from ixbench.replay.clock import Clock
    from ixbench.replay.session import Dispatch

_MOST_OPEN_SESSIONS = 50_000
"""Open loop: sessions in flight at once; beyond them a session starts late, which its records show."""
_STARTS_AT_A_STRETCH = 32
"""Sessions started before other tasks get their turn."""
_LONGEST_PAUSE_S = 1.0


class Sender(Protocol):
    """Sends one turn of a phase and records it."""

    async def __call__(self, dispatch: Dispatch, load: PhaseLoad) -> tuple[RequestRecord, str | None]:
        """Return the record and the answer that was kept."""
        ...


@dataclass(slots=True, kw_only=True)
class PhaseLoad:
    """The state of one phase while it runs."""

    phase: Phase
    clock: Clock
    sender: Sender
    start_ns: int
    closed_ns: int | None = None
    """When nothing new could start any more; None = the sessions came to their end by themselves."""
    early_ends: dict[str, int] = field(default_factory=dict)
    """Sessions that ended before their last turn, by cause."""
    turns_skipped: int = 0
    """Turns of these sessions that were never sent."""
    flights: dict[anyio.CancelScope, None] = field(default_factory=dict)
    """The scope of each request in flight; in order of send, so that cancelling them is the same in every run."""
    _waits: dict[anyio.CancelScope, None] = field(default_factory=dict)

    async def run(self) -> None:
        """Carry out the load and return when the last request has ended."""
        async with anyio.create_task_group() as tasks:
            if self.phase.duration_s is not None:
                tasks.start_soon(self._close_in_time, self.phase.duration_s)
            async with anyio.create_task_group() as sessions:
                drawn = self.phase.sessions()
                if self.phase.lanes is None:
                    await self._start_arrivals(drawn, sessions)
                else:
                    await self._start_lanes(drawn, self.phase.lanes, sessions)
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """Let nothing new start; what waits for its moment is given up."""
        if self.closed_ns is None:
            self.closed_ns = self.clock.now_ns()
        for scope in tuple(self._waits):
            scope.cancel()

    def cancel_flights(self) -> None:
        """Cancel all requests in flight."""
        for scope in tuple(self.flights):
            scope.cancel()

    async def close_within(self, grace_s: float) -> None:
        """Let nothing new start, give what is in flight its grace, then cancel it."""
        self.close()
        await self.clock.sleep_until_ns(self.clock.now_ns() + round(grace_s * NS_PER_S))
        self.cancel_flights()

    async def wait_until(self, moment_ns: int, scope: anyio.CancelScope) -> bool:
        """Wait for a moment, in a scope that is cancelled when the phase closes; return whether something may start then."""
        if self.closed_ns is None and moment_ns > self.clock.now_ns():
            self._waits[scope] = None
            try:
                await self.clock.sleep_until_ns(moment_ns)
            finally:
                del self._waits[scope]
        return self.closed_ns is None

    async def _close_in_time(self, duration_s: float) -> None:
        await self.clock.sleep_until_ns(self.start_ns + round(duration_s * NS_PER_S))
        await self.close_within(self.phase.grace_s)

    async def _start_lanes(self, drawn: Iterator[Session], lanes: int, tasks: TaskGroup) -> None:
        """Start lanes while there are sessions for them; each draws its next one when its session is over."""
        for lane in range(lanes):
            session = self._draw(drawn)
            if session is None:
                return
            tasks.start_soon(self._lane, lane, session, drawn)
            if lane % _STARTS_AT_A_STRETCH == _STARTS_AT_A_STRETCH - 1:
                await anyio.lowlevel.checkpoint()

    async def _lane(self, lane: int, session: Session | None, drawn: Iterator[Session]) -> None:
        failures = 0
        while session is not None:
            player = await self._play(session, lane, self.clock.now_ns())
            unreachable = player.last is not None and player.last.failure == "transport"
            failures = failures + 1 if unreachable else 0
            if failures and self.phase.duration_s is not None:
                # Sessions may be endless here: a server that cannot be reached would be asked thousands of times a second.
                pause_s = min(0.02 * 2 ** min(failures, 10), _LONGEST_PAUSE_S)
                with anyio.CancelScope() as scope:
                    await self.wait_until(self.clock.now_ns() + round(pause_s * NS_PER_S), scope)
            session = self._draw(drawn)

    def _draw(self, drawn: Iterator[Session]) -> Session | None:
        return next(drawn, None) if self.closed_ns is None else None

    async def _start_arrivals(self, drawn: Iterator[Session], tasks: TaskGroup) -> None:
        """Start each session at its arrival, whatever became of those before it."""
        room = anyio.Semaphore(_MOST_OPEN_SESSIONS)
        for number, session in enumerate(drawn):
            if session.arrival_ns is None:
                raise ScheduleError(f"session {session.id} has no arrival time, which an open loop needs")
            arrival_ns = self.start_ns + session.arrival_ns
            with anyio.CancelScope() as scope:
                if await self.wait_until(arrival_ns, scope):
                    self._waits[scope] = None
                    await room.acquire()
            self._waits.pop(scope, None)
            if self.closed_ns is not None:
                return
            tasks.start_soon(partial(self._arrive, session, arrival_ns, room))
            if number % _STARTS_AT_A_STRETCH == _STARTS_AT_A_STRETCH - 1:
                await anyio.lowlevel.checkpoint()

    async def _arrive(self, session: Session, arrival_ns: int, room: anyio.Semaphore) -> None:
        try:
            await self._play(session, None, arrival_ns)
        finally:
            room.release()

    async def _play(self, session: Session, lane: int | None, start_ns: int) -> SessionPlayer:
        player = SessionPlayer(session=session, lane=lane, start_ns=start_ns, wait_until=self.wait_until, send=self._send)
        await player.play()
        if player.early_end is not None:
            self.early_ends[player.early_end] = self.early_ends.get(player.early_end, 0) + 1
            self.turns_skipped += len(session.turns) - player.started
        return player

    async def _send(self, dispatch: Dispatch) -> tuple[RequestRecord, str | None]:
        return await self.sender(dispatch, self)
