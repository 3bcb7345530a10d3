"""One phase of load: lanes that draw sessions, or arrivals that start them, until these end or the time is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio

from ixbench.model.units import NS_PER_S
from ixbench.replay.graph import ScheduleError, source_of
from ixbench.replay.idle import IdleCaps
from ixbench.replay.session import SessionPlayer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import TaskGroup

    from ixbench.model.record import RequestRecord
    from ixbench.model.schedule import Phase, Session, SessionSource
    from ixbench.replay.clock import Clock
    from ixbench.replay.session import Dispatch, Wait

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry:
    """What a phase leaves to one that goes on with its sessions."""

    source: SessionSource
    players: Mapping[int, SessionPlayer]
    """The session that each lane holds."""


@dataclass(slots=True, kw_only=True)
class PhaseLoad:
    """The state of one phase while it runs."""

    phase: Phase
    clock: Clock
    sender: Sender
    carry: Carry | None = None
    """What the phase before left; only phases without sessions of their own look at it."""
    start_ns: int = 0
    """When the lanes had their first sessions."""
    closed_ns: int | None = None
    """When nothing new could start any more; None = the sessions came to their end by themselves."""
    early_ends: dict[str, int] = field(default_factory=dict)
    """Streams that ended before their last turn, by cause."""
    turns_skipped: int = 0
    """Turns of these streams that were never sent, and those that made no sense without them."""
    unfinished: list[str] = field(default_factory=list)
    """Sessions that were under way when the phase ended."""
    flights: dict[anyio.CancelScope, None] = field(default_factory=dict)
    """The scope of each request in flight; in order of send, so that cancelling them is the same in every run."""
    players: dict[int, SessionPlayer] = field(default_factory=dict)
    """The session that each lane holds."""
    caps: IdleCaps = field(init=False)
    _source: SessionSource = field(init=False)
    _tasks: TaskGroup | None = None
    _sleeping: dict[Wait, None] = field(default_factory=dict)
    _pauses: dict[anyio.CancelScope, None] = field(default_factory=dict)
    _sent: dict[int, int] = field(default_factory=dict)
    """Requests of each lane, where they are limited."""
    _unspent: int = 0
    """Lanes that may send more."""

    def __post_init__(self) -> None:
        """Check what cannot go together, and find the source."""
        phase = self.phase
        self.caps = IdleCaps(phase, self.players)
        if phase.lanes is None and (phase.turns_per_lane, phase.idle_limit_s, phase.session_idle_limit_s) != (None, None, None):
            raise ScheduleError(f"the {phase.name} phase limits the turns or the idle time of lanes, which an open loop has not")
        source = source_of(phase)
        if source is not None:
            self._source = source
            self.carry = None
        elif self.carry is None or phase.lanes is None:
            raise ScheduleError(f"the {phase.name} phase goes on with the sessions of lanes, and there are none before it")
        else:
            self._source = self.carry.source
        self._unspent = phase.lanes or 0

    async def run(self) -> None:
        """Carry out the load and return when the last request has ended."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            async with anyio.create_task_group() as sessions:
                if self.phase.lanes is None:
                    self._begin(tasks)
                    await self._start_arrivals(sessions)
                else:
                    await self._start_lanes(self.phase.lanes, sessions, tasks)
            tasks.cancel_scope.cancel()
        for player in self.players.values():
            self._count(player)

    @property
    def left(self) -> Carry:
        """What a following phase can go on with."""
        return Carry(source=self._source, players={lane: player for lane, player in self.players.items() if not player.over})

    def close(self) -> None:
        """Let nothing new start; what waits for its moment is given up, or left to the next phase."""
        if self.closed_ns is None:
            self.closed_ns = self.clock.now_ns()
        for wait in tuple(self._sleeping):
            if wait.scope is not None:
                wait.scope.cancel()
        for scope in tuple(self._pauses):
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

    def end(self, grace_s: float) -> None:
        """Do the same without being waited for."""
        if self.closed_ns is None and self._tasks is not None:
            self.closed_ns = self.clock.now_ns()
            self._tasks.start_soon(self.close_within, grace_s)

    async def until(self, wait: Wait) -> bool:
        """Wait for the moment of a turn; its scope is cancelled when the phase closes. Return whether something may start then."""
        if self.closed_ns is None and wait.moment_ns > self.clock.now_ns():
            self._sleeping[wait] = None
            try:
                await self.clock.sleep_until_ns(wait.moment_ns)
            finally:
                del self._sleeping[wait]
        return self.closed_ns is None

    def admits(self, lane: int | None) -> bool:
        """Say whether a lane may send one more turn, which is then counted."""
        limit = self.phase.turns_per_lane
        if limit is None or lane is None:
            return True
        sent = self._sent.get(lane, 0)
        if sent >= limit:
            return False
        self._sent[lane] = sent + 1
        return True

    async def send(self, dispatch: Dispatch) -> tuple[RequestRecord, str | None]:
        """Send a turn, and close the phase where it was the last that any lane may send."""
        lane, limit = dispatch.lane, self.phase.turns_per_lane
        if limit is not None and lane is not None and self._sent[lane] == limit:
            self._unspent -= 1
            if not self._unspent:
                self.end(self.phase.grace_s)
        return await self.sender(dispatch, self)

    def settle(self, player: SessionPlayer) -> None:
        """Look for idle time after a request, or a turn that came to nothing."""
        if self.caps.any and self.closed_ns is None:
            self._wake(self.caps.settle(player, self.clock.now_ns(), busy=bool(self.flights)))

    def _wake(self, moved: list[Wait]) -> None:
        """Let turns whose moments were changed look again."""
        for wait in moved:
            if wait in self._sleeping and wait.scope is not None:
                wait.moved = True
                wait.scope.cancel()

    def _begin(self, tasks: TaskGroup) -> None:
        self.start_ns = self.clock.now_ns()
        if self.phase.duration_s is not None:
            tasks.start_soon(self._close_in_time, self.phase.duration_s)

    async def _close_in_time(self, duration_s: float) -> None:
        await self.clock.sleep_until_ns(self.start_ns + round(duration_s * NS_PER_S))
        await self.close_within(self.phase.grace_s)

    async def _start_lanes(self, lanes: int, sessions: TaskGroup, tasks: TaskGroup) -> None:
        """Give every lane a session, then start them all; each draws its next one when its session is over."""
        held = self.carry.players if self.carry is not None else {}
        for lane in range(lanes):
            player = held.get(lane) or self._drawn(lane)
            if player is not None:
                self.players[lane] = player
        self._begin(tasks)
        for player in self.players.values():
            player.begin(self.start_ns, delays=self.phase.delays)
        if self.phase.align_start:
            self._align()
        self.caps.begin(self.start_ns)
        for number, (lane, player) in enumerate(tuple(self.players.items())):
            sessions.start_soon(self._lane, lane, player)
            if number % _STARTS_AT_A_STRETCH == _STARTS_AT_A_STRETCH - 1:
                await anyio.lowlevel.checkpoint()

    def _align(self) -> None:
        """Let the first turn of all lanes go at once, and the others as much earlier."""
        waits = [wait for player in self.players.values() for wait in player.waits]
        early_ns = min((wait.moment_ns for wait in waits), default=self.start_ns) - self.start_ns
        for wait in waits:
            wait.moment_ns -= early_ns

    async def _lane(self, lane: int, player: SessionPlayer) -> None:
        failures = 0
        while True:
            await player.play(self)
            if not player.over:
                return
            unreachable = player.last is not None and player.last.failure == "transport"
            failures = failures + 1 if unreachable else 0
            if failures and self.phase.duration_s is not None:
                # Sessions may be endless here: a server that cannot be reached would be asked thousands of times a second.
                await self._pause(min(0.02 * 2 ** min(failures, 10), _LONGEST_PAUSE_S))
            following = self._drawn(lane) if self.closed_ns is None else None
            if following is None:
                self._wake(self.caps.leave(lane, self.clock.now_ns(), busy=bool(self.flights)))
                return
            self._count(player)
            player = self.players[lane] = following
            player.begin(self.clock.now_ns(), delays=self.phase.delays)
            self.caps.enter(lane)
            self.settle(player)

    def _drawn(self, lane: int) -> SessionPlayer | None:
        session = self._source.draw(lane)
        return None if session is None else SessionPlayer(session=session, lane=lane)

    async def _pause(self, seconds: float) -> None:
        with anyio.CancelScope() as scope:
            self._pauses[scope] = None
            try:
                if self.closed_ns is None:
                    await self.clock.sleep_until_ns(self.clock.now_ns() + round(seconds * NS_PER_S))
            finally:
                del self._pauses[scope]

    async def _start_arrivals(self, tasks: TaskGroup) -> None:
        """Start each session at its arrival, whatever became of those before it."""
        room = anyio.Semaphore(_MOST_OPEN_SESSIONS)
        number = 0
        while (session := self._source.draw(None)) is not None:
            if session.arrival_ns is None:
                raise ScheduleError(f"session {session.id} has no arrival time, which an open loop needs")
            arrival_ns = self.start_ns + session.arrival_ns
            with anyio.CancelScope() as scope:
                self._pauses[scope] = None
                try:
                    if self.closed_ns is None:
                        await self.clock.sleep_until_ns(arrival_ns)
                        await room.acquire()
                finally:
                    del self._pauses[scope]
            if self.closed_ns is not None:
                return
            tasks.start_soon(partial(self._arrive, session, arrival_ns, room))
            number += 1
            if number % _STARTS_AT_A_STRETCH == 0:
                await anyio.lowlevel.checkpoint()

    async def _arrive(self, session: Session, arrival_ns: int, room: anyio.Semaphore) -> None:
        player = SessionPlayer(session=session, lane=None)
        try:
            player.begin(arrival_ns, delays=self.phase.delays)
            await player.play(self)
        finally:
            room.release()
            self._count(player)

    def _count(self, player: SessionPlayer) -> None:
        """Add what became of a session in this phase."""
        for cause in player.early_ends:
            self.early_ends[cause] = self.early_ends.get(cause, 0) + 1
        self.turns_skipped += player.skipped
        if not player.over:
            self.unfinished.append(player.session.id)
        player.early_ends, player.skipped = [], 0
