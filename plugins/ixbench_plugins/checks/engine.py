"""Whether the engine lived through the point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import Check, Reason

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics


def _engine_died(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics, limit
    failure = measurement.engine_failure
    if failure is None:
        return None
    return Reason(code="engine_died", value=None, limit=None, text=f"the engine was lost while the point ran: {failure.cause}")


ENGINE: tuple[Check, ...] = (
    Check(
        code="engine_died",
        limit=None,
        explain="Process and health of the engine must last through the point, even if no request failed for it.",
        advice="`failure` names the cause and what to do; `ixbench diagnose` reads the engine's log. The next point had a fresh start.",
        decide=_engine_died,
    ),
)
