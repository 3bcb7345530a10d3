"""What an ATOM deployment may set, typed. Each field becomes the flags that `flags.py` names; everything else is verbatim `args`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from ixbench.api.engine import Duration, HostMemory, OptionsModel

NotNegativeInt = Annotated[int, Field(ge=0)]
CaptureSizes = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class Speculative(OptionsModel):
    """Speculative decoding: how tokens are drafted, and how many drafts pass."""

    method: Literal["mtp", "eagle3", "dspark"]
    draft: str | None = None
    """Hub name or folder of the draft model; "mtp" has none."""
    tokens: PositiveInt | None = None
    """Draft tokens a step; ATOM's default is 1."""
    acceptance_length: float | None = None
    """Synthetic acceptance: mean tokens a step, the target's own included, within [1, tokens + 1]. The text is then meaningless."""
    acceptance_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    """Synthetic acceptance as a share of the draft tokens; instead of acceptance_length."""

    @model_validator(mode="after")
    def _one_acceptance(self) -> Self:
        if self.acceptance_length is not None and self.acceptance_rate is not None:
            raise ValueError("acceptance_length and acceptance_rate exclude each other; keep one of them")
        return self


class KvOffload(HostMemory):
    """A KV cache tier in host memory."""

    backend: Literal["off", "lmcache"]

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        given = [name for name in ("host_memory", "host_memory_per_rank") if getattr(self, name) is not None]
        if self.backend == "off" and given:
            raise ValueError(f"{given[0]} needs a backend: 'lmcache'")
        if self.backend != "off" and len(given) != 1:
            raise ValueError(f"give exactly one of host_memory and host_memory_per_rank, not {'both' if given else 'neither'}")
        return self


class Compilation(OptionsModel):
    """Compilation and graph capture."""

    level: Annotated[int, Field(ge=0, le=3)] | None = None
    cudagraph_mode: Literal["NONE", "PIECEWISE", "FULL", "FULL_AND_PIECEWISE", "AF_PIECEWISE"] | None = None
    cudagraph_capture_sizes: CaptureSizes | None = None
    """Must reach max_num_seqs x (1 + draft tokens), else large batches run without a graph."""


class StateCheckpoints(OptionsModel):
    """Checkpoints of recurrent state, for hybrid models."""

    interval_tokens: Annotated[int, Field(ge=-1)] | None = None
    """0 turns them off; -1 is known to the Kimi K3 image only."""
    slots: PositiveInt | None = None
    """Known to the Kimi K3 image only."""


class OnlineQuant(OptionsModel):
    """Quantization while loading."""

    config: Literal["ptpc_fp8", "mxfp4"]
    """For all layers that are not excluded."""
    exclude: tuple[str, ...] = ()
    """Layer names or globs to leave as they are."""


class AtomOptions(OptionsModel):
    """Typed options of ATOM's OpenAI server; a field that is not set leaves ATOM its default."""

    served_name: str | None = None
    """The name that requests carry; ATOM's default is the model path."""
    tensor_parallel: PositiveInt | None = None
    pipeline_parallel: PositiveInt | None = None
    data_parallel: PositiveInt | None = None
    dp_attention: bool | None = None
    """Attention by data parallelism: ATOM makes tensor_parallel x data_parallel its data-parallel ranks."""
    expert_parallel: bool | None = None
    all2all_backend: Literal["high-throughput", "low-latency"] | None = None
    tbo: Literal["prefill", "all"] | None = None
    """Two-batch overlap."""
    eplb: bool | None = None
    """Expert load balancing."""
    prefill_context_parallel: PositiveInt | None = None
    decode_context_parallel: PositiveInt | None = None
    """Divides tensor_parallel."""
    kv_cache_dtype: Literal["auto", "bf16", "fp8"] | None = None
    """"auto" sets no flag."""
    index_cache_dtype: Literal["bf16", "fp8", "fp4"] | None = None
    """For sparse attention models."""
    block_size: PositiveInt | None = None
    max_num_seqs: PositiveInt | None = None
    max_batched_tokens: PositiveInt | None = None
    long_prefill_threshold: NotNegativeInt | None = None
    max_model_len: PositiveInt | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    prefix_caching: bool | None = None
    state_checkpoints: StateCheckpoints | None = None
    online_quant: OnlineQuant | None = None
    moe_backend: str | None = None
    compilation: Compilation | None = None
    eager: bool | None = None
    speculative: Speculative | None = None
    kv_offload: KvOffload | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, bool | int | float | str] | None = None
    """Defaults for the chat template's variables."""
    trust_remote_code: bool | None = None
    hf_overrides: dict[str, object] | None = None
    scheduler_delay_factor: Annotated[float, Field(ge=0)] | None = None
    dp_load_balance: Literal["least_requests", "round_robin", "least_tokens"] | None = None
    ready_limit: Duration = 1800.0
    """Hard limit for getting ready; no flag of ATOM, which itself waits without one."""

    @property
    def ranks(self) -> int:
        """GPUs that the deployment takes, one a rank."""
        sizes = (self.tensor_parallel, self.pipeline_parallel, self.data_parallel, self.prefill_context_parallel)
        product = 1
        for size in sizes:
            product *= size or 1
        return product
