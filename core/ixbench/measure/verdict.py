"""Whether a point's numbers may be used: every rule is asked, every reason is kept, and the worst of them decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.errors import IxbenchError, describe
from ixbench.model.result import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.measure.definition import Check, Measurement
    from ixbench.model.result import Metrics


def judge(measurement: Measurement, metrics: Metrics, checks: Iterable[Check], limits: Mapping[str, float]) -> Verdict:
    """Return the verdict: invalid if a reason says so, valid with warnings if there are only warnings, else valid.

    :param limits: the user's `[limits]` by code; others keep their defaults.
    """
    reasons = tuple(reason for check in checks if (reason := _ask(check, measurement, metrics, limits)) is not None)
    if any(reason.severity == "invalid" for reason in reasons):
        return Verdict(status="invalid", reasons=reasons)
    return Verdict(status="valid_with_warnings" if reasons else "valid", reasons=reasons)


def _ask(check: Check, measurement: Measurement, metrics: Metrics, limits: Mapping[str, float]) -> Reason | None:
    """Return what a check says; one that raises costs a warning, not the point, whose numbers do not depend on it."""
    limit = check.limit_for(measurement, limits)
    try:
        return check.decide(measurement, metrics, limit)
    except IxbenchError:
        raise
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        text = f"the check {check.code} could not decide: {describe(error)}"
        return Reason(code=check.code, value=None, limit=limit, text=text, severity="warning")
