"""What a vLLM deployment may set, typed. Each field becomes the flags that `flags.py` names; everything else is verbatim `args`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from ixbench.api.engine import ArgValue, Duration, HostMemory, OptionsModel, Size, loading_limit_s

DEFAULT_READY_LIMIT_S = 1800.0

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
    acceptance_rates: Annotated[tuple[float, ...], Field(min_length=1)] | None = None
    """Synthetic acceptance by position, in place of acceptance_length: how often all drafts up to this one are accepted; one rate a draft
    token, none higher than the one before."""
    rejection: Literal["standard", "block", "synthetic"] | None = None
    """How drafts are rejected; acceptance_length and acceptance_rates imply "synthetic"."""
    draft_sampling: Literal["greedy", "probabilistic"] | None = None
    """How the draft model chooses tokens."""
    attention_backend: str | None = None
    """Of the draft model."""
    kv_cache_dtype: str | None = None
    """Of the draft model."""


class KvOffload(HostMemory):
    """A KV cache tier in host memory."""

    backend: Literal["off", "simple", "native", "lmcache", "mooncake"]
    """"simple" is the SimpleCPUOffloadConnector, "native" the built-in offloading; "lmcache" starts an LMCache server for each rank beside
    vLLM, "mooncake" a Mooncake master."""
    lazy: bool = False
    """"simple" only: offload a block when it is evicted, not as soon as it is full."""
    protocol: Literal["tcp", "rdma"] | None = None
    """"mooncake" only: how blocks travel; tcp where nothing is said."""
    device: str | None = None
    """"mooncake" only: the network device for rdma."""
    local_buffer: Annotated[Size, Field(gt=0)] | None = None
    """"mooncake" only: each rank's own buffer; "2 GiB" where nothing is said."""
    connector: dict[str, object] | None = None
    """Further keys of kv_connector_extra_config, over those that ixbench sets; not for "native"."""
    server_args: dict[str, ArgValue] | None = None
    """"lmcache" and "mooncake": flags of the server beside vLLM, verbatim; an equal flag of ixbench's is replaced."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        given = [name for name in ("host_memory", "host_memory_per_rank") if getattr(self, name) is not None]
        further = [name for name in _OFFLOAD_KEYS if getattr(self, name) not in (None, False)]
        if self.backend == "off" and (given or further):
            raise ValueError(f"{(given or further)[0]} needs a backend: 'simple', 'native', 'lmcache' or 'mooncake'")
        if self.backend != "off" and len(given) != 1:
            raise ValueError(f"give exactly one of host_memory and host_memory_per_rank, not {'both' if given else 'neither'}")
        for name in further:
            if self.backend not in _OFFLOAD_KEYS[name]:
                raise ValueError(f"{name} belongs to backend {' or '.join(map(repr, _OFFLOAD_KEYS[name]))}")
        for flag in self.server_args or {}:
            if not flag.startswith("-"):
                raise ValueError(f"server_args: '{flag}' is no flag; write it with its dashes, '--{flag}'")
        return self


_OFFLOAD_KEYS = {
    "lazy": ("simple",),
    "protocol": ("mooncake",),
    "device": ("mooncake",),
    "local_buffer": ("mooncake",),
    "connector": ("simple", "lmcache", "mooncake"),
    "server_args": ("lmcache", "mooncake"),
}
"""Keys of `kv_offload` that not every backend has."""


class Compilation(OptionsModel):
    """torch.compile and graph capture."""

    mode: Annotated[int, Field(ge=0, le=3)] | None = None
    """How much is compiled, from 0 (nothing) to 3 (by vLLM's own compiler, in full)."""
    cudagraph_mode: Literal["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"] | None = None
    """What is captured as graphs: parts of a step, whole steps, or whole steps of decode alone."""
    max_cudagraph_capture_size: PositiveInt | None = None
    """Largest batch in tokens for which a graph is captured, where cudagraph_capture_sizes does not say."""
    custom_ops: tuple[str, ...] | None = None
    """Which of vLLM's own kernels take the place of compiled ones: "+name", "-name", "all" or "none"."""
    cudagraph_capture_sizes: CaptureSizes | None = None
    """Batches in tokens for which graphs are captured; must reach max_num_seqs x (1 + draft tokens), else large batches run without a
    graph."""
    pass_config: dict[str, bool | int | float | str] | None = None
    """Passes of the compiler to turn on or off, by name."""
    use_inductor_graph_partition: bool | None = None
    """Split the graph in the compiler instead of before it."""


class VllmOptions(OptionsModel):
    """Typed options of `vllm serve`; a field that is not set leaves vLLM its default."""

    served_name: str | None = None
    """The name that requests carry; vLLM's default is the model path."""
    tensor_parallel: PositiveInt | None = None
    """GPUs that share each layer."""
    pipeline_parallel: PositiveInt | None = None
    """Stages that the layers are split into."""
    data_parallel: PositiveInt | None = None
    """Replicas of the engine behind one server."""
    dp_attention: bool | None = None
    """Attention on data-parallel ranks: all GPUs of tensor_parallel x data_parallel become ranks of their own."""
    expert_parallel: bool | None = None
    """Spread whole experts over the GPUs instead of splitting each."""
    prefill_context_parallel: PositiveInt | None = None
    """GPUs that share the tokens of a prompt while it is computed."""
    decode_context_parallel: PositiveInt | None = None
    """GPUs of tensor_parallel that share the KV cache of a request by tokens; divides tensor_parallel."""
    kv_cache_dtype: str | None = None
    """Number format of the KV cache, for instance "fp8"; "auto" sets no flag."""
    block_size: PositiveInt | None = None
    """Tokens in a block of the KV cache."""
    max_num_seqs: PositiveInt | None = None
    """Requests that are computed at once, at most."""
    max_batched_tokens: PositiveInt | None = None
    """Tokens that a step computes, at most."""
    long_prefill_threshold: Annotated[int, Field(ge=0)] | None = None
    """Prompt tokens from which on a request counts as a long one, of which a step computes no more at a time; 0 = none does."""
    max_model_len: PositiveInt | Literal[-1] | MaxModelLen | None = None
    """Longest prompt with its answer: tokens, a text such as "32K", or "auto", which -1 means too."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of each GPU's memory that the engine takes."""
    prefix_caching: bool | None = None
    """Keep the KV cache of prompts for later ones that begin alike."""
    state_checkpoints: Literal["align", "none"] | None = None
    """Cache mode of recurrent layers."""
    quantization: str | None = None
    """How the weights are quantized, where the checkpoint does not say it."""
    online_quant: dict[str, object] | None = None
    """`online_quant_config` of ATOM's plugin for vLLM, which quantizes while loading; vLLM alone does not know it."""
    attention_backend: str | None = None
    """Kernels of attention, for instance "ROCM_AITER_MLA"."""
    moe_backend: str | None = None
    """Kernels of experts, for instance "aiter"."""
    linear_backend: str | None = None
    """Kernels of linear layers, for instance "aiter"."""
    compilation: Compilation | None = None
    """torch.compile and graph capture."""
    eager: bool | None = None
    """Run without graphs and compilation."""
    speculative: Speculative | None = None
    """Speculative decoding."""
    kv_offload: KvOffload | None = None
    """A tier of the KV cache in host memory."""
    load_format: str | None = None
    """How the weights are read, for instance "safetensors" or "runai_streamer"."""
    tool_parser: str | None = None
    """How tool calls are read from answers; also turns automatic tool choice on."""
    reasoning_parser: str | None = None
    """How thinking is told from the answer."""
    tokenizer_mode: str | None = None
    """Which tokenizer is used, for instance "auto" or "kimi_k3"."""
    language_model_only: bool | None = None
    """Leave out the parts of a multimodal model that read other input than text."""
    chat_template: str | None = None
    """File of a chat template, in place of the model's own."""
    chat_template_kwargs: dict[str, bool | int | float | str] | None = None
    """Defaults for the chat template's variables."""
    trust_remote_code: bool | None = None
    """Run the code that comes with the model."""
    hf_overrides: dict[str, object] | None = None
    """Values in place of those in the model's config.json."""
    async_scheduling: bool | None = None
    """Schedule a step while the one before is computed."""
    stream_interval: PositiveInt | None = None
    """Tokens a chunk of a stream; more than 1 coarsens inter-token times."""
    prompt_tokens_details: bool | None = None
    """Report cached tokens a request, which vLLM else does not. Where nothing is said: yes, but as published with a recipe."""
    profiler: bool | None = None
    """Load vLLM's torch profiler, so that it can be started and stopped while a point runs; traces lie in the launch's folder."""
    build: Annotated[str, Field(min_length=1)] | None = None
    """Which vLLM it is, where the image's tag does not tell: "0.32.0", "nightly-<commit>", or a row of the table of builds in this
    plugin's README."""
    sanity: bool | None = None
    """Ask two or three questions with known answers before anything is measured. Where nothing is said: yes for fp4 models on GPUs that
    compute in fp4, unless acceptance is synthetic."""
    ready_limit: Annotated[Duration, Field(gt=0)] = DEFAULT_READY_LIMIT_S
    """Hard limit for getting ready, in seconds or as a text."""
    stall_limit: Annotated[Duration, Field(gt=0)] = 1200.0
    """Soft limit for getting ready: so long without progress in the log, in seconds or as a text."""
    weights: Annotated[Size, Field(gt=0)] | None = None
    """Size of the model's files in bytes or as a text, for `load_rate`."""
    load_rate: Annotated[Size, Field(gt=0)] | None = None
    """Bytes a second at which this machine reads the weights, for instance "3.2 GB": with `weights` it makes the limit for getting ready,
    twice the reading time and half an hour, in place of `ready_limit`."""

    @property
    def ranks(self) -> int:
        """GPUs that the deployment takes, one a rank."""
        sizes = (self.tensor_parallel, self.pipeline_parallel, self.data_parallel, self.prefill_context_parallel)
        product = 1
        for size in sizes:
            product *= size or 1
        return product

    @property
    def attention_ranks(self) -> int:
        """Ranks that split one layer's attention, and one engine's KV cache."""
        return 1 if self.dp_attention else (self.tensor_parallel or 1)

    @property
    def ready_limit_s(self) -> float:
        """The hard limit for getting ready that applies."""
        if self.weights is None or self.load_rate is None:
            return self.ready_limit
        return loading_limit_s(self.weights, self.load_rate)
