"""Whether the engine's own log says that its numbers are not what they seem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import Check, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.measure import LogFinding, Measurement, Metrics

BUILDS = frozenset({"jit-in-measured-window", "graph-capture-in-window", "compile-in-window"})
"""Signatures of work that belongs before the measurement."""
_SHOWN = 3


def _jit_in_window(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    found = [finding for finding in measurement.log_findings if finding.id in BUILDS and finding.kind == "invalidates"]
    lines = len({finding.line for finding in found})
    what = f"the engine built kernels or captured graphs while it was measured ({_lines(found)}); {_advice(found)}"
    return _reason("jit_in_window", lines, limit, what)


def _log_invalidates(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    found = [finding for finding in measurement.log_findings if finding.kind == "invalidates" and finding.id not in BUILDS]
    kinds = {finding.id: finding for finding in reversed(found)}
    parts = [f"{finding.cause.removesuffix('.')} ({_lines([one for one in found if one.id == name])})" for name, finding in kinds.items()]
    return _reason("log_invalidates", len(kinds), limit, f"the engine's log says: {'; '.join(parts)}; {_advice(found)}")


def _reason(code: str, count: int, limit: float | None, text: str) -> Reason | None:
    """Return a reason; what the user allows by [limits] is still said."""
    if not count:
        return None
    allowed = limit is not None and count <= limit
    return Reason(code=code, value=count, limit=limit, text=text, severity="warning" if allowed else "invalid")


def _lines(found: Sequence[LogFinding]) -> str:
    shown = "; ".join(f"line {finding.line}: {finding.text}" for finding in found[:_SHOWN])
    return shown if len(found) <= _SHOWN else f"{shown}; and {len(found) - _SHOWN} more"


def _advice(found: Sequence[LogFinding]) -> str:
    return " ".join(dict.fromkeys(finding.fix for finding in found)).removesuffix(".")


LOG: tuple[Check, ...] = (
    Check(
        code="jit_in_window",
        limit=0,
        explain="No kernel may be built and no graph captured while a point is measured (limit: such lines in the engine's log): "
        "what waited for it was slow for a reason that is gone the next time.",
        advice="Warm up longer (`workload.warmup`), or let the engine build its kernels and capture its graphs at the start, for all "
        "batch sizes of this load.",
        decide=_jit_in_window,
    ),
    Check(
        code="log_invalidates",
        limit=0,
        explain="The engine's log, from its start to the end of the point, must hold no line that is known to make results invalid, for "
        "instance kernels without tuning (limit: how many different signatures to accept, which then only mark the point).",
        advice="The text names the line and its remedy. Allow it only if you know the line to be harmless here; it then marks the point.",
        decide=_log_invalidates,
    ),
)
