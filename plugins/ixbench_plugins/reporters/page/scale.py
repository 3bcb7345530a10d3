"""Axes of a chart: from a value to a place on paper, linear or logarithmic, with ticks at round numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOG_FROM = 25.0
"""An axis whose largest value is so many times its smallest is logarithmic: a linear one would press half of the points together."""
_HEADROOM = 1.07
_LOG_MARGIN = 1.2
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LOG_STEPS = ((1, 2, 5), (1, 3), (1,))
"""Multiples of a power of ten, the most ticks first."""
_THOUSAND = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """One axis."""

    low: float
    high: float
    start: float
    """Where the lowest value lies, in units of the drawing."""
    end: float
    logarithmic: bool = False

    @classmethod
    def of(cls, values: Sequence[float], *, start: float, end: float) -> Scale:
        """Return an axis that holds all values, which are above zero; a linear one begins at zero."""
        if not values:
            return cls(low=0.0, high=1.0, start=start, end=end)
        smallest, largest = min(values), max(values)
        if largest / smallest >= LOG_FROM:
            return cls(low=smallest / _LOG_MARGIN, high=largest * _LOG_MARGIN, start=start, end=end, logarithmic=True)
        return cls(low=0.0, high=largest * _HEADROOM, start=start, end=end)

    def at(self, value: float) -> float:
        """Return where a value lies."""
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def value(self, place: float) -> float:
        """Return the value at a place."""
        share = (place - self.start) / (self.end - self.start)
        return self.low * (self.high / self.low) ** share if self.logarithmic else self.low + share * (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Say whether a value lies on the axis."""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> list[float]:
        """Return round values on the axis, rising: about `most` of them, never more."""
        if not self.logarithmic:
            return _linear_ticks(self.high, most)
        found: list[float] = []
        for multiples in _LOG_STEPS:
            found = [tick for tick in _log_ticks(self.low, self.high, multiples) if self.holds(tick)]
            if len(found) <= most:
                return found
        thin = math.ceil(len(found) / most)
        return found[::thin]


def _linear_ticks(high: float, most: int) -> list[float]:
    power = 10.0 ** math.floor(math.log10(high / most))
    step = next(multiple * power for multiple in (*_STEPS, 20.0) if high / (multiple * power) < most)
    return [number * step for number in range(math.floor(high / step) + 1)]


def _log_ticks(low: float, high: float, multiples: Sequence[int]) -> Iterator[float]:
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for multiple in multiples:
            yield float(f"{multiple}e{exponent}")


def tick_label(value: float, *, short: bool = False) -> str:
    """Return a tick in print; `short` writes thousands as k."""
    if short and value >= _THOUSAND:
        return f"{value / _THOUSAND:,.10g}k"
    return f"{value:,.10g}"
