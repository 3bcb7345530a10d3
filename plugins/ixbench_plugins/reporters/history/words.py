"""A history in words: values, changes and what came between; the page and the Markdown print the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import counted, format_change, format_rate
from ixbench_plugins.reporters.page.names import engine_name
from ixbench_plugins.reporters.page.parts import Table
from ixbench_plugins.reporters.survey_words import how_read, miss, rate_or_why, style_marks
from ixbench_plugins.reporters.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.report import SettingChange
    from ixbench_plugins.reporters.history.content import History, Series, Step, Track

MOST = 12
"""Changes of a step that are told; history.json has all."""
_HOVER = 4
_LONGEST = 60
HEADERS = ("Run", "tok/s/GPU", "Change", "Precision", "Read", "What changed", "Rests on")


def marks(track: Track) -> tuple[str, ...]:
    """Return what the numbers of a track are beside measured."""
    return style_marks(track.style)


def heading(track: Track) -> str:
    """Return the name of a track."""
    return f"{track.model} on {track.sku}"


def subtitle(found: History) -> str:
    """Return what the whole rests on."""
    runs = counted(found.runs, "run")
    if found.first is None:
        return f"{runs}, no dates"
    return f"{runs}, {found.first}" + (f" to {found.last}" if found.last != found.first else "")


def answer(track: Track) -> str:
    """Return where each engine stands now, beside its first value."""
    said = []
    for series in track.series:
        reached = [step for step in series.steps if step.tok_s_gpu is not None]
        name, last = engine_name(series.engine), series.steps[-1]
        if not reached:
            said.append(f"{name} never reaches it ({miss(last.status)}).")
            continue
        first, newest = reached[0], reached[-1]
        words = f"{name} {format_rate(newest.tok_s_gpu)} tok/s/GPU on {newest.date}"
        if first is not newest and first.tok_s_gpu and newest.tok_s_gpu:
            words += f", {format_change(newest.tok_s_gpu / first.tok_s_gpu - 1)} since {first.date}"
        if newest is not last:
            words += f"; {miss(last.status)} on {last.date}"
        said.append(f"{words}.")
    target = f"At {track.rung:g} tok/s/user ({track.axis})"
    return f"{target}: {' '.join(said)}" if said else f"{target}: no point has a date."


def change(step: Step) -> str:
    """Return by how much the rate differs from the last one."""
    if step.share is None:
        return MISSING
    return format_change(step.share) + (", cannot be told apart" if step.told_apart is False else "")


def hover(step: Step, engine: str) -> Iterator[str]:
    """Yield what a mark says when it is pointed at."""
    yield f"{engine_name(engine)}, {step.started}"
    yield f"{rate_or_why(step)}{' tok/s/GPU' if step.tok_s_gpu is not None else ''}{f', {change(step)}' if step.share is not None else ''}"
    yield from change_sentences(step.changed, _HOVER)


def change_sentences(changed: Sequence[SettingChange], most: int = MOST) -> list[str]:
    """Return what changed, a sentence each; beyond `most` only how many more."""
    found = [f"{one.group}: {one.name}: {_cut(one.a)} -> {_cut(one.b)}" for one in changed[:most]]
    return [*found, *([f"and {len(changed) - most} more"] if len(changed) > most else [])]


def _cut(text: str | None) -> str:
    if text is None:
        return "not given"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def step_table(series: Series, track: Track) -> Table:
    """Return the steps of one engine, the newest first."""
    mark = f", {marks(track)[0]}" if marks(track) else ""
    return Table(
        caption=f"{engine_name(series.engine)}: {heading(track)} at {track.rung:g} tok/s/user{mark}",
        headers=HEADERS,
        rows=tuple(_row(step, first=step is series.steps[0]) for step in reversed(series.steps)),
        right=frozenset({1}),
    )


def _row(step: Step, *, first: bool) -> tuple[str, ...]:
    changed = "; ".join(change_sentences(step.changed)) or (MISSING if first else "nothing that is on record")
    left = f", {step.left_out} invalid or failed left out" if step.left_out else ""
    rests = ", ".join(step.points or step.runs) + left
    return (step.started, rate_or_why(step), change(step), step.precision or MISSING, step.status.replace("_", " "), changed, rests)


def reading_notes(track: Track) -> list[str]:
    """Return how to read a track."""
    undated = [f"{counted(track.undated, 'point')} without a date: no place here."] if track.undated else []
    return [
        *how_read(track),
        "Each run is read by itself, from the engine's best curve there.",
        "Changes are against the engine's run before. Single runs are never told apart: [run] repeats gives them intervals.",
        *undated,
        *track.notes,
    ]
