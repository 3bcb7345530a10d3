"""`report --recompute`: derives the numbers again from the raw records, with the metrics and checks that are installed now."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ixbench.host.notes import metric_notes, missing_notes
from ixbench.measure.interval import intervals_of
from ixbench.measure.point import accounting, axis_of, measure
from ixbench.measure.replicas import mean_metrics
from ixbench.measure.verdict import judge
from ixbench.model.errors import describe
from ixbench.report.foreign import with_told
from ixbench.store.measurement import FACTS, rebuild

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.host.host import Host
    from ixbench.measure.definition import Metric
    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView
    from ixbench.store.folder import RunReader


def recompute(view: RunView, reader: RunReader, host: Host, note: Callable[[str], None]) -> RunView:
    """Return the view with metrics, accounting, verdict and axis of every point derived again; nothing on disk changes.

    :param note: told of each point that keeps its sealed reading because it was sealed without records, and of each metric that fails.
    :raises InputError: if the records of a point are broken.
    """
    limits = reader.header().limits

    def again(point: PointResult) -> PointResult:
        if FACTS not in point.provenance:
            note(f"point {point.id}: keeps its sealed reading, there are no records to compute from")
            return point

        def failed(metric: Metric, error: Exception) -> None:
            note(f"point {point.id}: {host.source_of(metric)}: metric {metric.name}: {describe(error)}")

        if point.evidence == "simulated" and (replicas := reader.replicas(point.id)):
            # The records are those of one replica; the point is the mean of all.
            metrics = mean_metrics([replica.metrics for replica in replicas])
            return replace(point, metrics=metrics, axis=axis_of(metrics, view.report.axis))
        measurement = rebuild(point, reader.records(point.id), partial(reader.samples, point.id))
        metrics = measure(measurement, host.metrics(), failed=failed)
        if point.origin == "imported":
            metrics = with_told(metrics, point.metrics)
        return replace(
            point,
            metrics=metrics,
            verdict=judge(measurement, metrics, host.rules(), limits),
            accounting=accounting(measurement),
            axis=axis_of(metrics, view.report.axis),
            energy=measurement.energy,
            intervals=intervals_of(measurement, point.id),
        )

    # What was missing when it was measured is missing still: the samples of a collector cannot be had again.
    notes = tuple(dict.fromkeys((*view.notes, *missing_notes(host))))
    return replace(view, points=tuple(again(point) for point in view.points), metrics=metric_notes(host), notes=notes)
