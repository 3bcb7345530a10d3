"""From many runs to a history: each engine's value at one rung, run after run, with what changed in between."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ixbench.api.report import SettingChange, changed_settings, told_apart
from ixbench_plugins.reporters.history.content import History, Series, Step, Track
from ixbench_plugins.reporters.lots import ladder_of, lots_of, model_names, parts_of, sku_names, work_names
from ixbench_plugins.reporters.survey_content import at_one_rung, reading_fields
from ixbench_plugins.reporters.survey_words import notes_on_work
from ixbench_plugins.reporters.unread import made_with, unread_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.report import Ladder, ReportSettings, RunView
    from ixbench_plugins.reporters.history import HistoryOptions
    from ixbench_plugins.reporters.lots import Lot, Member

CURVE = "best curve"
"""Group of the change that another curve of the engine is the best one."""


def history_of(runs: Sequence[RunView], options: HistoryOptions) -> History:
    """Return the history.

    :raises InputError: if a setting of [report] cannot be carried out.
    """
    lots = lots_of(runs)
    works, models, skus = work_names(lots), model_names(lots), sku_names(lots)
    tracks = tuple(_track(lot, models[lot.model], skus[lot.hardware], works[lot.work]) for lot in lots)
    dates = [step.date for track in tracks for series in track.series for step in series.steps]
    return History(
        title=options.title or "History",
        runs=sum(not run.unreadable for run in runs),
        first=min(dates, default=None),
        last=max(dates, default=None),
        tracks=tracks,
        unread=unread_of(runs),
        made_with=made_with(runs),
    )


def _track(lot: Lot, model: str, sku: str, work: str) -> Track:
    settings = lot.settings
    reading = at_one_rung(settings)
    engines: dict[str, list[Member]] = {}
    for member in lot.members:
        if member.date:
            engines.setdefault(member.point.identity.engine, []).append(member)
    made = [Series(engine=engine, steps=tuple(_steps(engines[engine], reading))) for engine in sorted(engines)]
    return Track(
        model=model,
        sku=sku,
        work=work,
        style=lot.style,
        **reading_fields(settings),
        series=tuple(series for series in made if series.steps),
        undated=sum(not member.date and member.point.usable for member in lot.members),
        notes=tuple(_notes(lot, settings)),
    )


def _steps(members: Sequence[Member], settings: ReportSettings) -> Iterator[Step]:
    groups: dict[tuple[str, str, int, str], list[Member]] = {}
    for member in members:
        imported = member.point.origin == "imported"
        groups.setdefault((member.date, "", 0, "") if imported else member.session, []).append(member)
    before: tuple[Step, RunView] | None = None
    reached: tuple[Step, Ladder] | None = None
    for session, group in sorted(groups.items()):
        ladder = ladder_of(group, settings)
        if ladder.excluded and not ladder.curves:
            continue  # out of scope
        view = _together(parts_of(group, settings))
        step = _step(session, group, ladder)
        if before is not None:
            step = replace(step, changed=tuple(_changed(before, (step, view))))
        if reached is not None and step.tok_s_gpu is not None and reached[0].tok_s_gpu is not None:
            step = replace(step, share=step.tok_s_gpu / reached[0].tok_s_gpu - 1, told_apart=_told_apart(reached[1], ladder))
        before = step, view
        if step.tok_s_gpu is not None:
            reached = step, ladder
        yield step


def _step(session: tuple[str, str, int, str], group: Sequence[Member], ladder: Ladder) -> Step:
    rung = ladder.primary
    return Step(
        date=session[0],
        started=session[1] or session[0],
        runs=tuple(dict.fromkeys(member.run.id for member in group)),
        status=rung.status,
        tok_s_gpu=rung.tok_s_gpu,
        repeats=rung.repeats.runs if rung.repeats is not None else None,
        half_width_tok_s_gpu=rung.repeats.uncertainty_tok_s_gpu if rung.repeats is not None else None,
        precision=rung.precision,
        curve=rung.curve,
        points=tuple(f"{point.run}/{point.run_point}" for point in rung.evidence),
        fastest_tok_s_user=rung.fastest_tok_s_user,
        slowest_tok_s_user=rung.slowest_tok_s_user,
        left_out=sum(not member.point.usable for member in group),
        share=None,
        told_apart=None,
        changed=(),
    )


def _together(parts: Sequence[RunView]) -> RunView:
    """Return the runs of one step as one: imported points of a date may lie in several folders, and have no launches."""
    first = parts[0]
    return first if len(parts) == 1 else replace(first, points=tuple(point for part in parts for point in part.points))


def _changed(before: tuple[Step, RunView], now: tuple[Step, RunView]) -> Iterator[SettingChange]:
    one, two = before[0].curve, now[0].curve
    if one is not None and two is not None and one != two:
        yield SettingChange(group=CURVE, name="key", a=one, b=two)
    yield from changed_settings(before[1], now[1])


def _told_apart(before: Ladder, now: Ladder) -> bool | None:
    one, two = before.primary.repeats, now.primary.repeats
    if one is None or two is None:
        return None
    return told_apart(*([value for value in side.tok_s_gpu if value is not None] for side in (one, two)))


def _notes(lot: Lot, settings: ReportSettings) -> Iterator[str]:
    yield from notes_on_work((member.run for member in lot.members), settings)
