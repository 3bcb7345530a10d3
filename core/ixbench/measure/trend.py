"""Whether a series of a few equal slices of time rises or falls, and how much it scatters: what "steady" means in numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench.frontier.student import t_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_SLICES = 3
"""A line through two has no scatter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A straight line through the slices."""

    change: float
    """How much it rises from the beginning of the first slice to the end of the last, as a share of the mean; negative where it falls."""
    error: float
    """Half of the 95 % interval of the change, from how the slices scatter around the line."""
    spread: float
    """Coefficient of variation: the slices' (population) standard deviation over their mean."""

    def surely_beyond(self, limit: float) -> bool:
        """Say whether the whole interval of the change lies beyond a limit, so that scatter cannot explain it."""
        return abs(self.change) - self.error > limit


def trend(values: Floats) -> Trend | None:
    """Return the trend of some slices; None for fewer than three, or where nothing happened in any."""
    count = len(values)
    mean = float(values.mean()) if count else 0.0
    if count < FEWEST_SLICES or not mean > 0:
        return None
    place = np.arange(count) - (count - 1) / 2
    weight = float(place @ place)
    slope = float(place @ values) / weight
    rest = values - mean - slope * place
    # Below this it is the rounding of equal numbers, whose trend is certain.
    scatter = float(rest @ rest) if float(np.abs(rest).max()) > 1e-9 * mean else 0.0
    error = t_quantile(count - 2) * math.sqrt(scatter / (count - 2) / weight)
    return Trend(change=slope * count / mean, error=error * count / mean, spread=float(values.std()) / mean)


def changes(rows: Floats) -> Floats:
    """Return the change of each row of slices, as `Trend.change`; NaN for a row without anything."""
    count = rows.shape[1]
    place = np.arange(count) - (count - 1) / 2
    means = rows.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = rows @ place / float(place @ place) * count / means
    return found
