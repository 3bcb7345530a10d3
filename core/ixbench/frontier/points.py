"""Operating points as curves need them: one speed, one rate, and where both come from, taken from the sealed results of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from ixbench.frontier.errors import FrontierError, positive
from ixbench.frontier.format import Seconds
from ixbench.model.imported import import_source
from ixbench.model.point import repeat_suffix
from ixbench.model.price import quotes_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.model.price import Quote
    from ixbench.model.result import Metrics, PointResult
    from ixbench.model.run import RunView

PERCENTILES = {"median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "mean": "mean"}
"""Names of a speed axis -> the part of `tpot_s` whose reciprocal is the speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPoint:
    """One usable point of one run."""

    id: str
    """Its id on the ladder: the point's own, with the run's before it where two runs share ids."""
    run: RunView
    result: PointResult
    tok_s_user: float | None
    """Speed: 1 / percentile of TPOT; None where there are not enough answers to tell."""
    tok_s_gpu: float | None
    """All tokens per second and reserved GPU; None where the number of GPUs is not known."""

    @property
    def date(self) -> str:
        """ISO date of its run; of an imported point as its file tells it, empty where it does not."""
        return self.session[0]

    @property
    def session(self) -> tuple[str, str, int, str]:
        """The run that measured it, in an order in which the newest is the largest: date, start, digits of its number, id or number."""
        return session_of(self.run, self.result)

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The prices of its hardware."""
        return quotes_for(self.run.quotes, self.result.identity.hardware)

    @property
    def repeat(self) -> int:
        """Which measurement of its operating point it is, from 1."""
        return self.result.identity.repeat

    @property
    def operating_point(self) -> str:
        """Its id on the ladder without the number of its repeat."""
        return self.id.removesuffix(repeat_suffix(self.repeat))


def session_of(run: RunView, point: PointResult) -> tuple[str, str, int, str]:
    """Return the run that measured a point, as `RatedPoint.session` has it; its date is empty where an imported point tells none."""
    source = import_source(point) if point.origin == "imported" else None
    if source is None:
        return _day(run.started), run.started, 0, run.id
    run_id = str(source.run_id)
    return _day(str(source.date)), str(source.started), len(run_id), run_id  # of two numbers the longer is the larger


def _day(text: str) -> str:
    """Return the ISO date that a text begins with; empty where it does not, since files are written by others. None is before 2000."""
    day = text[:10]
    try:
        return day if "2000" <= day < "3000" and date.fromisoformat(day).isoformat() == day else ""
    except ValueError:
        return ""


def part(metrics: Metrics, name: str, key: str) -> float | None:
    """Return one part of a metric, for instance the p90 of `tpot_s`; None where it is missing or not finite and above zero."""
    value = metrics.get(name)
    number = value.get(key) if isinstance(value, dict) else None
    return float(number) if number is not None and positive(number) else None


def speed(metrics: Metrics, axis: str) -> float | None:
    """Return the speed of a point in tok/s/user: the percentile of the time is taken first, then its reciprocal, so p90 is the slow side.

    :raises FrontierError: bad_mode for an unknown axis.
    """
    if axis not in PERCENTILES:
        raise FrontierError("bad_mode", f"{axis!r} is no speed axis; allowed: {', '.join(PERCENTILES)}")
    # Foreign rows round times and speeds apart, and some have no time at all; those of a run are reciprocals to the last digit.
    told = part(metrics, "speed_tok_s_user", PERCENTILES[axis])
    if told is not None:
        return told
    tpot_s = part(metrics, "tpot_s", PERCENTILES[axis])
    return None if tpot_s is None or not positive(1 / tpot_s) else 1 / tpot_s


def median_s(point: RatedPoint, name: str) -> Seconds | None:
    """Return the median of a latency."""
    value = part(point.result.metrics, name, "p50")
    return None if value is None else Seconds(value)


def usable_points(runs: Sequence[RunView], axis: str) -> tuple[RatedPoint, ...]:
    """Return the points that may stand on a frontier, in the order of the runs; a simulated or imported one is marked by its result."""
    owners = Counter(point.id for run in runs for point in run.points)
    shared = any(count > 1 for count in owners.values())
    return tuple(
        RatedPoint(
            id=f"{run.id}/{point.id}" if shared else point.id,
            run=run,
            result=point,
            tok_s_user=speed(point.metrics, axis),
            tok_s_gpu=part(point.metrics, "throughput_tok_s_gpu", "total"),
        )
        for run in runs
        for point in run.points
        if point.usable
    )


def operating_points(points: Iterable[RatedPoint]) -> tuple[tuple[RatedPoint, ...], ...]:
    """Return the points by what was measured: each with its repeats, in order."""
    groups: dict[str, list[RatedPoint]] = {}
    for point in points:
        groups.setdefault(point.operating_point, []).append(point)
    return tuple(map(tuple, groups.values()))
