"""How far a point's headline numbers would move if other sessions had been drawn: a bootstrap over sessions, the same for equal seeds.

Requests of one session belong together (they share a prompt that grows, a lane and the moment), so whole sessions are drawn. In a closed
loop of single requests each is a session of its own; very many are drawn in blocks of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.percentile import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int32]

RESAMPLES = 1000
FEWEST_RESAMPLES = 200
MOST_DRAWN = 25_000_000
"""Requests drawn in all: a point of very many is resampled less often, since its intervals are narrow anyway."""
FEWEST_SESSIONS = 5
"""With fewer, draws repeat one another, and the interval would look surer than it is."""
MOST_SESSIONS = 2000
"""More are drawn in so many blocks, which costs less and keeps what neighbours have in common."""
_AT_ONCE = 1 << 21
"""Numbers of a batch, which bounds the memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resampling:
    """Draws of sessions with replacement."""

    sessions: NDArray[np.intp]
    """Session, or block of sessions, of each request, numbered from 0."""
    count: int
    """How many of them there are."""
    seed: int
    resamples: int

    @classmethod
    def of(cls, keys: Sequence[str], seed: int) -> Resampling | None:
        """Return the draws for requests with these sessions, in order of send; None where there are too few sessions to draw from."""
        numbers: dict[str, int] = {}
        sessions = np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), dtype=np.intp, count=len(keys))
        if len(numbers) < FEWEST_SESSIONS:
            return None
        count = min(len(numbers), MOST_SESSIONS)
        resamples = min(RESAMPLES, max(FEWEST_RESAMPLES, MOST_DRAWN // len(keys)))
        return cls(sessions=sessions * count // len(numbers), count=count, seed=seed, resamples=resamples)

    def draws(self) -> Iterator[Counts]:
        """Yield how often each session was drawn, some resamples at a time, one row each; equal for equal seeds."""
        chance = np.random.default_rng(self.seed)
        at_once = max(1, _AT_ONCE // max(len(self.sessions), self.count))
        for start in range(0, self.resamples, at_once):
            rows = min(at_once, self.resamples - start)
            drawn = chance.integers(0, self.count, size=(rows, self.count))
            drawn += np.arange(rows)[:, None] * self.count
            yield np.bincount(drawn.ravel(), minlength=rows * self.count).reshape(rows, self.count).astype(np.int32)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of each column of values over the sessions of every resample: rows are resamples.

        :param values: one row a session.
        """
        return np.concatenate([draw @ values for draw in self.draws()])

    def by_session(self, values: Floats) -> Floats:
        """Return the sum of values over the requests of each session."""
        return np.bincount(self.sessions, weights=values, minlength=self.count).astype(np.float64, copy=False)

    def rows_by_session(self, rows: Sequence[Floats]) -> Floats:
        """Return the sum of the rows of each session, one row a session; `rows` has one for each request or key."""
        found = np.zeros((self.count, len(rows[0])))
        np.add.at(found, self.sessions, np.stack(rows))
        return found

    def percentiles(self, values: Floats, wanted: Sequence[float]) -> Floats:
        """Return linear percentiles over the requests of every resample; NaN where it holds no value. Rows are resamples, then the mean.

        :param values: one for each request, NaN where undefined.
        :param wanted: percentiles, 0 to 100; one more column holds the mean.
        """
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(values[known], kind="stable")]
        ordered, sessions = values[order], self.sessions[order]
        return np.concatenate([_percentiles(np.take(draw, sessions, axis=1), ordered, wanted) for draw in self.draws()])


def _percentiles(weights: Counts, ordered: Floats, wanted: Sequence[float]) -> Floats:
    """Return percentiles and mean of sorted values that count several times or not at all, one row for each row of weights."""
    found = np.full((len(weights), len(wanted) + 1), np.nan)
    if not len(ordered):
        return found
    up_to = np.cumsum(weights, axis=1, dtype=np.int32)
    totals = up_to[:, -1]
    for row in np.flatnonzero(totals):
        index = (totals[row] - 1) * np.asarray(wanted) / 100
        below = np.floor(index).astype(np.int64)
        above = np.minimum(below + 1, totals[row] - 1)
        low, high = (ordered[np.searchsorted(up_to[row], place, side="right")] for place in (below, above))
        found[row, :-1] = low + (high - low) * (index - below)
    with np.errstate(invalid="ignore"):
        found[:, -1] = weights.astype(np.float64) @ ordered / totals
    return found


def bounds(replicates: Floats) -> tuple[float, float] | None:
    """Return the interval that holds the middle 95 % of what resamples gave; None where some gave nothing."""
    if not len(replicates) or not np.isfinite(replicates).all():
        return None
    tail = (100 - LEVEL) / 2
    low, high = np.percentile(replicates, (tail, 100 - tail))
    return float(low), float(high)
