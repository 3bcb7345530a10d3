"""Plays one session: each turn starts when all turns that it waits for have ended and its delay is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import anyio

from ixbench.model.errors import IxbenchError
from ixbench.model.prompt import MessagesPrompt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from ixbench.model.record import RequestRecord
    from ixbench.model.schedule import Edge, Session

EarlyEnd = Literal["context_overflow", "no_answer"]
"""Why a session ended before its last turn: the server found its prompt too long, or a turn continues an answer that is not there."""


class ScheduleError(IxbenchError):
    """A schedule cannot be carried out: a fault of the workload that built it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """A turn on its way to the channel."""

    session: Session
    index: int
    lane: int | None
    due_ns: int | None
    """As it is to stand in the record."""
    answers: dict[int, str]
    on_send: Callable[[int], None]
    """To be called with the time just before the send."""
    scope: anyio.CancelScope
    """Cancelling it cancels the request, and all that would follow it in the same task."""


@dataclass(slots=True, kw_only=True)
class SessionPlayer:
    """The state of one session while it is played."""

    session: Session
    lane: int | None
    start_ns: int
    """When the session began: its arrival in an open loop."""
    wait_until: Callable[[int, anyio.CancelScope], Awaitable[bool]]
    """Waits for a moment in a scope that is cancelled when nothing may start any more; False = it was so from the beginning."""
    send: Callable[[Dispatch], Awaitable[tuple[RequestRecord, str | None]]]
    """Sends a turn; returns its record and the answer that was kept."""
    early_end: EarlyEnd | None = None
    last: RequestRecord | None = None
    """The record that ended last."""
    started: int = 0
    """Turns that were sent."""
    _answers: dict[int, str] = field(default_factory=dict)
    _ended: set[int] = field(default_factory=set)
    _left: list[int] = field(default_factory=list)
    """For each turn: predecessors that it still waits for."""
    _due: list[int] = field(default_factory=list)
    """For each turn: the latest moment that a predecessor's end (or send) and delay gave so far."""
    _followers: dict[int, list[tuple[int, Edge]]] = field(default_factory=dict)
    _stopped: bool = False

    async def play(self) -> None:
        """Play the session to its end.

        :raises ScheduleError: if its turns cannot be played as they stand.
        """
        turns = self.session.turns
        if not turns:
            raise ScheduleError(f"session {self.session.id} has no turns")
        self._left = [len(turn.after) for turn in turns]
        self._due = [self.start_ns + (0 if turn.after else turn.delay_ns) for turn in turns]
        for index, turn in enumerate(turns):
            for edge in turn.after:
                if not 0 <= edge.turn < len(turns):
                    raise ScheduleError(f"session {self.session.id}: turn {index} waits for turn {edge.turn}, which does not exist")
                self._followers.setdefault(edge.turn, []).append((index, edge))
        if len(turns) == 1 and not turns[0].after:
            await self._turns(0, None)
            return
        async with anyio.create_task_group() as tasks:
            for index, turn in enumerate(turns):
                if not turn.after:
                    tasks.start_soon(self._turns, index, tasks)
        if len(self._ended) < len(turns) and not self._stopped and self.early_end is None:
            waiting = ", ".join(str(index) for index in range(len(turns)) if index not in self._ended)
            raise ScheduleError(f"session {self.session.id}: turns {waiting} wait for one another and never start")

    async def _turns(self, index: int, tasks: TaskGroup | None) -> None:
        """Play a turn, then the one that its end lets go first, and so on: a task for each turn would cost more than the turn."""
        following: int | None = index
        with anyio.CancelScope() as scope:
            while following is not None:
                following = await self._turn(following, tasks, scope)
        if scope.cancelled_caught:
            self._stopped = True

    async def _turn(self, index: int, tasks: TaskGroup | None, scope: anyio.CancelScope) -> int | None:
        """Play a turn; return one that its end lets go."""
        if not await self.wait_until(self._due[index], scope):
            self._stopped = True
            return None
        if self.early_end is not None or not self._can_continue(index):
            return None
        self.started += 1
        dispatch = Dispatch(
            session=self.session,
            index=index,
            lane=self.lane,
            due_ns=self._recorded_due(index),
            answers=dict(self._answers),
            on_send=lambda sent_ns: self._start(self._release(index, "start", sent_ns), tasks),
            scope=scope,
        )
        record, answer = await self.send(dispatch)
        self.last = record
        self._ended.add(index)
        if answer:
            self._answers[index] = answer
        if record.error_class == "context_overflow":
            self.early_end = "context_overflow"
            return None
        followers = self._release(index, "end", record.close_ns)
        self._start(followers[1:], tasks)
        return followers[0] if followers else None

    def _release(self, index: int, anchor: Literal["end", "start"], moment_ns: int) -> list[int]:
        """Return the turns that waited for this end (or this send) last."""
        free: list[int] = []
        for follower, edge in self._followers.get(index, ()):
            if edge.anchor != anchor:
                continue
            self._due[follower] = max(self._due[follower], moment_ns + edge.delay_ns)
            self._left[follower] -= 1
            if self._left[follower] == 0:
                free.append(follower)
        return free

    def _start(self, turns: list[int], tasks: TaskGroup | None) -> None:
        for index in turns:
            assert tasks is not None  # only a session of one turn has no tasks, and nothing follows that one
            tasks.start_soon(self._turns, index, tasks)

    def _recorded_due(self, index: int) -> int | None:
        """Return when the turn was due; None only in a closed loop without delays, where it is sent as soon as it can be."""
        turn = self.session.turns[index]
        delayed = any(edge.delay_ns for edge in turn.after) if turn.after else bool(turn.delay_ns)
        return self._due[index] if delayed or self.lane is None else None

    def _can_continue(self, index: int) -> bool:
        """Say whether the answer that the turn continues is there; without it the session is over."""
        prompt = self.session.turns[index].prompt
        if not isinstance(prompt, MessagesPrompt) or prompt.continues is None:
            return True
        before = prompt.continues
        if not 0 <= before < len(self.session.turns) or not self.session.turns[before].keep_answer:
            raise ScheduleError(f"session {self.session.id}: turn {index} continues turn {before}, whose answer is not asked to be kept")
        if before not in self._ended:
            raise ScheduleError(f"session {self.session.id}: turn {index} continues turn {before}, but does not wait for it")
        if before in self._answers:
            return True
        self.early_end = "no_answer"
        return False
