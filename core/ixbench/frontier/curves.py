"""Grouping points into curves: points that differ only in load or topology share one, and nothing else ever does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ixbench.frontier.select import Curve, is_speculative
from ixbench.model.launch import UNTOLD
from ixbench.model.result import Evidence, Origin  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema of ladder.json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.points import RatedPoint
    from ixbench.model.result import PointIdentity

UNNAMED = "-"
"""Stands in a key for what is not known or does not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One point of a curve as it is drawn."""

    id: str
    """Its id on the ladder."""
    x: float | None
    """Speed in tok/s/user: 1 / the axis's percentile of TPOT; None where too few answers tell it."""
    y: float | None
    """Rate in tok/s/GPU: all tokens per second and GPU; None where the number of GPUs is not known."""
    on_frontier: bool
    """Whether no other point of its curve is both as fast and as high; with repeats, of the same repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveContent:
    """A curve as it stands in ladder.json."""

    key: str
    """All that its points share, in one line."""
    model: str
    """Name of the model."""
    hardware: str | None
    """SKU of the GPUs; None where nobody tells."""
    engine: str
    """Name of the engine's adapter."""
    precision: str | None
    """Precision of the weights; None where nobody tells."""
    spec_method: str | None
    """Spec-decode methods of its points; an agentic curve may mix several. Null = none, "unknown" = nobody told."""
    kv_offload: str
    """Mode of KV offload, "off" or "unknown"."""
    input_tokens: int | None
    """Asked mean input length of a fixed-sequence workload, in tokens; None for others."""
    output_tokens: int | None
    """Asked mean output length of a fixed-sequence workload, in tokens; None for others."""
    evidence: Evidence
    """Whether a server was measured or simulated."""
    origin: Origin
    """Whether ixbench ran it, or it was imported from another tool's file."""
    date: str
    """ISO date of its newest point; empty where nobody tells."""
    repeats: int
    """How often each of its points was to be measured."""
    points: tuple[CurvePoint, ...]
    """Its usable points, those without a speed or a rate included."""


@dataclass(frozen=True, kw_only=True)
class LadderCurve:
    """One curve with its points. Not slotted: its frontier is taken once and kept."""

    key: str
    """All that its points share, in one line."""
    members: tuple[RatedPoint, ...]
    """Its usable points, those without a speed or a rate included."""
    usd_per_gpu_hour: float | None
    repeats: int = 1
    """How often each of its points was to be measured."""

    @property
    def engine(self) -> str:
        """The adapter's name."""
        return self.members[0].result.identity.engine

    @property
    def precision(self) -> str | None:
        """Precision of the weights."""
        return self.members[0].result.identity.precision

    @property
    def evidence(self) -> Evidence:
        """Measured or simulated; never mixed on one curve."""
        return self.members[0].result.evidence

    @property
    def origin(self) -> Origin:
        """Run or imported; never mixed on one curve."""
        return self.members[0].result.origin

    @property
    def spec_method(self) -> str | None:
        """Spec-decode methods of its points; an agentic curve may mix several."""
        methods = {point.result.identity.spec_method or "none" for point in self.members}
        return ", ".join(sorted(methods)) if self.speculative or UNTOLD in methods else None

    @property
    def lengths(self) -> str | None:
        """Asked mean input and output length of a fixed-sequence workload, as 1024/256; None where neither is known."""
        return _lengths(self.members[0].result.identity)

    @property
    def speculative(self) -> bool:
        """Whether any point used speculative decoding."""
        return any(is_speculative(point.result.identity.spec_method) for point in self.members)

    @cached_property
    def rated(self) -> tuple[RatedPoint, ...]:
        """The members that have both a speed and a rate."""
        return tuple(point for point in self.members if point.tok_s_user is not None and point.tok_s_gpu is not None)

    @cached_property
    def readable(self) -> Curve:
        """The curve as selection reads it; its points are those of `rated`, in the same order."""
        return Curve(
            key=self.key,
            engine=self.engine,
            precision=self.precision,
            speculative=self.speculative,
            date=max(point.date for point in self.members),
            dates=tuple(point.date for point in self.rated),
            points=tuple((point.tok_s_user or 0.0, point.tok_s_gpu or 0.0) for point in self.rated),
            usd_per_gpu_hour=self.usd_per_gpu_hour,
            repeats=self._repeats(),
        )

    def _repeats(self) -> tuple[tuple[int, ...], ...]:
        """Return the positions in `rated` of the points of each repeat; empty where there is only one."""
        if self.repeats == 1:
            return ()
        numbers = [point.result.identity.repeat for point in self.rated]
        return tuple(tuple(i for i, found in enumerate(numbers) if found == number) for number in range(1, self.repeats + 1))

    @cached_property
    def points(self) -> tuple[CurvePoint, ...]:
        """All members, with the frontier marked; with repeats, that of each repeat."""
        knots = {self.rated[i].id for knots in self.readable.frontiers for i in knots.index}
        return tuple(
            CurvePoint(id=point.id, x=point.tok_s_user, y=point.tok_s_gpu, on_frontier=point.id in knots) for point in self.members
        )

    def content(self) -> CurveContent:
        """Return the curve as it stands in ladder.json."""
        identity = self.members[0].result.identity
        return CurveContent(
            key=self.key,
            model=identity.model,
            hardware=identity.hardware,
            engine=self.engine,
            precision=self.precision,
            spec_method=self.spec_method,
            kv_offload=identity.kv_offload,
            input_tokens=identity.input_tokens,
            output_tokens=identity.output_tokens,
            evidence=self.evidence,
            origin=self.origin,
            date=self.readable.date,
            repeats=self.repeats,
            points=self.points,
        )


def curves_of(points: Sequence[RatedPoint], *, tier: str | None) -> tuple[LadderCurve, ...]:
    """Group usable points into curves, in the order of their first points.

    Of each curve only the points of its latest date count, and of an agentic one only those of the newest run of that date.

    :param tier: id of the price tier; a curve's price is its newest run's in that tier.
    """
    groups: dict[str, list[RatedPoint]] = {}
    for point in points:
        groups.setdefault(curve_key(point), []).append(point)
    return tuple(_curve(key, group, tier) for key, group in groups.items())


def curve_key(point: RatedPoint) -> str:
    """Return what a point shares with its curve. Deployment name, parallelism, load and matrix settings are not part of it."""
    identity = point.result.identity
    method = identity.spec_method
    spec = method if not identity.agentic and (is_speculative(method) or method == UNTOLD) else None
    parts = (
        identity.model,
        identity.hardware,
        identity.engine,
        identity.precision,
        spec,
        identity.kv_offload,
        _lengths(identity),
        point.result.evidence,
        point.result.origin,
        *_switch("disaggregated", on=identity.disaggregated),
        *_switch("multinode", on=identity.multinode),
        # An engine that was patched is another engine; most are not, and their keys stay short.
        *([f"prepared {identity.prepared}"] if identity.prepared is not None else []),
    )
    return " | ".join(part or UNNAMED for part in parts)


def _switch(name: str, *, on: bool | None) -> list[str]:
    """Return what stands in a key: nothing where it is off, as of most points, so that their keys stay short."""
    return [name] if on else [f"{name} {UNTOLD}"] if on is None else []


def _lengths(identity: PointIdentity) -> str | None:
    lengths = (identity.input_tokens, identity.output_tokens)
    return None if lengths == (None, None) else "/".join(UNNAMED if length is None else str(length) for length in lengths)


def _curve(key: str, group: list[RatedPoint], tier: str | None) -> LadderCurve:
    newest = max(group, key=lambda point: point.session)
    if newest.result.identity.agentic:
        members = [point for point in group if point.session == newest.session]
    else:
        members = [point for point in group if point.date == newest.date]
    price = next((quote.usd_per_gpu_hour for quote in newest.quotes if quote.tier == tier), None)
    repeats = max(max(point.run.repeats, point.result.identity.repeat) for point in members)
    return LadderCurve(key=key, members=tuple(members), usd_per_gpu_hour=price, repeats=repeats)
