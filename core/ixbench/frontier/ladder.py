"""The ladder: at each target speed the rate that a GPU sustains, with which engine, at what price, and on which points that rests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ixbench.frontier.comparable import mismatches
from ixbench.frontier.curves import curves_of
from ixbench.frontier.errors import FrontierError
from ixbench.frontier.ladder_values import BestLatency, Ladder, LadderRung, LeftOut, Peak, RungPoint
from ixbench.frontier.notes import notes_on
from ixbench.frontier.points import median_s, usable_points
from ixbench.frontier.select import in_scope, select
from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ixbench.frontier.curves import LadderCurve
    from ixbench.frontier.points import RatedPoint
    from ixbench.frontier.select import Selection
    from ixbench.model.run import ReportSettings, RunView

__all__ = ["BestLatency", "Ladder", "LadderRung", "LeftOut", "Peak", "RungPoint", "build_ladder"]

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
        configs=len(points),
        engines=tuple(sorted({point.result.identity.engine for point in points})),
        precisions=tuple(sorted({point.result.identity.precision for point in points if point.result.identity.precision})),
        dates=tuple(sorted({point.date for point in points})),
        best_ttft=_best(points, "ttft_s", lambda s: s > 0),
        best_tpot=_best(points, "tpot_s", lambda s: s >= FASTEST_TPOT_S and (top is None or 1 / s <= SPEED_FACTOR * top)),
        notes=(),
        mismatches=stamped,
    )
    return replace(ladder, notes=tuple(notes_on(ladder, points)))


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
            return LadderRung(target=target, status=chosen.status, fastest_tok_s_user=fastest, slowest_tok_s_user=slowest)
        curve = by_key[chosen.curve.key]
        evidence = _evidence(curve, chosen)
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
            bracket=(evidence[-1].tok_s_user - evidence[0].tok_s_user) / target if len(evidence) > 1 else None,
        )

    return read


def _evidence(curve: LadderCurve, chosen: Selection) -> tuple[RungPoint, ...]:
    indices = chosen.read.evidence if chosen.read else ()
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
        )
        for point, (x, y) in ((curve.rated[i], curve.readable.points[i]) for i in indices)
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
    rated = [(point.tok_s_gpu, point.tok_s_user, point) for point in points if point.tok_s_gpu is not None and point.tok_s_user is not None]
    if not rated:
        return None
    tok_s_gpu, tok_s_user, point = max(rated, key=lambda row: row[:2])
    return Peak(tok_s_gpu=tok_s_gpu, tok_s_user=tok_s_user, point=point.id, engine=point.result.identity.engine)


def _best(points: Sequence[RatedPoint], name: str, credible: Callable[[float], bool]) -> BestLatency | None:
    medians = ((median_s(point, name), point.id) for point in points)
    rows = [(s, point) for s, point in medians if s is not None and credible(s)]
    if not rows:
        return None
    s, point = min(rows, key=lambda row: row[0])
    return BestLatency(s=s, point=point)
