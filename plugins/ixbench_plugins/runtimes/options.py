"""The keys of [runtime] for engines in containers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ixbench.api.engine import Duration, OptionsModel, Size

Text = Annotated[str, Field(min_length=1)]

_MOUNT = re.compile(r"(?P<source>(?:~/|/)[^:]*)(:(?P<target>/[^:]*))?(:(?P<mode>ro|rw))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Files of this machine that a container sees."""

    source: str
    target: str
    mode: str
    """`ro` or `rw`."""

    @classmethod
    def parse(cls, text: str) -> Mount:
        """Read "/SOURCE", "/SOURCE:/TARGET" or "/SOURCE:/TARGET:rw"; raises `ValueError` for anything else."""
        found = _MOUNT.fullmatch(text)
        if found is None:
            raise ValueError(f'{text!r} is no mount; allowed: "/SOURCE", "/SOURCE:/TARGET" or "/SOURCE:/TARGET:rw"')
        source = str(Path(found["source"]).expanduser())
        return cls(source=source, target=found["target"] or source, mode=found["mode"] or "ro")

    def __str__(self) -> str:
        """Return the value of `--mount`, which is a line of CSV."""
        parts = ("type=bind", f"source={self.source}", f"target={self.target}", *(("readonly",) if self.mode == "ro" else ()))
        return ",".join(f'"{part}"' if set(part) & set(',"') else part for part in (text.replace('"', '""') for text in parts))


def _check_mount(value: str) -> str:
    Mount.parse(value)
    return value


def _check_variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError(f"{value!r} is no name of an environment variable; allowed: letters, digits and '_', no digit first")
    return value


class ContainerOptions(OptionsModel):
    """Keys of `[runtime]` for docker and podman."""

    command: Annotated[list[Text], Field(min_length=1)] = Field(default_factory=lambda: ["docker"])
    """The tool's command with its global options, for instance ["docker", "--context", "gpu-node"]."""
    pull: Literal["never", "missing"] = "never"
    """Whether an image that is not on this machine is a failure or is fetched before the launch."""
    pull_limit: Annotated[Duration, Field(gt=0)] = 3600.0
    """How long fetching an image may take."""
    gpus: Literal["auto", "amd", "nvidia", "none"] = "auto"
    """Whose GPUs the container sees: "auto" looks at this machine's devices. Which of them an engine uses, the deployment's gpus say."""
    shm_size: Annotated[Size, Field(gt=0)] | None = None
    """Size of a /dev/shm of the container's own, for instance "32 GiB"; without it the machine's is shared (--ipc=host)."""
    mounts: list[Annotated[str, AfterValidator(_check_mount)]] = Field(default_factory=list)
    """More of this machine's files: "/SOURCE", "/SOURCE:/TARGET" or "/SOURCE:/TARGET:rw"; read-only without ":rw". The model's path, and
    scripts in prepare, are always there."""
    inherit_env: list[Annotated[str, AfterValidator(_check_variable)]] = Field(default_factory=list)
    """Variables of this machine's environment that the engine needs too, for instance ["HF_TOKEN"]; their values are on no command line."""
    cap_add: list[Text] = Field(default_factory=lambda: ["SYS_PTRACE"])
    """Capabilities to add."""
    security_opt: list[Text] = Field(default_factory=lambda: ["seccomp=unconfined"])
    """Security options."""
    ulimits: dict[str, int | Text | Literal[False]] = Field(default_factory=dict)
    """Limits beside memlock = -1 and stack = 67108864, or in their place, for instance { nofile = "65535:65535" }; false leaves one out."""
    groups: list[Text] = Field(default_factory=list)
    """More groups, by name or number. Those that may use an AMD GPU are found and added."""
    devices: list[Text] = Field(default_factory=list)
    """More devices, for instance ["/dev/infiniband"]. Those of the GPUs are added."""
    init: bool = True
    """Whether a small init runs beside the engine: as the first process of a container an engine would not heed TERM while it loads."""
    entrypoint: Literal["replace", "keep"] = "replace"
    """"replace" runs the engine's command in place of the image's entrypoint; "keep" hands the command to that entrypoint."""
    extra_args: list[Text] = Field(default_factory=list)
    """Further arguments of `run`, verbatim, before the image."""


class PodmanOptions(ContainerOptions):
    """Keys of `[runtime]` for podman."""

    command: Annotated[list[Text], Field(min_length=1)] = Field(default_factory=lambda: ["podman"])
    """The tool's command with its global options, for instance ["podman", "--storage-driver=vfs"]."""
