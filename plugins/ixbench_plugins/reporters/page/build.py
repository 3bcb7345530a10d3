"""From finished runs to a page: every part in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import build_ladder, counted
from ixbench_plugins.reporters.page import energy, facts, faq
from ixbench_plugins.reporters.page.appendix import launch_parts, unfinished
from ixbench_plugins.reporters.page.chart import charts, far_outside, legend
from ixbench_plugins.reporters.page.groups import groups_of
from ixbench_plugins.reporters.page.method import method
from ixbench_plugins.reporters.page.parts import Page, Section
from ixbench_plugins.reporters.unread import made_with
from ixbench_plugins.reporters.words import simulated_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.report import RunView
    from ixbench_plugins.reporters.page.facts import Numbers
    from ixbench_plugins.reporters.page.groups import Group


def page_of(runs: Sequence[RunView], title: str | None) -> Page:
    """Return the page of some runs, one section for each model on each SKU.

    :param title: in place of the run's own.
    :raises InputError: if there is no run, or runs of one model and SKU cannot share a ladder.
    """
    groups = groups_of(runs)
    if not groups:
        build_ladder(runs)  # says that there is none
    sections = tuple(_section(group, f"s{number}") for number, group in enumerate(groups, 1))
    titles = dict.fromkeys(run.title for run in runs)
    chosen = title or (next(iter(titles)) if len(titles) == 1 else ", ".join(section.heading for section in sections))
    return Page(
        title=chosen,
        marks=facts.marks_of([point for run in runs for point in run.points]),
        sections=sections,
        unfinished=tuple(unfinished(runs)),
        made_with=made_with(runs),
    )


def _section(group: Group, anchor: str) -> Section:
    numbers = facts.numbers_of(group)
    picture = numbers.picture
    drawn = charts(picture)
    return Section(
        anchor=anchor,
        heading=group.name,
        subtitle=facts.subtitle(numbers),
        marks=numbers.marks,
        warnings=tuple(_warnings(numbers)),
        answer=facts.answer(numbers),
        facts=tuple(facts.figures(numbers)),
        counts=tuple(facts.what_was_tested(numbers)),
        footnotes=(*filter(None, [facts.latency_note(numbers.ladder)]), *facts.footnotes(numbers)),
        charts=drawn,
        chart_words=_chart_words(numbers),
        chart_notes=tuple(_chart_notes(numbers, drawn=bool(drawn))),
        legend=tuple(legend(picture)) if drawn else (),
        points=facts.point_table(numbers),
        intervals=facts.interval_table(numbers),
        ladder=facts.ladder_table(numbers),
        ladder_notes=tuple(facts.ladder_notes(numbers)),
        cost=facts.cost_table(numbers),
        cost_notes=tuple(facts.cost_notes(numbers)),
        energy=tuple(energy.energy_tables(numbers)),
        energy_notes=tuple(energy.energy_notes(numbers)),
        questions=tuple(faq.questions(numbers)),
        method=tuple(method(numbers)),
        launches=tuple(launch_parts(numbers, anchor)),
        numbers=numbers.ladder.content(),
        costs=numbers.costs,
    )


def _warnings(numbers: Numbers) -> Iterator[str]:
    yield from simulated_notes(numbers.points)
    if any(point.origin == "imported" for point in numbers.points):
        yield facts.IMPORTED_NOTE
    yield from (f"Let pass on demand: {text}" for text in numbers.ladder.mismatches)


def _chart_words(numbers: Numbers) -> str:
    picture = numbers.picture
    curves = ", ".join(f"{curve.label} ({counted(curve.points, 'point')})" for curve in picture.curves)
    unit = "tok/s per GPU" if picture.per_gpu else "tok/s of the whole server"
    marks = f"{', '.join(numbers.marks)}. " if numbers.marks else ""
    return f"{marks}{unit} against tok/s per user ({picture.ladder.axis}). Curves: {curves or 'none'}. {facts.answer(numbers)}"


def _chart_notes(numbers: Numbers, *, drawn: bool) -> Iterator[str]:
    picture, ladder = numbers.picture, numbers.ladder
    if not drawn:
        yield "No chart: no point has both a speed and a rate."
        return
    fastest = max((point.x or 0 for point in picture.drawable if point.state != "invalid"), default=0)
    missed = [f"{rung.target:g}" for rung in ladder.rungs if rung.target > fastest]
    if picture.per_gpu and fastest and missed:
        noun = "Rung" if len(missed) == 1 else "Rungs"
        yield f"{noun} {', '.join(missed)} tok/s/user: no point is as fast."
    outside = [picture.points[number].name for number in sorted(far_outside(picture))]
    if outside:
        yield f"Invalid and far outside the chart: {', '.join(outside)}."
    unplaced = len(picture.points) - len(picture.drawable)
    if unplaced:
        yield f"Not on the chart, for want of a speed or a rate, but in the table: {unplaced} of {counted(len(picture.points), 'point')}."
    yield from facts.thin_note(numbers)
    yield from facts.interval_note(numbers)
