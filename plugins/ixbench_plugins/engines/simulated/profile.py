"""What is known of one model on one kind of GPU with one engine: the numbers of its step model, each with source and status."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Literal

import tomli
from pydantic import Field

from ixbench.api.engine import OptionsModel
from ixbench_plugins.engines.simulated.model import StepModel

if TYPE_CHECKING:
    from ixbench_plugins.engines.simulated.settings import SimulatedSettings


class ProfileNumber(OptionsModel):
    """One number, with its story."""

    value: Annotated[float, Field(gt=0)]
    status: Literal["fact", "fitted", "chosen"]
    """"fact": specified or published; "fitted": to published figures; "chosen": assumed, for the reason that `source` gives."""
    source: str


class ModelFacts(OptionsModel):
    """What the model's architecture says."""

    dense_weights_bytes: ProfileNumber
    """Weights that every token needs, of the whole model."""
    expert_weights_bytes: ProfileNumber
    """Routed experts, of the whole model."""
    experts: ProfileNumber
    experts_per_token: ProfileNumber
    flop_per_token: ProfileNumber
    """Without attention."""
    attention_flop: ProfileNumber
    """For each pair of a token and a token of its context."""
    kv_bytes_per_token: ProfileNumber
    """In fp8, on every GPU."""


class HardwareFacts(OptionsModel):
    """What one GPU and its host say."""

    memory_bytes: ProfileNumber
    memory_bytes_per_s: ProfileNumber
    flop_per_s: ProfileNumber
    other_memory_bytes: ProfileNumber
    """Taken on each GPU beside the weights, before the KV cache gets the rest."""
    host_bytes_per_s: ProfileNumber
    """From host memory to one GPU."""


class EngineCalibration(OptionsModel):
    """How far from the specifications the engine is."""

    step_s: ProfileNumber
    """Fixed cost of a step."""
    compute_efficiency: ProfileNumber
    memory_efficiency: ProfileNumber
    hit_granularity_tokens: ProfileNumber
    """Hits of the prefix cache are multiples of it."""


class EngineDefaults(OptionsModel):
    """What the engine takes where a deployment says nothing."""

    max_num_seqs: ProfileNumber
    max_batched_tokens: ProfileNumber
    gpu_memory_utilization: ProfileNumber
    max_model_len: ProfileNumber
    draft_tokens: ProfileNumber


class EngineProfile(OptionsModel):
    """A profile file."""

    model: str
    sku: str
    engine: str
    title: str
    summary: str
    """How far to trust it, in one sentence."""
    public_figures: bool
    """Whether public figures exist that it could be held against."""
    notes: tuple[str, ...]
    """What whoever reads its results must know."""
    model_facts: ModelFacts
    hardware_facts: HardwareFacts
    calibration: EngineCalibration
    defaults: EngineDefaults

    def numbers(self) -> dict[str, ProfileNumber]:
        """Return all numbers by their path in the file."""
        found: dict[str, ProfileNumber] = {}
        for name in ("model_facts", "hardware_facts", "calibration", "defaults"):
            group: OptionsModel = getattr(self, name)
            found |= {f"{name}.{key}": getattr(group, key) for key in type(group).model_fields}
        return found

    def step_model(self, settings: SimulatedSettings) -> StepModel:
        """Return how long the steps of that deployment take."""
        model, hardware, calibration = self.model_facts, self.hardware_facts, self.calibration
        read = hardware.memory_bytes_per_s.value * calibration.memory_efficiency.value
        compute = hardware.flop_per_s.value * calibration.compute_efficiency.value * settings.tensor_parallel
        context_bytes = model.kv_bytes_per_token.value * settings.kv_bytes / settings.context_shards
        return StepModel(
            fixed_s=calibration.step_s.value,
            dense_weights_s=model.dense_weights_bytes.value / settings.tensor_parallel / read,
            expert_weights_s=model.expert_weights_bytes.value / settings.tensor_parallel / read,
            expert_share=model.experts_per_token.value / model.experts.value,
            token_s=model.flop_per_token.value / compute,
            attention_s=model.attention_flop.value / compute,
            context_s=context_bytes / read,
            host_read_s=context_bytes / hardware.host_bytes_per_s.value,
        )


@cache
def profiles() -> tuple[EngineProfile, ...]:
    """Return all profiles, by file name."""
    folder = files("ixbench_plugins.engines.simulated").joinpath("profiles")
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    return tuple(EngineProfile.model_validate(tomli.loads(entry.read_text(encoding="utf-8"))) for entry in entries)


def find_profile(*, model: str, sku: str | None, engine: str) -> EngineProfile | None:
    """Return the profile of a model on a GPU with an engine, or None."""
    wanted = (model.lower(), (sku or "").lower(), engine)
    return next((profile for profile in profiles() if (profile.model.lower(), profile.sku, profile.engine) == wanted), None)
