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
_CDI = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+=[\w.:-]+")
_LIMIT = re.compile(r"-1|\d+")
LIMITS = (
    *("core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice"),
    *("nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"),
)
"""Names of limits, as docker and podman know them."""
_OURS = "ixbench gives it, to find and remove the container"
_WAITS = "ixbench waits for the container in the foreground"
OWN_FLAGS = {
    "--detach": _WAITS,
    "--rm": "ixbench removes the container when it has ended",
    "--restart": "an engine that ends must stay ended to be seen",
    "--name": _OURS,
    "--cidfile": _OURS,
    "--stop-timeout": "the deployment's engine has a grace of its own",
    "--tty": "the engine's log would hold what is meant for a terminal",
    "--interactive": "there is no one to type",
    "--network": "ixbench asks the engine over this machine's loopback",
    "--net": "ixbench asks the engine over this machine's loopback",
    "--publish": "the container has this machine's network",
    "--publish-all": "the container has this machine's network",
    "--entrypoint": "the key `entrypoint` and the deployment's `executable` say it",
}
"""Flags of `run` that extra_args must not hold, and why."""
OWN_LETTERS = {"d": "--detach", "t": "--tty", "i": "--interactive", "p": "--publish", "P": "--publish-all"}
_SWITCHES = "q"
"""Other flags of one letter without a value, after which more letters may follow."""
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


def _check_device(value: str) -> str:
    if not value.startswith("/") and not _CDI.fullmatch(value):
        raise ValueError(
            f'{value!r} is no device; allowed: "/dev/NAME", "/dev/NAME:/dev/NAME", or VENDOR/CLASS=NAME for the tool to look up'
        )
    return value


def _check_ulimits(value: dict[str, int | str | Literal[False]]) -> dict[str, int | str | Literal[False]]:
    for name, limit in value.items():
        if name not in LIMITS:
            raise ValueError(f"{name!r} is no limit; allowed: {', '.join(LIMITS)}")
        soft, _, hard = str(limit).partition(":")
        numbers = [int(part) for part in (soft, hard or soft) if _LIMIT.fullmatch(part)]
        if limit is not False and (len(numbers) < 2 or numbers[1] >= 0 > numbers[0] or (numbers[1] >= 0 and numbers[0] > numbers[1])):  # noqa: PLR2004 - soft and hard
            raise ValueError(
                f'{name} = {limit!r} is no limit; allowed: a whole number, -1 for none, "SOFT:HARD" with SOFT at most HARD, or false'
            )
    return value


def _check_extra(value: list[str]) -> list[str]:
    """Refuse what ixbench itself must decide, since it waits for the container in the foreground and finds and removes it afterwards."""
    if value and not value[0].startswith("-"):
        raise ValueError(f"begins with {value[0]!r}, which would be taken for the image; allowed: flags of `run`")
    for text in value:
        flag, reason = _flag(text)
        if reason:
            raise ValueError(f"{flag} is not for extra_args: {reason}")
    return value


def _flag(text: str) -> tuple[str, str]:
    """Return a flag that an argument gives, and why it is refused; no reason for any other."""
    if text.startswith("--"):
        flag = text.partition("=")[0]
        return flag, OWN_FLAGS.get(flag, "")
    if not text.startswith("-"):
        return "", ""
    for letter in text[1:].partition("=")[0]:
        if letter in OWN_LETTERS:
            return f"-{letter}", OWN_FLAGS[OWN_LETTERS[letter]]
        if letter not in _SWITCHES:
            # What follows is its value.
            break
    return "", ""


class ContainerOptions(OptionsModel):
    """Keys of `[runtime]` for docker and podman."""

    command: Annotated[list[Text], Field(min_length=1)] = Field(default_factory=lambda: ["docker"])
    """The tool's command with its global options, for instance ["docker", "--context", "gpu-node"]."""
    pull: Literal["never", "missing"] = "never"
    """Whether an image that is not on this machine is a failure or is fetched before the launch."""
    pull_limit: Annotated[Duration, Field(gt=0)] = 3600.0
    """How long fetching an image may take, in seconds or as a text."""
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
    ulimits: Annotated[dict[str, int | Text | Literal[False]], AfterValidator(_check_ulimits)] = Field(default_factory=dict)
    """Limits beside memlock = -1 and stack = 67108864, or in their place, for instance { nofile = "65535:65535" }; false leaves one out."""
    groups: list[Text] = Field(default_factory=list)
    """More groups, by name or number. Those that may use an AMD GPU are found and added."""
    devices: list[Annotated[str, AfterValidator(_check_device)]] = Field(default_factory=list)
    """More devices, for instance ["/dev/infiniband"]. Those of the GPUs are added."""
    init: bool = True
    """Whether a small init runs beside the engine: as the first process of a container an engine would not heed TERM while it loads."""
    entrypoint: Literal["replace", "keep"] = "replace"
    """"replace" runs the engine's command in place of the image's entrypoint; "keep" hands the command to that entrypoint."""
    extra_args: Annotated[list[Text], AfterValidator(_check_extra)] = Field(default_factory=list)
    """Further arguments of `run`, verbatim, before the image. Those that ixbench itself decides are refused."""


class PodmanOptions(ContainerOptions):
    """Keys of `[runtime]` for podman."""

    command: Annotated[list[Text], Field(min_length=1)] = Field(default_factory=lambda: ["podman"])
    """The tool's command with its global options, for instance ["podman", "--storage-driver=vfs"]."""
