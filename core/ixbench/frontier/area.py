"""The area under two frontiers, over the speeds that both reach: one number for all speeds, which no choice of rungs can favour."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.frontier.difference import RateDifference, difference_of
from ixbench.frontier.side import SureRead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.frontier.side import LadderSide

_PARTS = 4
"""Pieces between two knots: curves of one ladder may cross there."""
_NODE = 1 / math.sqrt(3)
"""Gauss's two places in (-1, 1), which integrate a cubic exactly and never touch an end, where a step jumps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaDifference:
    """The integral of tok/s/GPU over tok/s/user of both sides, over the speeds that both reach, and their repeats and replicas too."""

    from_tok_s_user: float
    """Lowest speed that both reach, in tok/s/user."""
    to_tok_s_user: float
    """Highest speed that both reach, in tok/s/user."""
    covered_tok_s_user: float
    """How many tok/s/user they are in all: less than from one to the other where a ladder has a gap."""
    a_area: float
    """Integral of A's rate over these speeds, in tok/s/GPU x tok/s/user."""
    b_area: float
    """Integral of B's rate over them, in the same unit."""
    a_mean_tok_s_gpu: float
    """A's area over the speeds covered: its mean rate in tok/s/GPU."""
    b_mean_tok_s_gpu: float
    """B's area over the speeds covered: its mean rate in tok/s/GPU."""
    difference: RateDifference
    """By how much B's area differs from A's."""


def area_difference(a: LadderSide, b: LadderSide) -> AreaDifference | None:
    """Return the areas under both ladders and how they differ; None where no speed is reached by both."""
    low = high = covered = 0.0
    areas = [0.0, 0.0]
    draws: list[list[float] | None] = [None, None]
    for start, end in _pieces(a, b):
        half = (end - start) / 2
        nodes = [_both(a, b, start + half * (1 + sign * _NODE)) for sign in (-1, 1)]
        if any(node is None for node in nodes):
            continue
        low, high, covered = (start if not covered else low), end, covered + (end - start)
        for node in nodes:
            for side, read in enumerate(node or ()):
                areas[side] += half * read.value
                draws[side] = _add(draws[side], read.draws, half)
    if not covered:
        return None
    sure = [SureRead(value=area, draws=tuple(found or ()), kind=side.kind) for area, found, side in zip(areas, draws, (a, b), strict=True)]
    return AreaDifference(
        from_tok_s_user=low,
        to_tok_s_user=high,
        covered_tok_s_user=covered,
        a_area=areas[0],
        b_area=areas[1],
        a_mean_tok_s_gpu=areas[0] / covered,
        b_mean_tok_s_gpu=areas[1] / covered,
        difference=difference_of(*sure),
    )


def _pieces(a: LadderSide, b: LadderSide) -> Iterator[tuple[float, float]]:
    for start, end in pairwise(sorted({*a.breaks, *b.breaks})):
        width = (end - start) / _PARTS
        yield from ((start + width * part, start + width * (part + 1)) for part in range(_PARTS))


def _both(a: LadderSide, b: LadderSide, target: float) -> tuple[SureRead, SureRead] | None:
    """Return what both say at a speed; None where one says nothing, or some of its draws do not."""
    one, two = a.at(target), b.at(target)
    if one is None or two is None or (a.kind and not one.draws) or (b.kind and not two.draws):
        return None
    return one, two


def _add(total: list[float] | None, values: tuple[float, ...], weight: float) -> list[float] | None:
    """Return the sums with those of one more place; empty for good where places have different numbers of draws."""
    if total is None:
        return [weight * value for value in values]
    return [one + weight * value for one, value in zip(total, values, strict=True)] if len(total) == len(values) else []
