"""What point.json must keep beside the records so that the metrics can be computed again: the window and what is known of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ixbench.measure.definition import Measurement, in_order_of_send
from ixbench.model.engine_metrics import CacheReset, EngineWindow  # noqa: TC001 - msgspec resolves the annotations below
from ixbench.model.errors import Fault, InputError
from ixbench.model.point import Load
from ixbench.model.result import Failure  # noqa: TC001 - as above
from ixbench.model.signature import LogFinding  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ixbench.model.record import RequestRecord
    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView
    from ixbench.model.sample import Sample

FACTS = "measurement"
"""The key in `provenance`."""


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    on_host: bool
    start_ns: int | None
    end_ns: int | None
    output_mean: int | None = None
    least_s: float | None = None
    engine_failure: Failure | None = None
    engine_window: EngineWindow | None = None
    questions: int = 0
    question_input: int | None = None
    log_findings: tuple[LogFinding, ...] = ()
    server_changes: tuple[str, ...] = ()
    clock_drift_s: float | None = None
    cache_reset: CacheReset | None = None
    goodput: dict[str, float] = {}
    unfinished: tuple[str, ...] = ()
    prompts_repeat: bool = False
    profiled: bool = False
    acceptance_configured: float | None = None
    acceptance_reported: float | None = None
    all_in_kw: float | None = None


def facts(measurement: Measurement) -> dict[str, object]:
    """Return what neither the records nor the rest of point.json tell."""
    return {name: getattr(measurement, name) for name in _Facts.__struct_fields__}


def rebuild(
    result: PointResult, records: tuple[RequestRecord, ...], read_samples: Callable[[Collection[str]], Iterable[Sample]] | None = None
) -> Measurement:
    """Return the measurement that a sealed point was computed from.

    :param records: in any order.
    :param read_samples: returns the samples of the point with one of these names.
    :raises InputError: if the point was sealed without one, for instance because its engine never started.
    """
    try:
        known = msgspec.convert(result.provenance.get(FACTS), type=_Facts)
    except msgspec.ValidationError as error:
        raise InputError(
            Fault(where=f"point {result.id}", problem=f"its provenance holds no measurement to compute from: {error}")
        ) from error
    identity = result.identity
    return Measurement(
        records=in_order_of_send(records),
        load=Load(concurrency=identity.concurrency, rate=identity.rate),
        gpus=identity.gpus,
        agentic=identity.agentic,
        lag_p99_s=result.client.lag_s if result.client else None,
        client_cpu_s=result.client.cpu_s if result.client else None,
        client_wait_s=result.client.wait_s if result.client else None,
        clock=result.client.clock if result.client else None,
        read_samples=read_samples,
        accuracy_gate=identity.accuracy,
        accuracy=result.accuracy,
        **{name: getattr(known, name) for name in _Facts.__struct_fields__},
    )


def measurement_of(run: RunView, point: PointResult) -> Measurement | None:
    """Return the measurement of a point of a run; None where no records are kept, as of a point whose engine never answered.

    :raises InputError: if the records are broken.
    """
    if run.read_records is None or FACTS not in point.provenance:
        return None
    return rebuild(point, run.read_records(point.id))
