"""What an ATOM build can do, as far as rules depend on it: read from the image's tag, since flags and variables change between builds.

A build that nobody named is unknown, and then a rule that depends on it says that it is not verified.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Literal

_NIGHTLY = re.compile(r"nightly_(\d{8})(\d{4})?\Z")
_DATED = re.compile(r"(?:\A|_)atom(\d{8})\Z")
_RELEASE = re.compile(r"(?:\A|_)atom(\d+(?:\.\d+)+[\w.]*?)(?:_(\d{8})\d{4})?\Z")
_BRANCH = re.compile(r"(?:\A|_release_[\d.]+_)((?P<variant>kimi_k3|glm52)\w*)\Z")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)\Z")
_MOVING = frozenset({"latest", "vllm-latest", "sglang-latest"})
_BOTH_SPELLINGS = date(2026, 7, 23)

Variant = Literal["kimi_k3", "glm52"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One build of ATOM."""

    name: str | None = None
    """What tells it apart, for print: "nightly_202608201032", "atom 0.1.4"; None = unknown."""
    day: date | None = None
    """When it was made from the main branch; None for other branches, and where the tag does not tell."""
    variant: Variant | None = None
    """The branch that an image was purpose-built from."""
    moving: bool = False
    """Whether the tag names another build tomorrow."""

    @property
    def known(self) -> bool:
        """Whether rules that depend on the build can be checked."""
        return self.day is not None or self.variant is not None

    @property
    def told(self) -> bool:
        """Whether the text that it was read from has a form that tells of a build."""
        return self.known or (self.name or "").startswith("atom ")

    @property
    def both_spellings(self) -> bool | None:
        """Whether each flag may be written with dashes or underscores; None where that is not known."""
        return None if self.day is None else self.day >= _BOTH_SPELLINGS


UNKNOWN = Build()


def build_of(image: str | None, told: str | None = None) -> Build:
    """Return the build that an image's tag tells of; a digest behind the tag is left alone.

    :param told: what the user says of the build, in place of the image.
    """
    if told is not None:
        match = _DAY.match(told)
        return Build(name=f"main of {told}", day=_day("".join(match.groups()))) if match else _of_tag(told)
    if image is None:
        return UNKNOWN
    name, _, digest = image.partition("@")
    tag = name.rsplit("/", 1)[-1].partition(":")[2]
    if tag in _MOVING or not tag:
        return Build(name=tag or None, moving=not digest)
    return _of_tag(tag)


def _of_tag(tag: str) -> Build:
    if (match := _BRANCH.search(tag)) is not None:
        return Build(name=match[1], variant="kimi_k3" if match["variant"] == "kimi_k3" else "glm52")
    if (match := _NIGHTLY.search(tag)) is not None:
        return Build(name=tag, day=_day(match[1]))
    if (match := _DATED.search(tag)) is not None:
        return Build(name=f"atom {match[1]}", day=_day(match[1]))
    if (match := _RELEASE.search(tag)) is not None:
        return Build(name=f"atom {match[1]}", day=_day(match[2]) if match[2] else None)
    return Build(name=tag)


def _day(digits: str) -> date | None:
    try:
        return datetime.strptime(digits, "%Y%m%d").date()  # noqa: DTZ007 - a day, not a moment
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFlag:
    """A flag of the shipped list."""

    flag: str
    """As ATOM registers it."""
    since: date | None
    """The day it came into the main branch; None where it is not there."""
    variant: Variant | None = None
    """The only images that know it."""


@cache
def known_flags() -> dict[str, KnownFlag]:
    """Return the shipped list of flags, by name with dashes."""
    from importlib.resources import files

    found: dict[str, KnownFlag] = {}
    for line in files("ixbench_atom").joinpath("known_flags.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        flag, known = line.split()
        variant: Variant | None = "kimi_k3" if known == "kimi_k3" else None
        since = None if variant else date.fromisoformat(known)
        found[flag.replace("_", "-")] = KnownFlag(flag=flag, since=since, variant=variant)
    return found


K3_VARIABLES = (
    "OFFLOAD_STATE",
    "OFFLOAD_STATE_STAGING_GROUPS",
    "OFFLOAD_STATE_MIN_LOAD_TOKENS",
    "ATOM_STATE_CHECKPOINT_DEMAND",
    "ATOM_ENABLE_REPLAYSSM",
    "ATOM_MLA_MAX_SPLIT_PER_BATCH",
)
"""Known to the Kimi K3 image only; other builds pass over them without a word."""
