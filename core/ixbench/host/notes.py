"""What stands in run.json and in reports about plugins: what the metrics of each mean, and which could not be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.run import MetricNote

if TYPE_CHECKING:
    from ixbench.host.host import Host
    from ixbench.host.source import PluginFailure


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


def missing_notes(host: Host) -> tuple[str, ...]:
    """Return a note on each plugin that could not be loaded: nobody knows what is missing without it."""
    return tuple(map(missing_note, host.not_loaded))


def missing_note(failed: PluginFailure) -> str:
    """Return one of `Host.not_loaded` as a sentence for whoever measures or reads results, without a full stop."""
    if failed.hook is None:
        return f"{failed.source} could not be loaded: {failed.text}; whatever it gives, verdict rules included, is missing"
    return f"{failed.source}: {failed.hook} is not called: {failed.text}; whatever it gives is missing"
