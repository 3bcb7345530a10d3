"""Distributions as their quantile functions, so that a corpus depends on uniform numbers alone and not on a library's sampling methods.

Every law says where its numbers are from; `at(shares)` is its quantile at each share in [0, 1), cut off at `low` and `high`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TABLE_SHARES = (0.0, 0.05, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
"""Shares at which a `QuantileTable` holds quantiles: the columns of the published statistics, after the least value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusNumber:
    """One number of a profile."""

    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Law(ABC):
    """A distribution."""

    source: str
    low: float = -math.inf
    """Smaller values are raised to this one."""
    high: float = math.inf
    """Larger values are lowered to this one."""

    def at(self, shares: Floats) -> Floats:
        """Return the quantiles at these shares."""
        return np.clip(self._at(shares), self.low, self.high)

    @abstractmethod
    def _at(self, shares: Floats) -> Floats: ...

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal(Law):
    """The logarithm is normal."""

    median: float
    sigma: float

    @classmethod
    def of_mean(cls, mean: float, sigma: float, *, source: str, low: float = -math.inf, high: float = math.inf) -> LogNormal:
        """Return the law with this mean (before `low` and `high` cut it off)."""
        return cls(median=mean * math.exp(-sigma * sigma / 2), sigma=sigma, source=source, low=low, high=high)

    def _at(self, shares: Floats) -> Floats:
        return np.asarray(self.median * np.exp(self.sigma * normal_at(shares)))

    def __str__(self) -> str:
        return f"log-normal(median {self.median:,.6g}, sigma {self.sigma:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLogistic(Law):
    """The logarithm is logistic: a median with two heavy tails."""

    scale: float
    shape: float

    def _at(self, shares: Floats) -> Floats:
        return np.asarray(self.scale * (shares / (1 - shares)) ** (1 / self.shape))

    def __str__(self) -> str:
        return f"log-logistic(scale {self.scale:g}, shape {self.shape:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull(Law):
    """Close to exponential for a shape near 1."""

    scale: float
    shape: float

    def _at(self, shares: Floats) -> Floats:
        return np.asarray(self.scale * (-np.log1p(-shares)) ** (1 / self.shape))

    def __str__(self) -> str:
        return f"Weibull(scale {self.scale:g}, shape {self.shape:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gamma(Law):
    """Quantiles by the cube of a normal value (Wilson and Hilferty): within 1 % from the 5th to the 99th percentile for shapes from 4."""

    scale: float
    shape: float

    def _at(self, shares: Floats) -> Floats:
        spread = 1 / (9 * self.shape)
        root = np.maximum(1 - spread + math.sqrt(spread) * normal_at(shares), 0.0)
        return np.asarray(self.shape * self.scale * root**3)

    def __str__(self) -> str:
        return f"Gamma(shape {self.shape:g}, scale {self.scale:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAndPoisson(Law):
    """One and a Poisson count."""

    mean: float
    """Of the count beyond the first."""

    def _at(self, shares: Floats) -> Floats:
        terms = [math.exp(-self.mean)]
        while sum(terms) < _ALL and len(terms) < _MOST_TERMS:
            terms.append(terms[-1] * self.mean / len(terms))
        return 1 + np.searchsorted(np.cumsum(terms), shares, side="right").astype(np.float64)

    def __str__(self) -> str:
        return f"1 + Poisson({self.mean:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAndGeometric(Law):
    """One and a count of failures before a success."""

    mean: float
    """Of the count beyond the first."""

    def _at(self, shares: Floats) -> Floats:
        return 1.0 + np.floor(np.log1p(-shares) / math.log(self.mean / (1 + self.mean)))

    def __str__(self) -> str:
        return f"1 + geometric(mean {self.mean:g})"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileTable(Law):
    """Published quantiles, with straight lines between their logarithms, and a Pareto tail through the last one and the largest value."""

    least: float
    """The 0th percentile, which the published tables do not hold."""
    quantiles: tuple[float, float, float, float, float, float, float]
    """The 5th, 25th, 50th, 75th, 90th, 95th and 99th percentile; positive."""
    most: float
    """Largest of the observations."""
    observations: int
    """How many there were: the largest stands for the last of so many parts, not for the 100th percentile."""

    def _at(self, shares: Floats) -> Floats:
        body = np.exp(np.interp(shares, TABLE_SHARES, np.log((self.least, *self.quantiles))))
        rest, last = 1 - TABLE_SHARES[-1], self.quantiles[-1]
        slope = math.log(self.most / last) / math.log(rest * self.observations)
        beyond = rest / np.maximum(np.minimum(1 - shares, rest), 1 / self.observations)
        return np.asarray(body * beyond**slope)

    def __str__(self) -> str:
        return f"quantiles {', '.join(f'{value:,g}' for value in (self.least, *self.quantiles, self.most))}"


def normal_at(shares: Floats) -> Floats:
    """Return quantiles of the standard normal distribution by Acklam's rational approximation (relative error below 1.2e-9)."""
    shares = np.clip(shares, 1e-300, 1 - 2**-53)
    centre = shares - 0.5
    square = centre * centre
    middle = centre * np.polyval(_CENTRE_ABOVE, square) / np.polyval(_CENTRE_BELOW, square)
    root = np.sqrt(-2 * np.log(np.minimum(shares, 1 - shares)))
    outer = np.polyval(_TAIL_ABOVE, root) / np.polyval(_TAIL_BELOW, root)
    return np.where(np.abs(centre) <= 0.5 - _TAIL, middle, np.where(centre < 0, outer, -outer))


_ALL = 1 - 1e-12
_MOST_TERMS = 1000
_TAIL = 0.02425
_CENTRE_ABOVE = (
    -3.969683028665376e01,
    2.209460984245205e02,
    -2.759285104469687e02,
    1.383577518672690e02,
    -3.066479806614716e01,
    2.506628277459239e00,
)
_CENTRE_BELOW = (
    -5.447609879822406e01,
    1.615858368580409e02,
    -1.556989798598866e02,
    6.680131188771972e01,
    -1.328068155288572e01,
    1.0,
)
_TAIL_ABOVE = (
    -7.784894002430293e-03,
    -3.223964580411365e-01,
    -2.400758277161838e00,
    -2.549732539343734e00,
    4.374664141464968e00,
    2.938163982698783e00,
)
_TAIL_BELOW = (7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00, 1.0)
