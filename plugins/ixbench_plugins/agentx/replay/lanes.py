"""Which lane plays which trace: at first each at some moment of its recording, later the next traces from their first turn on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ixbench_plugins.agentx.replay.play import Play

if TYPE_CHECKING:
    from ixbench.api.workload import Session
    from ixbench_plugins.agentx.replay.plan import TracePlan


class Plans(Protocol):
    """The traces that can be played, in corpus order."""

    def at(self, number: int) -> TracePlan:
        """Return the number-th plan that a lane draws; behind the last one the first one follows again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlays:
    """What the lanes play first."""

    plans: Plans
    run_id: str
    plays: tuple[Play, ...]
    """One for each lane."""

    @classmethod
    def draw(cls, plans: Plans, *, lanes: int, run_id: str, seed: int, start_range: tuple[float, float]) -> FirstPlays:
        """Give every lane its trace, and the instant at which it starts there."""
        played: Counter[str] = Counter()
        plays = []
        for lane in range(lanes):
            plan = plans.at(lane)
            snapshot = plan.draw(seed=seed, lane=lane, start_range=start_range)
            plays.append(Play(plan=plan, lane=lane, number=played[plan.id], run_id=run_id, snapshot=snapshot))
            played[plan.id] += 1
        return cls(plans=plans, run_id=run_id, plays=tuple(plays))

    def sessions(self) -> PlaySource:
        """Return the sessions of the lanes, from the first ones on."""
        return PlaySource(self)

    def primers(self, longest_lead_s: float | None) -> PrimerSource:
        """Return the warm-up requests for the first sessions."""
        return PrimerSource(self, longest_lead_s)


class PlaySource:
    """Gives each lane its first play, then whatever trace comes next."""

    def __init__(self, first: FirstPlays) -> None:
        """Begin with the first plays."""
        self._first = first
        self._drawn = len(first.plays)
        self._left = dict(enumerate(first.plays))
        self._played = Counter(play.plan.id for play in first.plays)

    def draw(self, lane: int | None) -> Session | None:
        """Return the next session of a lane."""
        assert lane is not None  # agents are replayed by lanes
        play = self._left.pop(lane, None)
        if play is None:
            plan = self._first.plans.at(self._drawn)
            self._drawn += 1
            play = Play(plan=plan, lane=lane, number=self._played[plan.id], run_id=self._first.run_id)
            self._played[plan.id] += 1
        return play.session()


class PrimerSource:
    """Gives each lane the primers of its first play, once."""

    def __init__(self, first: FirstPlays, longest_lead_s: float | None) -> None:
        """Find the longest lead of all lanes: every start lies that long after the first primer."""
        leads = [lead for play in first.plays for lead in play.leads_s()]
        latest = max(leads, default=0.0)
        self._latest_s = latest if longest_lead_s is None else min(latest, longest_lead_s)
        self._longest_s = longest_lead_s
        self._left = dict(enumerate(first.plays))

    def draw(self, lane: int | None) -> Session | None:
        """Return the primers of a lane."""
        assert lane is not None  # agents are replayed by lanes
        play = self._left.pop(lane, None)
        return None if play is None else play.primers(self._latest_s, self._longest_s)
