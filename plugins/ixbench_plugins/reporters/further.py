"""Metrics beside those that have a column of their own: a selection of the built-in ones, and whatever other plugins measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import short_share
from ixbench.api.report import Seconds, format_latency, format_rate
from ixbench_plugins.metrics import METRICS
from ixbench_plugins.reporters.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ixbench.api.report import MetricNote, RunView
    from ixbench_plugins.reporters.points import PointRow

CHOSEN = (
    "goodput_req_s",
    "attainment_share",
    "cache_hit_share",
    "acceptance_length",
    "steady_throughput_tok_s_gpu",
    "task_time_s",
    "task_tokens",
    "tasks_completed",
)
"""Built-in metrics to show among them, where a point has them."""
SUMMARY_PARTS = ("mean", "p50", "p90", "p99")
"""What is shown of a summary; the others stand in the JSON."""


def further_columns(rows: Sequence[PointRow], chosen: Collection[str] = CHOSEN) -> list[tuple[str, str | None]]:
    """Return what there is to show: names of metrics, each with a part or None, in the order of the points' own.

    :param chosen: built-in metrics to show beside those of other plugins.
    """
    found: dict[tuple[str, str | None], None] = {}
    built_in = {metric.name for metric in METRICS}
    for row in rows:
        for name, value in row.point.metrics.items():
            if name in built_in and name not in chosen:
                continue
            if isinstance(value, dict):
                shown = SUMMARY_PARTS if "n" in value else tuple(value)
                found |= {(name, part): None for part in shown if value.get(part) is not None}
            elif value is not None:
                found[name, None] = None
    return list(found)


def further_cells(row: PointRow, columns: Sequence[tuple[str, str | None]]) -> dict[str, float | None]:
    """Return the numbers of a point as stored, under `name` or `name.part`."""
    return {column_name(name, part): row.number(name, part) for name, part in columns}


def further_rows(rows: Sequence[PointRow], columns: Sequence[tuple[str, str | None]]) -> Iterator[list[str]]:
    """Yield one line of text a column, with a cell for each point: there are more metrics than points as a rule."""
    units = further_units([row.run for row in rows])
    for name, part in columns:
        unit = units.get(name, "")
        yield [column_name(name, part), unit, *(_text(row.number(name, part), unit) for row in rows)]


def further_units(runs: Sequence[RunView]) -> dict[str, str]:
    """Return the units of all metrics that are known."""
    return {metric.name: metric.unit for metric in METRICS} | {note.name: note.unit for run in runs for note in run.metrics}


def further_definitions(runs: Sequence[RunView], columns: Sequence[tuple[str, str | None]]) -> list[str]:
    """Return what these metrics mean, as the runs say it, with the plugin that gives one that is not built in."""
    known: dict[str, MetricNote] = {note.name: note for run in runs for note in run.metrics}
    built_in = {metric.name: metric.definition for metric in METRICS}
    found = []
    for name in dict.fromkeys(name for name, _ in columns):
        if name in built_in:
            found.append(f"{name}: {built_in[name]}")
        elif name in known:
            found.append(f"{name}: {known[name].definition} (plugin {known[name].plugin})")
    return found


def column_name(name: str, part: str | None) -> str:
    """Return the name of a column."""
    return name if part is None else f"{name}.{part}"


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return MISSING
    if unit == "s":
        return format_latency(Seconds(value))
    return short_share(value) if unit == "share" else format_rate(value)
