"""How a run looks while it goes on: a live table at a terminal, plain lines elsewhere. Always on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from ixbench.model.units import format_duration
from ixbench.run.state import FINAL_PHASES

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.console import Console, RenderableType

    from ixbench.run.state import PointState, RunState

SHOWN = 24
"""Rows of the live table: more points than this scroll, with the running one in sight."""

_LABEL = {
    "waiting": "waiting",
    "connecting": "connecting",
    "starting": "starting engine",
    "preparing": "learning prompt lengths",
    "warmup": "warm-up",
    "profile": "measuring",
    "drain": "draining",
    "valid": "valid",
    "warnings": "valid*",
    "invalid": "INVALID",
    "failed": "FAILED",
    "kept": "kept",
}
_STYLE = {"valid": "green", "warnings": "yellow", "invalid": "red", "failed": "red", "profile": "bold", "waiting": "dim", "kept": "dim"}


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

    def say(self, text: str) -> None:
        """Print one line."""
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
                parts.append(f"{point.load.done} requests, {sum(point.load.failed.values())} failed")
            if point.seconds is not None:
                parts.append(format_duration(point.seconds))
            if point.detail:
                parts.append(point.detail)
        self.say(", ".join(parts))

    def say(self, text: str) -> None:
        """Print one line."""
        print(text, file=sys.stderr, flush=True)


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
        self._live.refresh()
        self._live.stop()

    def changed(self, point: PointState) -> None:
        """Do nothing: the next redraw shows it."""

    def say(self, text: str) -> None:
        """Print one line above the table."""
        from rich.text import Text

        self._console.print(Text(text))

    def _render(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        state = self._state
        left = state.left_s
        caption = f"{state.finished} of {len(state.points)} points"
        if state.stopping:
            caption += " - stopping: finishing what is in flight (Ctrl-C again aborts it)"
        elif left is not None and state.finished < len(state.points):
            caption += f", about {format_duration(left)} left"
        table = Table(title=Text(state.title), caption=caption, expand=False)
        table.add_column("point", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for column in ("progress", "requests", "output tok/s", "errors", "left"):
            table.add_column(column, justify="right", no_wrap=True)
        for point in self._window():
            table.add_row(*map(Text, _row(point)), style=_STYLE.get(point.phase, ""))
        running = next((point for point in state.points.values() if point.stage == "starting" and point.detail), None)
        if running is not None:
            table.caption = f"{caption}\n{Text(running.detail[-100:]).plain}"
        return table

    def _window(self) -> list[PointState]:
        points = list(self._state.points.values())
        active = next((index for index, point in enumerate(points) if point.stage not in FINAL_PHASES), len(points))
        first = max(0, min(active - SHOWN // 2, len(points) - SHOWN))
        return points[first : first + SHOWN]


def _row(point: PointState) -> tuple[str, str, str, str, str, str, str]:
    share, left, rate, load = point.share, point.left_s, point.output_tok_s, point.load
    progress = f"{share:.0%}" if share is not None else ""
    if point.phase in {"connecting", "starting", "preparing"}:
        progress = format_duration(point.elapsed_s)
    requests, errors = "", ""
    if load is not None:
        requests = f"{load.done}/{load.expected}" if load.expected else str(load.done)
        errors = str(sum(load.failed.values()) or "")
    return (
        point.id,
        _LABEL[point.phase],
        progress,
        requests,
        f"{rate:,.0f}" if rate else "",
        errors,
        format_duration(left) if left is not None else "",
    )


def make_view(state: RunState) -> View:
    """Return the view that fits where stderr goes."""
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_dumb_terminal:
            return LiveView(state, console)
    return PlainView(state)
