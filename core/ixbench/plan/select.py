"""`--only GLOB`: which points it means, and the part of a plan that they are, with its ids unchanged."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault, InputError
from ixbench.plan.totals import gpus_of, load_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.point import Plan


_MOST_TOLD = 40
"""Ids that fit a message."""


def matching(ids: Sequence[str], patterns: Sequence[str]) -> frozenset[str]:
    """Return the ids of points that match one of the patterns, as `fnmatch` has them; ids are lower case, patterns need not be.

    :raises InputError: for each pattern that matches no point.
    """
    allowed = ", ".join((*ids[:_MOST_TOLD], *(["..."] if len(ids) > _MOST_TOLD else [])))
    faults = [
        Fault(where=f"--only {pattern}", problem="matches no point", allowed=allowed)
        if pattern.strip()
        else Fault(where="--only", problem="the value is empty", allowed=allowed, advice="leave the flag out for all points")
        for pattern in patterns
        if not any(fnmatchcase(identifier, pattern.lower()) for identifier in ids)
    ]
    if faults:
        raise InputError(faults)
    return frozenset(identifier for identifier in ids if any(fnmatchcase(identifier, pattern.lower()) for pattern in patterns))


def select_points(plan: Plan, patterns: Sequence[str]) -> Plan:
    """Return the plan with only the points whose ids match one of the patterns, and their launches; without patterns the whole plan.

    :raises InputError: for each pattern that matches no point.
    """
    if not patterns:
        return plan
    chosen = matching([point.id for point in plan.points], patterns)
    points = tuple(point for point in plan.points if point.id in chosen)
    kept = [replace(launch, points=tuple(name for name in launch.points if name in chosen)) for launch in plan.launches]
    return replace(
        plan,
        points=points,
        launches=tuple(launch for launch in kept if launch.points),
        gpus=gpus_of(points),
        seconds=load_seconds(points),
    )
