"""One side of a comparison, ready to be read at any speed: its ladder's curves with what is known of how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ixbench.frontier.draws import OPEN, CurveDraws
from ixbench.frontier.select import select

if TYPE_CHECKING:
    from ixbench.frontier.draws import DrawKind
    from ixbench.frontier.ladder_values import Ladder, LadderRung
    from ixbench.frontier.student import OpenBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class SureRead:
    """A rate with what is known of how sure it is."""

    value: float
    """In tok/s/GPU."""
    draws: tuple[float, ...] = ()
    """What each repeat or replica says; empty where there are fewer than two, or one of them does not reach the speed."""
    kind: DrawKind | None = None
    """What the draws are, or would be."""
    within: OpenBounds = OPEN
    """Between which rates it may lie as far as a single run can tell; open where there are draws."""


@dataclass(frozen=True, kw_only=True)
class LadderSide:
    """The ladder of one side. Not slotted: what its curves' frontiers are is worked out once and kept."""

    ladder: Ladder

    @cached_property
    def draws(self) -> dict[str, CurveDraws]:
        """What is known beside each curve, by its key."""
        ladder = self.ladder
        return {
            curve.key: CurveDraws(curve=curve, axis=ladder.axis, mode=ladder.interpolation, range_policy=ladder.range)
            for curve in ladder.curves
        }

    @property
    def kind(self) -> DrawKind | None:
        """What the draws of all its curves are; None unless every curve with points was drawn several times in one way."""
        kinds: set[DrawKind | None] = {draws.kind for draws in self.draws.values() if draws.curve.rated}
        return kinds.pop() if len(kinds) == 1 else None

    @cached_property
    def breaks(self) -> tuple[float, ...]:
        """Speeds between which no frontier has a knot, and no draw begins or ends."""
        speeds: set[float] = set()
        for draws in self.draws.values():
            speeds.update(*(knots.x for knots in draws.curve.readable.frontiers))
            speeds.update(end for knots in draws.frontiers if knots.x for end in (knots.x[0], knots.x[-1]))
        return tuple(sorted(speeds))

    def at(self, target: float) -> SureRead | None:
        """Return what the ladder says at a speed; None where it says nothing."""
        ladder = self.ladder
        found = select(
            [draws.curve.readable for draws in self.draws.values()],
            target,
            policy=ladder.policy,
            mode=ladder.interpolation,
            range_policy=ladder.range,
        )
        if found.curve is None or found.read is None or found.read.value is None:
            return None
        return self._sure(found.curve.key, target, found.read.value)

    def rung(self, rung: LadderRung) -> SureRead | None:
        """Return what is known of a row of the ladder; None where it has no value."""
        if rung.tok_s_gpu is None or rung.curve is None:
            return None
        sure = self._sure(rung.curve, rung.target, rung.tok_s_gpu)
        if sure.kind is not None:
            return sure
        return SureRead(value=sure.value, within=self.draws[rung.curve].within(rung.target, rung.points))

    def _sure(self, key: str, target: float, value: float) -> SureRead:
        draws = self.draws[key]
        return SureRead(value=value, draws=draws.values(target), kind=draws.kind)
