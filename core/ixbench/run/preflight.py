"""What can be known to be impossible before anything starts: hardware that is not here, workloads whose input is broken."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ixbench.host.source import describe
from ixbench.model.errors import Fault, InputError, IxbenchError, PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.host.host import Host
    from ixbench.model.deployment import HardwareSpec
    from ixbench.model.point import Launch, Plan, Point

HOST_VENDOR = "any"
"""Vendor of the SKU that is the machine itself: it is always there."""


def check_runnable(plan: Plan, points: Sequence[Point], host: Host, *, where: str) -> None:
    """Refuse a run that cannot succeed.

    :param where: the campaign file's name, for messages.
    :raises InputError: if GPUs are missing, a runtime is unknown, or a workload cannot build its schedule.
    :raises PluginError: if the workload fails.
    """
    launches = {launch.id: launch for launch in plan.launches}
    needed = {point.deployment.hardware for point in points if launches[point.launch].plan.processes}
    for hardware in needed:
        _check_hardware(hardware, host, where)
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


def _check_hardware(hardware: HardwareSpec, host: Host, where: str) -> None:
    if hardware.sku is None:
        return
    sku = next((row for book in host.hardware() for row in book.skus() if row.sku == hardware.sku), None)
    if sku is None or sku.vendor == HOST_VENDOR:
        return
    found = Counter(gpu.sku or gpu.name for book in host.hardware() for gpu in book.detect())
    wanted = hardware.gpus or 1
    if found[hardware.sku] >= wanted:
        return
    has = ", ".join(f"{count} x {name}" for name, count in sorted(found.items())) or "none"
    problem = f"this machine does not have the {wanted} x {sku.name} that the campaign launches engines on (accelerators found: {has})"
    if hardware.absent == "simulate":
        problem += ", and this version has no simulated engine to stand in for them"
    advice = "what runs here: `ixbench run examples/laptop.toml`, which needs no GPU, or `ixbench bench URL` for a server that is up"
    raise InputError(Fault(where=f"{where}: hardware.sku", problem=problem, advice=advice))


def pending_launches(plan: Plan, points: Sequence[Point]) -> list[tuple[Launch, list[Point]]]:
    """Return the launches that have points to measure, each with these, in plan order."""
    by_launch: dict[str, list[Point]] = {}
    for point in points:
        by_launch.setdefault(point.launch, []).append(point)
    return [(launch, by_launch[launch.id]) for launch in plan.launches if launch.id in by_launch]
