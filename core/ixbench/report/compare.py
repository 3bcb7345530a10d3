"""The comparison of two runs: whether they may be compared, how their ladders and curves differ, and which settings do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from ixbench.frontier.comparable import comparison_mismatches, same_prices
from ixbench.frontier.comparison import LadderComparison, compare_ladders
from ixbench.frontier.curves import curve_key
from ixbench.frontier.ladder import build_ladder
from ixbench.frontier.notes import FAR_APART_DAYS
from ixbench.model.errors import Fault, InputError
from ixbench.model.result import Evidence, Origin  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema of compare.json
from ixbench.model.run import Interpolation, RangePolicy, SelectionPolicy  # noqa: TC001 - as above
from ixbench.report.changes import SettingChange, changed_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.frontier.curves import LadderCurve
    from ixbench.frontier.ladder_values import Ladder
    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """One of the two that are compared."""

    id: str
    """The run, with what of it was chosen."""
    title: str
    """Title of its campaign."""
    dates: tuple[str, ...]
    """ISO dates of its points, rising."""
    evidence: Evidence
    """"simulated" as soon as one point is."""
    origins: tuple[Origin, ...]
    """Whether ixbench ran its points, or they were imported from another tool's file."""
    engines: tuple[str, ...]
    """Names of the engines' adapters."""
    configs: int
    """Number of operating points that count, repeats not counted."""
    repeats: int
    """How often each of them was to be measured."""
    replicas: int | None
    """Of simulated points: the fewest replicas that one is the mean of; null where none is."""
    not_counted: int
    """Number of points that are invalid, failed or not finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What compare.json holds. Shares are of A: a rate of B that is 5 % higher differs by 0.05."""

    a: ComparedSide
    """The run that is compared with."""
    b: ComparedSide
    """The run that is compared."""
    mismatches: tuple[str, ...]
    """Why the two should not have been compared; let pass on demand. Empty on an honest comparison."""
    axis: str
    """Percentile of TPOT behind the speed axis: a speed is 1 / that percentile of the time per output token."""
    interpolation: Interpolation
    """How a rung between two points is read."""
    range: RangePolicy
    """Whether a rung slower than the slowest point of the frontier is left open ("in_range") or met by that point ("min_slo")."""
    policy: SelectionPolicy
    """Which curve answers for a rung."""
    scope: str | tuple[str, ...]
    """Engines whose curves compete: "all", "community" or names of adapters."""
    primary: float
    """The rung of the headline in tok/s/user."""
    tier: str | None
    """Label of the price tier behind `usd_per_mtok`; null where no price is known, or the two sides have different ones."""
    ladder: LadderComparison
    """What the ladder of each side says: its best curve at each rung."""
    curves: tuple[LadderComparison, ...]
    """Curves that both sides have, each by itself; empty where each side has one only."""
    only_a: tuple[str, ...]
    """Keys of curves that only A has. Where the two share none, their engines or modes are what is compared."""
    only_b: tuple[str, ...]
    """Keys of curves that only B has."""
    settings: tuple[SettingChange, ...]
    """Settings that differ."""
    notes: tuple[str, ...]
    """What the reader must know, one sentence each."""
    fail_on: float | None
    """Share of A's rate by which B may be slower; null = nothing was asked."""
    failures: tuple[str, ...]
    """Why B is past it, one sentence a rung."""

    @property
    def simulated(self) -> bool:
        """Whether any number was simulated."""
        return "simulated" in (self.a.evidence, self.b.evidence)

    @property
    def imported(self) -> bool:
        """Whether any number was imported."""
        return "imported" in (*self.a.origins, *self.b.origins)

    @property
    def compared(self) -> int:
        """At how many rungs of the ladder both sides have a value."""
        return sum(rung.difference.share is not None for rung in self.ladder.rungs)

    @property
    def judged(self) -> int:
        """At how many rungs B could be held against A: both have a value, or B does not reach what A does."""
        return self.compared + sum(rung.difference.verdict == "vanished" for rung in self.ladder.rungs)

    def to_json(self) -> dict[str, Any]:
        """Return the content of compare.json, in full precision."""
        return asdict(self)


def compare_runs(a: RunView, b: RunView, *, allow_mismatch: bool = False, fail_on: float | None = None) -> Comparison:
    """Compare two runs, both read by the report settings of the first.

    :param allow_mismatch: compare what is not comparable; every difference is then stamped on the result.
    :param fail_on: share of A's rate by which B may be slower before a rung counts against it.
    :raises InputError: if they cannot be compared, one fault a mismatch, or a run cannot be read as its settings ask.
    """
    if a.id == b.id:
        raise InputError(Fault(where=a.id, problem="is given as both A and B", advice="a run cannot be compared with itself"))
    found = comparison_mismatches(a, b)
    if found and not allow_mismatch:
        raise InputError(found)
    views = (a, replace(b, report=a.report))
    one, two = (build_ladder([view], allow_mismatch=allow_mismatch) for view in views)
    money = same_prices(a, b)
    ladder = compare_ladders(one, two, fail_on=fail_on, money=money)
    pairs, only = _pairs(one, two)
    alone = len(one.curves) == len(two.curves) == 1
    curves = tuple(
        compare_ladders(*(_part(view, curve) for view, curve in zip(views, pair, strict=True)), name=key, fail_on=fail_on, money=money)
        for key, pair in ({} if alone else pairs).items()
    )
    # Where not one curve is shared, other engines or modes are what is compared, and only their ladders can be.
    gone = () if not pairs or fail_on is None else tuple(f"the curve {key} is gone: B has no point of it" for key in only[0])
    return Comparison(
        a=_side(a, one),
        b=_side(b, two),
        mismatches=tuple(f"{fault.where}: {fault.problem}" for fault in found),
        axis=one.axis,
        interpolation=one.interpolation,
        range=one.range,
        policy=one.policy,
        scope=one.scope,
        primary=one.primary.target,
        tier=one.tier if money else None,
        ladder=ladder,
        curves=curves,
        only_a=only[0],
        only_b=only[1],
        settings=changed_settings(a, b),
        notes=tuple(_notes((a, b), (one, two), ladder, money=money)),
        fail_on=fail_on,
        failures=(*ladder.failures, *(failure for curve in curves for failure in curve.failures), *gone),
    )


def _side(view: RunView, ladder: Ladder) -> ComparedSide:
    return ComparedSide(
        id=view.id,
        title=view.title,
        dates=ladder.dates,
        evidence=view.evidence,
        origins=tuple(sorted({point.origin for point in view.points})),
        engines=ladder.engines,
        configs=ladder.configs,
        repeats=ladder.repeats,
        replicas=min((count for point in view.points if (count := _replicas(point)) is not None), default=None),
        not_counted=sum(not point.usable for point in view.points) + len(view.missing),
    )


def _replicas(point: PointResult) -> int | None:
    simulation = point.provenance.get("simulation")
    count = simulation.get("replicas") if isinstance(simulation, Mapping) else None
    return count if isinstance(count, int) else None


def _pairs(a: Ladder, b: Ladder) -> tuple[dict[str, tuple[LadderCurve, LadderCurve]], tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the curves that both have by what they share, and the keys of those that only one has."""
    one, two = _by_key(a), _by_key(b)
    pairs = {key: (curve, two[key]) for key, curve in one.items() if key in two}
    return pairs, (tuple(key for key in one if key not in two), tuple(key for key in two if key not in one))


def _by_key(ladder: Ladder) -> dict[str, LadderCurve]:
    """Return the curves by key: what was done to an engine before it started is a change like any other, unless it tells two apart."""
    short = {curve.key: _unprepared(curve) for curve in ladder.curves}
    names = list(short.values())
    return {short[curve.key] if names.count(short[curve.key]) == 1 else curve.key: curve for curve in ladder.curves}


def _unprepared(curve: LadderCurve) -> str:
    member = curve.members[0]
    return curve_key(replace(member, result=replace(member.result, identity=replace(member.result.identity, prepared=None))))


def _part(view: RunView, curve: LadderCurve) -> Ladder:
    """Return the ladder of one curve alone."""
    members = {member.result.id for member in curve.members}
    points = tuple(point for point in view.points if point.id in members)
    return build_ladder([replace(view, points=points, report=replace(view.report, scope="all"))], allow_mismatch=True)


def _notes(views: tuple[RunView, RunView], ladders: tuple[Ladder, Ladder], found: LadderComparison, *, money: bool) -> Iterator[str]:
    a, b = views
    if not any(rung.difference.share is not None for rung in found.rungs):
        yield "At no rung do both sides have a value; other rungs may have one (--set rungs=20,40,60)."
    if any(rung.difference.share is not None and None in (rung.a.draws, rung.b.draws) for rung in found.rungs):
        yield (
            "At least one side was measured once: what another run would change is not known, so nothing is called faster or slower there. "
            "[run] repeats = 3 in the campaign tells."
        )
    if a.report != replace(b.report, use=a.report.use):
        yield "The two runs have different [report] settings; both are read by those of A."
    if not money:
        yield "The two runs have different prices, so costs are left out."
    days = [date.fromisoformat(day) for ladder in ladders for day in ladder.dates if day]
    if days and (apart := (max(days) - min(days)).days) > FAR_APART_DAYS:
        yield f"The two were measured up to {apart} days apart."
    if a.machine and b.machine and a.machine != b.machine:
        yield "The two were measured on different machines, or on one that has changed; see the settings that differ."
    for name, ladder in zip("AB", ladders, strict=True):
        yield from (f"{name}: {note}" for note in ladder.notes)
        left = ladder.left_out
        parts = [
            f"{count} {word}"
            for count, word in ((left.invalid, "invalid"), (left.failed, "failed"), (left.missing, "not finished"))
            if count
        ]
        if parts:
            yield f"{name}: points that do not count: {', '.join(parts)}."
