"""What a chart shows, before anything is drawn: every point with its place in the field, the curves, and what to call them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ixbench.api.report import build_ladder, format_rate
from ixbench_plugins.reporters.page.names import configuration, engine_name, kv_offload, speculation
from ixbench_plugins.reporters.points import PointRow, point_rows
from ixbench_plugins.reporters.table import latency

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ixbench.api.report import Ladder, LadderCurve, RunView
    from ixbench_plugins.reporters.page.groups import Group

State = Literal["frontier", "beaten", "unread", "superseded", "invalid"]
STATES: dict[State, str] = {
    "frontier": "on its frontier",
    "beaten": "beaten by another point of its curve",
    "unread": "on no frontier: its speed or its rate per GPU is not known",
    "superseded": "superseded by a newer run",
    "invalid": "not counted",
}
Style = Literal["measured", "simulated", "imported"]
"""How a mark looks. Simulated goes before imported: it is the stronger warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturePoint:
    """One point, whatever became of it."""

    name: str
    """Its id, with the run's before it where there are several runs."""
    number: int
    """Its position among the picture's points."""
    row: PointRow
    curve: int | None
    """Position of its curve; None where it stands on none."""
    state: State
    x: float | None
    """Speed in tok/s/user."""
    y: float | None
    """Rate in tok/s/GPU, or of the whole server where no rate per GPU is known."""

    @property
    def style(self) -> Style:
        """How its mark looks."""
        return style_of(self.row.point.evidence, self.row.point.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCurve:
    """One curve."""

    label: str
    """What tells it from the others."""
    curve: LadderCurve
    in_scope: bool
    style: Style
    points: int
    knots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RungText:
    """What is told at a rung of curves that are compared."""

    value: str
    """Above its line."""
    words: str
    """When it is pointed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All that a chart shows of one model on one SKU."""

    ladder: Ladder
    curves: tuple[PictureCurve, ...]
    """Those out of scope included."""
    points: tuple[PicturePoint, ...]
    """In the order of the runs and their plans."""
    per_gpu: bool
    """Whether rates are those of a GPU; else of the whole server, and nothing can be read from them."""
    at_rungs: Mapping[float, RungText] | None = None
    """What is told at each rung, by its target, where the curves are compared: then they share no ladder, whose line and rates are left
    out. None: the ladder's rates."""

    @property
    def drawable(self) -> tuple[PicturePoint, ...]:
        """The points that have a place: both a speed and a rate."""
        return tuple(point for point in self.points if point.x is not None and point.y is not None)


def style_of(evidence: str, origin: str) -> Style:
    """Return how a point or a curve looks."""
    if evidence == "simulated":
        return "simulated"
    return "imported" if origin == "imported" else "measured"


def all_curves(runs: Sequence[RunView]) -> Ladder:
    """Return the ladder with every curve, those that the scope or the policy leaves out as well."""
    settings = replace(runs[0].report, scope="all", policy="max_throughput")
    return build_ladder([replace(runs[0], report=settings), *runs[1:]])


def picture_of(group: Group, ladder: Ladder, everything: Ladder) -> Picture:
    """Return what the chart of a group shows.

    :param ladder: as the runs' settings have it.
    :param everything: the same with every curve.
    """
    scope = {curve.key for curve in ladder.curves}
    labels = curve_labels(everything.curves)
    curves = tuple(
        PictureCurve(
            label=label,
            curve=curve,
            in_scope=curve.key in scope,
            style=style_of(curve.evidence, curve.origin),
            points=len(curve.members),
            knots=sum(point.on_frontier for point in curve.points),
        )
        for curve, label in zip(everything.curves, labels, strict=True)
    )
    per_gpu = ladder.rates_known or everything.rates_known
    points = picture_points(group.runs, everything.curves, axis=ladder.axis, per_gpu=per_gpu)
    return Picture(ladder=ladder, curves=curves, points=points, per_gpu=per_gpu)


def picture_points(runs: Sequence[RunView], curves: Sequence[LadderCurve], *, axis: str, per_gpu: bool) -> tuple[PicturePoint, ...]:
    """Return every point of the runs with its place on one of the curves."""
    on_curve = {
        (member.run.id, member.result.id): (number, point.on_frontier)
        for number, curve in enumerate(curves)
        for member, point in zip(curve.members, curve.points, strict=True)
    }
    several = len(runs) > 1
    points: list[PicturePoint] = []
    for row in point_rows(runs):
        place, knot = on_curve.get((row.run.id, row.point.id), (None, False))
        rate = row.number("throughput_tok_s_gpu", "total") if per_gpu else row.number("throughput_tok_s", "total")
        state = _state(row, place, knot=knot, rated=per_gpu and rate is not None and row.speed(axis) is not None)
        points.append(
            PicturePoint(
                name=f"{row.run.id}/{row.point.id}" if several else row.point.id,
                number=len(points),
                row=row,
                curve=place,
                state=state,
                x=_above_zero(row.speed(axis)),
                y=_above_zero(rate),
            )
        )
    return tuple(points)


def _state(row: PointRow, place: int | None, *, knot: bool, rated: bool) -> State:
    if not row.point.usable:
        return "invalid"
    if place is None:
        return "superseded"
    if not rated:
        return "unread"
    return "frontier" if knot else "beaten"


def curve_labels(curves: Sequence[LadderCurve]) -> list[str]:
    """Return a name for each curve: its engine and precision, and of the rest only that in which the curves differ."""
    identities = [curve.members[0].result.identity for curve in curves]
    pools, nodes = (any(one.disaggregated for one in identities), any(one.multinode for one in identities))
    rows = [_parts(curve, pools=pools, nodes=nodes) for curve in curves]
    differ = [len({row[column] for row in rows}) > 1 for column in range(len(rows[0]))] if rows else []
    labels = [
        ", ".join([" ".join(filter(None, row[:2])), *(part for part, other in zip(row[2:], differ[2:], strict=True) if other and part)])
        for row in rows
    ]
    # Two curves that look alike are told apart by their key.
    return [label if labels.count(label) == 1 else curve.key for label, curve in zip(labels, curves, strict=True)]


def _parts(curve: LadderCurve, *, pools: bool, nodes: bool) -> tuple[str, ...]:
    """Return what tells a curve from others; in how many pools and on how many nodes it ran only where some curve had several."""
    identity = curve.members[0].result.identity
    return (
        engine_name(curve.engine),
        curve.precision or "",
        kv_offload(identity.kv_offload),
        "" if identity.agentic else speculation(identity.spec_method),
        f"{curve.lengths} tokens" if curve.lengths else "",
        _apart(identity.disaggregated, "disaggregated", "one pool", "not known whether disaggregated") if pools else "",
        _apart(identity.multinode, "several nodes", "one node", "not known on how many nodes") if nodes else "",
        f"prepared {identity.prepared}" if identity.prepared else "",
        curve.evidence,
        curve.origin if curve.origin == "imported" else "",
    )


def _apart(told: bool | None, yes: str, no: str, untold: str) -> str:
    return untold if told is None else yes if told else no


def point_words(point: PicturePoint, picture: Picture) -> Iterator[str]:
    """Yield what one reads when pointing at a mark, one line each."""
    unit = "tok/s/GPU" if picture.per_gpu else "tok/s, whole server"
    yield f"{point.name}: {format_rate(point.x)} tok/s/user, {format_rate(point.y)} {unit}"
    yield configuration(point.row.point)
    yield f"median TTFT {latency(point.row, 'ttft_s', 'p50')}, median TPOT {latency(point.row, 'tpot_s', 'p50')}"
    yield ", ".join([point.row.verdict, *(["IMPORTED"] if point.style == "imported" else []), STATES[point.state]])


def _above_zero(value: float | None) -> float | None:
    return value if value is not None and 0 < value < float("inf") else None
