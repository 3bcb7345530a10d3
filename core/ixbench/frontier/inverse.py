"""Reading a frontier the other way round: the fastest speed at which a GPU still sustains a given rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ixbench.frontier.errors import FrontierError, checked_choice, positive
from ixbench.frontier.rung import INTERPOLATIONS, Knots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.curve import PlanePoint
    from ixbench.model.run import Interpolation

InverseStatus = Literal["exact", "interpolated", "meets_target", "unreachable", "no_points"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseRead:
    """The fastest speed that a curve offers at a rate."""

    status: InverseStatus
    """`meets_target`: the speed of a measured point that sustains more than was asked."""
    x: float | None = None
    """Speed in tok/s/user."""


def fastest_speed(points: Sequence[PlanePoint], y_target: float, *, mode: Interpolation = "steffen") -> InverseRead:
    """Return the largest speed whose rate is at least `y_target` tok/s/GPU.

    :raises FrontierError: bad_point, bad_mode, or bad_rate for a target that is not a finite number above zero.
    """
    checked_choice(mode, INTERPOLATIONS, "interpolation")
    knots = Knots.of(points)
    if not positive(y_target):
        raise FrontierError("bad_rate", f"{y_target} is no rate; it must be a finite number of tok/s/GPU above zero")
    if not knots.x:
        return InverseRead(status="no_points")
    if y_target > knots.y[0]:
        return InverseRead(status="unreachable")
    k = max(i for i, y in enumerate(knots.y) if y >= y_target)
    if knots.y[k] == y_target:
        return InverseRead(status="exact", x=knots.x[k])
    if mode == "step" or k == len(knots.x) - 1:
        return InverseRead(status="meets_target", x=knots.x[k])
    return InverseRead(status="interpolated", x=_bisect(knots, k, y_target, mode))


def _bisect(knots: Knots, k: int, y_target: float, mode: Interpolation) -> float:
    """Return the last speed of a falling piece whose rate is not below the target, to the last digit."""
    slow, fast = knots.x[k], knots.x[k + 1]
    while slow < (middle := slow + (fast - slow) / 2) < fast:
        if knots.between(k, middle, mode) >= y_target:
            slow = middle
        else:
            fast = middle
    return slow
