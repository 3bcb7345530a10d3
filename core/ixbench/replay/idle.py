"""Caps on idle time: where recorded sessions would wait longer than that, all moments that are waited for move forward together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.model.schedule import Phase
    from ixbench.replay.session import SessionPlayer, Wait


@dataclass(slots=True, kw_only=True)
class Jumps:
    """How often moments were moved, and by how much in all."""

    count: int = 0
    total_ns: int = 0


class IdleCaps:
    """Moves the moments of waiting turns. It is asked when idle time begins, so nobody has to watch the clock.

    Time that was jumped over counts as idle time of a session.
    """

    def __init__(self, phase: Phase, players: Mapping[int, SessionPlayer]) -> None:
        """Look after the sessions that the lanes hold, a mapping that the phase keeps up to date."""
        self._limit_ns = None if phase.idle_limit_s is None else round(phase.idle_limit_s * NS_PER_S)
        self._session_limit_ns = None if phase.session_idle_limit_s is None else round(phase.session_idle_limit_s * NS_PER_S)
        self._players = players
        self._between: dict[int, None] = {}
        """Lanes whose session is over, until they hold the next one."""
        self._idle_since_ns = 0
        self.any = self._limit_ns is not None or self._session_limit_ns is not None
        """Whether there is a cap at all."""
        self.system = Jumps()
        """Of all sessions together, while nothing was in flight."""
        self.sessions = Jumps()
        """Of single sessions."""

    def begin(self, now_ns: int) -> None:
        """Look at the sessions as a phase begins, before any task waits."""
        self._idle_since_ns = now_ns
        for player in self._players.values():
            self._cap_session(player, now_ns)
        self._cap_all(now_ns)

    def enter(self, lane: int) -> None:
        """Hear that a lane holds its next session."""
        self._between.pop(lane, None)

    def leave(self, lane: int, now_ns: int, *, busy: bool) -> list[Wait]:
        """Hear that a lane gets no further session; return the turns whose moments changed."""
        self._between.pop(lane, None)
        return [] if busy or self._between else self._cap_all(now_ns)

    def settle(self, player: SessionPlayer, now_ns: int, *, busy: bool) -> list[Wait]:
        """Look again after a request of a session ended, or a turn came to nothing; return the turns whose moments changed.

        :param busy: whether any request is in flight.
        """
        self._idle_since_ns = max(self._idle_since_ns, player.idle_since_ns)
        if player.over and player.lane is not None:
            self._between[player.lane] = None
        moved = self._cap_session(player, now_ns)
        return moved if busy or self._between else moved + self._cap_all(now_ns)

    def _cap_session(self, player: SessionPlayer, now_ns: int) -> list[Wait]:
        if self._session_limit_ns is None or player.flights:
            return []
        return _capped(player.waits, max(player.idle_since_ns + self._session_limit_ns, now_ns), self.sessions)

    def _cap_all(self, now_ns: int) -> list[Wait]:
        if self._limit_ns is None:
            return []
        waits = (wait for player in self._players.values() for wait in player.waits)
        return _capped(waits, max(self._idle_since_ns + self._limit_ns, now_ns), self.system)


def _capped(waits: Iterable[Wait], latest_ns: int, jumps: Jumps) -> list[Wait]:
    """Move the moments forward so that the first of them is not later than that."""
    timed = [wait for wait in waits if not wait.held]
    early_ns = min((wait.moment_ns for wait in timed), default=latest_ns) - latest_ns
    if early_ns <= 0:
        return []
    jumps.count += 1
    jumps.total_ns += early_ns
    for wait in timed:
        wait.moment_ns -= early_ns
    return timed
