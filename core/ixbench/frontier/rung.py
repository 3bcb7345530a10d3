"""Reading a frontier at a target speed: a value, how it came about and the points it rests on, or no value and the reason."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ixbench.frontier.curve import frontier
from ixbench.frontier.errors import FrontierError, checked_choice, positive
from ixbench.frontier.steffen import evaluate, slopes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.curve import PlanePoint
    from ixbench.model.run import Interpolation, RangePolicy

INTERPOLATIONS: tuple[Interpolation, ...] = ("steffen", "linear", "step")
RANGE_POLICIES: tuple[RangePolicy, ...] = ("in_range", "min_slo")
TWO = 2
"""Knots of the shortest curve, where Steffen's rule is not a straight line."""

RungStatus = Literal["exact", "interpolated", "meets_slo", "below_range", "unreachable", "no_points"]
"""The first three come with a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a curve says at one rung."""

    status: RungStatus
    value: float | None = None
    """Rate in tok/s/GPU; None: the curve does not reach the rung."""
    at_x: float | None = None
    """The speed that the value belongs to; above the rung where a measured point stands in for it."""
    evidence: tuple[int, ...] = ()
    """Indices of the one or two input points that the value rests on, by rising speed."""
    two_knots: bool = False
    """A Steffen read of a curve with two knots, which is not a straight line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knots:
    """A frontier prepared for reading: speeds rising, rates falling."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    index: tuple[int, ...]
    """Position of each knot in the input."""
    m: tuple[float, ...]
    """Steffen's tangents."""

    @classmethod
    def of(cls, points: Sequence[PlanePoint]) -> Knots:
        """Take the frontier of speed against rate.

        :raises FrontierError: bad_point.
        """
        index = frontier(points)
        x = tuple(points[i][0] for i in index)
        y = tuple(points[i][1] for i in index)
        return cls(x=x, y=y, index=tuple(index), m=tuple(slopes(x, y)) if index else ())

    def between(self, k: int, t: float, mode: Interpolation) -> float:
        """Return the value at t within the piece from knot k to the next, for the smooth modes."""
        x, y = (self.x[k], self.x[k + 1]), (self.y[k], self.y[k + 1])
        if mode == "linear":
            # Rounding may leave the chord's range by a last digit.
            return max(y[0] + (y[1] - y[0]) * ((t - x[0]) / (x[1] - x[0])), y[1])
        return evaluate(x, y, (self.m[k], self.m[k + 1]), t)

    def read(self, rung: float, *, mode: Interpolation = "steffen", range_policy: RangePolicy = "in_range") -> Read:
        """Read one rung; see `read_rung`."""
        checked_choice(mode, INTERPOLATIONS, "interpolation")
        checked_choice(range_policy, RANGE_POLICIES, "range policy")
        if not positive(rung):
            raise FrontierError("bad_rung", f"{rung} is no speed; a rung is a finite number of tok/s/user above zero")
        if not self.x:
            return Read(status="no_points")
        if rung > self.x[-1]:
            return Read(status="unreachable")
        k = bisect_left(self.x, rung)
        if self.x[k] == rung:
            return Read(status="exact", value=self.y[k], at_x=rung, evidence=(self.index[k],))
        if k == 0 and range_policy == "in_range":
            return Read(status="below_range")
        if k == 0 or mode == "step":
            return Read(status="meets_slo", value=self.y[k], at_x=self.x[k], evidence=(self.index[k],))
        return Read(
            status="interpolated",
            value=self.between(k - 1, rung, mode),
            at_x=rung,
            evidence=(self.index[k - 1], self.index[k]),
            two_knots=mode == "steffen" and len(self.x) == TWO,
        )


def read_rung(
    points: Sequence[PlanePoint], rung: float, *, mode: Interpolation = "steffen", range_policy: RangePolicy = "in_range"
) -> Read:
    """Read the frontier of (speed, rate) points at a rung.

    `steffen` and `linear` interpolate between the two neighbours; `step` takes the first measured point at or above the rung
    and invents nothing. Above the fastest point there is never a value. Below the slowest, `in_range` gives none (the curve
    might do better there), `min_slo` the slowest point's, which keeps the promise "at least this speed".

    :param rung: target speed in tok/s/user.
    :raises FrontierError: bad_point, bad_rung or bad_mode.
    """
    return Knots.of(points).read(rung, mode=mode, range_policy=range_policy)
