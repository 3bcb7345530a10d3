"""Many runs parted into lots, of which each may stand on one ladder: a model on a SKU doing one kind of work, of one kind of evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ixbench.api.report import build_ladder, session_of, work_of
from ixbench_plugins.reporters.page.names import workload_name
from ixbench_plugins.reporters.page.picture import style_of
from ixbench_plugins.reporters.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ixbench.api.report import Ladder, PointResult, Quote, ReportSettings, RunView
    from ixbench_plugins.reporters.page.picture import Style

Facts = tuple[tuple[str, str], ...]

_STYLES: tuple[Style, ...] = ("measured", "imported", "simulated")
"""In the order in which they are shown."""
_OF_MODEL = frozenset({"model", "revision", "tokenizer"})
"""Facts that make another model; all others make other work."""
_NAMED = frozenset({"model", "workload", "input length", "output length"})
"""Facts that a name in print says already."""
_LONGEST = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One point of a lot."""

    run: RunView
    point: PointResult
    session: tuple[str, str, int, str]
    """The run that measured it; the newest is the largest."""

    @property
    def date(self) -> str:
        """ISO date; empty where an imported point tells none."""
        return self.session[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """One model on one SKU."""

    style: Style
    work: Facts
    model: Facts
    """Its name, and what else tells it from others of that name."""
    hardware: str | None
    members: tuple[Member, ...]
    """In the order of the runs, unusable points included."""

    @property
    def settings(self) -> ReportSettings:
        """How its newest run is read."""
        return max((member.run for member in self.members), key=lambda run: (run.started, run.id)).report


def lots_of(runs: Sequence[RunView]) -> tuple[Lot, ...]:
    """Return all lots: measured ones first, then by work, model and SKU."""
    found: dict[tuple[Style, Facts, Facts, str | None], list[Member]] = {}
    for run in runs:
        for point in run.points:
            facts = work_of(run, point)
            work = tuple(fact for fact in facts if fact[0] not in _OF_MODEL)
            model = tuple(fact for fact in facts if fact[0] in _OF_MODEL)
            key = (style_of(point.evidence, point.origin), work, model, point.identity.hardware)
            found.setdefault(key, []).append(Member(run=run, point=point, session=session_of(run, point)))
    ordered = sorted(found.items(), key=lambda item: (_STYLES.index(item[0][0]), item[0][1], item[0][2], item[0][3] or ""))
    return tuple(
        Lot(style=style, work=work, model=model, hardware=hardware, members=tuple(members))
        for (style, work, model, hardware), members in ordered
    )


def newest_date(lots: Iterable[Lot]) -> str | None:
    """Return the newest date of a usable point; None where none has a date."""
    return max((member.date for lot in lots for member in lot.members if member.date and member.point.usable), default=None)


def ladder_of(members: Iterable[Member], settings: ReportSettings, quotes: tuple[Quote, ...] = ()) -> Ladder:
    """Return the ladder of some members of one lot; what ixbench's version or prices alone would forbid is let pass.

    :param quotes: the prices of its SKU, in place of those that each run was made with.
    """
    return build_ladder(parts_of(members, settings, quotes), allow_mismatch=True)


def parts_of(members: Iterable[Member], settings: ReportSettings, quotes: tuple[Quote, ...] = ()) -> list[RunView]:
    """Return the runs of some members with these points alone."""
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.run.id, []).append(member)
    return [_part(group, settings, quotes) for group in groups.values()]


def _part(group: list[Member], settings: ReportSettings, quotes: tuple[Quote, ...]) -> RunView:
    points = tuple(member.point for member in group)
    return replace(
        group[0].run,
        points=points,
        planned=tuple(point.id for point in points),
        evidence="simulated" if any(point.evidence == "simulated" for point in points) else "measured",
        report=settings,
        quotes=quotes,
    )


def work_names(lots: Sequence[Lot]) -> dict[Facts, str]:
    """Return the work of lots in print; where two would be called alike, with what tells them apart."""
    return _told_apart({lot.work: workload_name(lot.members[0].point.identity) for lot in lots}, _value)


def model_names(lots: Sequence[Lot]) -> dict[Facts, str]:
    """Return the models of lots in print, in the same way."""
    return _told_apart({lot.model: dict(lot.model).get("model") or "a model without a name" for lot in lots}, _value)


def sku_names(lots: Sequence[Lot]) -> dict[str | None, str]:
    """Return the SKUs of lots in print: as the hardware book of a run has them."""
    found: dict[str | None, str] = {}
    for lot in lots:
        hardware = lot.hardware
        books = (member.run.sku for member in lot.members)
        names = (sku.name for sku in books if sku is not None and sku.sku == hardware)
        default = "unknown hardware" if hardware is None else hardware.upper()
        if found.get(hardware, default) == default:
            found[hardware] = clean(next(names, default))
    return found


def _told_apart(names: dict[Facts, str], shown: Callable[[str, str], str]) -> dict[Facts, str]:
    found: dict[Facts, str] = {}
    for facts, name in names.items():
        others = [dict(other) for other, called in names.items() if called == name]
        differ = [key for key in dict.fromkeys(key for other in others for key in other) if len({other.get(key) for other in others}) > 1]
        details = [shown(key, dict(facts).get(key, "")) for key in differ if key not in _NAMED]
        found[facts] = clean(", ".join((name, *details)))
    return found


def _value(name: str, value: str) -> str:
    cut = value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
    return f"{name} {cut}" if value else f"no {name}"
