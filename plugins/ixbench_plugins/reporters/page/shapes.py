"""The shapes of marks, as paths around their middle: curves differ by shape as well as by colour."""

from __future__ import annotations

import math

CROSS = "M-4.5-4.5 4.5 4.5M-4.5 4.5 4.5-4.5"
"""A point that is not counted."""


def coordinate(value: float) -> str:
    """Return a coordinate: a tenth of a unit is finer than any screen."""
    return f"{value:.1f}".removesuffix(".0")


def shape(index: int, radius: float) -> str:
    """Return the path of one of seven shapes, all of about equal area."""
    corners, turn, size = _SHAPES[index]
    if not corners:
        reach = coordinate(radius)
        return f"M-{reach} 0a{reach} {reach} 0 1 0 {coordinate(2 * radius)} 0a{reach} {reach} 0 1 0-{coordinate(2 * radius)} 0z"
    angles = [math.radians(turn + 360 * corner / corners) for corner in range(corners)]
    places = [(size * radius * math.sin(angle), -size * radius * math.cos(angle)) for angle in angles]
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in places) + "z"


def core(radius: float) -> str:
    """Return the path of a small circle in the middle of a mark."""
    return shape(0, radius * 0.4)


_SHAPES = ((0, 0, 1.0), (4, 45, 1.22), (3, 0, 1.45), (4, 0, 1.3), (3, 180, 1.45), (6, 0, 1.12), (5, 0, 1.18))
"""(corners or 0 for a circle, degrees that it is turned by, distance of the corners in radii)."""
