"""Sessions as the player asks for them: who follows whom, and where the next session comes from, in whatever form a workload gave them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.model.schedule import Anchor, Phase, Session, SessionSource, Turn, TurnGraph


class ScheduleError(IxbenchError):
    """A schedule cannot be carried out: a fault of the workload that built it."""


def graph_of(session: Session) -> TurnGraph:
    """Return the turns of a session as a graph.

    :raises ScheduleError: if there are none, or one waits for a turn that does not exist.
    """
    if not len(session.turns):
        raise ScheduleError(f"session {session.id} has no turns")
    return _ListedTurns(session, session.turns) if isinstance(session.turns, tuple) else session.turns


def source_of(phase: Phase) -> SessionSource | None:
    """Return where the lanes of a phase draw their sessions; None where they go on with those of the phase before."""
    if phase.sessions is None:
        return None
    sessions = phase.sessions()
    return _InOrder(sessions) if isinstance(sessions, Iterator) else sessions


class _InOrder:
    """Sessions in one order, whoever draws."""

    def __init__(self, sessions: Iterator[Session]) -> None:
        self._sessions = sessions

    def draw(self, lane: int | None) -> Session | None:
        del lane
        return next(self._sessions, None)


class _ListedTurns:
    """A graph of turns that are all there."""

    def __init__(self, session: Session, turns: tuple[Turn, ...]) -> None:
        self._turns = turns
        self._done = session.done
        self._followers: dict[tuple[int, Anchor], list[int]] = {}
        for index, turn in enumerate(turns):
            for edge in turn.after:
                if not 0 <= edge.turn < len(turns):
                    raise ScheduleError(f"session {session.id}: turn {index} waits for turn {edge.turn}, which does not exist")
                self._followers.setdefault((edge.turn, edge.anchor), []).append(index)

    def __len__(self) -> int:
        return len(self._turns)

    def __getitem__(self, index: int) -> Turn:
        return self._turns[index]

    def first(self) -> Iterable[int]:
        done = self._done
        return [index for index, turn in enumerate(self._turns) if index not in done and all(edge.turn in done for edge in turn.after)]

    def followers(self, index: int, anchor: Anchor) -> Iterable[int]:
        return self._followers.get((index, anchor), ())
