"""Whether the GPUs of this machine are fit for a run, before anything starts: whole ones, and shown to engines by one setting alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError
from ixbench.model.price import HOST_VENDOR
from ixbench.model.visibility import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ixbench.host.contracts.book import DetectedGpu
    from ixbench.host.host import Host
    from ixbench.model.deployment import HardwareSpec
    from ixbench.model.launch import LaunchPlan
    from ixbench.model.point import Plan, Point

OWN_RUNTIME = "process"
"""The runtime whose processes inherit our environment."""


def check_gpus(plan: Plan, points: Sequence[Point], host: Host, environ: Mapping[str, str], *, where: str) -> None:
    """Refuse points that would run on partitions of GPUs, or on GPUs that this environment hides.

    :param points: those that are to be measured, not simulated.
    :param where: the campaign file's name, for messages.
    :raises InputError: with a fault for each.
    :raises PluginError: if a hardware book fails.
    """
    launches = {launch.id: launch.plan for launch in plan.launches}
    detected = host.detect()
    faults: dict[str, Fault] = {}
    for point in points:
        launch, hardware = launches[point.launch], point.deployment.hardware
        sku = host.sku(hardware.sku)
        if not launch.processes or sku is None or sku.vendor == HOST_VENDOR:
            continue
        found = [partition_fault(hardware, detected, where)]
        if launch.runtime == OWN_RUNTIME:
            found.append(inherited_fault(hardware, planned_variables(launch), environ, where))
        faults |= {str(fault): fault for fault in found if fault is not None}
    if faults:
        raise InputError(faults.values())


def partition_fault(hardware: HardwareSpec, detected: Iterable[DetectedGpu], where: str) -> Fault | None:
    """Return why GPUs that are split cannot be measured as whole ones."""
    split = [gpu for gpu in detected if gpu.sku == hardware.sku and gpu.partitions > 1]
    if not split:
        return None
    return Fault(
        where=f"{where}: hardware.sku",
        problem=f"this machine has {counted(len(split), 'GPU')} split into partitions ({split[0].name}): "
        f"an engine sees {sum(gpu.partitions for gpu in split)} devices, and per-GPU figures would be those of partitions",
        advice="make them whole first, on AMD with: amd-smi set --compute-partition SPX",
    )


def planned_variables(launch: LaunchPlan) -> tuple[str, ...]:
    """Return the visibility variables that a launch sets itself."""
    return tuple(name for name in VARIABLES if any(name in process.env for process in launch.processes))


def machine_gpus(launch: LaunchPlan, environ: Mapping[str, str]) -> tuple[int, ...]:
    """Return which GPUs of this machine a launch uses, as HIP or CUDA counts all of them; empty where that is not known.

    An engine counts the GPUs that it sees: where a variable shows it some, be it planned or inherited, its GPU 0 is the first of these.
    """
    inherited = {name: environ[name] for name in VARIABLES if name in environ} if launch.runtime == OWN_RUNTIME else {}
    found: dict[int, None] = {}
    for process in launch.processes:
        planned = {name: process.env[name].value for name in VARIABLES if name in process.env}
        gpus = _shown(process.gpus, inherited | planned)
        if gpus is None:
            return ()
        found |= dict.fromkeys(gpus)
    return tuple(found)


def _shown(gpus: tuple[int, ...], variables: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the machine's indices of a process's GPUs, or None where the variables do not tell."""
    if not variables or not gpus:
        return gpus
    (value, *others) = variables.values()
    devices = [device.strip() for device in value.split(",")]
    if not others and devices == [str(gpu) for gpu in gpus]:
        # The deployment names its GPUs, which the variable shows.
        return gpus
    # Devices may be named by their UUIDs too.
    if others or not all(device.isdecimal() for device in devices) or max(gpus) >= len(devices):
        return None
    return tuple(int(devices[gpu]) for gpu in gpus)


def inherited_fault(hardware: HardwareSpec, planned: Sequence[str], environ: Mapping[str, str], where: str) -> Fault | None:
    """Return why the environment that engines inherit shows them other GPUs than the campaign means."""
    inherited = {name: environ[name] for name in VARIABLES if name in environ and name not in planned}
    every = dict.fromkeys((*inherited, *planned))
    if inherited and len(every) > 1:
        return Fault(
            where=f"{where}: hardware",
            problem=f"engines would see {' and '.join(every)}, and one filters what the other has left "
            f"({', '.join(inherited)} stands in this environment)",
            advice=f"unset {' '.join(inherited)} and name the GPUs with the deployment's gpus",
        )
    for name, value in inherited.items():
        shown = len([device for device in value.split(",") if device.strip()])
        if shown < (hardware.gpus or 1):
            return Fault(
                where=f"{where}: hardware.gpus",
                problem=f"the campaign means {counted(hardware.gpus or 1, 'GPU')}, "
                f"and {name}={value!r} in this environment shows engines {shown}",
                advice=f"unset {name}, or lower hardware.gpus",
            )
    return None
