"""What can be known to be impossible before anything starts: hardware that is not here, workloads whose input is broken."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.model.errors import Fault, InputError, IxbenchError, PluginError, describe
from ixbench.model.price import HOST_VENDOR
from ixbench.run.capabilities import capabilities_of
from ixbench.run.replica import simulation_of
from ixbench.run.startable import check_commands, check_scripts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.campaign.campaign import Campaign
    from ixbench.host.host import Host
    from ixbench.model.deployment import HardwareSpec
    from ixbench.model.point import Launch, Plan, Point

_ADVICE = (
    'run it where they are, set absent = "simulate" (or --simulate) to see what a model of the engine makes of it, '
    "or measure a running server with --attach URL"
)


def simulated_points(plan: Plan, points: Sequence[Point], host: Host, *, where: str, everything: bool) -> frozenset[str]:
    """Return the ids of the points that are to be simulated: those whose hardware is absent and may be stood in for, or all.

    :param where: the campaign file's name, for messages.
    :param everything: simulate every point, whatever hardware is here.
    :raises InputError: if hardware is absent and nothing may or can stand in for it, or a running server is to be simulated.
    """
    launches = {launch.id: launch.plan for launch in plan.launches}
    chosen: list[Point] = []
    faults: dict[str, Fault] = {}
    for point in points:
        hardware, started = point.deployment.hardware, bool(launches[point.launch].processes)
        if everything and not started:
            fault = Fault(where=f"{where}: deployment {point.deployment.name}", problem="a server that is already up cannot be simulated")
            faults[str(fault)] = fault
            continue
        absent = _absence(hardware, host) if started and not everything else None
        if absent is not None and hardware.absent == "fail":
            fault = Fault(where=f"{where}: hardware.sku", problem=absent, advice=_ADVICE)
            faults[str(fault)] = fault
        elif everything or absent is not None:
            chosen.append(point)
    for point in chosen:
        try:
            simulation_of(point, host)
        except InputError as error:
            faults |= {str(fault): fault for fault in error.faults}
    if faults:
        raise InputError(faults.values())
    return frozenset(point.id for point in chosen)


def check_runnable(plan: Plan, points: Sequence[Point], host: Host, *, where: str) -> None:
    """Refuse a run that cannot succeed.

    :param where: the campaign file's name, for messages.
    :raises InputError: if a runtime is unknown, or a workload cannot build its schedule.
    :raises PluginError: if the workload fails.
    """
    launches = {launch.id: launch for launch in plan.launches}
    for runtime in sorted({launches[point.launch].plan.runtime for point in points}):
        host.runtime(runtime, where=f"{where}: runtime.use")
    faults: dict[str, Fault] = {}
    for point in points:
        workload = host.workload(point.workload)
        try:
            workload.schedule(point.workload_options, point.load, key="preflight")
        except InputError as error:
            faults |= {str(fault): fault for fault in error.faults}
        except IxbenchError:
            raise
        except Exception as error:
            raise PluginError(f"{host.source_of(workload)}: workload {workload.name}: schedule: {describe(error)}") from error
    if faults:
        raise InputError(faults.values())


def check_reads(plan: Plan, points: Sequence[Point], *, where: str) -> None:
    """Refuse launches that would read what is not there: engines tell it late, or take a missing folder for the name of a hub's model.

    :param points: what is to be measured; simulated points read no model.
    :raises InputError: with a fault for each file or folder.
    """
    faults: dict[str, Fault] = {}
    launches = {launch.id: launch.plan for launch in plan.launches}
    for point in points:
        launch = launches[point.launch]
        for path in launch.reads if launch.processes else ():
            if path in faults or Path(path).exists():
                continue
            if path == point.deployment.model.path:
                faults[path] = Fault(
                    where=f"{where}: model.path",
                    problem=f"{path} does not exist",
                    advice="give the folder or file of the weights, or only id",
                )
            else:
                problem = f"engine '{launch.engine}' would read {path}, which does not exist"
                faults[path] = Fault(where=f"{where}: deployment {point.deployment.name}", problem=problem)
    if faults:
        raise InputError(faults.values())


def check_profiled(profile: str, plan: Plan, points: Sequence[Point], simulated: frozenset[str], host: Host) -> None:
    """Refuse `--profile` for a point whose engine cannot be profiled, or which is not to be measured now.

    :param points: what is to be measured.
    :raises InputError: with what is in the way.
    """
    if not profile.strip():
        raise InputError(Fault(where="--profile", problem="the value is empty", allowed=", ".join(point.id for point in plan.points)))
    where = f"--profile {profile}"
    point = next((point for point in points if point.id == profile), None)
    if point is None:
        known = any(planned.id == profile for planned in plan.points)
        problem = "is measured already, or not asked for with --only" if known else "there is no such point"
        raise InputError(Fault(where=where, problem=problem, allowed=", ".join(point.id for point in points) or "none is left to measure"))
    if point.id in simulated:
        raise InputError(Fault(where=where, problem="the point would be simulated, and there is no server to profile"))
    launch = next(launch.plan for launch in plan.launches if launch.id == point.launch)
    if launch.profiler is False:
        problem = f"engine '{launch.engine}' would be started without its profiler"
        raise InputError(Fault(where=where, problem=problem, advice=f"set profiler = true in deployment {point.deployment.name}"))
    capabilities, trouble = capabilities_of(host.engine(launch.engine), launch.identity.engine_version)
    if not capabilities.profiler:
        able = sorted(adapter.name for adapter in host.engines() if capabilities_of(adapter)[0].profiler)
        raise InputError(
            Fault(
                where=where,
                problem=trouble or f"engine '{launch.engine}' has no profiler that ixbench could start and stop",
                allowed=f"points of {', '.join(able)}" if able else "no engine that is installed here has one",
            )
        )


def check_files(campaign: Campaign, plan: Plan, host: Host) -> None:
    """Refuse a campaign whose files are missing or broken: what its workload and its engines read and start, and the model's tokenizer.

    The engines' own commands are looked for where the machine has the hardware; elsewhere nobody expects them.

    :raises InputError: with a fault for each.
    :raises PluginError: if the workload fails.
    """
    faults: list[Fault] = []
    tokenizer = campaign.model.tokenizer
    if tokenizer is not None and not Path(tokenizer).is_file():
        advice = "leave the key out to learn from the server"
        faults.append(Fault(where=f"{campaign.where}: model.tokenizer", problem=f"there is no file {tokenizer}", advice=advice))
    # Deployments share their workload, so that one point for each load will do.
    loads = {point.load: point for point in plan.points}
    absent = {hardware: _absence(hardware, host) for hardware in {point.deployment.hardware for point in plan.points}}
    here = [point for point in plan.points if absent[point.deployment.hardware] is None]
    started = [point for point in plan.points if absent[point.deployment.hardware] is None or point.deployment.hardware.absent == "fail"]
    checks = (
        partial(check_runnable, plan, tuple(loads.values()), host, where=campaign.where),
        partial(check_reads, plan, started, where=campaign.where),
        partial(check_scripts_of, plan, started, where=campaign.where),
        partial(check_commands, plan, here, host, where=campaign.where),
    )
    for check in checks:
        try:
            check()
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)


def _absence(hardware: HardwareSpec, host: Host) -> str | None:
    """Return what this machine lacks, in words, or None if it has all that is wanted."""
    if hardware.sku is None:
        return None
    sku = host.sku(hardware.sku)
    if sku is None or sku.vendor == HOST_VENDOR:
        return None
    found = Counter(gpu.sku or gpu.name for gpu in host.detect())
    wanted = hardware.gpus or 1
    if found[hardware.sku] >= wanted:
        return None
    has = ", ".join(f"{count} x {name}" for name, count in sorted(found.items())) or "none"
    return f"this machine does not have the {wanted} x {sku.name} that the campaign launches engines on (accelerators found: {has})"


def pending_launches(plan: Plan, points: Sequence[Point]) -> list[tuple[Launch, list[Point]]]:
    """Return the launches that have points to measure, each with these, in plan order, repeats in passes of their own.

    With repeats a launch comes once in each pass; two passes that meet in the same launch share its start.
    """
    found: list[tuple[Launch, list[Point]]] = []
    for repeat in sorted({point.repeat for point in points}):
        by_launch: dict[str, list[Point]] = {}
        for point in points:
            if point.repeat == repeat:
                by_launch.setdefault(point.launch, []).append(point)
        for launch in plan.launches:
            if launch.id not in by_launch:
                continue
            if found and found[-1][0] is launch:
                found[-1][1].extend(by_launch[launch.id])
            else:
                found.append((launch, by_launch[launch.id]))
    return found
