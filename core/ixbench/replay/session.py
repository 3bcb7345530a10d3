"""Plays one session: each turn starts when all turns that it waits for have ended and its delay is over.

A player outlives a phase: what is under way when a phase ends is taken up by the next one that goes on with its sessions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import anyio

from ixbench.model.prompt import MessagesPrompt
from ixbench.replay.graph import ScheduleError, graph_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyio.abc import TaskGroup

    from ixbench.model.record import RequestRecord
    from ixbench.model.schedule import Anchor, Session, Turn, TurnGraph

EarlyEnd = Literal["context_overflow", "no_answer"]
"""Why a stream ended before its last turn: the server found its prompt too long, or a turn continues an answer that is not there."""

_ANCHORS: tuple[Anchor, ...] = ("start", "end")


@dataclass(slots=True, eq=False)
class Wait:
    """A turn that all its predecessors let go, until it is sent."""

    index: int
    turn: Turn
    moment_ns: int
    """When it may be sent."""
    delayed: bool
    """Whether the moment is a wish of the schedule, and not just the earliest one there is."""
    held: bool = False
    """Whether its lane has sent all that it may in this phase."""
    moved: bool = False
    """Whether its moment was changed while its task slept, which was then woken to look again."""
    scope: anyio.CancelScope | None = None
    """Of the task that waits; None while it has not begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """A turn on its way to the channel."""

    session: Session
    index: int
    lane: int | None
    due_ns: int | None
    """As it is to stand in the record."""
    answers: dict[int, str]
    memory: dict[str, Any]
    """What the channel keeps of the session."""
    on_send: Callable[[int], None]
    """To be called with the time just before the send."""
    scope: anyio.CancelScope
    """Cancelling it cancels the request, and all that would follow it in the same task."""


class Gate(Protocol):
    """What a player asks of the phase that it plays in."""

    async def until(self, wait: Wait) -> bool:
        """Wait for the moment of a turn; False = nothing may start any more."""
        ...

    def admits(self, lane: int | None) -> bool:
        """Say whether the lane may send one more turn."""
        ...

    async def send(self, dispatch: Dispatch) -> tuple[RequestRecord, str | None]:
        """Send a turn; return its record and the answer that was kept."""
        ...

    def settle(self, player: SessionPlayer) -> None:
        """Hear that a request of the session ended, or that a turn came to nothing, and that all that follows is known."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class SessionPlayer:
    """The state of one session while it is played."""

    session: Session
    lane: int | None
    waits: dict[Wait, None] = field(default_factory=dict)
    """Turns that may be sent now or later."""
    flights: int = 0
    """Requests of it that are in flight."""
    early_ends: list[EarlyEnd] = field(default_factory=list)
    last: RequestRecord | None = None
    """The record that ended last."""
    skipped: int = 0
    """Turns that are given up."""
    idle_since_ns: int = 0
    """When its last request in flight ended, or the phase began."""
    _graph: TurnGraph | None = None
    _start_ns: int = 0
    _delays: bool = True
    _before: set[int] = field(default_factory=set)
    """Turns that ended before the phase, or count as such."""
    _sent_ns: dict[int, int] = field(default_factory=dict)
    _ended_ns: dict[int, int] = field(default_factory=dict)
    """Turns of this phase."""
    _known: set[int] = field(default_factory=set)
    """Turns that were let go or given up."""
    _void: set[int] = field(default_factory=set)
    """Turns that are given up: nobody waits for them, and no delay counts from them."""
    _cut: list[int] = field(default_factory=list)
    """Turns that were cancelled when the phase ended."""
    _ended_streams: set[str] = field(default_factory=set)
    _answers: dict[int, str] = field(default_factory=dict)
    _memory: dict[str, Any] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done in this phase or a later one."""
        return not self.waits and not self._cut and not self.flights

    def begin(self, start_ns: int, *, delays: bool) -> None:
        """Get ready for a phase, or for what is left of it: all turns whose turn it is become due.

        :raises ScheduleError: if the turns cannot be played as they stand.
        """
        self._start_ns, self._delays, self.idle_since_ns = start_ns, delays, start_ns
        if self._graph is None:
            self._graph = graph_of(self.session)
            self._before = set(self.session.done)
            for index in self._graph.first():
                self._look(index, resumed=bool(self._before))
            return
        ready = [wait.index for wait in self.waits]
        for index in self._cut:
            ready += self._graph.followers(index, "end")
        self._before.update(self._ended_ns, self._cut)
        self._sent_ns.clear()
        self._ended_ns.clear()
        self._cut.clear()
        self._known.difference_update(ready)
        self.waits.clear()
        for index in ready:
            self._look(index, resumed=True)

    async def play(self, gate: Gate) -> None:
        """Play what can be played in the phase.

        :raises ScheduleError: if the turns cannot be played as they stand.
        """
        assert self._graph is not None  # begin() came first
        if len(self._graph) == 1 and len(self.waits) == 1:
            await self._chain(next(iter(self.waits)), gate, None)
        else:
            async with anyio.create_task_group() as tasks:
                for wait in tuple(self.waits):
                    tasks.start_soon(self._chain, wait, gate, tasks)
        if self.over and len(self._known) + len(self.session.done) < len(self._graph):
            missing = (index for index in range(len(self._graph)) if index not in self._known and index not in self.session.done)
            waiting = ", ".join(map(str, missing))
            raise ScheduleError(f"session {self.session.id}: turns {waiting} wait for one another and never start")

    async def _chain(self, first: Wait, gate: Gate, tasks: TaskGroup | None) -> None:
        """Play a turn, then the one that its end lets go first, and so on: a task for each turn would cost more than the turn."""
        wait = first
        while True:
            with anyio.CancelScope() as scope:
                following: Wait | None = wait
                while following is not None:
                    wait = following
                    wait.scope = scope
                    following = await self._turn(wait, gate, tasks, scope)
                return
            if not wait.moved:
                return
            wait.moved = False

    async def _turn(self, wait: Wait, gate: Gate, tasks: TaskGroup | None, scope: anyio.CancelScope) -> Wait | None:
        """Play a turn; return one that its end lets go."""
        if not await gate.until(wait):
            return None
        index = wait.index
        if not self._makes_sense(wait):
            del self.waits[wait]
            ready = self._skip([index])
        elif not gate.admits(self.lane):
            wait.held = True
            gate.settle(self)
            return None
        else:
            del self.waits[wait]
            ready = await self._send(wait, gate, tasks, scope)
        self._start(ready[1:], gate, tasks)
        gate.settle(self)
        return ready[0] if ready else None

    async def _send(self, wait: Wait, gate: Gate, tasks: TaskGroup | None, scope: anyio.CancelScope) -> list[Wait]:
        """Send a turn; return the turns that its end lets go."""
        index = wait.index

        def on_send(sent_ns: int) -> None:
            self._sent_ns[index] = sent_ns
            self._start(self._look_at(index, "start"), gate, tasks)

        dispatch = Dispatch(
            session=self.session,
            index=index,
            lane=self.lane,
            # None only in a closed loop without delays, where a turn is sent as soon as it can be.
            due_ns=wait.moment_ns if wait.delayed or self.lane is None else None,
            answers=dict(self._answers),
            memory=self._memory,
            on_send=on_send,
            scope=scope,
        )
        self.flights += 1
        try:
            record, answer = await gate.send(dispatch)
        except anyio.get_cancelled_exc_class():
            self._cut.append(index)
            raise
        finally:
            self.flights -= 1
        self.last = record
        self.idle_since_ns = self._ended_ns[index] = record.close_ns
        if answer:
            self._answers[index] = answer
        if record.error_class == "context_overflow":
            self._end_stream(wait.turn.stream, "context_overflow")
            return self._released(index)
        return self._look_at(index, "end")

    def _start(self, waits: Iterable[Wait], gate: Gate, tasks: TaskGroup | None) -> None:
        for wait in waits:
            assert tasks is not None  # only a session of one turn has no tasks, and nothing follows that one
            tasks.start_soon(self._chain, wait, gate, tasks)

    def _look_at(self, index: int, anchor: Anchor) -> list[Wait]:
        """Return the turns that are let go by an end or a send."""
        assert self._graph is not None
        found = [self._look(follower) for follower in self._graph.followers(index, anchor)]
        return [wait for wait in found if wait is not None]

    def _look(self, index: int, *, resumed: bool = False) -> Wait | None:
        """Return a turn with its moment if all that it waits for is there, and nobody has seen that before.

        :param resumed: whether a turn without predecessors takes up its session, and does not begin it.
        """
        assert self._graph is not None
        if index in self._known or index in self._before:
            return None
        turn = self._graph[index]
        start_ns, moment_ns, delayed = self._start_ns, self._start_ns, False
        if not turn.after:
            delay_ns = turn.resume_ns if resumed else turn.delay_ns
            moment_ns, delayed = start_ns + delay_ns, delay_ns > 0 or resumed
        for edge in turn.after:
            before = edge.turn
            at_ns = (self._ended_ns if edge.anchor == "end" else self._sent_ns).get(before)
            if at_ns is not None:
                delayed = delayed or edge.delay_ns > 0
                moment_ns = max(moment_ns, at_ns + edge.delay_ns)
            elif before in self._before:
                delayed = True
                moment_ns = max(moment_ns, start_ns + turn.resume_ns)
            elif before not in self._void:
                return None
        self._known.add(index)
        wait = Wait(index, turn, moment_ns, delayed) if self._delays else Wait(index, turn, start_ns, delayed=False)
        self.waits[wait] = None
        return wait

    def _makes_sense(self, wait: Wait) -> bool:
        """Say whether a turn can still be sent: its stream goes on, and the answer that it continues is there."""
        if wait.turn.stream in self._ended_streams:
            return False
        prompt = wait.turn.prompt
        if not isinstance(prompt, MessagesPrompt) or prompt.continues is None:
            return True
        assert self._graph is not None
        before = prompt.continues
        if not 0 <= before < len(self._graph) or not self._graph[before].keep_answer:
            raise ScheduleError(
                f"session {self.session.id}: turn {wait.index} continues turn {before}, whose answer is not asked to be kept"
            )
        if before not in self._ended_ns and before not in self._before:
            raise ScheduleError(f"session {self.session.id}: turn {wait.index} continues turn {before}, but does not wait for it")
        if before in self._answers:
            return True
        self._end_stream(wait.turn.stream, "no_answer")
        return False

    def _end_stream(self, stream: str, cause: EarlyEnd) -> None:
        self._ended_streams.add(stream)
        self.early_ends.append(cause)

    def _skip(self, indexes: list[int]) -> list[Wait]:
        """Give turns up, and with them those that make no sense without them; return the turns that waited for them and can go now."""
        assert self._graph is not None
        ready: list[Wait] = []
        left = list(indexes)
        while left:
            index = left.pop()
            self._known.add(index)
            self.skipped += 1
            self._ended_streams.add(self._graph[index].stream)
            self._void.add(index)
            ready += self._released(index, left)
        return ready

    def _released(self, index: int, left: list[int] | None = None) -> list[Wait]:
        """Return what a turn lets go whose stream is over; what makes no sense any more goes to `left`, or is given up."""
        assert self._graph is not None
        ready: list[Wait] = []
        useless: list[int] = [] if left is None else left
        for anchor in _ANCHORS:
            for follower in self._graph.followers(index, anchor):
                if follower in self._known or follower in useless:
                    continue
                turn = self._graph[follower]
                needed = index in self._void and any(edge.turn == index and edge.required for edge in turn.after)
                if turn.stream in self._ended_streams or needed:
                    useless.append(follower)
                elif wait := self._look(follower):
                    ready.append(wait)
        return ready + self._skip(useless) if left is None else ready
