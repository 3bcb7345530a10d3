"""`table`: every point with its numbers and its verdict. CSV, JSON and Parquet hold seconds in full precision, the others are for print."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.report import Artifact, OptionsModel, Reporter, Seconds, format_latency, format_rate, notes_on_runs
from ixbench_plugins.reporters.columns import RATES_BETWEEN, TableContent, cells, table_content
from ixbench_plugins.reporters.further import further_cells, further_columns, further_definitions, further_rows
from ixbench_plugins.reporters.latex import latex_table
from ixbench_plugins.reporters.parquet import can_write_parquet, parquet_bytes
from ixbench_plugins.reporters.points import (
    INTERVALS_NOTE,
    LATENCIES,
    PERCENTILES,
    THIN_NOTE,
    PointRow,
    definitions,
    point_rows,
    sentences_of,
    successes,
)
from ixbench_plugins.reporters.text import MISSING, clean, escape, json_text, markdown_list, markdown_table
from ixbench_plugins.reporters.words import NOT_CREDIBLE, SIMULATED, simulated_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ixbench.api.report import RunView
    from ixbench_plugins.reporters.columns import Cell

_SHOWN = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2el_s": "E2EL"}
_DEFINED = (
    "ttft_s",
    "tpot_s",
    "e2el_s",
    "speed_tok_s_user",
    "throughput_tok_s_gpu",
    "throughput_tok_s",
    "requests_per_s",
    "concurrency_mean",
)
_NO_GPUS_NOTE = (
    "tok/s/GPU is not known for points without a number of GPUs: "
    "give it by [hardware] gpus of a campaign, or by --gpus to ixbench bench or ixbench import."
)
_FORMULA_STARTS = ("=", "+", "-", "@")
_FIRST_NUMBER = 4
"""Columns before it hold words."""


class TableOptions(OptionsModel):
    """Which files are written."""

    parquet: bool | None = None
    """Whether table.parquet is: by default where the extra `parquet` is installed."""


class TableReporter(Reporter[TableOptions]):
    """All points."""

    name: ClassVar[str] = "table"
    summary: ClassVar[str] = (
        "every point with percentiles, rates and verdict, invalid and failed ones included (csv, md, json, tex, parquet)"
    )
    Options = TableOptions

    def render(self, runs: Sequence[RunView], options: TableOptions) -> Iterable[Artifact]:
        """Return table.csv, table.md, table.json, table.tex and table.parquet."""
        rows = point_rows(runs)
        axis = runs[0].report.axis
        yield Artifact(name="table.csv", content=_csv(rows, axis))
        yield Artifact(name="table.md", content="\n".join(_markdown(rows, runs, axis)) + "\n")
        yield Artifact(name="table.json", content=json_text(asdict(table_content(rows, runs, axis))))
        yield Artifact(name="table.tex", content="\n".join(latex_table(rows, runs, axis)) + "\n")
        if options.parquet or (options.parquet is None and can_write_parquet()):
            yield Artifact(name="table.parquet", content=parquet_bytes(rows, runs, axis))

    def json_type(self) -> Any:  # noqa: ANN401 - a dataclass that is made of the columns
        """Return what table.json holds."""
        return TableContent


def _csv(rows: Sequence[PointRow], axis: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if not rows:
        return ""
    columns = further_columns(rows)
    tables: list[dict[str, Cell]] = [{**cells(row, axis), **further_cells(row, columns)} for row in rows]
    writer.writerow(tables[0])
    writer.writerows([_csv_cell(value) for value in table.values()] for table in tables)
    return out.getvalue()


def _csv_cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    text = clean(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text  # a spreadsheet would run it


def _markdown(rows: Sequence[PointRow], runs: Sequence[RunView], axis: str) -> Iterator[str]:
    simulated = any(run.evidence == "simulated" for run in runs)
    name = f"Points: {runs[0].title}" if len(runs) == 1 else f"Points of {len(runs)} runs"
    yield from (f"# {escape(f'{name} ({SIMULATED})' if simulated else name)}", "")
    several = len(runs) > 1
    latencies = [f"{_SHOWN[metric]} {percentile}" for metric in LATENCIES for percentile in PERCENTILES]
    headers = ("point", "engine", "precision", "verdict", "users", f"tok/s/user ({axis})", *latencies)
    headers += ("tok/s/GPU", "tok/s", "output tok/s", "requests/s", "in flight", "ok / requests")
    table = [_markdown_row(row, axis, several=several) for row in rows]
    yield from markdown_table(headers, table, right=range(_FIRST_NUMBER, len(headers)))
    if any(row.point.intervals is not None for row in rows):
        yield from ("", "## Intervals", "", INTERVALS_NOTE, "")
        between = (f"tok/s/user ({axis})", *latencies, "tok/s/GPU", "output tok/s/GPU", "sessions")
        intervals = [_intervals_row(row, axis, several=several) for row in rows if row.point.intervals is not None]
        yield from markdown_table(("point", *between), intervals, right=range(1, len(between) + 1))
    columns = further_columns(rows)
    if columns:
        names = [f"{row.run.id}/{row.point.id}" if several else row.point.id for row in rows]
        yield from ("", "## Further metrics", "")
        yield from markdown_table(("metric", "unit", *map(escape, names)), further_rows(rows, columns), right=range(2, len(names) + 2))
    notes = [*simulated_notes(row.point for row in rows), *notes_on_runs(runs)]
    notes += sentences_of(rows)
    notes += [f"{run.id}: not finished: {', '.join(run.missing)}." for run in runs if run.missing]
    if any(row.is_thin(name, percentile) for row in rows for name in LATENCIES for percentile in PERCENTILES):
        notes.append(THIN_NOTE)
    if any(row.point.identity.gpus is None for row in rows):
        notes.append(_NO_GPUS_NOTE)
    if notes:
        yield from ("", "## Notes", "", *markdown_list(notes))
    yield from ("", "## Definitions", "", *markdown_list([*definitions(*_DEFINED), *further_definitions(runs, columns)]))


def _markdown_row(row: PointRow, axis: str, *, several: bool) -> list[str]:
    point = row.point
    line = [f"{row.run.id}/{point.id}" if several else point.id, point.identity.engine, point.identity.precision or MISSING, row.verdict]
    line += [row.load, format_rate(row.speed(axis))]
    line += [latency(row, name, percentile) for name in LATENCIES for percentile in PERCENTILES]
    line += [format_rate(row.number("throughput_tok_s_gpu", "total"))]
    line += [format_rate(row.number("throughput_tok_s", kind)) for kind in ("total", "output")]
    line += [format_rate(row.number("requests_per_s")), format_rate(row.number("concurrency_mean"))]
    return [*line, successes(point)]


def _intervals_row(row: PointRow, axis: str, *, several: bool) -> list[str]:
    line = [f"{row.run.id}/{row.point.id}" if several else row.point.id, ends(row.speed_between(axis), format_rate)]
    line += [ends(row.between(name, percentile), seconds) for name in LATENCIES for percentile in PERCENTILES]
    line += [ends(row.between("throughput_tok_s_gpu", kind), format_rate) for kind in RATES_BETWEEN]
    return [*line, str(row.point.intervals.sessions) if row.point.intervals is not None else MISSING]


def ends(both: tuple[float, float] | None, text: Callable[[float], str]) -> str:
    """Return an interval for print.

    :param text: prints one of its ends.
    """
    return MISSING if both is None else f"{text(both[0])} to {text(both[1])}"


def seconds(value: float) -> str:
    """Return a time for print."""
    return format_latency(Seconds(value))


def latency(row: PointRow, metric: str, percentile: str) -> str:
    """Return a percentile of a latency for print, with `*` where too few answers lie beyond it, and marked where it is not credible."""
    value = row.number(metric, percentile)
    if value is None:
        return MISSING
    doubtful = NOT_CREDIBLE if metric == "ttft_s" and row.point.evidence == "simulated" else ""
    return format_latency(Seconds(value)) + ("*" if row.is_thin(metric, percentile) else "") + doubtful
