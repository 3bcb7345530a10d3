"""What the reader of a ladder must know beside its numbers, one sentence each."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from ixbench.frontier.comparable import IDENTITY
from ixbench.frontier.format import format_rate
from ixbench.frontier.points import median_s
from ixbench.model.counts import counted
from ixbench.model.imported import import_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.frontier.ladder_values import Ladder
    from ixbench.frontier.points import RatedPoint
    from ixbench.model.run import RunView

WIDE_BRACKET = 0.5
"""Above this share of the rung the two neighbours say little about it."""
FEW_KNOTS = 3
FAR_APART_DAYS = 30
MOST_NAMED = 10
"""Runs that a note names; of more it says how many."""


def notes_on(ladder: Ladder, runs: Sequence[RunView], points: Sequence[RatedPoint]) -> Iterator[str]:
    """Yield the notes of a ladder.

    :param points: all points that were counted, out of scope included.
    """
    yield from notes_on_runs(runs)
    yield from _on_points(ladder, points)
    yield from _on_repeats(ladder)
    yield from _on_curves(ladder)
    days = [date.fromisoformat(day) for day in ladder.dates if day]
    if days and (apart := (max(days) - min(days)).days) > FAR_APART_DAYS:
        yield f"The points were measured up to {apart} days apart."


def notes_on_runs(runs: Sequence[RunView]) -> Iterator[str]:
    """Yield what must be known of whole runs, a sentence each; it names the runs that it is about unless it is about all of them."""
    about: dict[str, list[str]] = {}
    for run in runs:
        for note in run.notes:
            about.setdefault(note, []).append(run.id)
    for note, ids in about.items():
        more = f" and {counted(len(ids) - MOST_NAMED, 'more run')}" if len(ids) > MOST_NAMED else ""
        yield f"{note[:1].upper()}{note[1:]}." if len(ids) == len(runs) else f"{', '.join(ids[:MOST_NAMED])}{more}: {note}."


def _on_points(ladder: Ladder, points: Sequence[RatedPoint]) -> Iterator[str]:
    if any(point.tok_s_gpu is None and point.result.identity.gpus is None for point in points):
        yield (
            "The number of GPUs is not known, so there is no rate per GPU and no ladder of it; "
            "give it by [hardware] gpus of a campaign, or by --gpus to ixbench bench or ixbench import."
        )
    if len({point.result.evidence for point in points}) > 1:
        yield "Some points are measured and some simulated; they stand on different curves, and a simulated one may win a rung."
    yield from _on_origins(points)
    if ladder.left_out.without_speed:
        yield f"{counted(ladder.left_out.without_speed, 'point')} without enough answers to tell the {ladder.axis} of TPOT: on no curve."
    if ladder.left_out.superseded:
        yield f"{counted(ladder.left_out.superseded, 'point')} left out because a newer run measured the same curve."
    if ladder.best_tpot is None and any(median_s(point, "tpot_s") is not None for point in points):
        yield "No median TPOT is credible beside the speeds of this ladder, so none is named as the best; look for a unit error."
    if ladder.rates_known and ladder.tier is None:
        yield (
            "No price is known for this hardware, so there are no costs; "
            "name a book or tiers under [prices] of a campaign, or give --usd-per-gpu-hour to ixbench bench or ixbench import."
        )


def _on_origins(points: Sequence[RatedPoint]) -> Iterator[str]:
    """Yield by whose rules imported points were measured, and what they leave open beside points of a run."""
    imported = [point.result for point in points if point.result.origin == "imported"]
    sources = [source for point in imported if (source := import_source(point)) is not None]
    for definitions in dict.fromkeys(source.definitions for source in sources if source.definitions):
        yield f"Imported points are as their file gives them ({definitions})."
    if len(imported) in (0, len(points)):
        return
    own = [point.result.identity for point in points if point.result.origin == "run"]
    open_ = [
        name
        for field, name in IDENTITY.items()
        if any(getattr(identity, field) is not None for identity in own)
        and any(getattr(point.identity, field) is None for point in imported)
    ]
    if open_:
        yield f"Points of a run and imported ones stand on different curves; the imported do not tell: {', '.join(open_)}."


def _on_repeats(ladder: Ladder) -> Iterator[str]:
    """Yield where repeats leave open which curve is better, or do not reach a rung."""
    for rung in ladder.rungs:
        target = f"{rung.target:g} tok/s/user"
        for partly in rung.partly:
            reach = f"{partly.reached} of {partly.runs} repeats of {partly.engine} ({partly.curve}) reach it"
            yield f"At {target}: {reach}, so it has no mean there and does not compete."
        other = rung.runner_up
        if other is None or other.distinguishable is not False or rung.repeats is None or rung.tok_s_gpu is None:
            continue
        names = (rung.engine, other.engine) if rung.engine != other.engine else (rung.curve, other.curve)
        rates = f"{format_rate(rung.tok_s_gpu)} and {format_rate(other.tok_s_gpu)} tok/s/GPU"
        runs = f"{rung.repeats.runs} and {other.repeats.runs} repeats"
        yield f"At {target}: {names[0]} and {names[1]} cannot be told apart, {rates} differ by no more than {runs} scatter (Welch, 95 %)."


def _on_curves(ladder: Ladder) -> Iterator[str]:
    wide = [rung for rung in ladder.rungs if rung.bracket is not None and rung.bracket > WIDE_BRACKET]
    if wide:
        reads = []
        for rung in wide:
            speeds = [point.tok_s_user for point in rung.evidence]
            reads.append(f"{rung.target:g} (between {format_rate(min(speeds))} and {format_rate(max(speeds))})")
        verb = "is read between points" if len(wide) == 1 else "are each read between points"
        yield f"Rung{'' if len(wide) == 1 else 's'} {', '.join(reads)} {verb} so far apart that they say little: add loads in between."
    yield from _shared(ladder)
    winners = {rung.curve for rung in ladder.rungs}
    for curve in ladder.curves:
        knots = min(len(frontier.x) for frontier in curve.readable.frontiers)
        if curve.key in winners and knots < FEW_KNOTS:
            yield f"The curve of {curve.engine} ({curve.key}) has only {counted(knots, 'point')} on its frontier."


def _shared(ladder: Ladder) -> Iterator[str]:
    """Yield which deployments of one run stand on one curve: who wanted to compare them finds one frontier instead."""
    said: dict[str, None] = {}
    for curve in ladder.curves:
        if curve.origin == "imported":  # its deployments are named by ixbench, for topologies that are meant to share a curve
            continue
        by_run: dict[str, dict[str, None]] = {}
        for point in curve.members:
            by_run.setdefault(point.run.id, {})[point.result.identity.deployment] = None
        for names in by_run.values():
            if len(names) > 1:
                *others, last = names
                reason = f"they differ in nothing that sets curves apart ({curve.key})"
                said[f"Deployments {', '.join(others)} and {last} stand on one curve: {reason}."] = None
    yield from said
