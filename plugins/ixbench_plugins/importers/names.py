"""Names that different sources write differently, brought to one: hardware, engines, spec methods, models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench_plugins.importers.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Collection

_ENGINES = {
    "trtllm": "trt",
    "tensorrt-llm": "trt",
    "dynamo-trtllm": "dynamo-trt",
    "sglang-disagg": "mori-sglang",
    "atom-disagg": "mooncake-atom",
}
_DISAGGREGATED = frozenset({"sglang-disagg", "atom-disagg"})
"""Names that say of themselves that prefill and decode have GPUs of their own."""

MODELS = {
    "dsr1": "DeepSeek R1",
    "dsv4": "DeepSeek V4",
    "glm5": "GLM-5",
    "glm5.2": "GLM-5.2",
    "gptoss": "gpt-oss 120B",
    "kimik2.5": "Kimi K2.5",
    "kimik3": "Kimi K3",
    "minimaxm2.5": "MiniMax M2.5",
    "minimaxm3": "MiniMax M3",
}
"""Keys of published rows -> names in print; a key that is not here stands for itself."""
_MODEL_KEYS = {"deepseekr1": "dsr1", "deepseekr10528": "dsr1", "deepseekv4": "dsv4", "gptoss120b": "gptoss"}
"""What the path of a model leaves, where it is not the key."""
_SUFFIXES = re.compile(r"[-_](?:nvfp4|mxfp4|fp4|fp8|bf16|fp16|int4|int8|w4a4|w4a16|w8a8|awq|gptq|quark)(?=$|[-_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineName:
    """An engine under its own name."""

    engine: str
    disaggregated: bool
    """Whether the foreign name says that it is."""


def sku_of_runner(name: str, known: Collection[str]) -> str:
    """Return the SKU behind a runner's name: without a scope before a colon and without a suffix after a dash or an underscore.

    :raises RowError: unknown_hardware, if the books have no such SKU.
    """
    sku = re.split(r"[-_]", name.strip().lower().rpartition(":")[2].strip())[0]
    if sku not in known:
        raise RowError("unknown_hardware", f"{name[:60]!r} is no SKU that a hardware book has")
    return sku


def engine_of(name: str) -> EngineName:
    """Return an engine under the name that it has here; a name without an alias stays as it is, in lower case."""
    lower = name.strip().lower()
    return EngineName(engine=_ENGINES.get(lower, lower), disaggregated=lower in _DISAGGREGATED)


def spec_method_of(name: str) -> str:
    """Return a spec-decode method; nothing is "none"."""
    return name.strip().lower() or "none"


def image_of(name: str) -> str:
    """Return an image; runners write `#` where file names cannot hold `/`."""
    return name.replace("#", "/")


def model_key(name: str) -> str:
    """Return what a model is compared by: the last part of a path without precision suffixes, lower case, letters, digits and dots.

    Point releases (2.5 and 2.6) stay apart.
    """
    last = _SUFFIXES.sub("", name.strip().rstrip("/").rpartition("/")[2])
    key = re.sub(r"[^a-z0-9.]+", "", last.lower()).strip(".")
    return _MODEL_KEYS.get(key, key)


def model_of(*names: str) -> str:
    """Return the model's name in print, from the first of the names that says something.

    :raises RowError: unknown_model, if none does.
    """
    key = next((found for name in names if (found := model_key(name))), "")
    if not key:
        raise RowError("unknown_model", "the row names no model")
    return MODELS.get(key, key)
