"""Prometheus pages for adapters' metrics: all that their aliases name, beside lines that nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.engine_metrics import READ_AS_COUNTERS

if TYPE_CHECKING:
    from ixbench.model.engine_metrics import EngineMetrics, MetricAlias

UNKNOWN_LINES = (
    "# HELP ixbench_kit_unknown a metric of nobody",
    "# TYPE ixbench_kit_unknown counter",
    'ixbench_kit_unknown_total{engine="0",le="\\"}"} 7',
    "ixbench_kit_unknown_total",
    "ixbench_kit_not_a_number NaN",
    "{} 1",
    "ixbench kit with blanks 3",
    '\x00\xff ="" }{ 1e999',
    "# TYPE",
    "",
)
"""What newer builds, other libraries and broken pages put beside what is looked for."""


def counter_page(metrics: EngineMetrics, value: float) -> list[str]:
    """Return the lines of a page on which everything that the aliases name has this value, under its newest name."""
    lines: list[str] = []
    for alias in metrics.aliases:
        counter = alias.canonical in READ_AS_COUNTERS
        for name in (alias.names[0], *alias.added):
            labels = _labels(alias, metrics.one_rank)
            lines += [f"# TYPE {name} {'counter' if counter else 'gauge'}", f"{name}{'_total' if counter else ''}{labels} {value}"]
    return list(dict.fromkeys(lines))


def _labels(alias: MetricAlias, one_rank: str | None) -> str:
    chosen = {name: "ixbench-kit" if value.startswith("!") else value for name, value in alias.labels.items()}
    if one_rank is not None:
        chosen.setdefault(one_rank, "0")
    text = ",".join(f'{name}="{value}"' for name, value in chosen.items())
    return f"{{{text}}}" if text else ""
