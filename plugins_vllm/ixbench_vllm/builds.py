"""What differs between builds of vLLM and is no matter of options: which variable selects the experts' activations, and which names exist.

A name that a build does not read changes nothing and says nothing, or worse: Kimi K3's experts then compute garbage. So the facts stand
here as data, each with where it comes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.engine import Deployment
    from ixbench_vllm.options import VllmOptions

LISTED = "0.32.0"
"""The version whose flags and variables this package lists, from its own `--help=all` and its own table of variables."""

AITER_A8W4, AITER_A4W4 = "AITER_SITUV2_A8W4", "AITER_SITUV2_A4W4"
SWITCH_A8W4 = "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4"
SWITCH = "VLLM_ROCM_USE_AITER_MOE_SITUV2"
BOUND = "AITER_BF16_FP8_MOE_BOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertSwitch:
    """How a build selects the activations of Kimi K3's experts (SiTUv2): with 8 bits (a8w4), 4 bits (a4w4) or 16 (a16w4)."""

    build: str
    """What the option `build` may say for it."""
    about: str
    """What it is, in words."""
    variable: str
    """The one to set."""
    means: Mapping[str, str]
    """Value -> activations, as far as they are known."""
    aliases: tuple[str, ...] = ()
    """Older names that still work."""
    default: str | None = None
    """Activations where nothing is set; None = not known."""
    refuses_others: bool = False
    """Whether any other value ends the launch."""
    bound: str = "needed"
    """`AITER_BF16_FP8_MOE_BOUND=0` with a8w4: "needed", "unwanted", or "set" by vLLM itself."""
    advice: str = "1"
    """The value to set."""


_ON = {"1": "a8w4", "true": "a8w4"}

SWITCHES = (
    ExpertSwitch(build="kimi-k3", about="the kimi-k3 image of 27 July 2026", variable=AITER_A8W4, means=_ON, default="a16w4"),
    ExpertSwitch(build="vllm#50582", about="a build after vllm#50582 (31 July 2026)", variable=SWITCH_A8W4, means=_ON),
    ExpertSwitch(
        build="vllm#53940",
        about="a build after vllm#53940 (August to September 2026)",
        variable=SWITCH_A8W4,
        means={"1": "a4w4", "true": "a4w4"},
    ),
    ExpertSwitch(
        build="recipes#954",
        about="a build that recipes#954 (10 September 2026) is about",
        variable=SWITCH,
        means={},
        aliases=(SWITCH_A8W4,),
        bound="unwanted",
    ),
    ExpertSwitch(
        build=LISTED,
        about=f"vLLM {LISTED}",
        variable=SWITCH,
        means={"1": "a4w4", "0": "a16w4", "auto": "a4w4", "a4w4": "a4w4", "a8w4": "a8w4", "a16w4": "a16w4"},
        default="a4w4",
        refuses_others=True,
        bound="set",
        advice="a8w4 or a4w4",
    ),
)
"""Oldest first."""

TAGS = {"nightly-cb8104839c141609d99f1254459ef3a4f1bd4263": "vllm#50582"}
"""Image tags whose kind is known: that of the published Kimi K3 recipe."""
_K3_TAG = "kimi-k3-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is known of the vLLM that a deployment starts."""

    name: str | None = None
    """As the option or the image's tag says it; None = nobody says."""
    version: tuple[int, int, int] | None = None
    experts: ExpertSwitch | None = None
    """None = not known."""
    exact: bool = False
    """Whether this package lists the flags and variables of exactly this version."""
    flags: frozenset[str] = field(default=frozenset(), repr=False)
    """Every flag of `vllm serve`, short and long, of the newest version that is listed."""
    variables: frozenset[str] = field(default=frozenset(), repr=False)
    """Every `VLLM_` variable of it."""

    @property
    def strict(self) -> bool:
        """Whether it is known to have the flag that refuses unknown variables."""
        listed = _version(LISTED)
        return self.version is not None and listed is not None and self.version >= listed


def build_of(deployment: Deployment[VllmOptions]) -> Build:
    """Return what the option `build`, or else the image's tag, tells; pure apart from this package's own lists."""
    name = deployment.options.build or image_tag(deployment.image)
    version = _version(name)
    return Build(
        name=name,
        version=version,
        experts=_experts(name, version),
        exact=version == _version(LISTED),
        flags=names("flags"),
        variables=names("variables"),
    )


def image_tag(image: str | None) -> str | None:
    """Return the tag of an image; a digest behind it is no tag, nor is the port of a registry before its path."""
    last = (image or "").partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2] or None


@cache
def names(kind: str) -> frozenset[str]:
    """Return the names in one of this package's lists, "flags" or "variables"; read once."""
    from importlib.resources import files

    return frozenset(files("ixbench_vllm").joinpath(f"{kind}_{LISTED}.txt").read_text(encoding="utf-8").split())


def is_k3_image(tag: str) -> bool:
    """Whether an image's tag is one of those that Kimi K3 is served with."""
    return tag in TAGS or tag.startswith(_K3_TAG)


def _version(name: str | None) -> tuple[int, int, int] | None:
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)(?![\d])(?!\.?(?:dev|rc|a|b)\d)", name or "")
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def _experts(name: str | None, version: tuple[int, int, int] | None) -> ExpertSwitch | None:
    kinds = {switch.build: switch for switch in SWITCHES}
    if name is None:
        return None
    if name in kinds or name in TAGS:
        return kinds[TAGS.get(name, name)]
    if name.startswith(_K3_TAG):
        return kinds["kimi-k3"]
    if version is not None and version >= (_version(LISTED) or version):
        return kinds[LISTED]
    return None
