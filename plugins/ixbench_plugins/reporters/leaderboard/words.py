"""A leaderboard in words: cells, ranks, and what changed; the page and the Markdown print the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.report import counted, format_change, format_rate, format_usd
from ixbench_plugins.reporters.page.names import engine_name
from ixbench_plugins.reporters.page.parts import Table
from ixbench_plugins.reporters.survey_words import how_read, miss, rate_or_why, style_marks
from ixbench_plugins.reporters.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.reporters.leaderboard.content import Board, BoardCell, Change, Leaderboard, RankedEngine, RungReading

RANK_HEADERS = ("Rank", "SKU", "Engine", "tok/s/GPU", "$/1M total", "Since", "Measured")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWords:
    """A cell in words; what there is nothing to say of is empty."""

    value: str
    """The rate, or why there is none."""
    reached: bool
    best: bool
    """Whether no SKU has a higher rate with this model."""
    engine: str
    cost: str
    change: str
    direction: str
    """"up", "down" or empty."""
    detail: str

    @property
    def line(self) -> str:
        """The cell on one line."""
        return ", ".join(filter(None, (self.value, self.engine, self.cost, self.change)))


def marks(board: Board) -> tuple[str, ...]:
    """Return what the numbers of a board are beside measured."""
    return style_marks(board.style)


def heading(board: Board) -> str:
    """Return the name of a board."""
    return f"{board.work[:1].upper()}{board.work[1:]} at {board.rung:g} tok/s/user ({board.axis})"


def subtitle(found: Leaderboard) -> str:
    """Return what the whole rests on."""
    runs = counted(found.runs, "run")
    if found.as_of is None:
        return f"{runs}, no dates"
    return f"{runs}, as of {found.as_of}, compared with {found.before} ({counted(found.days, 'day')} before)"


def grid(board: Board) -> list[tuple[str, list[CellWords | None]]]:
    """Return the cells of each model, one a SKU; None where nothing was run."""
    cells = {(cell.model, cell.sku): cell for cell in board.cells}
    rows = []
    for model in board.models:
        mine = [cells.get((model, sku)) for sku in board.skus]
        best = max((cell.reading.tok_s_gpu or 0.0 for cell in mine if cell is not None), default=0.0)
        rows.append((model, [None if cell is None else _cell(cell, best if len(board.skus) > 1 else None) for cell in mine]))
    return rows


def _cell(cell: BoardCell, best: float | None) -> CellWords:
    reading, change = cell.reading, cell.change
    engine = _engine(reading) if reading.tok_s_gpu is not None else ""
    if reading.runner_up is not None:
        engine += f", not told apart from {engine_name(reading.runner_up)}"
    return CellWords(
        value=rate_or_why(reading),
        reached=reading.tok_s_gpu is not None,
        best=best is not None and reading.tok_s_gpu == best,
        engine=engine,
        cost=f"{format_usd(reading.usd_per_mtok)} /1M" if reading.usd_per_mtok is not None else "",
        change=since(change),
        direction=direction(change),
        detail=detail(reading),
    )


def since(change: Change) -> str:
    """Return what became of it since."""
    before = change.before
    if change.kind in {"new", "unknown", "none"} or before is None:
        return {"new": "new", "unknown": "undated"}.get(change.kind, "")
    if change.kind == "lost":
        return f"was {format_rate(before.tok_s_gpu)} with {_engine(before)}"
    if change.kind == "gained":
        return f"was {miss(before.status)}"
    if change.kind == "same":
        return "unchanged"
    return format_change(change.share) + (f", was {_engine(before)}" if change.took_over else "")


def direction(change: Change) -> str:
    """Return which way the rate went; empty where it did not, or that cannot be told."""
    if change.kind in {"gained", "lost"}:
        return "up" if change.kind == "gained" else "down"
    return "" if not change.share else "up" if change.share > 0 else "down"


def detail(reading: RungReading) -> str:
    """Return what a value rests on."""
    points = ", ".join(reading.points)
    words = (reading.status.replace("_", " ") if reading.tok_s_gpu is not None else "", reading.date or "", points)
    return ", ".join(filter(None, words))


def answers(board: Board) -> list[str]:
    """Return who is ahead, one sentence a model, for the first few models."""
    said = []
    for model in board.models[:3]:
        entries = [entry for entry in board.entries if entry.model == model]
        fastest = next((entry for entry in entries if entry.fastest == 1), None)
        cheapest = next((entry for entry in entries if entry.cheapest == 1), None)
        if fastest is None:
            said.append(f"{model}: no SKU reaches {board.rung:g} tok/s/user.")
            continue
        words = f"{model}: {format_rate(fastest.reading.tok_s_gpu)} tok/s/GPU on {_place(fastest)}"
        if cheapest is not None and cheapest is fastest:
            words += f", also the cheapest at {format_usd(cheapest.reading.usd_per_mtok)} per million tokens"
        elif cheapest is not None:
            words += f"; cheapest on {_place(cheapest)}, {format_usd(cheapest.reading.usd_per_mtok)} per million tokens"
        said.append(f"{words}.")
    more = len(board.models) - len(said)
    return [*said, *([f"{counted(more, 'more model')} below."] if more else [])]


def rankings(board: Board) -> list[tuple[str, list[Table]]]:
    """Return for each model its fastest and its cheapest, as tables."""
    mark = f", {marks(board)[0]}" if marks(board) else ""
    found = []
    for model in board.models:
        mine = [entry for entry in board.entries if entry.model == model]
        by_cost = sorted((entry for entry in mine if entry.cheapest is not None), key=lambda entry: (entry.cheapest or 0, entry.sku))
        tables = [_table(f"Fastest: {model} by tok/s/GPU{mark}", [(entry.fastest, entry) for entry in mine])]
        if by_cost:
            tables.append(_table(f"Cheapest: {model} by $ per million tokens{mark}", [(entry.cheapest, entry) for entry in by_cost]))
        if mine:
            found.append((model, tables))
    return found


def _table(caption: str, rows: Sequence[tuple[int | None, RankedEngine]]) -> Table:
    return Table(
        caption=caption,
        headers=RANK_HEADERS,
        rows=tuple(
            (
                MISSING if rank is None else str(rank),
                entry.sku,
                _engine(entry.reading),
                rate_or_why(entry.reading),
                format_usd(entry.reading.usd_per_mtok),
                since(entry.change) or MISSING,
                entry.reading.date or MISSING,
            )
            for rank, entry in rows
        ),
        right=frozenset({3, 4}),
    )


def reading_notes(board: Board) -> list[str]:
    """Return how to read a board."""
    left = f"; {board.left_out} invalid or failed left out" if board.left_out else ""
    return [
        *how_read(board),
        "Of each curve only its latest date counts. A cell is won by the engine with the best curve there.",
        f"{counted(board.points, 'point')} counted{left}.",
        *board.notes,
    ]


def costs_note(found: Leaderboard) -> str:
    """Return at which prices costs are; empty where there are none."""
    if found.book is None or found.tier_label is None:
        return ""
    book = "the user's own prices" if found.book == "custom" else f"price book {found.book}"
    return f"Costs: USD per million tokens of all kinds at {book}, {found.tier_label}."


def _place(entry: RankedEngine) -> str:
    return f"{entry.sku} with {_engine(entry.reading)}"


def _engine(reading: RungReading) -> str:
    name = engine_name(reading.engine or MISSING)
    return f"{name} {reading.precision}" if reading.precision else name
