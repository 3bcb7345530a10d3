"""`console`: the whole result at a terminal's width: headline, ladder, costs, points and what to know about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from ixbench.api.report import Artifact, OptionsModel, Reporter, build_cost_table, build_ladder, format_rate
from ixbench_plugins.reporters.further import SUMMARY_PARTS, further_columns, further_definitions, further_rows
from ixbench_plugins.reporters.points import THIN_NOTE, PointRow, accuracy_sentences, definitions, point_rows, sentences_of
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
from ixbench_plugins.reporters.terminal import Terminal
from ixbench_plugins.reporters.words import headline, marked, more_on_points, reading, report_notes, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ixbench.api.report import Ladder, RunView

_COMFORTABLE_COLUMNS = 100
"""With fewer, tables are closer, engine and precision share a column, and verdicts are single words; the sentences below tell the rest."""

_MOST_FURTHER = 5
"""Metrics of other plugins that a line has room for."""


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
    terminal = Terminal(width, tight=tight)
    say = terminal.say
    say(title(ladder), headline(ladder))
    terminal.space()
    if ladder.rates_known and ladder.configs:
        say(marked("Ladder", ladder))
        terminal.table(*_ladder_cells(ladder, tight=tight), RUNG_NUMBERS)
        say(*settings_sentences(ladder))
        terminal.space()
        if any(run.quotes for run in runs):
            say(marked(f"Costs at {costs.target:g} tok/s/user", ladder))
            if costs.tiers:
                terminal.table(TIER_HEADERS, tier_rows(costs), TIER_NUMBERS)
            say(*cost_sentences(costs))
            terminal.space()
    say(marked("Points", ladder))
    several = len(runs) > 1
    speed = f"tok/s/user{chr(10) if tight else ' '}({ladder.axis})"
    gated = any(row.point.identity.accuracy is not None for row in rows)
    headers = ("point", "users", speed, "TTFT p50", "TPOT p50", "tok/s/GPU", "tok/s", *(["right"] if gated else []), "verdict")
    cells = [
        (*_point_row(row, ladder.axis, several=several), *([row.accuracy] if gated else []), row.word if tight else row.verdict)
        for row in rows
    ]
    terminal.table(headers, cells, range(1, len(headers) - 1))
    say(*sentences_of(rows))
    _say_further(
        terminal, runs, [(cell[0], row) for cell, row in zip(cells, rows, strict=True)], marked("Metrics of other plugins", ladder)
    )
    say(*(f"{run.id}: not finished: {', '.join(run.missing)}." for run in runs if run.missing))
    # Where nothing answered, why and what to do is the last that is said: there is nothing to count, to read or to define.
    told = [*report_notes(ladder), *(more_on_points(ladder) if ladder.configs else ())]
    if told:
        terminal.space()
        say(*told)
    terminal.space()
    if ladder.rates_known and ladder.configs:
        say(*reading(ladder, runs))
    named = [name for name in ("ttft_s", "tpot_s", "throughput_tok_s") if any(row.point.metrics.get(name) for row in rows)]
    say(*definitions(*named))
    if gated:
        say("right: share of the questions of its accuracy gate that the point's launch answered right.")
        say(*accuracy_sentences(row.point for row in rows))
    if any(row.is_thin(metric, "p50") for row in rows for metric in ("ttft_s", "tpot_s")):
        say(THIN_NOTE)
    return terminal.text


def _say_further(terminal: Terminal, runs: Sequence[RunView], named: Sequence[tuple[str, PointRow]], heading: str) -> None:
    """Add what metrics of other plugins measured: a line a point, and of summaries the median."""
    rows = [row for _, row in named]
    found = [column for column in further_columns(rows, chosen=()) if column[1] in {None, "p50"} or column[1] not in SUMMARY_PARTS]
    shown = found[:_MOST_FURTHER]
    if not shown:
        return
    lines = list(further_rows(rows, shown))
    headers = ("point", *(f"{name}{chr(10)}{unit}".rstrip() for name, unit, *_ in lines))
    terminal.space()
    terminal.say(heading)
    terminal.table(headers, [(name, *(line[place + 2] for line in lines)) for place, (name, _) in enumerate(named)], range(1, len(headers)))
    terminal.say(*further_definitions(runs, shown))
    if len(found) > len(shown):
        terminal.say(f"{len(found) - len(shown)} more stand in the report `table`.")
    terminal.space()


def _ladder_cells(ladder: Ladder, *, tight: bool) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    if not tight:
        return RUNG_HEADERS, rung_rows(ladder)
    engine = RUNG_HEADERS.index("engine")
    rows = [(*row[:engine], " ".join(dict.fromkeys(row[engine : engine + 2])), *row[engine + 2 :]) for row in rung_rows(ladder)]
    return (*RUNG_HEADERS[: engine + 1], *RUNG_HEADERS[engine + 2 :]), rows


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
