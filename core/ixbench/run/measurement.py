"""From the records of a point to the measurement that its metrics are computed from: one way for measured and simulated points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ixbench.measure.definition import Measurement, in_order_of_send
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.host.contracts.workload import Workload, WorkloadIdentity
    from ixbench.model.point import Point
    from ixbench.model.price import Sku
    from ixbench.model.record import RequestRecord
    from ixbench.replay.execute import ExecutionReport


def assemble_measurement(
    point: Point,
    workload: Workload[Any],
    corpus: WorkloadIdentity,
    report: ExecutionReport,
    records: Iterable[RequestRecord],
    *,
    sku: Sku | None,
    goodput: Mapping[str, float],
    **observed: Any,  # noqa: ANN401 - handed on
) -> Measurement:
    """Return the measurement of a point whose replay has ended.

    :param corpus: what the workload says of what was replayed.
    :param records: of all phases, in any order.
    :param sku: the hardware under test, where a book has it.
    :param goodput: the `[goodput]` table.
    :param observed: further fields of `Measurement`, which only a real engine and a real client have.
    """
    profile = report.phase("profile")
    return Measurement(
        records=in_order_of_send(records),
        load=point.load,
        gpus=point.deployment.hardware.gpus,
        agentic=workload.agentic,
        start_ns=profile.start_ns if profile else None,
        end_ns=profile.end_ns if profile else None,
        unfinished=profile.unfinished if profile else (),
        goodput=goodput,
        least_s=workload.least_s(point.workload_options),
        output_mean=corpus.output_tokens,
        all_in_kw=None if sku is None else sku.all_in_kw,
        **observed,
    )


def lag_p99_s(records: Iterable[RequestRecord]) -> float | None:
    """Return the p99 of how late the client was while each request of the profile phase was in flight; None without any."""
    lags = np.fromiter((record.lag_ns for record in records if record.phase == "profile"), dtype=np.int64)
    return float(np.percentile(lags, 99)) / NS_PER_S if len(lags) else None
