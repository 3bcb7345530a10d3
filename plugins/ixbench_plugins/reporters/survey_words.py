"""Words that reports over many runs share: what stands beside numbers that are not measured, and why a rung has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import format_rate
from ixbench_plugins.reporters.page.facts import IMPORTED, IMPORTED_NOTE
from ixbench_plugins.reporters.words import SIMULATED, SIMULATED_NOTE

if TYPE_CHECKING:
    from ixbench_plugins.reporters.history.content import Step
    from ixbench_plugins.reporters.leaderboard.content import Reading
    from ixbench_plugins.reporters.page.picture import Style

NOTHING = "No run has a point."
NOTES = {"imported": IMPORTED_NOTE, "simulated": SIMULATED_NOTE}
"""What must be said before such numbers."""
_MARKS = {"imported": IMPORTED, "simulated": SIMULATED}
_MISSES = {"unreachable": "unreachable", "below_range": "below range", "no_points": "no valid point", "no_curve": "no valid point"}


def marks_of(style: Style) -> tuple[str, ...]:
    """Return what such numbers are beside measured."""
    return (_MARKS[style],) if style in _MARKS else ()


def miss(status: str) -> str:
    """Return why a rung has no value."""
    return _MISSES.get(status, status)


def rate(read: Step | Reading) -> str:
    """Return the rate with its interval, or why there is none."""
    if read.tok_s_gpu is None:
        ends = {"unreachable": ("fastest", read.fastest_tok_s_user), "below_range": ("slowest", read.slowest_tok_s_user)}
        which, speed = ends.get(read.status, ("", None))
        return miss(read.status) + (f", {which} {format_rate(speed)} tok/s/user" if speed is not None else "")
    half = read.half_width_tok_s_gpu
    return format_rate(read.tok_s_gpu) + (f" +- {format_rate(half)}" if half is not None else "")
