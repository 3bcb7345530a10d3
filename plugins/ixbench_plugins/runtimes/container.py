"""Engines in containers: one implementation for docker and for podman, which differ in a few flags only."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.engine import CannotRunError, Failure, Runtime
from ixbench_plugins.runtimes.command import container_name, gpu_devices, id_file, run_argv, secret_variables
from ixbench_plugins.runtimes.machine import DEVICES, gpu_facts
from ixbench_plugins.runtimes.options import ContainerOptions, Mount, PodmanOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ixbench.api.engine import Ask, CommandOutput, LaunchPlan, Place, ProcessPlan

ASK_LIMIT_S = 60.0
"""Bound on a question to the tool; a daemon that is busy removing a large container may take its time."""
_NO_IMAGE = re.compile(r"no such (?:image|object)|image not known|not found", re.IGNORECASE)
_NO_NAME = re.compile(r"invalid reference format|repository name must be lowercase", re.IGNORECASE)
_NO_COMMAND = re.compile(r"No such file or directory")
_TOOL_SAYS = re.compile(r"^(?:Error|docker|podman|unknown|invalid)\b", re.IGNORECASE)
_REFUSED = 125
"""What docker and podman end with where they themselves failed."""


class ContainerRuntime(Runtime):
    """Runs each process of a launch in a container of its own, with this machine's network."""

    Options = ContainerOptions
    starts_images: ClassVar[bool] = True
    remove: ClassVar[tuple[str, ...]] = ("rm", "--force", "--volumes")
    """The subcommand that removes a container, running or not; that there is none is no failure."""

    def __init__(self, devices: Path = DEVICES) -> None:
        """Take the folder of this machine's device files."""
        self._devices = devices

    async def look(self, plan: LaunchPlan, options: ContainerOptions, ask: Ask) -> Mapping[str, Any]:
        """Return which image it is, fetched where that is wanted, whose GPUs are here, and the tool's version.

        :raises CannotRunError: if there is no image, or the tool does not work.
        """
        if plan.image is None:
            fix = 'Give `image = "..."` in the deployment, or choose a recipe that has one.'
            raise CannotRunError(
                Failure(code="no_image", cause=f"Runtime {self.name} starts images, and the deployment has none.", fix=fix)
            )
        facts = gpu_facts(self._devices)
        _check_files((*plan.reads, *(Mount.parse(text).source for text in options.mounts)))
        _check_devices(options, gpu_devices(options, facts), self._devices)
        image = await self._image(plan.image, options, ask)
        version = await ask([*options.command, "--version"], ASK_LIMIT_S)
        return {"tool": " ".join(version.stdout.split()) or None, **image, **facts}

    def wrap(self, plan: LaunchPlan, process: ProcessPlan, place: Place) -> ProcessPlan:
        """Return `run` with the process in it; of its environment only secrets stay with the tool, which hands them on."""
        options = self._options(place)
        argv = (*options.command, "run", *run_argv(plan, process, place, options, tool=self.name))
        return replace(process, argv=argv, env=secret_variables(process))

    async def pids(self, plan: LaunchPlan, process: ProcessPlan, place: Place, ask: Ask) -> tuple[int, ...] | None:
        """Return the number of the container's first process, as this machine counts."""
        del plan
        said = await ask(
            [*self._options(place).command, "inspect", "--format", "{{.State.Pid}}", self._container(process, place)], ASK_LIMIT_S
        )
        pid = said.stdout.strip()
        if said.code != 0 or not pid.isdecimal():
            return None
        return (int(pid),) if int(pid) else ()

    def refused(self, code: int, said: str) -> Failure | None:
        """Return what the tool said where it started no container: it then ends with a code of its own."""
        if code != _REFUSED:
            return None
        lines = [line.strip() for line in said.splitlines() if line.strip() and not line.lstrip().startswith("See '")]
        word = next((line for line in lines if _TOOL_SAYS.search(line)), lines[-1] if lines else "nothing")
        return Failure(
            code="container_refused",
            cause=f"{self.name} started no container; it says: {word.rstrip('.')}.",
            fix="Check the keys of [runtime], extra_args among them; `ixbench show RUN POINT` prints the whole command.",
        )

    def cleanup(self, plan: LaunchPlan, place: Place) -> tuple[tuple[str, ...], ...]:
        """Return a command for each container, by its id, or its unique name while it has none; then one for the files with the ids."""
        tool = self._options(place).command
        removed = ((*tool, *self.remove, self._container(process, place)) for process in reversed(plan.processes))
        return (*removed, ("rm", "-f", *(id_file(process, place) for process in plan.processes)))

    def _options(self, place: Place) -> ContainerOptions:
        return place.options if isinstance(place.options, ContainerOptions) else ContainerOptions(command=[self.name])

    def _container(self, process: ProcessPlan, place: Place) -> str:
        try:
            return Path(id_file(process, place)).read_text(encoding="ascii").strip() or container_name(process, place)
        except (OSError, UnicodeDecodeError):
            return container_name(process, place)

    async def _image(self, image: str, options: ContainerOptions, ask: Ask) -> dict[str, Any]:
        said = await self._inspect(image, options, ask)
        if said.code != 0:
            if options.pull == "never":
                fix = f'Fetch it with `{" ".join(options.command)} pull {image}`, or set pull = "missing" in [runtime].'
                raise CannotRunError(Failure(code="image_missing", cause=f"Image {image} is not on this machine.", fix=fix))
            pulled = await ask([*options.command, "pull", image], options.pull_limit)
            if pulled.code != 0:
                raise CannotRunError(
                    Failure(
                        code="image_missing",
                        cause=f"Image {image} is not on this machine and cannot be fetched: {_last_line(pulled)}.",
                        fix="Check its name, its registry and the login there; pull_limit in [runtime] bounds the time that it may take.",
                    )
                )
            said = await self._inspect(image, options, ask)
        return _image_facts(said.stdout)

    async def _inspect(self, image: str, options: ContainerOptions, ask: Ask) -> CommandOutput:
        """Return what the tool says of an image: it has it, or it has not.

        :raises CannotRunError: if it says neither.
        """
        said = await ask([*options.command, "image", "inspect", image], ASK_LIMIT_S)
        if said.code is not None and _NO_NAME.search(said.stderr):
            fix = "Correct `image` in the deployment, or in its recipe."
            raise CannotRunError(Failure(code="image_missing", cause=f"{image!r} is not the name of an image.", fix=fix))
        if said.code == 0 or (said.code is not None and _NO_IMAGE.search(said.stderr)):
            return said
        tool = " ".join(options.command)
        if said.code is None and _NO_COMMAND.search(said.stderr):
            raise CannotRunError(
                Failure(
                    code="runtime_unavailable",
                    cause=f"Runtime {self.name} needs the command `{options.command[0]}`, which this machine lacks.",
                    fix=f"Install {self.name}, or name its command in [runtime] command.",
                )
            )
        raise CannotRunError(
            Failure(
                code="runtime_unavailable",
                cause=f"Containers cannot be started here: `{tool}` says: {_last_line(said)}.",
                fix=f"Check that `{tool} ps` works for this user; [runtime] command names another command.",
            )
        )


class DockerRuntime(ContainerRuntime):
    """Containers of docker."""

    name: ClassVar[str] = "docker"
    summary: ClassVar[str] = "a container of docker for each process"


class PodmanRuntime(ContainerRuntime):
    """Containers of podman."""

    name: ClassVar[str] = "podman"
    summary: ClassVar[str] = "a container of podman for each process"
    Options = PodmanOptions
    remove: ClassVar[tuple[str, ...]] = ("rm", "--force", "--ignore", "--volumes")


def _check_files(paths: Iterable[str]) -> None:
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        fix = "Check [model] path in the campaign and mounts in its [runtime]."
        raise CannotRunError(Failure(code="mount_missing", cause=f"The container needs {missing[0]}, which this machine lacks.", fix=fix))


def _check_devices(options: ContainerOptions, gpus: Iterable[str], devices: Path) -> None:
    """See that the files of devices are here.

    :param gpus: those of the GPUs, which lie in the folder `devices`.
    """
    named = {text.partition(":")[0]: Path(text.partition(":")[0]) for text in options.devices if text.startswith("/")}
    wanted = {**named, **{path: devices / Path(path).name for path in gpus}}
    missing = [path for path, here in wanted.items() if not here.exists()]
    if missing:
        fix = "Check the GPU driver, or set gpus and devices in [runtime] to what is here."
        raise CannotRunError(
            Failure(code="container-device-missing", cause=f"The container asks for {missing[0]}, which this machine lacks.", fix=fix)
        )


def _image_facts(inspected: str) -> dict[str, Any]:
    """Return the image's id and its digest in a registry, as far as the tool tells them."""
    try:
        (image,) = json.loads(inspected)
        digests: Sequence[str] = image.get("RepoDigests") or ()
        digest = next((text.partition("@")[2] for text in digests if "@" in text), None)
        return {"image_id": str(image["Id"]), "image_digest": digest}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {"image_id": None, "image_digest": None}


def _last_line(said: CommandOutput) -> str:
    lines = [line.strip() for line in (said.stderr or said.stdout).splitlines() if line.strip()]
    return lines[-1].rstrip(".?") if lines else f"nothing (exit code {said.code})"
