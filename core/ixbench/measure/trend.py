"""Whether a series of a few equal slices of time rises or falls, and how much it scatters: what "steady" means in numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench.frontier.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_SLICES = 3
"""A line through two has no scatter."""
FEWEST_FOR_STEP = 6
"""Two levels through fewer would fit anything."""
LEVEL = 0.998
"""Confidence of a change: of a thousand points that stay the same, a few at most may be said to drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A straight line through the slices."""

    change: float
    """How much it rises from the beginning of the first slice to the end of the last, as a share of the mean; negative where it falls."""
    error: float
    """Half of the 99.8 % interval of the change, from how the slices scatter around the line, or around two levels with one step between
    where these fit better: a step is a change, and no scatter that would excuse it."""
    spread: float
    """Coefficient of variation: the slices' (population) standard deviation over their mean."""

    @property
    def certain(self) -> bool:
        """Whether scatter cannot explain the change: zero lies outside its interval."""
        return abs(self.change) > self.error


def trend(values: Floats) -> Trend | None:
    """Return the trend of some slices; None for fewer than three, or where nothing happened in any."""
    count = len(values)
    mean = float(values.mean()) if count else 0.0
    if count < FEWEST_SLICES or not mean > 0:
        return None
    place = np.arange(count) - (count - 1) / 2
    weight = float(place @ place)
    slope = float(place @ values) / weight
    # Below this it is the rounding of equal numbers, whose trend is certain.
    variance, freedom = min((_around_line(values - mean - slope * place), *_around_steps(values)))
    variance = variance if variance > (1e-9 * mean) ** 2 else 0.0
    error = t_quantile(freedom, LEVEL) * math.sqrt(variance / weight)
    return Trend(change=slope * count / mean, error=error * count / mean, spread=float(values.std()) / mean)


def _around_line(rest: Floats) -> tuple[float, int]:
    """Return the variance of what lies off a line, and its degrees of freedom."""
    return float(rest @ rest) / (len(rest) - 2), len(rest) - 2


def _around_steps(values: Floats) -> Iterator[tuple[float, int]]:
    """Yield the variance around two levels, for each place of a step that leaves two slices or more on either side."""
    count = len(values)
    for step in range(2, count - 1) if count >= FEWEST_FOR_STEP else ():
        parts = values[:step], values[step:]
        # The place of the step is fitted too.
        yield sum(float(np.square(part - part.mean()).sum()) for part in parts) / (count - 3), count - 3


def changes(rows: Floats) -> Floats:
    """Return the change of each row of slices, as `Trend.change`; NaN for a row without anything."""
    count = rows.shape[1]
    place = np.arange(count) - (count - 1) / 2
    means = rows.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = rows @ place / float(place @ place) * count / means
    return found
