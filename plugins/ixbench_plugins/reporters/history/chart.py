"""The chart of a track: dates from left to right, the rate from zero upwards, a line for each engine. Pure geometry, no drawing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from ixbench_plugins.reporters.history import words
from ixbench_plugins.reporters.page.chart import COLOURS, NARROW, SHAPES, WIDE, LegendEntry, Size, Tick
from ixbench_plugins.reporters.page.names import engine_name
from ixbench_plugins.reporters.page.scale import Scale, tick_label
from ixbench_plugins.reporters.page.shapes import CROSS, coordinate, core, shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench_plugins.reporters.history.content import Series, Step, Track
    from ixbench_plugins.reporters.page.picture import Style

_DAY_S = 86400.0
_TOP = 34.0
"""Nothing stands above the drawing but the name of the axis."""
_STEPS_DAYS = (1, 2, 7, 14)
_STEPS_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 1200, 12000)
_EPOCH = date(1970, 1, 1)
_ONE_YEAR = 12
_HALF_LABEL = 34.0
_MANY = 60
"""Of more steps in all marks are small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMark:
    """One step on paper."""

    x: float
    y: float
    path: str
    core: str
    colour: int
    miss: bool
    """Whether the rung is not reached: the mark lies on the axis."""
    ring: bool
    """Whether something changed before it."""
    bar: tuple[float, float] | None
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One drawing."""

    size: Size
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[tuple[str, int], ...]
    """(path, colour)."""
    marks: tuple[StepMark, ...]


def drawings(track: Track) -> tuple[Drawing, ...]:
    """Return the drawings of a track, for wide and for narrow screens; none where the rung is never reached."""
    reached = any(step.tok_s_gpu is not None for series in track.series for step in series.steps)
    return tuple(_draw(track, size) for size in (WIDE, NARROW)) if reached else ()


def _draw(track: Track, size: Size) -> Drawing:
    steps = [step for series in track.series for step in series.steps]
    low, high = min(map(_days, steps)), max(map(_days, steps))
    pad = (high - low) * (0.05 if size is WIDE else 0.12) or 0.5  # room for the names of both ends
    left, right = size.left, size.width - size.right
    x_scale = Scale(low=low - pad, high=high + pad, start=left, end=right)
    highest = max(step.tok_s_gpu + (step.half_width_tok_s_gpu or 0.0) for step in steps if step.tok_s_gpu is not None)
    y_scale = Scale.of([highest], start=size.height - size.bottom, end=_TOP)
    marks: list[StepMark] = []
    lines: list[tuple[str, int]] = []
    radius = 5.5 if len(steps) <= _MANY else 3.5
    for place, series in enumerate(track.series):
        lines += [(path, place % COLOURS) for path in _lines(series, x_scale, y_scale)]
        marks += [_mark(step, place, series.engine, track, x_scale, y_scale, radius) for step in series.steps]
    return Drawing(
        size=size,
        x_ticks=tuple(_ticks(x_scale, steps, 8 if size is WIDE else 4, size.width - _HALF_LABEL)),
        y_ticks=tuple(Tick(at=y_scale.at(tick), label=tick_label(tick, short=size is NARROW)) for tick in y_scale.ticks(size.ticks[1])),
        lines=tuple(lines),
        marks=tuple(sorted(marks, key=lambda mark: not mark.miss)),
    )


def _days(step: Step) -> float:
    """Return when a step was, in days; the date alone where its time cannot be read."""
    try:
        moment = datetime.fromisoformat(step.started)
    except ValueError:
        moment = datetime.fromisoformat(step.date)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() / _DAY_S


def _lines(series: Series, x: Scale, y: Scale) -> Iterator[str]:
    """Yield a path through each stretch of steps that reach the rung: over a gap nothing is known."""
    stretch: list[str] = []
    for step in (*series.steps, None):
        if step is not None and step.tok_s_gpu is not None:
            stretch.append(f"{coordinate(x.at(_days(step)))} {coordinate(y.at(step.tok_s_gpu))}")
            continue
        if len(stretch) > 1:
            yield f"M{'L'.join(stretch)}"
        stretch = []


def _mark(step: Step, place: int, engine: str, track: Track, x: Scale, y: Scale, radius: float) -> StepMark:  # noqa: PLR0917 - geometry
    value, half = step.tok_s_gpu, step.half_width_tok_s_gpu
    bar = None
    if value is not None and half is not None:
        bar = y.at(max(value - half, 0.0)), y.at(value + half)
    return StepMark(
        x=x.at(_days(step)),
        y=y.at(value or 0.0),
        path=shape(place % SHAPES, radius) if value is not None else CROSS,
        core=core(radius) if track.style == "imported" and value is not None else "",
        colour=place % COLOURS,
        miss=value is None,
        ring=bool(step.changed),
        bar=bar,
        words=tuple(words.hover(step, engine)),
    )


def _ticks(scale: Scale, steps: Sequence[Step], most: int, end: float) -> list[Tick]:
    """Return round dates on the axis: days, weeks, months or years apart. Where fewer than two fit, the first and the last step.

    :param end: no label has its middle beyond it.
    """
    first, last = (_EPOCH + timedelta(days=int(value)) for value in (scale.low, scale.high))
    ticks: list[Tick] = []
    for dates, form in _dates(first, last):
        ticks = [Tick(at=scale.at(place), label=f"{day:{form}}") for day in dates if scale.holds(place := float((day - _EPOCH).days))]
        ticks = [tick for tick in ticks if tick.at <= end]
        if len(ticks) <= most:
            break
    if len(ticks) > 1:
        return ticks
    days = sorted({min(map(_days, steps)), max(map(_days, steps))})
    form = "%Y-%m-%d" if days[-1] - days[0] >= 1 else "%m-%d %H:%M"
    return [Tick(at=scale.at(place), label=f"{datetime.fromtimestamp(place * _DAY_S, UTC):{form}}") for place in days]


def _dates(first: date, last: date) -> Iterator[tuple[list[date], str]]:
    """Yield round dates between two others, with the form in which they are printed: first the closest together."""
    for step in _STEPS_DAYS:
        yield [first + timedelta(days=ahead) for ahead in range(0, (last - first).days + 1, step)], "%Y-%m-%d"
    start, end = (day.year * 12 + day.month - 1 for day in (first, last))
    for step in _STEPS_MONTHS:
        months = range(max(start - start % step, _ONE_YEAR), end + 1, step)
        yield [date(month // _ONE_YEAR, month % _ONE_YEAR + 1, 1) for month in months], "%Y-%m"


def legend(track: Track) -> list[LegendEntry]:
    """Return what each mark and line of the chart means."""
    styles: dict[str, Style] = {"imported": "imported", "simulated": "simulated"}
    style = styles.get(track.style, "measured")
    entries = [
        LegendEntry(
            label=engine_name(series.engine),
            detail="1 run" if len(series.steps) == 1 else f"{len(series.steps)} {'dates' if style == 'imported' else 'runs'}",
            path=shape(place % SHAPES, 5.5),
            core=core(5.5) if style == "imported" else "",
            colour=place % COLOURS,
            style=style,
            line=True,
        )
        for place, series in enumerate(track.series)
    ]
    steps = [step for series in track.series for step in series.steps]
    if any(step.tok_s_gpu is None for step in steps):
        entries.append(LegendEntry(label="cross on the axis", detail="the rung is not reached", path=CROSS, state="invalid"))
    if any(step.half_width_tok_s_gpu is not None for step in steps):
        entries.append(LegendEntry(label="bars", detail="95 % intervals of repeats", path="M0-8v16", bars=True))
    return entries
