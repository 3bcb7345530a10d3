"""The appendix: how each engine was started, with the points that it answered and what was thought of them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ixbench.api.report import counted
from ixbench_plugins.reporters.further import further_columns, further_definitions, further_rows
from ixbench_plugins.reporters.page.facts import IMPORTED
from ixbench_plugins.reporters.page.names import configuration, engine_name
from ixbench_plugins.reporters.page.parts import Fact, LaunchCommand, LaunchPart, Table
from ixbench_plugins.reporters.text import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ixbench.api.report import RunView
    from ixbench_plugins.reporters.page.facts import Numbers
    from ixbench_plugins.reporters.page.picture import PicturePoint

_ENV_HEADERS = ("Variable", "Value", "Why", "From")
_POINT_HEADERS = ("Point", "Configuration", "Verdict", "Reasons")


def launch_parts(numbers: Numbers, anchor: str) -> Iterator[LaunchPart]:
    """Yield one part a launch, in the order of the points; points without a launch go by deployment.

    :param anchor: the section's; the rows of points are named after it.
    """
    found: dict[tuple[str, str], list[PicturePoint]] = {}
    for point in numbers.picture.points:
        result = point.row.point
        found.setdefault((point.row.run.id, str(result.provenance.get("launch") or result.identity.deployment)), []).append(point)
    for place, ((_, name), points) in enumerate(found.items(), 1):
        yield _part(name, points, numbers, anchor=anchor, place=place)


def _part(name: str, points: Sequence[PicturePoint], numbers: Numbers, *, anchor: str, place: int) -> LaunchPart:
    first = points[0].row.point
    launch = points[0].row.run.launches.get(name, {})
    commands = tuple(_commands(launch)) or tuple(
        _command("server", argv) for argv in [first.provenance.get("argv")] if isinstance(argv, list | tuple) and argv
    )
    bad = sum(not point.row.point.usable for point in points)
    summary = f"{engine_name(first.identity.engine)}, {counted(len(points), 'point')}{f', {bad} not counted' if bad else ''}"
    return LaunchPart(
        anchor=f"{anchor}-launch-{place}",
        name=name,
        summary=summary,
        facts=tuple(_facts(points, launch)),
        commands=commands,
        no_command="" if commands else _no_command(points, launch),
        env=_env(launch, name, numbers),
        points=_points(points, numbers, anchor),
        further=_further(points, numbers),
        notes=(*_notes(points), *_further_notes(points)),
    )


def _facts(points: Sequence[PicturePoint], launch: Mapping[str, object]) -> Iterator[Fact]:
    first = points[0].row.point
    identity = first.identity
    yield Fact(label="Engine", value=f"{engine_name(identity.engine)} {identity.engine_version or '(version not known)'}")
    runtime = launch.get("runtime_facts")
    digest = runtime.get("image_digest") if isinstance(runtime, dict) else None
    yield Fact(label="Image", value=f"{identity.image or MISSING}{f' ({digest})' if digest else ''}")
    yield Fact(label="Runtime", value=str(launch.get("runtime") or MISSING))
    if first.provenance.get("recipe"):
        yield Fact(label="Recipe", value=str(first.provenance["recipe"]))
    if launch.get("simulated"):
        yield Fact(label="Started", value="never: it would have been started so (SIMULATED)")
    ready = launch.get("ready_s")
    if isinstance(ready, int | float):
        yield Fact(label="Ready after", value=f"{ready:.0f} s")


def _commands(launch: Mapping[str, object]) -> Iterator[LaunchCommand]:
    processes = launch.get("processes")
    for process in processes if isinstance(processes, list) else []:
        if isinstance(process, dict) and isinstance(process.get("argv"), list):
            yield _command(str(process.get("name") or "server"), process["argv"])


def _command(name: str, argv: Sequence[object]) -> LaunchCommand:
    lines: list[str] = []
    for place, word in enumerate(map(str, argv)):
        quoted = shlex.quote(word)
        if place == 0 or word.startswith("-"):
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return LaunchCommand(name=name, lines=tuple(lines))


def _no_command(points: Sequence[PicturePoint], launch: Mapping[str, object]) -> str:
    if points[0].row.point.origin == "imported":
        return "How the engine was started stands in no imported file."
    if launch.get("url"):
        return f"A server that was already running at {launch['url']}: ixbench did not start it."
    return "The run does not keep how the engine was started."


def _env(launch: Mapping[str, object], name: str, numbers: Numbers) -> Table | None:
    rows: dict[tuple[str, ...], None] = {}
    processes = launch.get("processes")
    for process in processes if isinstance(processes, list) else []:
        env = process.get("env") if isinstance(process, dict) else None
        for variable, row in sorted(env.items()) if isinstance(env, dict) else []:
            if isinstance(row, dict):
                rows[(str(variable), *(str(row.get(key) or MISSING) for key in ("value", "reason", "origin")))] = None
    if not rows:
        return None
    return Table(caption=numbers.marked(f"Environment of {name}"), headers=_ENV_HEADERS, rows=tuple(rows))


def _points(points: Sequence[PicturePoint], numbers: Numbers, anchor: str) -> Table:
    rows = []
    for point in points:
        row = point.row
        verdict = row.verdict + (f", {IMPORTED}" if row.point.origin == "imported" else "")
        rows.append((point.name, configuration(row.point), verdict, " ".join(row.reasons()) or MISSING))
    anchors = tuple(f"{anchor}-point-{point.number}" for point in points)
    return Table(caption=numbers.marked("Points"), headers=_POINT_HEADERS, rows=tuple(rows), anchors=anchors)


def _further(points: Sequence[PicturePoint], numbers: Numbers) -> Table | None:
    rows = [point.row for point in points]
    columns = further_columns(rows, chosen=())
    if not columns:
        return None
    return Table(
        caption=numbers.marked("Metrics of other plugins"),
        headers=("Metric", "Unit", *(point.name for point in points)),
        rows=tuple(map(tuple, further_rows(rows, columns))),
    )


def _further_notes(points: Sequence[PicturePoint]) -> list[str]:
    rows = [point.row for point in points]
    return further_definitions([row.run for row in rows], further_columns(rows, chosen=()))


def _notes(points: Sequence[PicturePoint]) -> Iterator[str]:
    """Yield what was noted about the launch, once for all its points."""
    found: dict[str, None] = {}
    for point in points:
        notes = point.row.point.provenance.get("notes")
        found |= dict.fromkeys(str(note) for note in notes) if isinstance(notes, list | tuple) else {}
    yield from found


def unfinished(runs: Sequence[RunView]) -> Iterator[str]:
    """Yield for each run what of its plan is not there yet."""
    yield from (f"{run.id}: not finished: {', '.join(run.missing)}." for run in runs if run.missing)
