"""How exact the stamps are that all latencies rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import Metric

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement


def _bundled_share(measurement: Measurement) -> float | None:
    chunks = int(measurement.times.chunks.sum())
    return sum(record.bundled for record in measurement.successes) / chunks if chunks else None


def _ttft_bound_share(measurement: Measurement) -> float | None:
    records = [record for record in measurement.successes if len(record.chunks)]
    return sum(record.ttft_upper_bound for record in records) / len(records) if records else None


WIRE: tuple[Metric, ...] = (
    Metric(
        name="bundled_share",
        unit="share",
        better="lower",
        definition="Chunks with output whose stamp is an upper bound, since more bytes came in the same read / all chunks with output.",
        compute=_bundled_share,
        needs=("chunks",),
    ),
    Metric(
        name="ttft_bound_share",
        unit="share",
        better="lower",
        definition="Successes whose TTFT is an upper bound, since more bytes came in the read that brought their first output / successes.",
        compute=_ttft_bound_share,
        needs=("chunks",),
    ),
)
