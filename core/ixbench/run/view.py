"""How a run looks while it goes on: a live table at a terminal, plain lines elsewhere. Always on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from ixbench.model.counts import counted
from ixbench.model.printable import printable
from ixbench.model.units import format_duration
from ixbench.run.state import FINAL_PHASES

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import Console, RenderableType

    from ixbench.run.state import PointState, RunState

SHOWN = 24
"""Rows of the live table: more points than this, or than the terminal has lines for, scroll with the running one in sight."""
_FRAME_LINES = 7
"""Lines beside the rows: title, header, rule, count and log line, and some of what was said before."""
_WIDTHS = {"state": 10, "progress": 8, "requests": 8, "out tok/s": 9, "errors": 6, "left": 7}
"""Least widths of the columns: those of usual values, so that the table stands still while they change."""
_DISPENSABLE = ("left", "progress", "errors")
"""Columns that go where the terminal is too narrow, in this order."""
_SHORTEST_NAME = 12

_LABEL = {
    "waiting": "waiting",
    "connecting": "connecting",
    "starting": "starting",
    "accuracy": "accuracy",
    "preparing": "preparing",
    "simulating": "simulating",
    "warmup": "warm-up",
    "profile": "measuring",
    "drain": "draining",
    "stopped": "stopped",
    "valid": "valid",
    "warnings": "valid*",
    "invalid": "INVALID",
    "failed": "FAILED",
    "kept": "kept",
}
_STYLE = {
    "valid": "green",
    "warnings": "yellow",
    "stopped": "yellow",
    "invalid": "red",
    "failed": "red",
    "profile": "bold",
    "waiting": "dim",
    "kept": "dim",
}


class View(Protocol):
    """What the loop needs of a view."""

    def __enter__(self) -> Self:
        """Start showing."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing; the last picture stays."""
        ...

    def changed(self, point: PointState) -> None:
        """Take note that a point has entered another stage."""
        ...

    def going_on(self, point: PointState) -> None:
        """Take note that a point is still in the stage it was in a while ago."""
        ...

    def say(self, text: str) -> None:
        """Print one line; a reader who has gone is no reason to end a run."""
        ...


class PlainView:
    """One line for each change of phase: for logs and pipes."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing."""

    def changed(self, point: PointState) -> None:
        """Print the point's new stage."""
        number = list(self._state.points).index(point.id) + 1
        parts = [f"[{number}/{len(self._state.points)}] {point.id}: {_LABEL[point.stage]}"]
        if point.stage in FINAL_PHASES:
            if point.load is not None:
                parts.append(f"{counted(point.load.done, 'request')}, {sum(point.load.failed.values())} failed")
            if point.seconds is not None:
                parts.append(format_duration(point.seconds))
            if point.detail:
                parts.append(point.detail)
        self.say(", ".join(parts))

    def going_on(self, point: PointState) -> None:
        """Print how far the point is."""
        number = list(self._state.points).index(point.id) + 1
        row = _row(point)
        words = {
            "progress": "{}",
            "requests": "{} requests",
            "out tok/s": "{} output tok/s",
            "errors": "{} failed",
            "left": "about {} left",
        }
        parts = [text.format(row[column]) for column, text in words.items() if row[column]]
        self.say(", ".join((f"[{number}/{len(self._state.points)}] {point.id}: {row['state']}", *parts)))

    def say(self, text: str) -> None:
        """Print one line; a reader who has gone is no reason to end a run."""
        with suppress(OSError):
            print(printable(text), file=sys.stderr, flush=True)


class LiveView:
    """A table that redraws itself twice a second."""

    def __init__(self, state: RunState, console: Console) -> None:
        from rich.live import Live

        self._state = state
        self._console = console
        self._live = Live(console=console, refresh_per_second=2, get_renderable=self._render, transient=False)

    def __enter__(self) -> Self:
        """Start showing."""
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop showing; the last picture stays."""
        with suppress(OSError):
            self._live.refresh()
            self._live.stop()
            self._console.print()

    def changed(self, point: PointState) -> None:
        """Print why a point is of no use; all else is seen at the next redraw."""
        if point.stage in {"failed", "invalid"}:
            self.say(f"{point.id}: {_LABEL[point.stage]}, {point.detail}")

    def going_on(self, point: PointState) -> None:
        """Do nothing: it is seen."""

    def say(self, text: str) -> None:
        """Print one line above the table; a terminal that has gone is no reason to end a run."""
        from rich.text import Text

        with suppress(OSError):
            self._console.print(Text(printable(text)))

    def _render(self) -> RenderableType:
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        state = self._state
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        points = self._window()
        name_width, columns = _fit(max(len(point.id) for point in points), self._console.width)
        table.add_column("point", no_wrap=True, min_width=name_width)
        for column in columns:
            table.add_column(column, justify="left" if column == "state" else "right", no_wrap=True, min_width=_WIDTHS[column])
        for point in points:
            row = _row(point)
            cells = [_shortened(point.id, name_width), *(row[column] for column in columns)]
            table.add_row(*(Text(printable(cell)) for cell in cells), style=_STYLE.get(point.phase, ""))
        title, *below = (
            Text(printable(line), no_wrap=True, overflow="ellipsis") for line in (state.title, self._caption(), self._log_line())
        )
        return Group(title, table, *(line for line in below if line))

    def _caption(self) -> str:
        state = self._state
        left = state.left_s
        caption = f"{state.finished} of {counted(len(state.points), 'point')}"
        if state.stopping:
            return caption + (" - stopping (Ctrl-C again drops what is in flight)" if self._ongoing() else " - stopped")
        if left is not None and state.finished < len(state.points):
            caption += f", about {format_duration(left)} left"
        return caption

    def _log_line(self) -> str:
        """Return the last line of an engine that starts."""
        return next((point.detail for point in self._state.points.values() if point.stage == "starting"), "")

    def _ongoing(self) -> bool:
        return any(point.stage not in FINAL_PHASES and point.stage not in {"waiting", "stopped"} for point in self._state.points.values())

    def _window(self) -> list[PointState]:
        points = list(self._state.points.values())
        shown = max(3, min(SHOWN, self._console.height - _FRAME_LINES))
        active = next((index for index, point in enumerate(points) if point.stage not in FINAL_PHASES), len(points))
        first = max(0, min(active - shown // 2, len(points) - shown))
        return points[first : first + shown]


def _fit(name_width: int, columns: int) -> tuple[int, list[str]]:
    """Return the width of the names and the columns beside them that have room."""
    shown, dispensable = list(_WIDTHS), list(_DISPENSABLE)
    while True:
        room = columns - sum(_WIDTHS[name] + 2 for name in shown)
        if room >= min(name_width, _SHORTEST_NAME) or not dispensable:
            return min(name_width, max(room, _SHORTEST_NAME)), shown
        shown.remove(dispensable.pop(0))


def _shortened(name: str, width: int) -> str:
    """Return a name whose end, which tells points of a deployment apart, is kept."""
    return name if len(name) <= width else f"…{name[len(name) - width + 1 :]}"


def _row(point: PointState) -> dict[str, str]:
    """Return what there is to say about a point, by column."""
    share, left, rate, load = point.share, point.left_s, point.output_tok_s, point.load
    progress = f"{share:.0%}" if share is not None else ""
    if point.phase in {"connecting", "starting", "preparing"}:
        progress = format_duration(point.elapsed_s)
    elif point.seconds is not None:
        progress = format_duration(point.seconds)
    requests, errors = "", ""
    if load is not None:
        requests = f"{load.done}/{load.expected}" if load.expected else str(load.done)
        errors = str(sum(load.failed.values()) or "")
    return {
        "state": _LABEL[point.phase],
        "progress": progress,
        "requests": requests,
        "out tok/s": f"{rate:,.0f}" if rate else "",
        "errors": errors,
        "left": format_duration(left) if left is not None else "",
    }


def make_view(state: RunState) -> View:
    """Return the view that fits where stderr goes."""
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_dumb_terminal:
            return LiveView(state, console)
    return PlainView(state)
