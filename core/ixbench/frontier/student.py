"""What a few repeats can tell: the mean of reads with its interval, and whether two such means differ by more than chance explains.

Student's quantiles are computed here, exactly and for whole degrees of freedom: scipy would be 170 MB for this one number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ixbench.frontier.errors import FrontierError

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.95
"""Confidence of every interval."""
FEWEST = 2
"""Values that a spread needs."""
OpenBounds = tuple[float | None, float | None]
"""Lower and upper end of an interval; None where it is open."""
_MOST_FREEDOM = 10_000
"""From so many degrees of freedom on the quantile no longer changes within five digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How two lists of reads compare."""

    difference: float
    """Mean of the first less mean of the second."""
    margin: float
    """A larger difference is not explained by the spread within the lists."""

    @property
    def distinguishable(self) -> bool:
        """Whether the difference is larger than the margin."""
        return abs(self.difference) > self.margin


@cache
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return t such that Student's distribution lies within -t and t with this probability.

    :param freedom: whole degrees of freedom, 1 or more.
    :raises ValueError: if there are fewer, or the level does not lie strictly between 0 and 1.
    """
    if freedom < 1 or not 0 < level < 1:
        raise ValueError(f"a quantile needs 1 degree of freedom or more and a level between 0 and 1, found {freedom} and {level}")
    freedom = min(freedom, _MOST_FREEDOM)
    low, high = 0.0, math.pi / 2
    # The probability rises with the angle, whose tangent is t / sqrt(freedom): halved until no number lies between.
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return the probability of lying within -t and t, for t = tan(angle) x sqrt(freedom); a finite sum for whole degrees of freedom."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def half_width(values: Sequence[float], level: float = LEVEL) -> float | None:
    """Return by how much the true mean may lie off the mean of these values: t x s / sqrt(n); None for fewer than two."""
    count = len(values)
    if count < FEWEST:
        return None
    return t_quantile(count - 1, level) * math.sqrt(_variance(values) / count)


def compare(a: Sequence[float], b: Sequence[float], level: float = LEVEL) -> Difference:
    """Hold two lists of reads against one another by Welch's test, with the degrees of freedom rounded down.

    :raises FrontierError: too_few_repeats if one of them has fewer than two; bad_rate for a value that is no finite number.
    """
    if min(len(a), len(b)) < FEWEST:
        raise FrontierError("too_few_repeats", f"{len(a)} and {len(b)} reads cannot be compared; two of each are needed for a spread")
    if not all(math.isfinite(value) for value in (*a, *b)):
        raise FrontierError("bad_rate", "a read that is no finite number cannot be compared")
    shares = _variance(a) / len(a), _variance(b) / len(b)
    difference = math.fsum(a) / len(a) - math.fsum(b) / len(b)
    if not sum(shares):
        return Difference(difference=difference, margin=0.0)
    # Scaled first, since squares of very small variances are zero.
    x, y = (share / sum(shares) for share in shares)
    freedom = 1 / (x * x / (len(a) - 1) + y * y / (len(b) - 1))
    return Difference(difference=difference, margin=t_quantile(max(math.floor(freedom + 1e-9), 1), level) * math.sqrt(sum(shares)))


def difference_bounds(a: float, a_bounds: OpenBounds, b: float, b_bounds: OpenBounds) -> OpenBounds:
    """Return the interval of a - b from the intervals of both, which need not be symmetric (method of variance estimates recovery).

    An end that is None is open; so is each end of the difference that it decides.
    """
    (a_low, a_high), (b_low, b_high) = a_bounds, b_bounds
    low = None if a_low is None or b_high is None else a - b - math.hypot(a - a_low, b_high - b)
    high = None if a_high is None or b_low is None else a - b + math.hypot(a_high - a, b - b_low)
    return low, high


def told_apart(a: Sequence[float], b: Sequence[float]) -> bool | None:
    """Say whether two lists of reads differ by more than their spread explains; None where one of them has fewer than two."""
    return compare(a, b).distinguishable if min(len(a), len(b)) >= FEWEST else None


def _variance(values: Sequence[float]) -> float:
    """Return the sample variance of two values or more."""
    middle = math.fsum(values) / len(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
