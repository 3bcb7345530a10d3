"""`console`: the whole result at a terminal's width: headline, ladder, costs, points and what to know about them."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field
from rich.box import Box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ixbench.api.report import Artifact, OptionsModel, Reporter, build_cost_table, build_ladder, format_rate
from ixbench_plugins.reporters.points import THIN_NOTE, PointRow, definitions, point_rows, sentences_of
from ixbench_plugins.reporters.rungs import (
    RUNG_HEADERS,
    RUNG_NUMBERS,
    TIER_HEADERS,
    TIER_NUMBERS,
    cost_sentences,
    rung_rows,
    settings_sentences,
    tier_rows,
)
from ixbench_plugins.reporters.table import latency
from ixbench_plugins.reporters.text import clean
from ixbench_plugins.reporters.words import SIMULATED, findings, headline, marked, notes, reading, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import Ladder, RunView

_LINES = Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""A rule below the headers and nothing else, in characters that every terminal has."""


_PADDING = {3: (0, 1, 0, 1), 2: (0, 1, 0, 0), 1: (0, 0, 0, 0)}
"""What rich must be told for so many columns between two cells, one of which is the divider's."""
_PIECES = re.compile(rf"{SIMULATED}, \w+|\S+")
"""What a line is not broken within: words, and a verdict with its mark."""
_WHOLE_CHARACTERS = 28
_COMFORTABLE_COLUMNS = 100
"""With fewer, tables are closer, engine and precision share a column, and verdicts are single words; the sentences below tell the rest."""


class ConsoleOptions(OptionsModel):
    """How wide the text is."""

    width: Annotated[int, Field(ge=60, le=400)] = 100
    """Columns."""


class ConsoleReporter(Reporter[ConsoleOptions]):
    """The result at a terminal."""

    name: ClassVar[str] = "console"
    summary: ClassVar[str] = "headline, ladder, costs and points as plain text for a terminal"
    Options = ConsoleOptions

    def render(self, runs: Sequence[RunView], options: ConsoleOptions) -> Iterable[Artifact]:
        """Return console.txt, to be shown too."""
        yield Artifact(name="console.txt", content=_text(runs, options.width), show=True)


def _text(runs: Sequence[RunView], width: int) -> str:
    ladder = build_ladder(runs)
    costs = build_cost_table(runs, ladder)
    rows = point_rows(runs)
    tight = width < _COMFORTABLE_COLUMNS
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=False, highlight=False, legacy_windows=False, _environ={})

    def say(*sentences: str) -> None:
        for sentence in sentences:
            console.print(Text(clean(sentence)))

    say(title(ladder), headline(ladder))
    console.print()
    if ladder.rates_known:
        say(marked("Ladder", ladder))
        console.print(_ladder_table(ladder, width=width, tight=tight))
        say(*settings_sentences(ladder))
        console.print()
        if any(run.quotes for run in runs):
            say(marked(f"Costs at {costs.target:g} tok/s/user", ladder))
            if costs.tiers:
                console.print(_table(TIER_HEADERS, tier_rows(costs), TIER_NUMBERS, width=width, tight=tight))
            say(*cost_sentences(costs))
            console.print()
    say(marked("Points", ladder))
    several = len(runs) > 1
    speed = f"tok/s/user{chr(10) if tight else ' '}({ladder.axis})"
    headers = ("point", "users", speed, "TTFT p50", "TPOT p50", "tok/s/GPU", "tok/s", "verdict")
    cells = [(*_point_row(row, ladder.axis, several=several), row.word if tight else row.verdict) for row in rows]
    console.print(_table(headers, cells, range(1, 7), width=width, tight=tight))
    say(*sentences_of(rows))
    say(*(f"{run.id}: not finished: {', '.join(run.missing)}." for run in runs if run.missing))
    console.print()
    say(*notes(ladder), *findings(ladder))
    console.print()
    if ladder.rates_known:
        say(*reading(ladder, runs))
    say(*definitions("ttft_s", "tpot_s", "throughput_tok_s"))
    if any(row.is_thin(metric, "p50") for row in rows for metric in ("ttft_s", "tpot_s")):
        say(THIN_NOTE)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _ladder_table(ladder: Ladder, *, width: int, tight: bool) -> Table:
    if not tight:
        return _table(RUNG_HEADERS, rung_rows(ladder), RUNG_NUMBERS, width=width, tight=False)
    engine = RUNG_HEADERS.index("engine")
    rows = [(*row[:engine], " ".join(dict.fromkeys(row[engine : engine + 2])), *row[engine + 2 :]) for row in rung_rows(ladder)]
    return _table((*RUNG_HEADERS[: engine + 1], *RUNG_HEADERS[engine + 2 :]), rows, RUNG_NUMBERS, width=width, tight=tight)


def _point_row(row: PointRow, axis: str, *, several: bool) -> tuple[str, ...]:
    return (
        f"{row.run.id}/{row.point.id}" if several else row.point.id,
        row.load,
        format_rate(row.speed(axis)),
        latency(row, "ttft_s", "p50"),
        latency(row, "tpot_s", "p50"),
        format_rate(row.number("throughput_tok_s_gpu", "total")),
        format_rate(row.number("throughput_tok_s", "total")),
    )


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Iterable[int], *, width: int, tight: bool) -> Table:
    """Return a table; numbers, and names in the first column that are not very long, stay in one piece, and so do words where that can be.

    :param width: columns there are; cells move closer together before a word is broken.
    :param tight: begin with close cells.
    """
    right = set(numbers)
    whole = right | ({0} if all(len(row[0]) <= _WHOLE_CHARACTERS for row in rows) else set())
    least = [_longest_piece(texts, whole=column in whole) for column, texts in enumerate(zip(headers, *rows, strict=True))]
    gap = next((gap for gap in ((2, 1) if tight else (3, 2, 1)) if sum(least) + gap * (len(least) - 1) <= width), None)
    if tight and gap is None:
        # Rather a number on two lines than a column that is cut off.
        whole = set()
    # Set here and not left to rich, which cuts a column off although others could still be broken.
    widths = None if gap is None else _widths(headers, rows, least, width - gap * (len(least) - 1))
    table = Table(box=_LINES, show_edge=False, pad_edge=False, padding=_PADDING[gap or (2 if tight else 3)])
    for column, header in enumerate(headers):
        justify: Literal["left", "right"] = "right" if column in right else "left"
        fixed = None if widths is None else widths[column]
        table.add_column(Text(header), justify=justify, overflow="fold", no_wrap=column in whole, width=fixed)
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    return table


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]], least: Sequence[int], room: int) -> list[int]:
    """Return the width of each column: as wide as its longest line, and where that is too much in all, the widest give way first.

    :param least: what each needs; together no more than the room.
    """
    widths = [_longest_piece(texts, whole=True) for texts in zip(headers, *rows, strict=True)]
    while sum(widths) > room:
        _, widest = max((width, column) for column, width in enumerate(widths) if width > least[column])
        widths[widest] -= 1
    return widths


def _longest_piece(texts: Iterable[str], *, whole: bool) -> int:
    """Return the length of the longest line of a column, or of its longest word where lines may be broken."""
    return max((len(piece) for text in texts for piece in (text.splitlines() if whole else _PIECES.findall(text))), default=0)
