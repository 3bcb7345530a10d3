"""Which curve wins a rung: the policy, who may compete, and how ties are broken. Curves are never blended into one another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ixbench.frontier.cost import usd_per_mtok
from ixbench.frontier.errors import FrontierError, checked_choice
from ixbench.frontier.repeats import read_repeats
from ixbench.frontier.rung import Knots, Read
from ixbench.frontier.student import FEWEST, compare
from ixbench.model.launch import UNTOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.curve import PlanePoint
    from ixbench.frontier.repeats import Repeats
    from ixbench.frontier.student import Difference
    from ixbench.model.run import Interpolation, RangePolicy, SelectionPolicy

POLICIES: tuple[SelectionPolicy, ...] = ("max_throughput", "min_cost", "priority")
SCOPES = ("all", "community")
COMMUNITY = ("vllm", "sglang")
"""An engine belongs to the community scope if its name contains one of these."""
PRIORITY = ((True, "fp4"), (True, "fp8"), (False, "fp4"), (False, "fp8"))
"""Buckets of the `priority` policy in order: (speculative, precision)."""
NO_SPECULATION = frozenset({"", "none", "off", UNTOLD})
"""Spec-decode methods that are none. What nobody told competes as none."""

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
    repeats: tuple[tuple[int, ...], ...] = ()
    """Positions of the points of each repeat, one without usable points included; empty: every point was measured once."""

    @cached_property
    def frontiers(self) -> tuple[Knots, ...]:
        """The frontier of each repeat, ready for reading; never one of several repeats together.

        :raises FrontierError: bad_point.
        """
        if not self.repeats:
            return (Knots.of(self.points),)
        found = []
        for members in self.repeats:
            knots = Knots.of([self.points[i] for i in members])
            found.append(replace(knots, index=tuple(members[i] for i in knots.index)))
        return tuple(found)

    @property
    def slowest(self) -> float | None:
        """Speed from which on the frontiers of all repeats can be read; None without points."""
        return max((knots.x[0] for knots in self.frontiers if knots.x), default=None)

    @property
    def fastest(self) -> float | None:
        """Speed up to which they can."""
        return min((knots.x[-1] for knots in self.frontiers if knots.x), default=None)

    def newest(self, indices: Sequence[int]) -> str:
        """Return the newest date of the given points."""
        return max((self.dates[i] for i in indices), default=self.date) if self.dates else self.date


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """The curve that would have won without the winner."""

    curve: Curve
    read: Read
    usd_per_mtok: float | None
    repeats: Repeats
    difference: Difference | None
    """Winner less runner-up in what the policy compares: rates, or costs under `min_cost`; None where one has a single run."""


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
    repeats: Repeats | None = None
    """What each repeat of the winner says."""
    runner_up: RunnerUp | None = None
    """Of the curves that compete on equal terms with the winner; None where there is no other."""
    partly: tuple[tuple[Curve, Repeats], ...] = ()
    """Curves that some of their repeats bring to the rung and others don't: they have no mean there and don't compete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    curve: Curve
    repeats: Repeats
    read: Read
    value: float
    usd: float | None


def is_speculative(method: str | None) -> bool:
    """Say whether a spec-decode method is one; "none", "off", "unknown" and nothing are not."""
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

    A curve with repeats is read once for each, and the mean of the reads competes, if every repeat reaches the rung.
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
    reads = [(curve, read_repeats(curve.frontiers, rung, mode=mode, range_policy=range_policy)) for curve in competing]
    partly = tuple((curve, repeats) for curve, repeats in reads if 0 < repeats.reached < repeats.runs)
    candidates = [_candidate(curve, repeats, repeats.mean) for curve, repeats in reads if repeats.mean is not None]
    if not candidates:
        statuses = {repeats.status for _, repeats in reads}
        status: SelectStatus = "below_range" if "below_range" in statuses else "unreachable" if "unreachable" in statuses else "no_curve"
        missed = [curve for curve, repeats in reads if repeats.status == status]
        return Selection(status=status, slowest=_slowest(missed), fastest=_fastest(competing), partly=partly)
    winner, *others = _ranked(candidates, policy)
    return Selection(
        status=winner.read.status,
        curve=winner.curve,
        read=winner.read,
        usd_per_mtok=winner.usd,
        slowest=_slowest(competing),
        fastest=_fastest(competing),
        repeats=winner.repeats,
        runner_up=_runner_up(winner, others[0], policy) if others else None,
        partly=partly,
    )


def _slowest(curves: Sequence[Curve]) -> float | None:
    return min((curve.slowest for curve in curves if curve.slowest is not None), default=None)


def _fastest(curves: Sequence[Curve]) -> float | None:
    return max((curve.fastest for curve in curves if curve.fastest is not None), default=None)


def _candidate(curve: Curve, repeats: Repeats, value: float) -> _Candidate:
    usd = None if curve.usd_per_gpu_hour is None else usd_per_mtok(curve.usd_per_gpu_hour, value)
    return _Candidate(curve=curve, repeats=repeats, read=_one_read(repeats, value), value=value, usd=usd)


def _one_read(repeats: Repeats, value: float) -> Read:
    """Return the reads of all repeats as one: their mean, resting on the points of all."""
    if repeats.runs == 1:
        return repeats.reads[0]
    return Read(
        status=repeats.status,
        value=value,
        # What is promised holds for each repeat.
        at_x=min((read.at_x for read in repeats.reads if read.at_x is not None), default=None),
        evidence=tuple(i for read in repeats.reads for i in read.evidence),
        two_knots=any(read.two_knots for read in repeats.reads),
    )


def _runner_up(winner: _Candidate, other: _Candidate, policy: SelectionPolicy) -> RunnerUp | None:
    if policy == "priority" and _bucket(winner.curve) != _bucket(other.curve):
        return None
    one, two = _compared(winner, policy), _compared(other, policy)
    return RunnerUp(
        curve=other.curve,
        read=other.read,
        usd_per_mtok=other.usd,
        repeats=other.repeats,
        difference=compare(one, two) if min(len(one), len(two)) >= FEWEST else None,
    )


def _compared(candidate: _Candidate, policy: SelectionPolicy) -> tuple[float, ...]:
    """Return what each repeat says in the quantity by which the policy chooses."""
    price = candidate.curve.usd_per_gpu_hour
    if policy == "min_cost" and price is not None:
        return tuple(usd_per_mtok(price, value) for value in candidate.repeats.values)
    return candidate.repeats.values


def _ranked(candidates: list[_Candidate], policy: SelectionPolicy) -> list[_Candidate]:
    """Return the candidates, the winner first; the sorts are stable, so the last criterion is applied first."""
    ranked = sorted(candidates, key=lambda c: c.curve.key)
    ranked.sort(key=lambda c: (c.value, c.curve.newest(c.read.evidence), c.curve.date), reverse=True)
    if policy == "min_cost":
        ranked.sort(key=_usd)
    elif policy == "priority":
        ranked.sort(key=lambda c: _bucket(c.curve) or 0)
    return ranked


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
