"""A plan in print: as JSON, and as text for people. Both are pure: equal plans give equal bytes, and no secret is in them."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.runtime import Place
from ixbench.model.counts import counted
from ixbench.model.prepare import prepared_processes
from ixbench.model.secrets import HIDDEN, is_secret_name, redact_argv, redact_table, redact_text, redact_url
from ixbench.model.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ixbench.host.contracts.runtime import Runtime
    from ixbench.model.deployment import EnvVar
    from ixbench.model.launch import LaunchPlan, ProcessPlan
    from ixbench.model.point import Launch, Plan, Point


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return `{"points": [...], "launches": [...], "gpus", "seconds"}`; None is unknown."""
    return {
        "points": [_point(point) for point in plan.points],
        "launches": [{"id": launch.id, **launch_plan_json(launch.plan), "points": list(launch.points)} for launch in plan.launches],
        "gpus": plan.gpus,
        "seconds": plan.seconds,
    }


def launch_plan_json(plan: LaunchPlan) -> dict[str, Any]:
    """Return one launch plan as JSON values, secrets hidden: `argv` and `env` are the server's own, `processes` holds all."""
    processes = [_process(process) for process in plan.processes]
    server = processes[-1] if processes else None
    return {
        "engine": plan.engine,
        "argv": server["argv"] if server else [],
        "env": server["env"] if server else {},
        "processes": processes,
        **({"files": {name: redact_text(plan.files[name]) for name in sorted(plan.files)}} if plan.files else {}),
        "runtime": plan.runtime,
        **({"runtime_options": redact_table(plan.runtime_options.model_dump(mode="json"))} if plan.runtime_options is not None else {}),
        "image": plan.image,
        **({"reads": list(plan.reads)} if plan.reads else {}),
        "url": redact_url(plan.url) if plan.url is not None else None,
        "api": plan.api,
        "served_model": plan.served_model,
        "headers": dict.fromkeys(sorted(plan.headers), HIDDEN),
        "api_key_env": plan.api_key_env,
        "ca_file": plan.ca_file,
        **({"prepare": [asdict(step) for step in plan.prepare]} if plan.prepare else {}),
        "identity": asdict(plan.told),
        "ready_limit_s": plan.ready_limit_s,
        "stop_grace_s": plan.stop_grace_s,
        "notes": [redact_text(note) for note in plan.notes],
        "amended_by": list(plan.amended_by),
    }


def planned_commands(launch: Launch, runtime: Runtime, *, vendor: str | None) -> list[list[str]]:
    """Return what a runtime would start for each process, secrets hidden; of the machine only the vendor of its GPUs is known."""
    facts = {} if vendor is None else {"gpu_vendor": vendor.lower()}
    place = Place(marker=launch.id, folder="{folder}", options=launch.plan.runtime_options, facts=facts)
    processes = prepared_processes(launch.plan) if launch.plan.processes else ()
    return [list(redact_argv(runtime.wrap(launch.plan, process, place).argv)) for process in processes]


def plan_text(plan: Plan) -> str:
    """Return the plan for people: what is measured, and how each engine is started."""
    lines = [_headline(plan), "", *_columns(_rows(plan))]
    for launch in plan.launches:
        lines += ["", *_launch_lines(launch)]
    notes = plan_notes(plan)
    if notes:
        lines += ["", "notes", *(f"  {note}" for note in notes)]
    return "\n".join(lines)


def plan_notes(plan: Plan) -> tuple[str, ...]:
    """Return every note of the plan once, behind the launches or points that it is about: those of launches first."""
    return (
        *_grouped((note, launch.id) for launch in plan.launches for note in launch.plan.notes),
        *_grouped((note, point.id) for point in plan.points for note in point.deployment.notes),
    )


def _grouped(notes: Iterable[tuple[str, str]]) -> Iterator[str]:
    about: dict[str, list[str]] = {}
    for note, subject in notes:
        about.setdefault(redact_text(note), []).append(subject)
    for note, subjects in about.items():
        yield f"{', '.join(dict.fromkeys(subjects))}: {note}"


def _point(point: Point) -> dict[str, Any]:
    deployment = point.deployment
    return {
        "id": point.id,
        "launch": point.launch,
        "deployment": deployment.name,
        "engine": deployment.engine,
        "recipe": deployment.recipe,
        "model": deployment.model.id or None,
        "hardware": deployment.hardware.sku,
        "gpus": deployment.hardware.gpus,
        "workload": point.workload,
        "concurrency": point.load.concurrency,
        "rate": point.load.rate,
        "settings": redact_table(point.settings),
        "repeat": point.repeat,
        "seconds": point.seconds,
        "notes": [redact_text(note) for note in deployment.notes],
    }


def _process(process: ProcessPlan) -> dict[str, Any]:
    return {
        "name": process.name,
        "argv": list(redact_argv(process.argv)),
        "env": _env(process.env),
        "gpus": list(process.gpus),
        "readiness": asdict(process.readiness),
    }


def _env(env: Mapping[str, EnvVar]) -> dict[str, dict[str, str]]:
    return {
        name: {"value": _env_value(name, env[name]), "reason": redact_text(env[name].reason), "origin": env[name].origin}
        for name in sorted(env)
    }


def _env_value(name: str, variable: EnvVar) -> str:
    return HIDDEN if is_secret_name(name) and variable.value else redact_text(variable.value)


def _headline(plan: Plan) -> str:
    repeats = max((point.repeat for point in plan.points), default=1)
    passes = f" ({counted(repeats, 'pass')})" if repeats > 1 else ""
    parts = [f"{counted(len(plan.points), 'point')}{passes} in {counted(len(plan.launches), 'launch')}"]
    if plan.gpus is not None:
        parts.append(counted(plan.gpus, "GPU"))
    if plan.seconds is not None:
        parts.append(f"about {format_duration(plan.seconds)} of load")
    return ", ".join(parts)


def _rows(plan: Plan) -> list[tuple[str, ...]]:
    timed = any(point.seconds is not None for point in plan.points)
    rows = [("point", "engine", "launch", *(("load for",) if timed else ()))]
    for point in plan.points:
        seconds = (format_duration(point.seconds) if point.seconds is not None else "-",) if timed else ()
        rows.append((point.id, point.deployment.engine, point.launch, *seconds))
    return rows


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _launch_lines(launch: Launch) -> list[str]:
    plan = launch.plan
    lines = [f"launch {launch.id}: {plan.engine}, {counted(len(launch.points), 'point')}"]
    if plan.url is not None:
        return [*lines, f"  already running at {redact_url(plan.url)}"]
    if plan.image is not None:
        lines.append(f"  image {plan.image}")
    lines += [f"  first {step.script} (sha256 {step.sha256})  # {step.reason}" for step in plan.prepare]
    lines += [f"  writes {name}: {redact_text(' '.join(plan.files[name].split()))}" for name in sorted(plan.files)]
    for process in plan.processes:
        lines.append(f"  {process.name}: {shlex.join(redact_argv(process.argv))}")
        lines += [
            f"    {name}={_env_value(name, process.env[name])}  # {process.env[name].origin}: {redact_text(process.env[name].reason)}"
            for name in sorted(process.env)
        ]
    return lines
