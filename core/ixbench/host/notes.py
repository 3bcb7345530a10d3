"""What the metrics of all plugins mean, with the plugin that gives each: it stands in run.json, in reports and in `ixbench metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.run import MetricNote

if TYPE_CHECKING:
    from ixbench.host.host import Host


def metric_notes(host: Host) -> tuple[MetricNote, ...]:
    """Return a note on each metric, in the order of point.json."""
    return tuple(
        MetricNote(
            name=metric.name,
            unit=metric.unit,
            better=metric.better,
            needs=metric.needs,
            definition=metric.definition,
            source=metric.source,
            plugin=plugin_of(host, metric),
        )
        for metric in host.metrics()
    )


def plugin_of(host: Host, contribution: object) -> str:
    """Return the name of the plugin that gave something; empty where nobody did."""
    source = host.source_of(contribution)
    return "" if source is None else source.plugin
