"""Two ladders held against one another, rung by rung and over all speeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.frontier.area import AreaDifference, area_difference
from ixbench.frontier.difference import RateDifference, difference_of
from ixbench.frontier.draws import DrawKind  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema of compare.json
from ixbench.frontier.format import format_change, format_rate
from ixbench.frontier.ladder_values import Ladder  # noqa: TC001 - as above
from ixbench.frontier.select import SelectStatus  # noqa: TC001 - as above
from ixbench.frontier.side import LadderSide, SureRead

if TYPE_CHECKING:
    from ixbench.frontier.ladder_values import LadderRung


@dataclass(frozen=True, slots=True, kw_only=True)
class RungSide:
    """What one side says at a rung."""

    status: SelectStatus
    """What became of the rung on this side."""
    tok_s_gpu: float | None
    """Rate at the rung: all tokens per second and GPU, of repeats their mean; None without a value."""
    low_tok_s_gpu: float | None
    """Of a single run: the lowest rate in tok/s/GPU that what varied within it allows; None = not known."""
    high_tok_s_gpu: float | None
    """Of a single run: the highest rate in tok/s/GPU that what varied within it allows; None = not known."""
    usd_per_mtok: float | None
    """USD per million tokens of all kinds, at the first tier of the side's price book; None too where the two sides have different
    prices."""
    engine: str | None
    """Name of the adapter of the engine that answers."""
    precision: str | None
    """Precision of its weights."""
    curve: str | None
    """Key of the curve that answers."""
    points: tuple[str, ...]
    """Ids of the points that the rate rests on."""
    at_tok_s_user: float | None
    """The speed in tok/s/user that the rate belongs to; above the target where a measured point stands in for it."""
    nearest_tok_s_user: float | None
    """Where there is no rate: the speed of the nearest point in tok/s/user, the fastest or the slowest."""
    runs: int
    """Repeats or replicas behind the rate; 1 for a single run."""
    reached: int
    """How many of them reach the rung."""
    draws: DrawKind | None
    """What they are; null for a single run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RungComparison:
    """One rung of two ladders."""

    target: float
    """The rung in tok/s/user."""
    a: RungSide
    """What A says there."""
    b: RungSide
    """What B says there."""
    difference: RateDifference
    """By how much B's rate differs from A's."""
    failure: str
    """Why it counts against B under --fail-on, one sentence; empty where it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderComparison:
    """Two ladders, or two curves."""

    name: str
    """"ladder", or the key that two curves share."""
    rungs: tuple[RungComparison, ...]
    """Both at each rung, by rising speed."""
    primary: RungComparison
    """Both at the rung of the headline."""
    area: AreaDifference | None
    """The areas under both over all speeds that both reach; None where there is no such speed."""

    @property
    def failures(self) -> tuple[str, ...]:
        """Why rungs count against B."""
        return tuple(rung.failure for rung in self.rungs if rung.failure)


def compare_ladders(a: Ladder, b: Ladder, *, name: str = "ladder", fail_on: float | None = None, money: bool = True) -> LadderComparison:
    """Compare two ladders with the same rungs and primary rung.

    :param fail_on: share of A's rate by which B may be slower; None = nothing counts against it.
    :param money: whether both have the same prices, so that their costs may stand side by side.
    """
    one, two = LadderSide(ladder=a), LadderSide(ladder=b)

    def row(left: LadderRung, right: LadderRung) -> RungComparison:
        reads = one.rung(left), two.rung(right)
        found = _unread(left, right) or difference_of(*reads)
        sides = [_side(rung, read, money=money) for rung, read in zip((left, right), reads, strict=True)]
        failure = "" if fail_on is None else _failure(left.target, found, sides[1], fail_on, name)
        return RungComparison(target=left.target, a=sides[0], b=sides[1], difference=found, failure=failure)

    return LadderComparison(
        name=name,
        rungs=tuple(row(left, right) for left, right in zip(a.rungs, b.rungs, strict=True)),
        primary=row(a.primary, b.primary),
        area=area_difference(one, two),
    )


def _unread(a: LadderRung, b: LadderRung) -> RateDifference | None:
    """Return that a rung tells nothing where one side has a value and the other was never loaded enough to come down to that speed.

    It may well be the faster one, so the value is neither gone nor new.
    """
    for rung, other, name in ((a, b, "A"), (b, a, "B")):
        if rung.status == "below_range" and other.tok_s_gpu is not None:
            speed = f": its slowest point has {format_rate(rung.slowest_tok_s_user)} tok/s/user" if rung.slowest_tok_s_user else ""
            return RateDifference(share=None, reason=f"below the range of {name}{speed}")
    return None


def _side(rung: LadderRung, read: SureRead | None, *, money: bool) -> RungSide:
    partly = max(rung.partly, key=lambda found: found.reached / found.runs, default=None)
    repeats = rung.repeats or partly
    low, high = (None, None) if read is None else read.within
    drawn = read is not None and read.kind == "replicas" and bool(read.draws)
    return RungSide(
        status=rung.status,
        tok_s_gpu=rung.tok_s_gpu,
        low_tok_s_gpu=low,
        high_tok_s_gpu=high,
        usd_per_mtok=rung.usd_per_mtok if money else None,
        engine=rung.engine,
        precision=rung.precision,
        curve=rung.curve,
        points=rung.points,
        at_tok_s_user=rung.at_tok_s_user,
        nearest_tok_s_user={"unreachable": rung.fastest_tok_s_user, "below_range": rung.slowest_tok_s_user}.get(rung.status),
        runs=len(read.draws) if read is not None and drawn else repeats.runs if repeats is not None else 1,
        reached=len(read.draws) if read is not None and drawn else repeats.reached if repeats is not None else 0,
        draws=read.kind if read is not None else None,
    )


def _failure(target: float, found: RateDifference, b: RungSide, fail_on: float, name: str) -> str:
    """Return why a rung counts against B, or nothing."""
    where = f"at {target:g} tok/s/user{'' if name == 'ladder' else f' ({name})'}"
    allowed = f"allowed: {format_change(-fail_on)}"
    if found.verdict == "vanished":
        partly = f", reached in {b.reached} of {b.runs} repeats" if b.reached else ""
        return f"{where}: B has no value ({b.status}{partly}), and A has one"
    if found.share is None or found.share >= -fail_on:
        return ""
    if found.verdict == "slower":
        return f"{where}: B is slower, {format_change(found.share)}; {allowed}"
    # What repeats, or a single run's own scatter, explain is no reason. Where neither can tell, the threshold decides alone.
    if found.basis == "repeats" or found.explained:
        return ""
    return f"{where}: {format_change(found.share)}; {allowed}; {found.reason}, so the threshold alone decides"
