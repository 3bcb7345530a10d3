"""What is compared: a run, the engines of one, or what was measured on one day, as `compare` takes it from the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.frontier.points import session_of
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.printable import printable
from ixbench.report.foreign import evidence_of
from ixbench.report.load import load_runs, run_folders
from ixbench.store.folder import RunReader, is_run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ixbench.host.host import Host
    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView

FORM = "PATH, PATH:NAME, PATH@DATE or PATH@DATE:NAME"
_DATED = re.compile(r"(?P<path>.+)@(?P<date>[^@/:]*)")
_DAY = 10
"""Characters of an ISO date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideChoice:
    """One side as it was written."""

    text: str
    path: Path
    day: str | None = None
    """ISO date: of a folder of runs the run of that day, of any run its points of that day."""
    name: str | None = None
    """An engine, or else a deployment, or else a glob for ids of points."""


def read_side_choice(text: str) -> SideChoice:
    """Return what a side means; a path that exists is taken as it stands, whatever is in it.

    :raises InputError: if there is no such path, or the date is none.
    """
    for head, name in ((text, None), *_split(text)):
        if head and Path(head).exists():
            return _checked(SideChoice(text=text, path=Path(head), name=name))
        dated = _DATED.fullmatch(head)
        if dated and Path(dated["path"]).exists():
            return _checked(SideChoice(text=text, path=Path(dated["path"]), day=dated["date"], name=name))
    problem = "there is no such run folder, folder of runs or result file"
    raise InputError(Fault(where=text, problem=problem, allowed=f"{FORM}, where PATH exists"))


def _split(text: str) -> tuple[tuple[str, str], ...]:
    head, colon, name = text.rpartition(":")
    return ((head, name),) if colon and head else ()


def _checked(found: SideChoice) -> SideChoice:
    if found.name == "":
        raise InputError(
            Fault(where=found.text, problem="nothing follows the colon", allowed="an engine, a deployment or a glob of points")
        )
    try:
        day = None if found.day is None else date.fromisoformat(found.day).isoformat()
    except ValueError:
        raise InputError(Fault(where=found.text, problem=f"{found.day!r} is no date", allowed="a date such as 2026-09-10")) from None
    return replace(found, day=day)


def load_sides(texts: Sequence[str], host: Host, tell: Callable[[str], None] | None = None) -> tuple[RunView, ...]:
    """Return what each side chose of its run, under ids of their own.

    :param tell: as for `load_runs`.
    :raises InputError: for every side that is no run, or chooses nothing of it, all at once.
    """
    loaded: dict[Path, RunView] = {}
    views: list[RunView] = []
    faults: list[Fault] = []
    for text in texts:
        try:
            selection = read_side_choice(text)
            path = _run_of(selection)
            if path.resolve() not in loaded:
                loaded[path.resolve()] = load_runs([path], host, tell)[0]
            views.append(_narrowed(loaded[path.resolve()], selection))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    if len({view.id for view in views}) < len(views) and len(loaded) > 1:
        # Two folders of one name: their places tell them apart.
        return tuple(replace(view, id=f"{view.id} ({letter})") for view, letter in zip(views, "AB", strict=True))
    return tuple(views)


def _run_of(selection: SideChoice) -> Path:
    """Return the run folder or the foreign files that are meant; of a folder of runs the only one of the day that has what was chosen."""
    path = selection.path
    if is_run_folder(path) or not path.is_dir():
        return path
    runs = [folder for folder in run_folders(path) if is_run_folder(folder)]
    if not runs:
        return path  # perhaps one of foreign files
    days = {folder: RunReader(folder).header().started[:_DAY] for folder in runs}
    if selection.day is None and len(runs) > 1:
        allowed = f"one of the run folders in it, or {path}@DATE with one of {', '.join(sorted(set(days.values())))}"
        raise InputError(Fault(where=selection.text, problem=f"holds {len(runs)} runs", allowed=allowed))
    found = [folder for folder in runs if selection.day in (None, days[folder])]
    if not found:
        known = ", ".join(sorted(set(days.values())))
        raise InputError(Fault(where=selection.text, problem=f"no run was started on {selection.day}", allowed=known))
    if len(found) > 1:
        problem = f"{len(found)} runs were started on {selection.day}"
        raise InputError(Fault(where=selection.text, problem=problem, allowed=f"one of them: {', '.join(map(str, found))}"))
    return found[0]


def _narrowed(view: RunView, selection: SideChoice) -> RunView:
    """Return a run with the chosen points alone."""
    if not view.points:
        raise InputError(Fault(where=selection.text, problem="no point of it is finished, so there is nothing to compare"))
    points = view.points
    if selection.day is not None:
        days = {point.id: session_of(view, point)[0] for point in points}
        points = _kept(points, lambda point: days[point.id] == selection.day, set(days.values()) - {""}, selection, f"of {selection.day}")
    if selection.name is not None:
        points = _named(points, selection.name, selection)
    if len(points) == len(view.points):
        return _labelled(view, selection)
    whole = {point.deployment for point in (point.identity for point in points)}
    launches = {str(point.provenance.get("launch") or "") for point in points}
    return replace(
        _labelled(view, selection),
        points=points,
        # Of what is not there yet, only the name tells whose it is.
        planned=tuple(name for name in view.planned if name in {point.id for point in points} or _belongs(name, whole, view)),
        evidence=evidence_of(points),
        launches={name: content for name, content in view.launches.items() if name in launches},
    )


def _belongs(name: str, deployments: set[str], view: RunView) -> bool:
    """Say whether a planned point that is missing is one of these deployments'."""
    return name in view.missing and any(name.startswith((f"{one}-c", f"{one}-r")) for one in deployments)


def _labelled(view: RunView, selection: SideChoice) -> RunView:
    day = f"@{selection.day}" if selection.day is not None and selection.day != view.started[:_DAY] else ""
    name = f":{selection.name}" if selection.name is not None else ""
    return replace(view, id=f"{view.id}{day}{printable(name)}")


def _named(points: tuple[PointResult, ...], name: str, selection: SideChoice) -> tuple[PointResult, ...]:
    engines = {point.identity.engine for point in points}
    deployments = {point.identity.deployment for point in points}
    if name in engines:
        return tuple(point for point in points if point.identity.engine == name)
    if name in deployments:
        return tuple(point for point in points if point.identity.deployment == name)
    return _kept(points, lambda point: fnmatchcase(point.id, name), engines | deployments, selection, f"matches {name!r}")


def _kept(
    points: tuple[PointResult, ...], keep: Callable[[PointResult], bool], known: set[str], selection: SideChoice, words: str
) -> tuple[PointResult, ...]:
    found = tuple(point for point in points if keep(point))
    if not found:
        names = sorted(known)
        advice = did_you_mean(selection.name or "", names)
        raise InputError(Fault(where=selection.text, problem=f"no point {words}", allowed=", ".join(names), advice=advice))
    return found
