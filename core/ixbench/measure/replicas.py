"""One point from several replicas of it: the geometric mean of every metric, and how far the replicas lie apart."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ixbench.model.result import Accounting, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ixbench.model.result import Metrics, MetricValue, Reason


def mean_metrics(replicas: Sequence[Metrics]) -> Metrics:
    """Return the metrics of a point: for each number the geometric mean over the replicas.

    So a mean time and the mean of its reciprocal agree, and points are averaged before any frontier is read: averaging reads instead would
    keep the lucky ones. A number that some replica does not have is None; one that is zero or negative somewhere gets the arithmetic mean.
    """
    first = replicas[0]
    return {name: _mean_of([metrics.get(name) for metrics in replicas]) for name in first}


def _mean_of(values: Sequence[MetricValue | dict[str, MetricValue]]) -> MetricValue | dict[str, MetricValue]:
    tables = [value for value in values if isinstance(value, dict)]
    if tables:
        if len(tables) < len(values):
            return None
        return {part: mean([table.get(part) for table in tables]) for part in tables[0]}
    return mean([value for value in values if not isinstance(value, dict)])


def mean(values: Sequence[MetricValue]) -> MetricValue:
    """Return the geometric mean of positive numbers, the arithmetic mean where one is not positive, None where one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    if len(set(known)) == 1:
        return known[0]
    if min(known) <= 0:
        return math.fsum(known) / len(known)
    return math.exp(math.fsum(math.log(value) for value in known) / len(known))


def spread(replicas: Sequence[Metrics]) -> dict[str, float | dict[str, float]]:
    """Return the standard deviation of each number's natural logarithm: 0.1 says that replicas lie about 10 % apart.

    Left out are numbers that are missing or not positive in some replica; empty for one replica.
    """
    found: dict[str, float | dict[str, float]] = {}
    if len(replicas) < 2:  # noqa: PLR2004 - one value has no spread
        return found
    for name, value in replicas[0].items():
        if isinstance(value, dict):
            parts = {part: deviation for part in value if (deviation := _deviation(_parts(replicas, name, part))) is not None}
            if parts:
                found[name] = parts
        elif (deviation := _deviation([metrics.get(name) for metrics in replicas])) is not None:
            found[name] = deviation
    return found


def _parts(replicas: Sequence[Metrics], name: str, part: str) -> list[object]:
    tables = [metrics.get(name) for metrics in replicas]
    return [table.get(part) if isinstance(table, dict) else None for table in tables]


def _deviation(values: Sequence[object]) -> float | None:
    logs = [math.log(value) for value in values if isinstance(value, int | float) and value > 0]
    if len(logs) < len(values):
        return None
    middle = math.fsum(logs) / len(logs)
    return math.sqrt(math.fsum((log - middle) ** 2 for log in logs) / (len(logs) - 1))


def sum_accounting(replicas: Sequence[Accounting]) -> Accounting:
    """Return the requests of all replicas by outcome."""
    failed: Counter[str] = Counter()
    for one in replicas:
        failed.update(one.failed)
    return Accounting(
        requests=sum(one.requests for one in replicas),
        ok=sum(one.ok for one in replicas),
        failed=dict(failed),
        cancelled=sum(one.cancelled for one in replicas),
        warmup=sum(one.warmup for one in replicas),
        resent=sum(one.resent for one in replicas),
        empty_answers=sum(one.empty_answers for one in replicas),
        context_overflow=sum(one.context_overflow for one in replicas),
    )


def worst_verdict(replicas: Sequence[Verdict]) -> Verdict:
    """Return the worst verdict of any replica, with the first reason of each code and severity, and how many replicas have it."""
    seen: dict[tuple[str, str], list[Reason]] = {}
    for verdict in replicas:
        for reason in verdict.reasons:
            seen.setdefault((reason.code, reason.severity), []).append(reason)
    reasons = tuple(_counted(found, len(replicas)) for found in seen.values())
    order: Mapping[str, int] = {"valid": 0, "valid_with_warnings": 1, "invalid": 2}
    return Verdict(status=max((verdict.status for verdict in replicas), key=order.__getitem__), reasons=reasons)


def _counted(reasons: Sequence[Reason], replicas: int) -> Reason:
    first = reasons[0]
    return replace(first, text=f"{first.text} (in {len(reasons)} of {replicas} replicas)") if replicas > 1 else first
