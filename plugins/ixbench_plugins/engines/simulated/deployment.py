"""From a deployment's own settings to those of the simulated engine. Engines name their options alike, so one reading serves them all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ixbench.api.engine import Fault, InputError, counted, flags_by_key, whole_number
from ixbench_plugins.engines.simulated.settings import SimulatedSettings

if TYPE_CHECKING:
    from ixbench.api.engine import ArgValue, Deployment
    from ixbench_plugins.engines.simulated.profile import EngineProfile

_ALIASES = {"-tp": "--tensor-parallel-size", "-dcp": "--decode-context-parallel-size"}
_WHOLE_FLAGS = {
    "max_num_seqs": "--max-num-seqs",
    "max_batched_tokens": "--max-num-batched-tokens",
    "long_prefill_threshold": "--long-prefill-token-threshold",
    "max_model_len": "--max-model-len",
    "tensor_parallel": "--tensor-parallel-size",
    "decode_context_parallel": "--decode-context-parallel-size",
}
"""Options that verbatim args may replace."""
_UNREAD_FLAGS = {
    "--speculative-config": "speculative",
    "--spec-method": "speculative",
    "--spec-tokens": "speculative",
    "--method": "speculative",
    "--num-speculative-tokens": "speculative",
    "--spec-decode-acceptance-length": "speculative",
    "--spec-decode-acceptance-rate": "speculative",
    "--kv-transfer-config": "kv_offload",
    "--kv-offloading-backend": "kv_offload",
    "--kv-offloading-size": "kv_offload",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--gpu-memory-utilization": "gpu_memory_utilization",
    "--enable-prefix-caching": "prefix_caching",
    "--pipeline-parallel-size": "pipeline_parallel",
    "--data-parallel-size": "data_parallel",
    "--prefill-context-parallel-size": "prefill_context_parallel",
    "--enable-dp-attention": "dp_attention",
}
"""Flags that would change what is simulated, and are read from typed options only."""
_OTHER_PARALLEL = ("pipeline_parallel", "data_parallel", "prefill_context_parallel")
_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def settings_of(deployment: Deployment[Any], profile: EngineProfile) -> SimulatedSettings:
    """Return the settings of a deployment's simulated engine. Pure.

    :raises InputError: if the deployment has settings that the model of the engine does not cover, or the model does not fit.
    """
    return _Reading(deployment, profile).settings()


@dataclass(frozen=True, slots=True)
class _Reading:
    deployment: Deployment[Any]
    profile: EngineProfile

    def settings(self) -> SimulatedSettings:
        self._refuse_unread()
        tensor = self._whole("tensor_parallel", 1)
        shards = self._whole("decode_context_parallel", 1)
        kv_bytes = 1 if str(self._option("kv_cache_dtype")).startswith("fp8") else 2
        token_bytes = self.profile.model_facts.kv_bytes_per_token.value * kv_bytes / shards
        host_bytes, write_through = self._host(tensor)
        tokens_per_step, accepted = self._speculation()
        caching = self._option("prefix_caching")
        return SimulatedSettings(
            max_num_seqs=self._whole("max_num_seqs", int(self.profile.defaults.max_num_seqs.value)),
            max_batched_tokens=self._whole("max_batched_tokens", int(self.profile.defaults.max_batched_tokens.value)),
            long_prefill_tokens=self._whole("long_prefill_threshold", 0) or None,
            tensor_parallel=tensor,
            context_shards=shards,
            kv_bytes=kv_bytes,
            tokens_per_step=tokens_per_step,
            accepted_per_step=accepted,
            prefix_caching=caching is not False,
            hit_granularity=int(self.profile.calibration.hit_granularity_tokens.value),
            gpu_tokens=int(self._gpu_bytes(tensor) / token_bytes),
            host_tokens=int(host_bytes / token_bytes),
            write_through=write_through,
            max_model_len=self._model_len(),
        )

    def _option(self, name: str) -> Any:  # noqa: ANN401 - engines have their own option models
        return getattr(self.deployment.options, name, None)

    def _refuse_unread(self) -> None:
        """Refuse what would make the real engine another one than the simulated."""
        faults = [
            self._fault(f"args.{flag}", f"the simulated engine does not read this flag; set the option {_UNREAD_FLAGS[key]} instead")
            for flag in self.deployment.args
            for key in flags_by_key([(flag, True)], _ALIASES)
            if key in _UNREAD_FLAGS
        ]
        others = [name for name in _OTHER_PARALLEL if (self._option(name) or 1) > 1]
        others += ["dp_attention"] if self._option("dp_attention") else []
        faults += [self._fault(name, f"the simulated engine models tensor parallelism only; remove {name}") for name in others]
        if faults:
            raise InputError(faults)

    def _whole(self, name: str, default: int) -> int:
        """Return a whole number from args, else from the options, else the default."""
        given: dict[str, ArgValue] = flags_by_key(self.deployment.args.items(), _ALIASES)
        flag = _WHOLE_FLAGS[name]
        if flag not in given:
            value = self._option(name)
            return default if value is None else int(value)
        value = whole_number(given[flag])
        if value is None:
            raise InputError(self._fault(f"args.{flag}", f"the simulated engine needs a whole number here, and found {given[flag]!r}"))
        return value

    def _speculation(self) -> tuple[int, Fraction]:
        """Return tokens that a sequence schedules a step, and those that it gains."""
        spec = self._option("speculative")
        if spec is None:
            return 1, Fraction(1)
        drafted = spec.tokens or int(self.profile.defaults.draft_tokens.value)
        rate = getattr(spec, "acceptance_rate", None)
        if spec.acceptance_length is not None:
            return 1 + drafted, Fraction(str(spec.acceptance_length))
        if rate is not None:
            return 1 + drafted, 1 + drafted * Fraction(str(rate))
        problem = "the simulated engine runs no draft model, so it cannot tell how many drafts pass; set acceptance_length"
        raise InputError(self._fault("speculative.acceptance_length", problem))

    def _gpu_bytes(self, tensor: int) -> float:
        """Return bytes of each GPU that are left for the KV cache."""
        model, hardware = self.profile.model_facts, self.profile.hardware_facts
        share = self._option("gpu_memory_utilization") or self.profile.defaults.gpu_memory_utilization.value
        weights = (model.dense_weights_bytes.value + model.expert_weights_bytes.value) / tensor
        left = hardware.memory_bytes.value * share - weights - hardware.other_memory_bytes.value
        if left <= 0:
            held = f"{hardware.memory_bytes.value * share * tensor / 1e9:.0f} GB"
            needed = f"the weights alone need {weights * tensor / 1e9:.0f} GB"
            problem = f"a memory utilization of {share:g} is {held} on {counted(tensor, 'GPU')}, and {needed}; raise tensor_parallel"
            raise InputError(self._fault("tensor_parallel", problem))
        return left

    def _host(self, tensor: int) -> tuple[int, bool]:
        """Return bytes of host memory for each GPU's share of the cache, and whether prompts are copied there as they are computed."""
        offload = self._option("kv_offload")
        if offload is None or offload.backend == "off":
            return 0, True
        return offload.per_rank(tensor) or 0, not getattr(offload, "lazy", False)

    def _model_len(self) -> int | None:
        value = self._option("max_model_len")
        if isinstance(value, str) and "--max-model-len" not in flags_by_key(self.deployment.args.items(), _ALIASES):
            if value == "auto":
                return None
            return int(Fraction(value[:-1]) * _FACTORS[value[-1]])
        return self._whole("max_model_len", int(self.profile.defaults.max_model_len.value))

    def _fault(self, key: str, problem: str) -> Fault:
        return Fault(where=f"deployment {self.deployment.name}: {key}", problem=problem)
