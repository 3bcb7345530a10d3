"""The command line of one container, as a pure function of the plan, the options and the facts of the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from ixbench.api.engine import is_secret_name
from ixbench_plugins.runtimes.options import Mount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ixbench.api.engine import EnvVar, LaunchPlan, Place, ProcessPlan
    from ixbench_plugins.runtimes.options import ContainerOptions

LABEL = "ixbench-launch"
ULIMITS: Mapping[str, int | str | Literal[False]] = {"memlock": -1, "stack": 67_108_864}
"""What ROCm asks for: pinned host memory without a limit, and large stacks for its compiler."""
_FOLDER = "{folder}"
_AMD_DEVICES = ("/dev/kfd", "/dev/dri")


def container_name(process: ProcessPlan, place: Place) -> str:
    """Return the name of a process's container; the marker makes it unique."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", f"ixbench-{place.marker}-{process.name}")


def id_file(process: ProcessPlan, place: Place) -> str:
    """Return the file that the tool writes the container's id to; it must not exist before, so each start has its own."""
    return f"{place.folder}/{container_name(process, place).removeprefix('ixbench-')}.cid"


def secret_variables(process: ProcessPlan) -> dict[str, EnvVar]:
    """Return the variables whose values must not be on a command line: the tool gets them in its environment and hands them on."""
    return {name: variable for name, variable in process.env.items() if is_secret_name(name)}


def run_argv(plan: LaunchPlan, process: ProcessPlan, place: Place, options: ContainerOptions, *, tool: str) -> Iterator[str]:
    """Yield the arguments of `run`, the image and the process's own command at their end."""
    yield from ("--rm", "--name", container_name(process, place), "--cidfile", id_file(process, place))
    yield from ("--label", f"{LABEL}={place.marker}")
    # The host asks the engine to end and gives it time; who removes the container after that need not do so again.
    yield "--stop-timeout=0"
    if options.init:
        yield "--init"
    # Engines are asked over this machine's loopback, and their ranks talk through it.
    yield "--network=host"
    yield from ("--ipc=host",) if options.shm_size is None else ("--shm-size", str(options.shm_size))
    yield from _gpu_flags(place, options, tool)
    yield from _each("--device", options.devices)
    yield from _each("--group-add", options.groups)
    yield from (f"--cap-add={name}" for name in options.cap_add)
    yield from _each("--security-opt", options.security_opt)
    limits = {**ULIMITS, **options.ulimits}
    yield from _each("--ulimit", (f"{name}={value}" for name, value in limits.items() if value is not False))
    # Not --volume: with it docker makes what is missing, as an empty folder of root's.
    yield from _each("--mount", map(str, mounts(plan, process, place, options)))
    yield from _environment(plan, process, place, options)
    yield from options.extra_args
    image = plan.image or ""
    if options.entrypoint == "keep":
        yield from (image, *process.argv)
    else:
        yield from ("--entrypoint", process.argv[0], image, *process.argv[1:])


def gpu_devices(options: ContainerOptions, facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the device files that a container of AMD's GPUs gets; a container of NVIDIA's is the tool's own business."""
    vendor = facts.get("gpu_vendor") if options.gpus == "auto" else options.gpus
    return _AMD_DEVICES if vendor == "amd" else ()


def _gpu_flags(place: Place, options: ContainerOptions, tool: str) -> Iterator[str]:
    """Yield what shows a container all GPUs of one vendor; the engine's visibility variable chooses among them."""
    facts: Mapping[str, object] = place.facts
    vendor = facts.get("gpu_vendor") if options.gpus == "auto" else options.gpus
    if vendor == "amd":
        yield from _each("--device", _AMD_DEVICES)
        if tool == "podman" and facts.get("user"):
            # Without root a container can only keep the groups that the user has.
            yield from ("--group-add", "keep-groups")
        else:
            gids = facts.get("render_gids")
            yield from _each("--group-add", ("video", *(str(gid) for gid in (gids if isinstance(gids, list | tuple) else ()))))
    elif vendor == "nvidia":
        yield from ("--device", "nvidia.com/gpu=all") if tool == "podman" else ("--gpus", "all")


def mounts(plan: LaunchPlan, process: ProcessPlan, place: Place, options: ContainerOptions) -> Iterable[Mount]:
    """Return what the container sees of this machine's files, each once: what the engine reads, and the launch's folder if it is named."""
    texts = (*process.argv, *(variable.value for variable in process.env.values()))
    own = (Mount(source=place.folder, target=place.folder, mode="rw"),) if any(_FOLDER in text for text in texts) else ()
    folders = (step.script.rpartition("/")[0] for step in plan.prepare)
    read = (Mount(source=path, target=path, mode="ro") for path in (*plan.reads, *folders))
    return dict.fromkeys((*own, *read, *map(Mount.parse, options.mounts)))


def _environment(plan: LaunchPlan, process: ProcessPlan, place: Place, options: ContainerOptions) -> Iterator[str]:
    """Yield the variables: plain ones with their values, secrets and what this machine's environment gives by name alone."""
    secret = secret_variables(process)
    handed_on = (*place.inherited, *((plan.api_key_env,) if plan.api_key_env else ()), *options.inherit_env, *secret)
    yield from _each("--env", (f"{name}={process.env[name].value}" for name in sorted(process.env.keys() - secret.keys())))
    yield from _each("--env", (name for name in dict.fromkeys(handed_on) if name in secret or name not in process.env))


def _each(flag: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (flag, value)
