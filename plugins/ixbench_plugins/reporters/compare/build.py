"""From two runs and their comparison to a page: tables, chart and sentences in their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ixbench.api.report import build_ladder, counted, format_change, format_rate, format_usd
from ixbench_plugins.reporters.compare.words import answer, engines, gate, interval, remark, side_rate, verdict_counts
from ixbench_plugins.reporters.page.chart import charts, legend
from ixbench_plugins.reporters.page.facts import IMPORTED, IMPORTED_NOTE, marks_of
from ixbench_plugins.reporters.page.names import engine_name, load_words
from ixbench_plugins.reporters.page.parts import Fact, Table
from ixbench_plugins.reporters.page.picture import (
    STATES,
    Picture,
    PictureCurve,
    RungText,
    curve_labels,
    picture_points,
    style_of,
)
from ixbench_plugins.reporters.table import latency
from ixbench_plugins.reporters.text import MISSING
from ixbench_plugins.reporters.unread import made_with
from ixbench_plugins.reporters.words import SIMULATED, simulated_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ixbench.api.report import ComparedSide, Comparison, Ladder, LadderComparison, RungComparison, RunView
    from ixbench_plugins.reporters.page.chart import Chart, LegendEntry

MISMATCH = "MISMATCH"
"""Mark of a comparison of what is not comparable."""
_STAMPED = "NOT COMPARABLE: the two differ in what must be equal, and were compared on demand. What differs below may come from that alone."
WITHIN = (
    "* within one run: the frontier read with all points at the bad and at the good ends of their 95 % intervals. It knows nothing of what "
    "another run would change, so nothing is told apart by it."
)
_VERDICTS = (
    "Faster and slower: the difference is larger than the repeats or replicas of both sides explain (Welch's test, 95 %). Intervals are "
    "of the difference, as a share of A's rate."
)
_AREA = (
    "Area under the frontier: tok/s/GPU integrated over tok/s/user, over the speeds that both sides reach, all their repeats and replicas "
    "included; divided by these speeds it is the mean rate."
)
RUNG_HEADERS = ("Speed per user", "A tok/s/GPU", "B tok/s/GPU", "Difference", "95 % interval", "Verdict", "Served by", "Remarks")
AREA_HEADERS = ("Compared", "Speeds per user", "A mean", "B mean", "Difference", "95 % interval", "Verdict", "Remarks")
COST_HEADERS = ("Speed per user", "A $/1M total", "B $/1M total", "Difference")
POINT_HEADERS = ("Side", "Point", "Curve", "Load", "tok/s/user", "tok/s/GPU", "TTFT p50", "TPOT p50", "Place", "Verdict")
SETTING_HEADERS = ("Where", "Setting", "A", "B")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """The comparison, as text in its parts."""

    anchor: str
    title: str
    """With its marks."""
    heading: str
    marks: tuple[str, ...]
    """SIMULATED, IMPORTED, MISMATCH."""
    stamp: tuple[str, ...]
    """The one that is written across the chart."""
    warnings: tuple[str, ...]
    failures: tuple[str, ...]
    """What counts against B; empty where nothing does, or nothing was asked."""
    gate: str
    sides: Table
    answer: str
    facts: tuple[Fact, ...]
    charts: tuple[Chart, ...]
    chart_words: str
    legend: tuple[LegendEntry, ...]
    points: Table
    rungs: Table
    rung_notes: tuple[str, ...]
    area: Table | None
    area_note: str
    costs: Table | None
    cost_note: str
    curves: tuple[Table, ...]
    """The rungs of each curve that both have."""
    curve_notes: tuple[str, ...]
    settings: Table | None
    notes: tuple[str, ...]
    made_with: str


def page_of(a: RunView, b: RunView, found: Comparison, title: str | None) -> ComparePage:
    """Return the page.

    :param title: in place of the runs' own.
    """
    views = (a, replace(b, report=a.report))
    points = [point for view in views for point in view.points]
    marks = (*marks_of(points), *((MISMATCH,) if found.mismatches else ()))
    marked = f" ({', '.join(marks)})" if marks else ""
    heading = title or (a.title if a.title == b.title else f"{a.title} and {b.title}")
    ladders = [build_ladder([view], allow_mismatch=True) for view in views]
    picture = _picture(views, ladders, found)
    names = _names(ladders)
    return ComparePage(
        anchor="c",
        title=f"{heading}: B compared with A{marked}",
        heading=heading,
        marks=marks,
        stamp=marks[-1:],
        warnings=tuple(_warnings(views, found)),
        failures=found.failures,
        gate=gate(found),
        sides=_sides(found, marked),
        answer=answer(found),
        facts=tuple(_facts(found)),
        charts=charts(picture),
        chart_words=_chart_words(picture, found, marked),
        legend=tuple(legend(picture)),
        points=_points(picture, views, marked),
        rungs=_rungs(found.ladder, f"B compared with A, rung by rung{marked}"),
        rung_notes=tuple(_rung_notes(found)),
        area=_areas(found, names, marked),
        area_note=_AREA,
        costs=_costs(found, marked),
        cost_note=f"Dollars are those of the tier {found.tier}, on all tokens, input and output together." if found.tier else "",
        curves=tuple(_rungs(curve, f"{names.get(curve.name, curve.name)}{marked}") for curve in found.curves),
        curve_notes=tuple(_curve_notes(found, names)),
        settings=_settings(found, marked),
        notes=found.notes,
        made_with=made_with(views),
    )


def _warnings(views: Sequence[RunView], found: Comparison) -> Iterator[str]:
    if found.mismatches:
        yield _STAMPED
        yield from (f"Let pass on demand: {text}" for text in found.mismatches)
    points = [point for view in views for point in view.points]
    yield from simulated_notes(points)
    if found.imported:
        yield IMPORTED_NOTE


def _sides(found: Comparison, marked: str) -> Table:
    rows = (
        ("Run", found.a.id, found.b.id),
        *([("Title", found.a.title, found.b.title)] if found.a.title != found.b.title else []),
        *((label, make(found.a), make(found.b)) for label, make in _ROWS),
    )
    return Table(caption=f"What is compared{marked}", headers=("", "A", "B"), rows=rows)


def _origin(side: ComparedSide) -> str:
    words = [SIMULATED if side.evidence == "simulated" else "measured", *([IMPORTED] if "imported" in side.origins else [])]
    return ", ".join(words)


def _counted(side: ComparedSide) -> str:
    return f"{side.configs}" + (f", {side.not_counted} not counted" if side.not_counted else "")


def _runs(side: ComparedSide) -> str:
    replicas = counted(side.replicas, "replica") if side.replicas else ""
    return replicas if replicas and side.repeats == 1 else f"{side.repeats}{f', {replicas}' if replicas else ''}"


_ROWS = (
    ("Engines", lambda side: ", ".join(map(engine_name, side.engines)) or MISSING),
    ("Dates", lambda side: ", ".join(side.dates) or MISSING),
    ("Points", _counted),
    ("Runs of each", _runs),
    ("Numbers", _origin),
)


def _facts(found: Comparison) -> Iterator[Fact]:
    rung = found.ladder.primary
    at = f"at {rung.target:g} tok/s/user"
    for name, side in (("A", rung.a), ("B", rung.b)):
        detail = f"{engine_name(side.engine)}, {side.status}" if side.engine else side.status.replace("_", " ")
        yield Fact(label=f"{name} {at}", value=f"{side_rate(side)} tok/s/GPU" if side.tok_s_gpu is not None else MISSING, detail=detail)
    yield Fact(label="Difference", value=format_change(rung.difference.share), detail=rung.difference.verdict)
    area = found.ladder.area
    if area is not None:
        yield Fact(label="Area under the frontier", value=format_change(area.difference.share), detail=area.difference.verdict)
    yield Fact(label="Rungs", value=str(len(found.ladder.rungs)), detail=verdict_counts(found))


def _rungs(found: LadderComparison, caption: str) -> Table:
    rows = tuple(
        (
            f"{rung.target:g} tok/s",
            side_rate(rung.a),
            side_rate(rung.b),
            format_change(rung.difference.share),
            interval(rung.difference),
            rung.difference.verdict,
            engines(rung),
            remark(rung),
        )
        for rung in found.rungs
    )
    marked = next((place for place, rung in enumerate(found.rungs) if rung.target == found.primary.target), None)
    return Table(caption=caption, headers=RUNG_HEADERS, rows=rows, right=frozenset({1, 2, 3, 4}), marked=marked, verdicts=5)


def _rung_notes(found: Comparison) -> Iterator[str]:
    bases = {rung.difference.basis for pair in (found.ladder, *found.curves) for rung in pair.rungs}
    if "repeats" in bases:
        yield _VERDICTS
    if "within_run" in bases:
        yield WITHIN


def _areas(found: Comparison, names: Mapping[str, str], marked: str) -> Table | None:
    rows = []
    for pair in (found.ladder, *found.curves):
        if (area := pair.area) is not None:
            gap = area.to_tok_s_user - area.from_tok_s_user - area.covered_tok_s_user
            gaps = f", {format_rate(area.covered_tok_s_user)} in all" if gap > 1e-6 * area.to_tok_s_user else ""
            rows.append(
                (
                    "the whole ladder" if pair is found.ladder else names.get(pair.name, pair.name),
                    f"{format_rate(area.from_tok_s_user)} to {format_rate(area.to_tok_s_user)}{gaps}",
                    format_rate(area.a_mean_tok_s_gpu),
                    format_rate(area.b_mean_tok_s_gpu),
                    format_change(area.difference.share),
                    interval(area.difference),
                    area.difference.verdict,
                    area.difference.reason or MISSING,
                )
            )
    if not rows:
        return None
    return Table(
        caption=f"Area under the frontier, as mean tok/s/GPU{marked}",
        headers=AREA_HEADERS,
        rows=tuple(rows),
        right=frozenset({2, 3, 4, 5}),
        verdicts=6,
    )


def _costs(found: Comparison, marked: str) -> Table | None:
    rows = tuple(
        (f"{rung.target:g} tok/s", format_usd(rung.a.usd_per_mtok), format_usd(rung.b.usd_per_mtok), _cheaper(rung))
        for rung in found.ladder.rungs
        if rung.a.usd_per_mtok is not None or rung.b.usd_per_mtok is not None
    )
    if not rows:
        return None
    return Table(caption=f"What a million tokens costs{marked}", headers=COST_HEADERS, rows=rows, right=frozenset({1, 2, 3}))


def _cheaper(rung: RungComparison) -> str:
    a, b = rung.a.usd_per_mtok, rung.b.usd_per_mtok
    return format_change(None if a is None or b is None else b / a - 1)


def _curve_notes(found: Comparison, names: Mapping[str, str]) -> Iterator[str]:
    shared = bool(found.curves) or not (found.only_a or found.only_b)
    for name, keys in (("A", found.only_a), ("B", found.only_b)):
        if keys:
            yield f"Only {name} has: {'; '.join(names.get(key, key) for key in keys)}."
    if not shared:
        yield "The two share no curve, so their ladders are compared: the best curve of each at every speed."


def _settings(found: Comparison, marked: str) -> Table | None:
    if not found.settings:
        return None
    rows = tuple(
        (change.group, change.name, *("not given" if value is None else value for value in (change.a, change.b)))
        for change in found.settings
    )
    return Table(caption=f"Settings that differ{marked}", headers=SETTING_HEADERS, rows=rows)


def _names(ladders: Sequence[Ladder]) -> dict[str, str]:
    """Return a name for each curve by its key, A's where both have it; none for those that would share one."""
    found: dict[str, str] = {}
    for ladder in reversed(ladders):
        found |= zip((curve.key for curve in ladder.curves), curve_labels(ladder.curves), strict=True)
    names = list(found.values())
    return {key: name for key, name in found.items() if names.count(name) == 1}


def _picture(views: Sequence[RunView], ladders: Sequence[Ladder], found: Comparison) -> Picture:
    """Return the curves of both sides, those of A first."""
    curves = [curve for ladder in ladders for curve in ladder.curves]
    labels = [f"{name}: {label}" for name, ladder in zip("AB", ladders, strict=True) for label in curve_labels(ladder.curves)]
    drawn = tuple(
        PictureCurve(
            label=label,
            curve=curve,
            in_scope=True,
            style=style_of(curve.evidence, curve.origin),
            points=len(curve.members),
            knots=sum(point.on_frontier for point in curve.points),
        )
        for curve, label in zip(curves, labels, strict=True)
    )
    per_gpu = any(ladder.rates_known for ladder in ladders)
    rungs = {rung.target: rung for rung in (*found.ladder.rungs, found.ladder.primary)}
    return Picture(
        ladder=replace(ladders[0], curves=()),
        curves=drawn,
        points=picture_points(views, curves, axis=found.axis, per_gpu=per_gpu),
        per_gpu=per_gpu,
        at_rungs={target: RungText(value=_label(rung), words=_words(rung)) for target, rung in rungs.items()},
    )


def _label(rung: RungComparison) -> str:
    return format_change(rung.difference.share) if rung.difference.share is not None else MISSING


def _words(rung: RungComparison) -> str:
    rates = f"A {side_rate(rung.a)}, B {side_rate(rung.b)} tok/s/GPU"
    return f"At {rung.target:g} tok/s/user: {rates}, {_label(rung)}, {rung.difference.verdict}; {remark(rung)}"


def _chart_words(picture: Picture, found: Comparison, marked: str) -> str:
    curves = ", ".join(f"{curve.label} ({counted(curve.points, 'point')})" for curve in picture.curves)
    return f"{marked.strip(' ()')} tok/s per GPU against tok/s per user ({found.axis}). Curves: {curves or 'none'}. {answer(found)}".strip()


def _points(picture: Picture, views: Sequence[RunView], marked: str) -> Table:
    names = {view.id: name for name, view in zip("AB", views, strict=True)}
    rows = tuple(
        (
            names[point.row.run.id],
            point.row.point.id,
            picture.curves[point.curve].label if point.curve is not None else engine_name(point.row.point.identity.engine),
            load_words(point.row.point.identity),
            format_rate(point.x),
            format_rate(point.y),
            latency(point.row, "ttft_s", "p50"),
            latency(point.row, "tpot_s", "p50"),
            STATES[point.state],
            point.row.verdict + (f", {IMPORTED}" if point.row.point.origin == "imported" else ""),
        )
        for point in picture.points
    )
    anchors = tuple(f"c-point-{point.number}" for point in picture.points)
    return Table(
        caption=f"Every point of both sides{marked}", headers=POINT_HEADERS, rows=rows, right=frozenset({4, 5, 6, 7}), anchors=anchors
    )
