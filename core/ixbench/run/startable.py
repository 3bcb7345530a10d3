"""What a launch needs of this machine before it can start: commands, prepare scripts and API keys, looked at while nothing runs yet."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.launch.errors import EngineError
from ixbench.launch.process import fill
from ixbench.launch.scripts import script_failure
from ixbench.model.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.host.host import Host
    from ixbench.model.launch import LaunchPlan, ProcessPlan
    from ixbench.model.point import Plan, Point


def check_scripts_of(plan: Plan, points: Sequence[Point], *, where: str) -> None:
    """Refuse launches whose prepare scripts are missing, or not those that were meant.

    :param points: what is to be measured; simulated points run no scripts.
    :raises InputError: with a fault for each script.
    """
    faults: dict[str, Fault] = {}
    launches = {launch.id: launch.plan for launch in plan.launches}
    for point in points:
        for step in launches[point.launch].prepare:
            failure = None if step.script in faults else script_failure(step)
            if failure is not None:
                at = f"{where}: deployment {point.deployment.name}: prepare"
                faults[step.script] = Fault(where=at, problem=failure.cause.removesuffix("."), advice=failure.fix.removesuffix("."))
    if faults:
        raise InputError(faults.values())


def check_keys(plan: Plan, points: Sequence[Point], *, where: str) -> None:
    """Refuse launches whose API key is not in its variable, or can be in no header: a server may come last, hours from now.

    :param points: what is to be measured; simulated points ask no server.
    :raises InputError: with a fault for each deployment.
    """
    from ixbench.launch.control import request_headers  # it imports the HTTP client, which `check` does without

    faults: dict[str, Fault] = {}
    launches = {launch.id: launch.plan for launch in plan.launches}
    for point in points:
        at = f"{where}: deployment {point.deployment.name}: api_key_env"
        try:
            request_headers(launches[point.launch])
        except EngineError as error:
            faults[at] = Fault(where=at, problem=error.failure.cause.removesuffix("."), advice=error.failure.fix.removesuffix("."))
    if faults:
        raise InputError(faults.values())


def check_commands(plan: Plan, points: Sequence[Point], host: Host, *, where: str) -> None:
    """Refuse launches whose commands are not on this machine; what an image holds is not known here.

    :param points: what is to be measured on this machine; simulated points start nothing.
    :raises InputError: with a fault for each command.
    """
    faults: dict[str, Fault] = {}
    launches = {launch.id: launch.plan for launch in plan.launches}
    for point in points:
        launch = launches[point.launch]
        if launch.processes and host.runtime(launch.runtime).starts_images:
            continue
        for process in _there_already(launch):
            command = process.argv[0] if process.argv else ""
            problem = None if command in faults else _problem(command, process)
            if problem is not None:
                own = command == point.deployment.executable
                faults[command] = Fault(
                    where=f"{where}: deployment {point.deployment.name}" + (": executable" if own else ""),
                    problem=problem if own else f"engine '{launch.engine}' would start {command!r}: {problem}",
                    advice="correct it" if own else "install the engine, give its command or path with executable, or use a container",
                )
    if faults:
        raise InputError(faults.values())


def _there_already(launch: LaunchPlan) -> Iterator[ProcessPlan]:
    """Yield the processes whose commands must be there before the launch; a prepare step may well install the server."""
    yield from launch.processes[:-1] if launch.prepare else launch.processes


def _problem(command: str, process: ProcessPlan) -> str | None:
    """Return why a command cannot be started, or None if it can, or only its launch will tell."""
    if "{folder}" in command or "{port:" in command:
        return None
    command = fill(command, ports={}, folder=Path())
    if "\0" in command:
        return "its name holds a NUL character"
    search = process.env["PATH"].value if "PATH" in process.env else os.environ.get("PATH", os.defpath)
    if shutil.which(command, path=search) is not None:
        return None
    if "/" not in command:
        return f"there is no command {command!r} on PATH"
    path = Path(command)
    if path.is_dir():
        return f"{command} is a folder"
    return f"{command} is not executable for this user" if path.exists() else f"there is no file {command}"
