"""The frontier of a set of points: those that no other point beats, in any plane and with either direction of either axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ixbench.frontier.errors import FrontierError, checked_choice, positive

if TYPE_CHECKING:
    from collections.abc import Sequence

Better = Literal["higher", "lower"]
BETTER: tuple[Better, ...] = ("higher", "lower")
PlanePoint = tuple[float, float]
"""(x, y); for a ladder x is the speed in tok/s/user and y the rate in tok/s/GPU."""


def frontier(points: Sequence[PlanePoint], *, x_better: Better = "higher", y_better: Better = "higher") -> list[int]:
    """Return the indices of the points on the frontier, by rising x.

    A point is dropped if another is at least as good on both axes and better on one; of exact duplicates the first stays.
    With "higher" on both axes the result has x strictly rising and y strictly falling.

    :raises FrontierError: bad_point for a coordinate that is not a finite number above zero; bad_mode for an unknown direction.
    """
    x_sign = 1.0 if checked_choice(x_better, BETTER, "direction of an axis") == "higher" else -1.0
    y_sign = 1.0 if checked_choice(y_better, BETTER, "direction of an axis") == "higher" else -1.0
    for index, (x, y) in enumerate(points):
        if not (positive(x) and positive(y)):
            raise FrontierError("bad_point", f"point {index} is ({x}, {y}); both coordinates must be finite numbers above zero")
    # From the best x on, a point stays exactly if its y beats every y before it. Of equal x the best y comes first.
    order = sorted(range(len(points)), key=lambda i: (-x_sign * points[i][0], -y_sign * points[i][1], i))
    kept: list[int] = []
    for i in order:
        if not kept or y_sign * points[i][1] > y_sign * points[kept[-1]][1]:
            kept.append(i)
    return kept if x_better == "lower" else kept[::-1]
