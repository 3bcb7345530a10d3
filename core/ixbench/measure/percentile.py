"""How many values become a few: percentiles, the summary that stands in point.json, and how far each figure can be trusted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from ixbench.frontier import student
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    from ixbench.model.result import MetricValue

Rule = Literal["linear", "nearest"]
RULES: tuple[Rule, ...] = ("linear", "nearest")
SUMMARY_PERCENTILES = (50, 75, 90, 95, 99)
LEVEL = 100 * student.LEVEL
"""Confidence of every interval in percent: those within a point as those of repeats."""
BEYOND = 10
"""Values that must lie beyond a percentile before it is called solid."""
_DIGITS = 9
"""A position such as 99.9 % of 1000 is not exact in binary; what differs by less than this many decimals is meant to be equal."""
_MOST_SHORT = 2**32 - 1
_SUMMED_AT_ONCE = 1 << 17


def values_of(values: Iterable[float | None] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the known values in rising order; None and NaN mean "undefined" and are left out, infinities stay."""
    if not isinstance(values, np.ndarray):
        values = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    return np.sort(values[~np.isnan(values)])


def percentile(values: Iterable[float | None] | NDArray[np.float64], p: float, rule: Rule = "linear") -> float | None:
    """Return a percentile, or None if no value is known.

    "linear" interpolates at index (N - 1) * p / 100 of the sorted values; a result that touches an infinity (a failure that was
    penalised) is infinite. "nearest" is the smallest value that at least p percent of the values do not exceed.

    :param p: 0 to 100.
    :raises ValueError: if `p` or `rule` is none.
    """
    if not 0 <= p <= 100:  # noqa: PLR2004 - percent
        raise ValueError(f"a percentile lies between 0 and 100, found {p}")
    if rule not in RULES:
        raise ValueError(f"unknown percentile rule {rule!r}; allowed: {', '.join(RULES)}")
    ordered = values_of(values)
    return _at(ordered, p, rule) if len(ordered) else None


def _at(ordered: Floats | _SortedNs, p: float, rule: Rule = "linear") -> float:
    """Return the percentile of at least one sorted value."""
    count = len(ordered)
    if rule == "nearest":
        return float(ordered[max(math.ceil(round(count * p / 100, _DIGITS)), 1) - 1])
    index = (count - 1) * p / 100
    # Only a whole position is meant exactly; to round any other would move its value by a part of the gap that it lies in.
    whole = round(index)
    if round(index - whole, _DIGITS) == 0:
        index = whole
    below = math.floor(index)
    share = index - below
    low = float(ordered[below])
    if not share:
        return low
    high = float(ordered[below + 1])
    if math.isinf(low) or math.isinf(high):
        return high if math.isinf(high) else low
    return low + (high - low) * share


def summarise(values: Iterable[float | None] | NDArray[np.float64]) -> dict[str, MetricValue] | None:
    """Return {mean, p50, p75, p90, p95, p99, min, max, n} with linear percentiles, or None if no value is known."""
    ordered = values_of(values)
    if not len(ordered):
        return None
    return _summary(ordered, float(ordered.mean()))


def _summary(ordered: Floats | _SortedNs, mean: float) -> dict[str, MetricValue]:
    summary: dict[str, MetricValue] = {"mean": mean}
    summary |= {f"p{p}": _at(ordered, p) for p in SUMMARY_PERCENTILES}
    return summary | {"min": float(ordered[0]), "max": float(ordered[len(ordered) - 1]), "n": len(ordered)}


class _SortedNs:
    """Whole nanoseconds in rising order, read as seconds: those below four seconds in 4 bytes each, the few others in 8."""

    def __init__(self, short: NDArray[np.uint32], long: NDArray[np.int64]) -> None:
        self._short, self._long = short, long

    def __len__(self) -> int:
        return len(self._short) + len(self._long)

    def __getitem__(self, position: int) -> float:
        return float(self.seconds(position, position + 1)[0])

    def seconds(self, start: int, stop: int) -> Floats:
        """Return some of the values."""
        turn = len(self._short)
        parts = (self._short[start:stop], self._long[max(start - turn, 0) : max(stop - turn, 0)])
        return np.concatenate([part / NS_PER_S for part in parts])


class PooledNs:
    """Times in whole nanoseconds, gathered to be summarised once: 4 bytes each, so that a hundred million of them fit into memory."""

    def __init__(self, most: int) -> None:
        """Make room for so many values at most."""
        self._short = np.empty(most, dtype=np.uint32)
        self._long: list[NDArray[np.int64]] = []
        self._count = 0
        self._found: dict[str, MetricValue] | None = None

    def add(self, values: NDArray[np.int64]) -> None:
        """Take values of zero and more."""
        fits = values <= _MOST_SHORT
        if not fits.all():
            self._long.append(values[~fits])
            values = values[fits]
        self._short[self._count : self._count + len(values)] = values
        self._count += len(values)

    def summary(self) -> dict[str, MetricValue] | None:
        """Return the summary in seconds, the same to the last bit as `summarise` gives of the seconds; then let go of the values."""
        if self._count or self._long:
            self._short = self._short[: self._count]
            self._short.sort()
            ordered = _SortedNs(self._short, np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *self._long])))
            self._found = _summary(ordered, _sum(ordered, 0, len(ordered)) / len(ordered))
            self._short, self._long, self._count = self._short[:0].copy(), [], 0
        return self._found


def _sum(ordered: _SortedNs, start: int, count: int) -> float:
    """Return the sum of a stretch, added up in the order in which numpy adds up one array, so that equal values have one mean."""
    if count <= _SUMMED_AT_ONCE:
        return float(np.add.reduce(ordered.seconds(start, start + count)))
    half = count // 2
    half -= half % 8
    return _sum(ordered, start, half) + _sum(ordered, start + half, count - half)


def invert(summary: dict[str, MetricValue] | None) -> dict[str, MetricValue] | None:
    """Return the rates that belong to a summary of times: each statistic of the time, inverted, so p99 is the slow side.

    `min` and `max` change places, so that min stays the smallest; a time of zero has no rate (None).
    """
    if summary is None:
        return None
    swapped = summary | {"min": summary["max"], "max": summary["min"]}
    return {name: value if name == "n" else 1 / value if value else None for name, value in swapped.items()}


def thin(n: int, p: float) -> bool:
    """Say whether fewer than 10 of `n` values lie beyond the percentile, so that it gets a `*`: p90 needs 100 values, p99 a thousand."""
    return round(n * (100 - p) / 100, _DIGITS) < BEYOND


def percentile_ranks(n: int, p: float, level: float = LEVEL) -> tuple[int, int] | None:
    """Return the 1-based ranks of the two order statistics that enclose the percentile with `level` percent confidence.

    Distribution-free: of a binomial(n, p), the tails below the lower rank and from the upper rank on are each at most half of what
    the level leaves. None where `n` values are too few to enclose it.

    :raises ValueError: if `n` is negative, or `p` or `level` does not lie strictly between 0 and 100.
    """
    if n < 0 or not 0 < p < 100 or not 0 < level < 100:  # noqa: PLR2004 - percent
        raise ValueError(f"ranks need n >= 0 and percentages between 0 and 100, found n = {n}, p = {p}, level = {level}")
    if n == 0:
        return None
    tail = round((100 - level) / 200, 12)
    steps = np.arange(1, n + 1)
    # The logarithms of the weights of 0..n successes: the weights themselves underflow from a few thousand values on.
    log_weights = np.concatenate(([0.0], np.cumsum(np.log((n - steps + 1) / steps) + math.log(p / (100 - p))))) + n * math.log1p(-p / 100)
    weights = np.exp(log_weights)
    at_most = np.cumsum(weights)
    at_least = np.cumsum(weights[::-1])[::-1]
    # P(X < l) = at_most[l - 1]: the largest such l. P(X >= u) = at_least[u]: the smallest such u.
    low = int(np.searchsorted(at_most, tail, side="right"))
    high = int(n + 1 - np.searchsorted(at_least[::-1], tail, side="right"))
    return (low, high) if low >= 1 and high <= n else None
