"""What a ladder says: rows, curves, the peak and the best latencies, with everything that print and JSON need."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic resolves the annotations for the JSON Schema of ladder.json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from ixbench.frontier.curves import CurveContent  # noqa: TC001 - as above
from ixbench.frontier.format import Seconds  # noqa: TC001 - as above
from ixbench.frontier.select import SelectStatus  # noqa: TC001 - as above
from ixbench.model.launch import Scalar  # noqa: TC001 - as above
from ixbench.model.point import repeat_suffix
from ixbench.model.result import Evidence  # noqa: TC001 - as above
from ixbench.model.run import Interpolation, RangePolicy, SelectionPolicy  # noqa: TC001 - as above

if TYPE_CHECKING:
    from ixbench.frontier.curves import LadderCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class RungPoint:
    """One point that a rung's value rests on."""

    point: str
    """Its id on the ladder."""
    run: str
    """Id of its run."""
    run_point: str
    """Its id in its run."""
    deployment: str
    """Name of its deployment."""
    settings: Mapping[str, Scalar]
    """What `[deployment.matrix]` set for it; empty where nothing was swept."""
    evidence: Evidence
    """Whether a server was measured or simulated."""
    date: str
    """ISO date on which it was measured; empty where nobody tells."""
    concurrency: int | None
    """Users at once; None in an open loop, or where nobody tells."""
    rate: float | None
    """Sessions a second; None in a closed loop."""
    tok_s_user: float
    """Its speed in tok/s/user: 1 / the axis's percentile of TPOT."""
    tok_s_gpu: float
    """Its rate: all tokens, input and output, per second and GPU."""
    repeat: int = 1
    """Which measurement of its operating point it is, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RungRepeats:
    """What the repeats of one curve say at a rung."""

    curve: str
    """Its key."""
    engine: str
    """Name of its engine's adapter."""
    runs: int
    """How often each point was to be measured."""
    reached: int
    """In how many of these the rung is reached; the rung has a value only where it is all of them."""
    tok_s_gpu: tuple[float | None, ...]
    """Rate of each at the rung, in order: all tokens per second and GPU; None where it does not reach the rung."""
    half_width_tok_s_gpu: float | None
    """Half of the mean's 95 % interval in tok/s/GPU, t x s / sqrt(runs); None with one run, or where there is no mean."""
    neighbours_half_width_tok_s_gpu: float | None = None
    """The larger half width in tok/s/GPU of the two operating points that a read between two rests on; its own interval is at least as
    wide."""

    @property
    def uncertainty_tok_s_gpu(self) -> float | None:
        """Half of the interval to print."""
        known = [width for width in (self.half_width_tok_s_gpu, self.neighbours_half_width_tok_s_gpu) if width is not None]
        return max(known) if self.half_width_tok_s_gpu is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RungRunnerUp:
    """The curve that would answer for a rung without the winner."""

    curve: str
    """Its key."""
    engine: str
    """Name of its engine's adapter."""
    precision: str | None
    """Precision of the weights."""
    points: tuple[str, ...]
    """Ids of the points that its value rests on."""
    tok_s_gpu: float
    """Its rate at the rung: all tokens per second and GPU."""
    usd_per_mtok: float | None
    """USD per million tokens of all kinds at that rate; None where no price is known."""
    repeats: RungRepeats
    """What each of its repeats says."""
    difference: float | None
    """Winner less runner-up in what the policy compares: tok/s/GPU, or USD per million tokens under `min_cost`; None where one of the two
    has a single run."""
    margin: float | None
    """A difference of at most this, in the same unit, is explained by the spread of the repeats (Welch's test, 95 %); None where one of the
    two has a single run."""
    distinguishable: bool | None
    """Whether the difference is larger; None where one of the two has a single run, which tells nothing of its spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRung:
    """One row of the ladder."""

    target: float
    """The rung: a speed in tok/s/user."""
    status: SelectStatus
    """exact, interpolated and meets_slo come with values; below_range, unreachable and no_curve with None."""
    tok_s_gpu: float | None = None
    """Rate of the winning curve there: all tokens, input with cached input plus output, per second and GPU; None without a value."""
    usd_per_mtok: float | None = None
    """USD per million tokens of all kinds, at the first tier of the price book; None without a value or a price."""
    engine: str | None = None
    """Name of the winner's engine adapter."""
    precision: str | None = None
    """Precision of the winner's weights."""
    points: tuple[str, ...] = ()
    """Ids of the one or two points that the value rests on, of each repeat."""
    deployments: tuple[str, ...] = ()
    """Names of their deployments, in the same order."""
    settings: tuple[Mapping[str, Scalar], ...] = ()
    """Their matrix settings, in the same order."""
    fastest_tok_s_user: float | None = None
    """Speed in tok/s/user of the fastest usable point in scope: the nearest miss of an unreachable rung."""
    slowest_tok_s_user: float | None = None
    """Speed in tok/s/user of the slowest point on a frontier: the nearest miss of a rung below the range. Dominated points may be
    slower."""
    at_tok_s_user: float | None = None
    """The speed in tok/s/user that the value belongs to; above the target where a measured point stands in for it."""
    curve: str | None = None
    """Key of the winning curve."""
    evidence: tuple[RungPoint, ...] = ()
    """The points again, with where and when they were measured."""
    two_knots: bool = False
    """A Steffen read of a curve with two knots, which is not a straight line."""
    bracket: float | None = None
    """Distance of the two neighbours in tok/s/user as a share of the target, of several repeats the largest; above 0.5 they say little
    about it."""
    repeats: RungRepeats | None = None
    """What each repeat of the winner says; None where no curve has a value."""
    runner_up: RungRunnerUp | None = None
    """None where no other curve competes."""
    partly: tuple[RungRepeats, ...] = ()
    """Curves that reach the rung in some of their repeats only: they have no mean here and do not compete."""

    @property
    def operating_points(self) -> tuple[str, ...]:
        """The ids of `points` without those of further repeats of the same."""
        return tuple(dict.fromkeys(point.point.removesuffix(repeat_suffix(point.repeat)) for point in self.evidence))


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The highest rate of all, whatever its speed."""

    tok_s_gpu: float
    """The rate: all tokens per second and GPU."""
    tok_s_user: float
    """The speed there in tok/s/user: 1 / the axis's percentile of TPOT."""
    point: str
    """Id of the point."""
    engine: str
    """Name of its engine's adapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLatency:
    """The smallest median of a latency over all points; the best TTFT and the best TPOT are usually not one run."""

    s: Seconds
    """The median in seconds."""
    point: str
    """Id of the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Points that do not stand on the ladder's frontiers, by reason."""

    invalid: int = 0
    """Number of points that are invalid by their verdict."""
    failed: int = 0
    """Number of points that failed: no numbers at all."""
    missing: int = 0
    """Number of points that were planned and are not finished."""
    superseded: int = 0
    """Number of points whose curve a newer run measured again."""
    without_speed: int = 0
    """Number of points with too few answers for the percentile of the axis."""
    without_rate: int = 0
    """Number of points without a rate per GPU, since their number of GPUs is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderFacts:
    """What a ladder and ladder.json both hold."""

    title: str
    """Title of the campaign, of several runs that of the first."""
    evidence: Evidence
    """"simulated" as soon as one point is."""
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
    excluded: int
    """Number of curves that the scope removed."""
    left_out: LeftOut
    """How many points do not stand on its frontiers, by reason."""
    tier: str | None
    """Label of the price tier behind `usd_per_mtok`; None, and null in JSON, where no price is known."""
    book: str | None
    """Id of the price book; None where no price is known."""
    rungs: tuple[LadderRung, ...]
    """What each rung says, by rising speed."""
    peak: Peak | None
    """The highest rate; like the figures below over all usable points, whatever the scope. None where no rate per GPU is known."""
    configs: int
    """Number of operating points, repeats not counted."""
    repeats: int
    """How often each point was to be measured, of several runs the most."""
    engines: tuple[str, ...]
    """Names of the engines' adapters."""
    precisions: tuple[str, ...]
    """Precisions of the weights."""
    dates: tuple[str, ...]
    """ISO dates of the points' runs, rising."""
    best_ttft: BestLatency | None
    """The smallest median time to the first token; None where no credible one is known."""
    best_tpot: BestLatency | None
    """The smallest median time per output token; None where no credible one is known."""
    notes: tuple[str, ...]
    """What the reader must know, one sentence each."""
    mismatches: tuple[str, ...]
    """Differences that were let pass on demand; empty on an honest ladder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderContent(LadderFacts):
    """What ladder.json holds."""

    primary: float
    """The rung of the headline and of the cost table in tok/s/user, whether or not it is among `rungs`."""
    curves: tuple[CurveContent, ...]
    """The curves in scope, in the order of their first points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder(LadderFacts):
    """Everything that the ladder's reports print."""

    primary: LadderRung
    """The rung of the headline and of the cost table, whether or not it is among `rungs`."""
    curves: tuple[LadderCurve, ...]
    """The curves in scope, in the order of their first points."""

    @property
    def rates_known(self) -> bool:
        """Whether any point in scope has both a speed and a rate per GPU."""
        return any(point.x is not None and point.y is not None for curve in self.curves for point in curve.points)

    def content(self) -> LadderContent:
        """Return what ladder.json holds."""
        shared = {field.name: getattr(self, field.name) for field in fields(LadderFacts)}
        return LadderContent(**shared, primary=self.primary.target, curves=tuple(curve.content() for curve in self.curves))

    def to_json(self) -> dict[str, Any]:
        """Return the content of ladder.json, in full precision."""
        return asdict(self.content())
