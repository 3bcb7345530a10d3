"""Whether the launch behind a point answers questions as it should: a build that computes garbage may be very fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import Check, Reason, short_share

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics


def _accuracy_failed(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    """Judge by the campaign's own share: it is part of the gate, and no limit of a rule."""
    del metrics, limit
    if measurement.accuracy_gate is None:
        return None
    result = measurement.accuracy
    if result is None:
        text = "the accuracy gate that the campaign asks for did not run: there is no result of this launch"
        return Reason(code="accuracy_failed", value=None, limit=None, text=text)
    if result.share is None:
        text = f"the accuracy gate did not run: {result.lacking}"
        return Reason(code="accuracy_failed", value=None, limit=result.required, text=text)
    if result.passed:
        return None
    without = sum(result.failed.values())
    parts = [
        f"{result.right} of {result.asked} answers are right ({short_share(result.share)}), wanted: {short_share(result.required)}",
        f"{without} without an answer ({', '.join(f'{kind} {count}' for kind, count in result.failed.items())})" if without else "",
        f"{result.cut} cut off by max_tokens" if result.cut else "",
    ]
    return Reason(code="accuracy_failed", value=result.share, limit=result.required, text="; ".join(filter(None, parts)))


ACCURACY: tuple[Check, ...] = (
    Check(
        code="accuracy_failed",
        limit=None,
        explain="Where the campaign has an accuracy gate (`[accuracy]`), the launch must have answered enough of its questions right; a "
        "gate that failed, or did not run, makes all points of the launch invalid.",
        advice="Read answers.jsonl of the launch, or `ixbench show RUN POINT`: garbage means a broken build (a kernel flag that lacks its "
        "counterpart, wrong scales of quantised weights), answers that are cut off want a larger `accuracy.max_tokens`, and right ones "
        "that are judged wrong want another `accuracy.match`. Never lower `accuracy.at_least` to save a point.",
        decide=_accuracy_failed,
    ),
)
