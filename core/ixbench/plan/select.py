"""`--only GLOB`: a part of a plan, with its ids unchanged."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault, InputError
from ixbench.plan.totals import gpus_of, seconds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.point import Plan


def select_points(plan: Plan, patterns: Sequence[str]) -> Plan:
    """Return the plan with only the points whose ids match one of the patterns, and their launches; without patterns the whole plan.

    :raises InputError: for each pattern that matches no point.
    """
    if not patterns:
        return plan
    ids = [point.id for point in plan.points]
    faults = [
        Fault(where=f"--only {pattern}", problem="matches no point", allowed=", ".join(ids))
        if pattern.strip()
        else Fault(where="--only", problem="the value is empty", allowed=", ".join(ids), advice="leave the flag out for all points")
        for pattern in patterns
        if not any(fnmatchcase(identifier, pattern.lower()) for identifier in ids)
    ]
    if faults:
        raise InputError(faults)
    chosen = {identifier for identifier in ids for pattern in patterns if fnmatchcase(identifier, pattern.lower())}
    points = tuple(point for point in plan.points if point.id in chosen)
    kept = [replace(launch, points=tuple(name for name in launch.points if name in chosen)) for launch in plan.launches]
    return replace(
        plan,
        points=points,
        launches=tuple(launch for launch in kept if launch.points),
        gpus=gpus_of(points),
        seconds=seconds_of(points),
    )
