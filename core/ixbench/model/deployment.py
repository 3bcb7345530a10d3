"""What is deployed: the model, the hardware and one engine's settings, merged and validated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.launch import PrepareStep

OptionsT = TypeVar("OptionsT")
"""The engine's own `Options` model."""

ArgValue = str | int | float | bool | list[object] | dict[str, object]
"""A flag's value as TOML gives it: true = the bare flag, false = leave the flag out, a table = JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """The model under test (`[model]`)."""

    id: str
    """Hub name or the name that the server answers to; empty for "ask the server"."""
    label: str
    """The name in print; defaults to the id."""
    precision: str | None = None
    """Precision of the weights, as `precision_of` writes it, for instance "fp4"."""
    path: str | None = None
    """Folder or file of the weights, where they are local."""
    revision: str | None = None
    """Pinned revision of the weights."""
    tokenizer: str | None = None
    """Path of a tokenizer.json, used for synthesis where the extra `tokenizers` is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSpec:
    """The hardware under test (`[hardware]`)."""

    sku: str | None = None
    """Key in the hardware book, for instance "mi355x"; None = nobody said."""
    gpus: int | None = None
    """GPUs reserved for a deployment; None = unknown, and per-GPU figures are null."""
    absent: Literal["fail", "simulate"] = "fail"
    """What to do where this machine has none of it."""
    native_fp4: bool | None = None
    """Whether the SKU computes in FP4, by the compile target that the hardware book has for it; None = not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvVar:
    """One environment variable of a process, with its story."""

    value: str
    reason: str
    """Why it is set."""
    origin: str
    """Who set it: "recipe kimi-k3-mi355x", "benchmarks.toml", "adapter vllm", "ixbench"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(Generic[OptionsT]):
    """One engine with its settings at one load, fully merged; the input of `EngineAdapter.plan`."""

    name: str
    engine: str
    model: ModelSpec
    hardware: HardwareSpec
    options: OptionsT
    """The engine's typed options, an instance of its `Options`."""
    concurrency: int | None = None
    """The load that `at.N` was resolved for; None in an open loop."""
    recipe: str | None = None
    args: Mapping[str, ArgValue] = field(default_factory=dict)
    """Engine flags, verbatim, by flag name with its dashes."""
    env: Mapping[str, EnvVar] = field(default_factory=dict)
    url: str | None = None
    """A server that is already running; then nothing is launched."""
    executable: str | None = None
    image: str | None = None
    runtime: str = "process"
    runtime_options: Any = None
    """The runtime's own keys of `[runtime]`, an instance of its `Options`."""
    gpu_indices: tuple[int, ...] | None = None
    """GPUs by index on this machine; None = the first `hardware.gpus`."""
    prepare: tuple[PrepareStep, ...] = ()
    """Scripts to run before the server, their paths absolute; ixbench adds them to the plan."""
    api_key_env: str | None = None
    """Name of the variable that holds the API key; the key itself is never kept."""
    notes: tuple[str, ...] = ()
    """What merging did that the user should know, for instance a `[defaults]` key that was skipped."""
