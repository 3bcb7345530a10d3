"""What a choice of points needs altogether."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ixbench.model.point import Point


def gpus_of(points: Iterable[Point]) -> int | None:
    """Return the GPUs of the largest deployment: launches follow one another. None = unknown."""
    return max((point.deployment.hardware.gpus for point in points if point.deployment.hardware.gpus is not None), default=None)


def load_seconds(points: Iterable[Point]) -> float | None:
    """Return the estimated seconds of load; None as soon as one point's are unknown."""
    total = 0.0
    for point in points:
        if point.seconds is None:
            return None
        total += point.seconds
    return total
