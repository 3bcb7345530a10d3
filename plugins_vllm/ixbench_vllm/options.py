"""What a vLLM deployment may set, typed. Each field becomes the flags that `flags.py` names; everything else is verbatim `args`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from ixbench.api.engine import Duration, HostMemory, OptionsModel

MaxModelLen = Annotated[str, Field(pattern=r"^(auto|\d+(\.\d+)?[kKmMgG])$")]
CaptureSizes = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class Speculative(OptionsModel):
    """Speculative decoding: how tokens are drafted, and how drafts are accepted."""

    method: str
    """For instance "dspark", "mtp", "eagle3" or "ngram"."""
    draft: str | None = None
    """Hub name or folder of the draft model."""
    tokens: PositiveInt | None = None
    """Draft tokens a step."""
    acceptance_length: float | None = None
    """Synthetic acceptance: mean tokens a step, the target's own included, within [1, tokens + 1]. The text is then meaningless."""
    rejection: Literal["standard", "block", "synthetic"] | None = None
    """How drafts are rejected; acceptance_length implies "synthetic"."""
    draft_sampling: Literal["greedy", "probabilistic"] | None = None
    attention_backend: str | None = None
    """Of the draft model."""
    kv_cache_dtype: str | None = None
    """Of the draft model."""


class KvOffload(HostMemory):
    """A KV cache tier in host memory."""

    backend: Literal["off", "simple", "native"]
    """"simple" is the SimpleCPUOffloadConnector, "native" the built-in offloading."""
    lazy: bool = False
    """"simple" only: offload a block when it is evicted, not as soon as it is full."""

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        given = [name for name in ("host_memory", "host_memory_per_rank") if getattr(self, name) is not None]
        if self.backend == "off" and (given or self.lazy):
            raise ValueError(f"{(given or ['lazy'])[0]} needs a backend: 'simple' or 'native'")
        if self.backend != "off" and len(given) != 1:
            raise ValueError(f"give exactly one of host_memory and host_memory_per_rank, not {'both' if given else 'neither'}")
        if self.backend == "native" and self.lazy:
            raise ValueError("lazy belongs to backend 'simple'")
        return self


class Compilation(OptionsModel):
    """torch.compile and graph capture."""

    mode: Annotated[int, Field(ge=0, le=3)] | None = None
    cudagraph_mode: Literal["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"] | None = None
    max_cudagraph_capture_size: PositiveInt | None = None
    custom_ops: tuple[str, ...] | None = None
    cudagraph_capture_sizes: CaptureSizes | None = None
    """Must reach max_num_seqs x (1 + draft tokens), else large batches run without a graph."""
    pass_config: dict[str, bool | int | float | str] | None = None


class VllmOptions(OptionsModel):
    """Typed options of `vllm serve`; a field that is not set leaves vLLM its default."""

    served_name: str | None = None
    """The name that requests carry; vLLM's default is the model path."""
    tensor_parallel: PositiveInt | None = None
    pipeline_parallel: PositiveInt | None = None
    data_parallel: PositiveInt | None = None
    expert_parallel: bool | None = None
    prefill_context_parallel: PositiveInt | None = None
    decode_context_parallel: PositiveInt | None = None
    """Divides tensor_parallel."""
    kv_cache_dtype: str | None = None
    """For instance "fp8"; "auto" sets no flag."""
    block_size: PositiveInt | None = None
    max_num_seqs: PositiveInt | None = None
    max_batched_tokens: PositiveInt | None = None
    long_prefill_threshold: Annotated[int, Field(ge=0)] | None = None
    max_model_len: PositiveInt | MaxModelLen | None = None
    """Tokens, a text such as "32K", or "auto"."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    prefix_caching: bool | None = None
    state_checkpoints: Literal["align", "none"] | None = None
    """Cache mode of recurrent layers."""
    quantization: str | None = None
    attention_backend: str | None = None
    moe_backend: str | None = None
    linear_backend: str | None = None
    compilation: Compilation | None = None
    eager: bool | None = None
    speculative: Speculative | None = None
    kv_offload: KvOffload | None = None
    load_format: str | None = None
    tool_parser: str | None = None
    """Also turns automatic tool choice on."""
    reasoning_parser: str | None = None
    tokenizer_mode: str | None = None
    language_model_only: bool | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, bool | int | float | str] | None = None
    """Defaults for the chat template's variables."""
    trust_remote_code: bool | None = None
    hf_overrides: dict[str, object] | None = None
    async_scheduling: bool | None = None
    stream_interval: PositiveInt | None = None
    """Tokens a stream chunk; more than 1 coarsens inter-token times."""
    prompt_tokens_details: bool | None = None
    """Report cached tokens a request; without it vLLM reports none."""
    ready_limit: Duration = 1800.0
    """Hard limit for getting ready; no flag of vLLM."""

    @property
    def ranks(self) -> int:
        """GPUs that the deployment takes, one a rank."""
        sizes = (self.tensor_parallel, self.pipeline_parallel, self.data_parallel, self.prefill_context_parallel)
        product = 1
        for size in sizes:
            product *= size or 1
        return product
