"""Which requests were good in the user's eyes, by the limits of `[goodput]`; and percentiles that count failures as endless."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.measure import Measurement, MetricValue


def _goodput(measurement: Measurement) -> float | None:
    span, good = measure.span_s(measurement), measure.good_requests(measurement)
    return good / span if good is not None and span else None


def _attainment(measurement: Measurement) -> float | None:
    good, requests = measure.good_requests(measurement), len(measurement.profile)
    return good / requests if good is not None and requests else None


def _penalised(column: str) -> Callable[[Measurement], dict[str, MetricValue] | None]:
    """Return the summary of a column with an infinite time for each failure."""

    def compute(measurement: Measurement) -> dict[str, MetricValue] | None:
        failed = sum(not record.ok and not record.cancelled for record in measurement.profile)
        return measure.summarise([*getattr(measurement.times, column).tolist(), *[math.inf] * failed])

    return compute


def _penalised_metric(name: str, what: str, column: str, *, needs: tuple[str, ...]) -> Metric:
    return Metric(
        name=name,
        unit="s",
        better="lower",
        definition=f"{what} with every failed request counted as one that never ends, so that failing cannot look fast. A part is null "
        "where it touches such a request: more failed than that percentile leaves room for.",
        compute=_penalised(column),
        needs=needs,
        source="ixbench",
    )


GOODPUT: tuple[Metric, ...] = (
    Metric(
        name="goodput_req_s",
        unit="1/s",
        better="higher",
        definition="Requests that succeeded and met every limit of [goodput] / span. Null without limits.",
        compute=_goodput,
        needs=("chunks", "goodput"),
        source="DistServe; `vllm bench serve --goodput`, which divides by the wall time of the whole run",
    ),
    Metric(
        name="attainment_share",
        unit="share",
        better="higher",
        definition="Requests that succeeded and met every limit of [goodput] / all requests of the measured phase. Null without limits.",
        compute=_attainment,
        needs=("chunks", "goodput"),
        source="DistServe (SLO attainment)",
    ),
    _penalised_metric("ttft_penalised_s", "TTFT", "ttft", needs=("chunks",)),
    _penalised_metric("tpot_penalised_s", "TPOT", "tpot", needs=("chunks", "usage")),
    _penalised_metric("e2el_penalised_s", "End-to-end latency", "e2el", needs=("chunks",)),
)
