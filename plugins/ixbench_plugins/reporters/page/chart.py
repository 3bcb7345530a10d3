"""The frontier chart: where each point, curve, rung and label lies on paper. Pure geometry; a template draws it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.api.report import counted, format_rate
from ixbench_plugins.reporters.page.picture import point_words
from ixbench_plugins.reporters.page.scale import Scale, tick_label
from ixbench_plugins.reporters.page.shapes import CROSS, coordinate, core, shape
from ixbench_plugins.reporters.page.trace import traces_of
from ixbench_plugins.reporters.words import interval_rate, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.report import LadderRung
    from ixbench_plugins.reporters.page.picture import Picture, PictureCurve, PicturePoint, State, Style
    from ixbench_plugins.reporters.page.trace import PictureLines, Piece

COLOURS = 8
"""Curves beyond it begin with the first colour again, with another shape."""
SHAPES = 7
FAR_OUTSIDE = 1.6
"""An invalid point so many times beyond all others is counted and not drawn: it would press the others together."""
FAR_BELOW = 6.0
"""So is one with so small a share of all others: it would turn the axis into a logarithmic one."""
_REACH = 1.15
"""The first rung that no point reaches is still shown if it lies no further beyond the fastest point than this."""
_CHARACTER = 7.2
"""Width of a character of a label, on the wide side."""
_MANY, _VERY_MANY = 80, 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Paper."""

    name: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    ticks: tuple[int, int]
    """The most on the x and on the y axis."""
    titles: bool
    """Whether marks say what they are when pointed at; where nothing points, the words would only be weight."""


WIDE = Size(name="wide", width=960, height=500, left=66, right=18, top=62, bottom=54, ticks=(11, 8), titles=True)
NARROW = Size(name="narrow", width=400, height=420, left=42, right=10, top=58, bottom=50, ticks=(6, 7), titles=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A tick of an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """A curve, or the line of the ladder."""

    path: str
    colour: int
    style: Style
    in_scope: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A point."""

    x: float
    y: float
    path: str
    core: str
    """A second shape within the first, for imported points; else empty."""
    colour: int
    state: State
    style: Style
    in_scope: bool
    target: int
    """Which of the picture's points it is."""
    bars: str
    """The path of its intervals, from its place; empty where there are none or too many points to show them."""
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RungMark:
    """A rung, and what is read there."""

    x: float
    label: str
    value: str
    """The rate in print, or `-`."""
    labelled: bool
    """Whether there is room for both."""
    primary: bool
    y: float | None
    """Where the value lies; None = there is none, or it has no place."""
    bar: tuple[float, float] | None
    """Ends of its interval."""
    at_x: float | None
    """Where the point lies that stands in for it."""
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text beside a place."""

    x: float
    y: float
    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendEntry:
    """What a mark or a line means."""

    label: str
    detail: str = ""
    path: str = ""
    core: str = ""
    colour: int | None = None
    style: Style = "measured"
    state: State = "frontier"
    line: bool = False
    band: bool = False
    rung: bool = False
    ring: bool = True
    """Whether rates are read at its rungs."""
    bars: bool = False
    in_scope: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One drawing."""

    size: Size
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_title: str
    y_title: str
    band: tuple[str, ...]
    """The ladder's line."""
    lines: tuple[ChartLine, ...]
    rungs: tuple[RungMark, ...]
    marks: tuple[Mark, ...]
    peak: Label | None


def charts(picture: Picture) -> tuple[Chart, ...]:
    """Return the charts of a picture, for wide and for narrow screens; none where no point has a place."""
    outside = far_outside(picture)
    points = [point for point in picture.drawable if point.number not in outside]
    if not points:
        return ()
    traces = traces_of(picture, _axes(picture, points, WIDE)[0]) if picture.per_gpu else None
    return tuple(_draw(picture, points, traces, size) for size in (WIDE, NARROW))


def _draw(picture: Picture, points: Sequence[PicturePoint], traces: PictureLines | None, size: Size) -> Chart:
    x, y = _axes(picture, points, size)
    radius = 5.5 if len(points) <= _MANY else 4.0 if len(points) <= _VERY_MANY else 3.0
    bars = {point.number: _bars(point, picture, x, y) for point in points} if len(points) <= _MANY else {}
    marks = [_mark(point, picture, x, y, radius=radius, titles=size.titles, bars=bars.get(point.number, "")) for point in points]
    return Chart(
        size=size,
        x_ticks=tuple(Tick(at=x.at(tick), label=tick_label(tick)) for tick in x.ticks(size.ticks[0])),
        y_ticks=tuple(Tick(at=y.at(tick), label=tick_label(tick, short=size is NARROW)) for tick in y.ticks(size.ticks[1])),
        x_title=f"tok/s per user ({picture.ladder.axis}{', log scale' if x.logarithmic else ''})",
        y_title=f"tok/s {'per GPU' if picture.per_gpu else 'of the whole server'}{', log scale' if y.logarithmic else ''}",
        band=tuple(_path(piece, x, y, stairs=traces.stairs) for piece in traces.ladder) if traces and picture.at_rungs is None else (),
        lines=tuple(_lines(picture, traces, x, y)) if traces else (),
        rungs=tuple(_rungs(picture, x, y)) if picture.per_gpu else (),
        marks=tuple(sorted(marks, key=lambda mark: _ORDER[mark.state])),
        peak=_peak(picture, x, y, size),
    )


_ORDER: dict[State, int] = {"superseded": 0, "invalid": 1, "beaten": 2, "unread": 3, "frontier": 3}
"""What is drawn later lies above."""


def far_outside(picture: Picture) -> frozenset[int]:
    """Return which invalid points lie so far beyond all others that they are left out of the chart."""
    counted = [(point.x or 0, point.y or 0) for point in picture.drawable if point.state != "invalid"]
    if not counted:
        return frozenset()
    most = [FAR_OUTSIDE * max(values) for values in zip(*counted, strict=True)]
    least = [min(values) / FAR_BELOW for values in zip(*counted, strict=True)]
    return frozenset(
        point.number
        for point in picture.drawable
        if point.state == "invalid"
        and any(not low <= (value or 0) <= high for value, low, high in zip((point.x, point.y), least, most, strict=True))
    )


def _axes(picture: Picture, points: Sequence[PicturePoint], size: Size) -> tuple[Scale, Scale]:
    speeds = [point.x for point in points if point.x is not None]
    rates = [point.y for point in points if point.y is not None]
    missed = [rung.target for rung in picture.ladder.rungs if rung.target > max(speeds)]
    if picture.per_gpu and missed and missed[0] <= _REACH * max(speeds):
        speeds.append(missed[0])
    return (
        Scale.of(speeds, start=size.left, end=size.width - size.right),
        Scale.of(rates, start=size.height - size.bottom, end=size.top),
    )


def _mark(point: PicturePoint, picture: Picture, x: Scale, y: Scale, *, radius: float, titles: bool, bars: str) -> Mark:
    assert point.x is not None
    assert point.y is not None
    if point.state in {"beaten", "superseded"}:
        radius *= 0.75
    place = point.curve or 0
    return Mark(
        x=x.at(point.x),
        y=y.at(point.y),
        path=CROSS if point.state == "invalid" else shape(place % SHAPES, radius),
        core=core(radius) if point.style == "imported" and point.state != "invalid" else "",
        colour=place % COLOURS,
        state=point.state,
        style=point.style,
        in_scope=point.curve is None or picture.curves[point.curve].in_scope,
        target=point.number,
        bars=bars,
        words=tuple(point_words(point, picture)) if titles else (),
    )


def _bars(point: PicturePoint, picture: Picture, x: Scale, y: Scale) -> str:
    """Return the path of a point's intervals of speed and rate; only where it is counted, since bars of others would be noise."""
    if point.state == "invalid" or not picture.per_gpu or point.x is None or point.y is None:
        return ""
    path = ""
    for both, scale, step in (
        (point.row.speed_between(picture.ladder.axis), x, "h"),
        (point.row.between("throughput_tok_s_gpu", "total"), y, "v"),
    ):
        if both is not None:
            low, high = (scale.at(min(max(value, scale.low), scale.high)) for value in both)
            place = scale.at(point.x if scale is x else point.y)
            start = f"M{coordinate(low - place)} 0" if scale is x else f"M0 {coordinate(low - place)}"
            path += f"{start}{step}{coordinate(high - low)}"
    return path


def _lines(picture: Picture, traces: PictureLines, x: Scale, y: Scale) -> Iterator[ChartLine]:
    for place, (drawn, pieces) in enumerate(zip(picture.curves, traces.curves, strict=True)):
        for piece in pieces:
            path = _path(piece, x, y, stairs=traces.stairs)
            yield ChartLine(path=path, colour=place % COLOURS, style=drawn.style, in_scope=drawn.in_scope)


def _path(piece: Piece, x: Scale, y: Scale, *, stairs: bool) -> str:
    """Return a path through a piece of a line; as stairs, what is read at a place holds back to the place before."""
    places = [(coordinate(x.at(speed)), coordinate(y.at(rate))) for speed, rate in piece]
    text = [f"M{places[0][0]} {places[0][1]}"]
    for (_, before), (across, down) in pairwise(places):
        if not stairs:
            text.append(f"L{across} {down}")
            continue
        if before != down:
            text.append(f"V{down}")
        elif text[-1].startswith("H"):
            text.pop()
        text.append(f"H{across}")
    # Of one place alone a round cap makes a dot.
    return "".join(text) if len(text) > 1 else f"{text[0]}h0"


def _rungs(picture: Picture, x: Scale, y: Scale) -> list[RungMark]:
    ladder = picture.ladder
    rungs = {rung.target: rung for rung in (*ladder.rungs, ladder.primary)}
    shown = [rung for target, rung in sorted(rungs.items()) if x.holds(target)]
    room = _labelled(shown, picture, x)
    if picture.at_rungs is not None:
        return [
            RungMark(
                x=x.at(rung.target),
                label=f"{rung.target:g}",
                value=_value(rung, picture),
                labelled=rung.target in room,
                primary=rung.target == ladder.primary.target,
                y=None,
                bar=None,
                at_x=None,
                words=picture.at_rungs[rung.target].words,
            )
            for rung in shown
        ]
    return [
        RungMark(
            x=x.at(rung.target),
            label=f"{rung.target:g}",
            value=_value(rung, picture),
            labelled=rung.target in room,
            primary=rung.target == ladder.primary.target,
            y=y.at(rung.tok_s_gpu) if rung.tok_s_gpu is not None and y.holds(rung.tok_s_gpu) else None,
            bar=_bar(rung, y),
            at_x=x.at(rung.at_tok_s_user) if rung.status == "meets_slo" and rung.at_tok_s_user is not None else None,
            words=f"At {rung.target:g} tok/s/user: {interval_rate(rung)} tok/s/GPU, {read(rung, ladder)}",
        )
        for rung in shown
    ]


def _value(rung: LadderRung, picture: Picture) -> str:
    return format_rate(rung.tok_s_gpu) if picture.at_rungs is None else picture.at_rungs[rung.target].value


def _labelled(rungs: Sequence[LadderRung], picture: Picture, x: Scale) -> set[float]:
    """Return the rungs whose labels have room beside one another; the primary one goes first."""
    primary = picture.ladder.primary.target
    taken: list[tuple[float, float]] = []
    kept: set[float] = set()
    for rung in sorted(rungs, key=lambda rung: (rung.target != primary, rung.target)):
        value = _value(rung, picture)
        half = _CHARACTER * max(len(value) + value.count("%"), len(f"at {rung.target:g}")) / 2 + 3  # a percent sign is wide
        start, end = x.at(rung.target) - half, x.at(rung.target) + half
        if all(end <= other_start or start >= other_end for other_start, other_end in taken):
            taken.append((start, end))
            kept.add(rung.target)
    return kept


def _bar(rung: LadderRung, y: Scale) -> tuple[float, float] | None:
    width = rung.repeats.uncertainty_tok_s_gpu if rung.repeats is not None else None
    if width is None or rung.tok_s_gpu is None:
        return None
    low, high = (min(max(value, y.low), y.high) for value in (rung.tok_s_gpu - width, rung.tok_s_gpu + width))
    return y.at(low), y.at(high)


def _peak(picture: Picture, x: Scale, y: Scale, size: Size) -> Label | None:
    """Return the label of the highest rate: on the right of its point, where curves fall away, or on the left where paper ends."""
    peak = picture.ladder.peak
    if peak is None or picture.at_rungs is not None or not picture.per_gpu or not x.holds(peak.tok_s_user):
        return None
    text = f"peak {format_rate(peak.tok_s_gpu)}"
    across, down = x.at(peak.tok_s_user), y.at(peak.tok_s_gpu)
    fits = across + 12 + _CHARACTER * len(text) < size.width - size.right
    return Label(x=across + 10 if fits else across - 10, y=down - 5, anchor="start" if fits else "end", text=text)


def legend(picture: Picture) -> list[LegendEntry]:
    """Return what each mark and line of the chart means; only what is there."""
    entries = [
        LegendEntry(
            label=curve.label,
            detail=_curve_words(curve, picture),
            path=shape(place % SHAPES, 5.5),
            core=core(5.5) if curve.style == "imported" else "",
            colour=place % COLOURS,
            style=curve.style,
            line=picture.per_gpu,
            in_scope=curve.in_scope,
        )
        for place, curve in enumerate(picture.curves)
    ]
    if picture.at_rungs is not None:
        entries.append(LegendEntry(label="rungs", detail="and by how much B's rate differs from A's", rung=True, ring=False))
    elif picture.per_gpu:
        entries.append(LegendEntry(label="the ladder's line", detail=_policy(picture), band=True))
        entries.append(LegendEntry(label="rungs", detail="and the rate that is read there", rung=True))
    outside = far_outside(picture)
    drawn = [point for point in picture.drawable if point.number not in outside]
    faint: tuple[tuple[State, str], ...] = (
        ("beaten", "small and pale: beaten by a point of its curve"),
        ("superseded", "small and empty: superseded by a newer run"),
    )
    for state, words in faint:
        example = next((point for point in drawn if point.state == state), None)
        if example is not None:
            place = example.curve or 0
            entries.append(
                LegendEntry(label=words, path=shape(place % SHAPES, 4.2), colour=place % COLOURS, style=example.style, state=example.state)
            )
    if any(point.state == "invalid" for point in drawn):
        entries.append(LegendEntry(label="invalid or failed: not counted", path=CROSS, state="invalid"))
    if len(drawn) <= _MANY and any(point.row.point.intervals is not None for point in drawn):
        entries.append(LegendEntry(label="thin bars", detail="95 % intervals within one run", path="M-12 0h24M0-8v16", bars=True))
    if any(point.style == "simulated" for point in drawn):
        entries.append(LegendEntry(label="hollow and dashed: SIMULATED", path=shape(0, 5.5), style="simulated"))
    if any(point.style == "imported" for point in drawn):
        entries.append(LegendEntry(label="with a light core: IMPORTED", path=shape(0, 5.5), core=core(5.5), style="imported"))
    return entries


def _curve_words(curve: PictureCurve, picture: Picture) -> str:
    frontier = f", {curve.knots} on its frontier" if picture.per_gpu else ""
    return f"{counted(curve.points, 'point')}{frontier}{'' if curve.in_scope else ', out of scope'}"


def _policy(picture: Picture) -> str:
    words = {
        "max_throughput": "the highest rate of all curves at each speed",
        "min_cost": "the lowest cost of all curves at each speed",
        "priority": "the curve that the policy priority takes at each speed",
    }
    return words[picture.ladder.policy]
