"""The ladder: at each target speed the rate that a GPU sustains, with which engine, at what price, and on which points that rests."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ixbench.frontier.comparable import mismatches
from ixbench.frontier.curves import curves_of
from ixbench.frontier.errors import FrontierError
from ixbench.frontier.format import Seconds
from ixbench.frontier.ladder_values import (
    BestLatency,
    Ladder,
    LadderContent,
    LadderRung,
    LeftOut,
    Peak,
    RungPoint,
    RungRepeats,
    RungRunnerUp,
)
from ixbench.frontier.notes import notes_on
from ixbench.frontier.points import median_s, operating_points, usable_points
from ixbench.frontier.select import in_scope, select
from ixbench.frontier.student import half_width
from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ixbench.frontier.curves import LadderCurve
    from ixbench.frontier.points import RatedPoint
    from ixbench.frontier.repeats import Repeats
    from ixbench.frontier.rung import Read
    from ixbench.frontier.select import RunnerUp
    from ixbench.model.run import ReportSettings, RunView

__all__ = [
    "BestLatency",
    "Ladder",
    "LadderContent",
    "LadderRung",
    "LeftOut",
    "Peak",
    "RungPoint",
    "RungRepeats",
    "RungRunnerUp",
    "build_ladder",
]

FASTEST_TPOT_S = 0.0001
"""A median TPOT below it is a unit error, not an engine."""
SPEED_FACTOR = 3
"""A best TPOT whose reciprocal is so many times the ladder's top speed is not credible."""


def build_ladder(runs: Sequence[RunView], *, allow_mismatch: bool = False) -> Ladder:
    """Build the ladder of one or more runs, with the report settings of the first.

    :param allow_mismatch: build it although the runs did different work; every difference is then stamped on the ladder.
    :raises InputError: if there is no run, the runs cannot share a ladder, or a setting cannot be carried out (`min_cost` without a price).
    """
    if not runs:
        raise InputError(Fault(where="runs", problem="there is none to report", advice="name a run folder"))
    if len({run.id for run in runs}) < len(runs):
        raise InputError(
            Fault(where="runs", problem=f"{', '.join(run.id for run in runs)}: a run is given twice", advice="name each run once")
        )
    found = mismatches(runs)
    if found and not allow_mismatch:
        raise InputError(found)
    try:
        return _build(runs, tuple(str(fault) for fault in found))
    except FrontierError as error:
        raise InputError(Fault(where="[report]", problem=str(error))) from error


def _build(runs: Sequence[RunView], stamped: tuple[str, ...]) -> Ladder:
    settings = runs[0].report
    first_quote = next((run.quotes[0] for run in runs if run.quotes), None)
    everything = usable_points(runs, settings.axis)
    all_curves = curves_of(everything, tier=first_quote.tier if first_quote else None)
    curves = tuple(curve for curve in all_curves if in_scope(curve.engine, settings.scope))
    read = _reader(curves, settings)
    rungs = tuple(read(target) for target in settings.rungs)
    points = tuple(point for curve in all_curves for point in curve.members)
    top = max((point.tok_s_user for point in points if point.tok_s_user is not None), default=None)
    ladder = Ladder(
        title=runs[0].title,
        evidence="simulated" if any(run.evidence == "simulated" for run in runs) else "measured",
        axis=settings.axis,
        interpolation=settings.interpolation,
        range=settings.range,
        policy=settings.policy,
        scope=settings.scope,
        excluded=len(all_curves) - len(curves),
        left_out=_left_out(runs, everything, points),
        tier=first_quote.label if first_quote else None,
        book=first_quote.book if first_quote else None,
        rungs=rungs,
        primary=next((rung for rung in rungs if rung.target == settings.primary), None) or read(settings.primary),
        curves=curves,
        peak=_peak(points),
        configs=len(operating_points(points)),
        repeats=max(run.repeats for run in runs),
        engines=tuple(sorted({point.result.identity.engine for point in points})),
        precisions=tuple(sorted({point.result.identity.precision for point in points if point.result.identity.precision})),
        dates=tuple(sorted({point.date for point in points if point.date})),
        best_ttft=_best(points, "ttft_s", lambda s: s > 0),
        best_tpot=_best(points, "tpot_s", lambda s: s >= FASTEST_TPOT_S and (top is None or 1 / s <= SPEED_FACTOR * top)),
        notes=(),
        mismatches=stamped,
    )
    return replace(ladder, notes=tuple(notes_on(ladder, runs, points)))


def _reader(curves: tuple[LadderCurve, ...], settings: ReportSettings) -> Callable[[float], LadderRung]:
    """Return what reads a row, so that the curves' frontiers are taken once for all rows."""
    speeds = [point.tok_s_user for curve in curves for point in curve.members if point.tok_s_user is not None]
    by_key = {curve.key: curve for curve in curves}
    readable = [curve.readable for curve in curves]

    def read(target: float) -> LadderRung:
        chosen = select(
            readable, target, policy=settings.policy, mode=settings.interpolation, range_policy=settings.range, scope=settings.scope
        )
        # Where no point has a rate, speeds are all that can be told.
        fastest = max(speeds, default=None) if chosen.fastest is None else chosen.fastest
        slowest = chosen.slowest
        if chosen.curve is None or chosen.read is None:
            partly = tuple(_repeats(by_key[curve.key], repeats) for curve, repeats in chosen.partly)
            return LadderRung(target=target, status=chosen.status, fastest_tok_s_user=fastest, slowest_tok_s_user=slowest, partly=partly)
        curve = by_key[chosen.curve.key]
        assert chosen.repeats is not None
        evidence = _evidence(curve, chosen.read)
        return LadderRung(
            target=target,
            status=chosen.status,
            tok_s_gpu=chosen.read.value,
            usd_per_mtok=chosen.usd_per_mtok,
            engine=curve.engine,
            precision=curve.precision,
            points=tuple(point.point for point in evidence),
            deployments=tuple(point.deployment for point in evidence),
            settings=tuple(point.settings for point in evidence),
            fastest_tok_s_user=fastest,
            slowest_tok_s_user=slowest,
            at_tok_s_user=chosen.read.at_x,
            curve=curve.key,
            evidence=evidence,
            two_knots=chosen.read.two_knots,
            bracket=_bracket(curve, chosen.repeats, target),
            repeats=_repeats(curve, chosen.repeats),
            runner_up=_runner_up(by_key[chosen.runner_up.curve.key], chosen.runner_up) if chosen.runner_up else None,
            partly=tuple(_repeats(by_key[partly.key], repeats) for partly, repeats in chosen.partly),
        )

    return read


def _evidence(curve: LadderCurve, read: Read) -> tuple[RungPoint, ...]:
    return tuple(
        RungPoint(
            point=point.id,
            run=point.run.id,
            run_point=point.result.id,
            deployment=point.result.identity.deployment,
            settings=dict(point.result.identity.settings),
            evidence=point.result.evidence,
            date=point.date,
            concurrency=point.result.identity.concurrency,
            rate=point.result.identity.rate,
            tok_s_user=x,
            tok_s_gpu=y,
            repeat=point.repeat,
        )
        for point, (x, y) in ((curve.rated[i], curve.readable.points[i]) for i in read.evidence)
    )


def _bracket(curve: LadderCurve, repeats: Repeats, target: float) -> float | None:
    """Return the distance of the neighbours as a share of the target, the largest of all repeats; None where none was read between two."""
    speeds = [[curve.readable.points[i][0] for i in read.evidence] for read in repeats.reads]
    return max(((found[-1] - found[0]) / target for found in speeds if len(found) > 1), default=None)


def _repeats(curve: LadderCurve, repeats: Repeats) -> RungRepeats:
    return RungRepeats(
        curve=curve.key,
        engine=curve.engine,
        runs=repeats.runs,
        reached=repeats.reached,
        tok_s_gpu=tuple(read.value for read in repeats.reads),
        half_width_tok_s_gpu=repeats.half_width,
        neighbours_half_width_tok_s_gpu=_neighbours(curve, repeats),
    )


def _neighbours(curve: LadderCurve, repeats: Repeats) -> float | None:
    """Return the larger half width of the rates of the operating points that a read between two rests on."""
    if repeats.status != "interpolated" or repeats.half_width is None:
        return None
    used = {curve.rated[i].operating_point for read in repeats.reads for i in read.evidence}
    widths = [
        half_width([point.tok_s_gpu for point in group if point.tok_s_gpu is not None])
        for group in operating_points(curve.rated)
        if group[0].operating_point in used
    ]
    return max((width for width in widths if width is not None), default=None)


def _runner_up(curve: LadderCurve, found: RunnerUp) -> RungRunnerUp:
    assert found.read.value is not None
    difference = found.difference
    return RungRunnerUp(
        curve=curve.key,
        engine=curve.engine,
        precision=curve.precision,
        points=tuple(point.point for point in _evidence(curve, found.read)),
        tok_s_gpu=found.read.value,
        usd_per_mtok=found.usd_per_mtok,
        repeats=_repeats(curve, found.repeats),
        difference=difference.difference if difference else None,
        margin=difference.margin if difference else None,
        distinguishable=difference.distinguishable if difference else None,
    )


def _left_out(runs: Sequence[RunView], usable: Sequence[RatedPoint], kept: Sequence[RatedPoint]) -> LeftOut:
    results = [point for run in runs for point in run.points]
    return LeftOut(
        invalid=sum(point.failure is None and not point.usable for point in results),
        failed=sum(point.failure is not None for point in results),
        missing=sum(len(run.missing) for run in runs),
        superseded=len(usable) - len(kept),
        without_speed=sum(point.tok_s_user is None for point in kept),
        without_rate=sum(point.tok_s_user is not None and point.tok_s_gpu is None for point in kept),
    )


def _peak(points: Sequence[RatedPoint]) -> Peak | None:
    """Return the highest rate; of an operating point with repeats the mean, since the luckiest repeat is no peak."""
    rated = [point for point in points if point.tok_s_gpu is not None and point.tok_s_user is not None]
    if not rated:
        return None
    means = [
        (_mean(point.tok_s_gpu for point in group), _mean(point.tok_s_user for point in group), group[0])
        for group in operating_points(rated)
    ]
    tok_s_gpu, tok_s_user, point = max(means, key=lambda row: row[:2])
    return Peak(tok_s_gpu=tok_s_gpu, tok_s_user=tok_s_user, point=point.operating_point, engine=point.result.identity.engine)


def _best(points: Sequence[RatedPoint], name: str, credible: Callable[[float], bool]) -> BestLatency | None:
    """Return the smallest median of a latency; of an operating point with repeats the mean of their medians."""
    groups = [(group[0].operating_point, [median_s(point, name) for point in group]) for group in operating_points(points)]
    medians = [(_mean(found), point) for point, found in groups if any(s is not None for s in found)]
    rows = [(s, point) for s, point in medians if credible(s)]
    if not rows:
        return None
    s, point = min(rows, key=lambda row: row[0])
    return BestLatency(s=Seconds(s), point=point)


def _mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return known[0] if len(known) == 1 else math.fsum(known) / len(known)
