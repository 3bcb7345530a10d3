"""Words that reports over many runs share: what stands beside numbers that are not measured, and why a rung has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import counted, format_rate, notes_on_runs
from ixbench_plugins.reporters.page.facts import IMPORTED, IMPORTED_NOTE
from ixbench_plugins.reporters.words import MISSES, SIMULATED, SIMULATED_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ixbench.api.report import ReportSettings, RunView
    from ixbench_plugins.reporters.history.content import Step
    from ixbench_plugins.reporters.leaderboard.content import RungReading
    from ixbench_plugins.reporters.page.picture import Style
    from ixbench_plugins.reporters.survey_content import Surveyed

NOTHING = "No run has a point."
NOTES = {"imported": IMPORTED_NOTE, "simulated": SIMULATED_NOTE}
"""What must be said before such numbers."""
_MARKS = {"imported": IMPORTED, "simulated": SIMULATED}
_MISSES = MISSES | dict.fromkeys(("no_points", "no_curve"), "no valid point")
"""Of a day or an engine among many nobody asks which of the two it was."""


def style_marks(style: Style) -> tuple[str, ...]:
    """Return what such numbers are beside measured."""
    return (_MARKS[style],) if style in _MARKS else ()


def miss(status: str) -> str:
    """Return why a rung has no value."""
    return _MISSES.get(status, status)


def notes_on_work(runs: Iterable[RunView], settings: ReportSettings) -> Iterator[str]:
    """Yield what must be known of the runs behind one kind of work, and how many of them asked to be read in another way.

    :param runs: in any order, and any of them several times.
    """
    by_id = {run.id: run for run in runs}
    yield from notes_on_runs([by_id[name] for name in sorted(by_id)])
    others = sum((run.report.primary, run.report.axis) != (settings.primary, settings.axis) for run in by_id.values())
    if others:
        yield f"{counted(others, 'run')} asked for another rung or axis; all are read as the newest run asks, or as --set says."


def how_read(part: Surveyed) -> list[str]:
    """Return what its rates are and how they are read."""
    scope = part.scope if isinstance(part.scope, str) else ", ".join(part.scope)
    speed = f"at {part.rung:g} tok/s/user, which is 1 / the {part.axis} of TPOT"
    return [
        f"tok/s/GPU: all tokens, input with cached input plus output, per second and GPU, {speed}.",
        f"Read by {part.interpolation}, {part.range}, {part.policy}; scope {scope}.",
    ]


def rate_or_why(read: Step | RungReading) -> str:
    """Return the rate with its interval, or why there is none."""
    if read.tok_s_gpu is None:
        ends = {"unreachable": ("fastest", read.fastest_tok_s_user), "below_range": ("slowest", read.slowest_tok_s_user)}
        which, speed = ends.get(read.status, ("", None))
        return miss(read.status) + (f", {which} {format_rate(speed)} tok/s/user" if speed is not None else "")
    half = read.half_width_tok_s_gpu
    return format_rate(read.tok_s_gpu) + (f" +- {format_rate(half)}" if half is not None else "")
