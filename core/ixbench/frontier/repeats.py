"""Rungs of points that were measured several times: a frontier for each repeat, read by itself; only the reads are averaged.

A frontier keeps maxima of noisy points and so lies too high. Pooling the points of several repeats would keep the luckiest of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.frontier.rung import Knots
from ixbench.frontier.student import half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.curve import PlanePoint
    from ixbench.frontier.rung import Read, RungStatus
    from ixbench.model.run import Interpolation, RangePolicy

_WITH_VALUE: tuple[RungStatus, ...] = ("interpolated", "meets_slo", "exact")
_WITHOUT: tuple[RungStatus, ...] = ("below_range", "unreachable", "no_points")
"""Of several repeats the first of these that one of them has is the status of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What the repeats of one curve say at one rung."""

    reads: tuple[Read, ...]
    """One a repeat, in order; the evidence of each counts within the points of its own repeat."""

    @property
    def runs(self) -> int:
        """How many repeats there are."""
        return len(self.reads)

    @property
    def values(self) -> tuple[float, ...]:
        """What the repeats that reach the rung say."""
        return tuple(read.value for read in self.reads if read.value is not None)

    @property
    def reached(self) -> int:
        """How many repeats reach the rung."""
        return len(self.values)

    @property
    def mean(self) -> float | None:
        """Mean of the reads; None unless every repeat reaches the rung."""
        values = self.values
        return math.fsum(values) / len(values) if values and len(values) == self.runs else None

    @property
    def half_width(self) -> float | None:
        """Half of the mean's 95 % interval; None where there is no mean, or only one repeat."""
        return None if self.mean is None else half_width(self.values)

    @property
    def status(self) -> RungStatus:
        """How the mean came about, or why there is none."""
        found = {read.status for read in self.reads}
        for status in _WITH_VALUE if self.mean is not None else _WITHOUT:
            if status in found:
                return status
        return "no_points"


def read_repeats(
    runs: Sequence[Sequence[PlanePoint] | Knots],
    rung: float,
    *,
    mode: Interpolation = "steffen",
    range_policy: RangePolicy = "in_range",
) -> Repeats:
    """Read the frontier of each repeat at a rung.

    :param runs: the (speed, rate) points of each repeat, or their frontier.
    :raises FrontierError: bad_point, bad_rung or bad_mode.
    """
    frontiers = (run if isinstance(run, Knots) else Knots.of(run) for run in runs)
    return Repeats(reads=tuple(knots.read(rung, mode=mode, range_policy=range_policy) for knots in frontiers))
