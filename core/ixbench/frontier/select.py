"""Which curve wins a rung: the policy, who may compete, and how ties are broken. Curves are never blended into one another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ixbench.frontier.cost import usd_per_mtok
from ixbench.frontier.errors import FrontierError, checked_choice
from ixbench.frontier.rung import Knots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.curve import PlanePoint
    from ixbench.frontier.rung import Read
    from ixbench.model.run import Interpolation, RangePolicy, SelectionPolicy

POLICIES: tuple[SelectionPolicy, ...] = ("max_throughput", "min_cost", "priority")
SCOPES = ("all", "community")
COMMUNITY = ("vllm", "sglang")
"""An engine belongs to the community scope if its name contains one of these."""
PRIORITY = ((True, "fp4"), (True, "fp8"), (False, "fp4"), (False, "fp8"))
"""Buckets of the `priority` policy in order: (speculative, precision)."""
NO_SPECULATION = frozenset({"", "none", "off"})

SelectStatus = Literal["exact", "interpolated", "meets_slo", "below_range", "unreachable", "no_points", "no_curve"]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points that differ only in load or topology. Not slotted: the frontier is taken once and kept."""

    key: str
    engine: str
    precision: str | None
    speculative: bool
    """Whether any of its points used speculative decoding."""
    date: str
    """ISO date of the curve."""
    points: tuple[PlanePoint, ...]
    """(speed in tok/s/user, rate in tok/s/GPU)."""
    dates: tuple[str, ...] = ()
    """ISO date of each point; empty: all have the curve's."""
    usd_per_gpu_hour: float | None = None
    """None = no price is known."""

    @cached_property
    def knots(self) -> Knots:
        """The frontier, ready for reading.

        :raises FrontierError: bad_point.
        """
        return Knots.of(self.points)

    def newest(self, indices: Sequence[int]) -> str:
        """Return the newest date of the given points."""
        return max((self.dates[i] for i in indices), default=self.date) if self.dates else self.date


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Who won a rung."""

    status: SelectStatus
    """The read's status; below_range, unreachable or no_curve where no curve could be read."""
    curve: Curve | None = None
    read: Read | None = None
    usd_per_mtok: float | None = None
    """USD per million tokens of all kinds; None without a price."""
    slowest: float | None = None
    """Speed at which the competing frontiers begin; of a rung below the range, where those begin that it lies below."""
    fastest: float | None = None
    """Speed at which the competing frontiers end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    curve: Curve
    read: Read
    value: float
    usd: float | None


def is_speculative(method: str | None) -> bool:
    """Say whether a spec-decode method is one; "none", "off" and nothing are not."""
    return method is not None and method.strip().lower() not in NO_SPECULATION


def in_scope(engine: str, scope: str | Sequence[str]) -> bool:
    """Say whether an engine may compete: "all", "community" (its name contains vllm or sglang), or one of the engines listed.

    :raises FrontierError: bad_mode for any other text.
    """
    if not isinstance(scope, str):
        return engine in scope
    checked_choice(scope, SCOPES, "scope, nor a list of engines")
    return scope == "all" or any(name in engine.lower() for name in COMMUNITY)


def select(
    curves: Sequence[Curve],
    rung: float,
    *,
    policy: SelectionPolicy = "max_throughput",
    mode: Interpolation = "steffen",
    range_policy: RangePolicy = "in_range",
    scope: str | Sequence[str] = "all",
) -> Selection:
    """Read every curve in scope at the rung and return the winner.

    `max_throughput` takes the largest value, `min_cost` the smallest price of a million tokens; `priority` lets only fp4 and
    fp8 compete and takes the best of the first bucket that can be read, speculative before standard and fp4 before fp8, even
    if a later one is faster. Ties go to the larger value, then the newer evidence, the newer curve and the smaller key.

    :raises FrontierError: bad_point, bad_rung, bad_mode, bad_price; no_price where `min_cost` meets a readable curve without a
        price, or no curve has one.
    """
    checked_choice(policy, POLICIES, "selection policy")
    competing = [curve for curve in curves if in_scope(curve.engine, scope)]
    if policy == "min_cost" and competing and all(curve.usd_per_gpu_hour is None for curve in competing):
        raise FrontierError("no_price", "the policy min_cost needs a price per GPU-hour, and none is known")
    if policy == "priority":
        competing = [curve for curve in competing if _bucket(curve) is not None]
    reads = [(curve, curve.knots.read(rung, mode=mode, range_policy=range_policy)) for curve in competing]
    candidates = [_candidate(curve, read, read.value) for curve, read in reads if read.value is not None]
    if not candidates:
        statuses = {read.status for _, read in reads}
        status: SelectStatus = "below_range" if "below_range" in statuses else "unreachable" if "unreachable" in statuses else "no_curve"
        missed = [curve for curve, read in reads if read.status == status]
        return Selection(status=status, slowest=_slowest(missed), fastest=_fastest(competing))
    winner = _best(candidates, policy)
    return Selection(
        status=winner.read.status,
        curve=winner.curve,
        read=winner.read,
        usd_per_mtok=winner.usd,
        slowest=_slowest(competing),
        fastest=_fastest(competing),
    )


def _slowest(curves: Sequence[Curve]) -> float | None:
    return min((curve.knots.x[0] for curve in curves if curve.knots.x), default=None)


def _fastest(curves: Sequence[Curve]) -> float | None:
    return max((curve.knots.x[-1] for curve in curves if curve.knots.x), default=None)


def _candidate(curve: Curve, read: Read, value: float) -> _Candidate:
    usd = None if curve.usd_per_gpu_hour is None else usd_per_mtok(curve.usd_per_gpu_hour, value)
    return _Candidate(curve=curve, read=read, value=value, usd=usd)


def _best(candidates: list[_Candidate], policy: SelectionPolicy) -> _Candidate:
    """Return the winner; the sorts are stable, so the last criterion is applied first."""
    ranked = sorted(candidates, key=lambda c: c.curve.key)
    ranked.sort(key=lambda c: (c.value, c.curve.newest(c.read.evidence), c.curve.date), reverse=True)
    if policy == "min_cost":
        ranked.sort(key=_usd)
    elif policy == "priority":
        ranked.sort(key=lambda c: _bucket(c.curve) or 0)
    return ranked[0]


def _usd(candidate: _Candidate) -> float:
    if candidate.usd is None:
        raise FrontierError(
            "no_price", f"the policy min_cost needs a price per GPU-hour for every curve, and {candidate.curve.key} has none"
        )
    return candidate.usd


def _bucket(curve: Curve) -> int | None:
    """Return the curve's place in the `priority` order, or None if it doesn't compete."""
    kind = (curve.speculative, (curve.precision or "").lower())
    return PRIORITY.index(kind) if kind in PRIORITY else None
