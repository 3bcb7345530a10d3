"""How sure a read of a curve is: what other runs said of it, or else what varied within its one run.

Repeats and replicas are draws of whole runs: they tell by how much another run would differ. A repeat has a frontier of its own; the
replicas of simulated points are averaged before any frontier is read, so what each of them adds to the read is told by leaving it out
(jackknife). The intervals of a single run know only what varied within it: they can show that a difference means nothing, and never that it
means something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ixbench.frontier.points import PERCENTILES, part, speed
from ixbench.frontier.repeats import read_repeats
from ixbench.frontier.rung import Knots
from ixbench.frontier.student import FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.curve import PlanePoint
    from ixbench.frontier.curves import LadderCurve
    from ixbench.frontier.points import RatedPoint
    from ixbench.frontier.student import OpenBounds
    from ixbench.model.run import Interpolation, RangePolicy

DrawKind = Literal["repeats", "replicas"]
OPEN: OpenBounds = (None, None)


@dataclass(frozen=True, kw_only=True)
class CurveDraws:
    """What is known of one curve beside its points. Not slotted: frontiers are taken once and kept."""

    curve: LadderCurve
    axis: str
    mode: Interpolation
    range_policy: RangePolicy

    @property
    def kind(self) -> DrawKind | None:
        """What its draws of whole runs are; None for a curve that was measured once."""
        if not self.frontiers:
            return None
        return "repeats" if self.curve.repeats > 1 else "replicas"

    @cached_property
    def frontiers(self) -> tuple[Knots, ...]:
        """The frontier of each repeat, or of all replicas but one; empty where there are fewer than two."""
        if self.curve.repeats > 1:
            return self.curve.readable.frontiers
        points = [_replicas(member, self.axis) for member in self.curve.rated]
        count = min(map(len, points), default=0)
        if count < FEWEST or any(len(found) != count for found in points):
            return ()
        return tuple(Knots.of([_mean_but(found, i) for found in points]) for i in range(count))

    def values(self, target: float) -> tuple[float, ...]:
        """Return what each draw says at a speed; empty unless the speed is reached by all of them.

        Those of replicas are pseudo-values: n x the read of all less (n - 1) x that of all but one. They scatter as the read does.
        """
        found = self._read(self.frontiers, target)
        if not found or self.curve.repeats > 1:
            return found
        whole, count = self._read(self.curve.readable.frontiers, target), len(found)
        return tuple(count * whole[0] - (count - 1) * value for value in found) if whole else ()

    def _read(self, frontiers: Sequence[Knots], target: float) -> tuple[float, ...]:
        found = read_repeats(frontiers, target, mode=self.mode, range_policy=self.range_policy)
        return found.values if found.runs and found.reached == found.runs else ()

    def within(self, target: float, evidence: Sequence[str]) -> OpenBounds:
        """Return between which rates the read at a speed may lie, as far as a single run can tell.

        The frontier is read twice, with every point at the bad and at the good ends of its intervals of speed and of rate: both follow the
        engine, so they move together. An end is open where it is not reached then.

        :param evidence: ids of the points that the read rests on; without intervals of theirs both ends are open.
        """
        known = {member.id for member in self.curve.rated if self._bounds(member) is not None}
        if self.curve.repeats > 1 or not evidence or not known.issuperset(evidence):
            return OPEN
        low, high = (corner.read(target, mode=self.mode, range_policy=self.range_policy).value for corner in self._corners)
        return low, high

    @cached_property
    def _corners(self) -> tuple[Knots, Knots]:
        pairs = [self._bounds(member) or _as_is(member) for member in self.curve.rated]
        return Knots.of([low for low, _ in pairs]), Knots.of([high for _, high in pairs])

    def _bounds(self, member: RatedPoint) -> tuple[PlanePoint, PlanePoint] | None:
        """Return the bad and the good corner of a point's intervals; None where it has none."""
        intervals = member.result.intervals
        if intervals is None:
            return None
        x = intervals.bootstrap.get("speed_tok_s_user", {}).get(PERCENTILES[self.axis])
        y = intervals.bootstrap.get("throughput_tok_s_gpu", {}).get("total")
        if x is None or y is None or min(*x, *y) <= 0:
            return None
        return (x[0], y[0]), (x[1], y[1])


def _replicas(member: RatedPoint, axis: str) -> list[PlanePoint]:
    """Return the speed and the rate of each replica of a point; empty where one of them has none, or there are none."""
    read = member.run.read_replicas
    if member.result.evidence != "simulated" or read is None:
        return []
    found: list[PlanePoint] = []
    for metrics in read(member.result.id):
        x, y = speed(metrics, axis), part(metrics, "throughput_tok_s_gpu", "total")
        if x is None or y is None:
            return []
        found.append((x, y))
    return found


def _mean_but(points: Sequence[PlanePoint], left_out: int) -> PlanePoint:
    """Return the geometric mean of all replicas but one, as the point itself is that of all."""
    others = [place for i, place in enumerate(points) if i != left_out]
    x, y = map(_geometric_mean, zip(*others, strict=True))
    return x, y


def _geometric_mean(values: Sequence[float]) -> float:
    # Of equal values to the last digit, so that a rung at a knot stays at it.
    return values[0] if len(set(values)) == 1 else math.exp(math.fsum(map(math.log, values)) / len(values))


def _as_is(member: RatedPoint) -> tuple[PlanePoint, PlanePoint]:
    here = (member.tok_s_user or 0.0, member.tok_s_gpu or 0.0)
    return here, here
