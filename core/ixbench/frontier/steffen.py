"""Steffen's monotone cubic: the smooth curve through a frontier that never leaves the range of its two neighbours."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.frontier.errors import FrontierError

if TYPE_CHECKING:
    from collections.abc import Sequence


def slopes(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Return one tangent a knot.

    With two knots the first end is set while the last is still 0, so that the tangents are 1.5 s and 0.75 s: not a straight
    line. It is kept because published ladders are read so; `linear` is there for whoever minds.

    :raises FrontierError: bad_knots unless there is a knot, all values are finite, x rises strictly and both lists are equally long.
    """
    n = len(x)
    if n == 0 or n != len(y) or not all(map(math.isfinite, [*x, *y])) or any(b <= a for a, b in pairwise(x)):
        raise FrontierError("bad_knots", "knots need equally many finite x and y, at least one, with x strictly rising")
    m = [0.0] * n
    if n == 1:
        return m
    h = [b - a for a, b in pairwise(x)]
    s = [(b - a) / width for (a, b), width in zip(pairwise(y), h, strict=True)]
    for i in range(1, n - 1):
        p = (s[i - 1] * h[i] + s[i] * h[i - 1]) / (h[i - 1] + h[i])
        m[i] = (_sign(s[i - 1]) + _sign(s[i])) * min(abs(s[i - 1]), abs(s[i]), abs(p) / 2)
    m[0] = (3 * s[0] - m[1]) / 2
    m[-1] = (3 * s[-1] - m[-2]) / 2
    return m


def evaluate(x: tuple[float, float], y: tuple[float, float], m: tuple[float, float], t: float) -> float:
    """Return the cubic's value at t within one piece, given both ends' x, y and tangents."""
    h = x[1] - x[0]
    u = (t - x[0]) / h
    v = 1 - u
    value = (1 + 2 * u) * v * v * y[0] + u * v * v * h * m[0] + u * u * (3 - 2 * u) * y[1] - u * u * v * h * m[1]
    # In exact arithmetic the piece is monotone; rounding may leave it by a last digit.
    return min(max(value, min(y)), max(y))


def _sign(value: float) -> float:
    """Return 1 for zero too, as the published formula has it."""
    return -1.0 if value < 0 else 1.0
