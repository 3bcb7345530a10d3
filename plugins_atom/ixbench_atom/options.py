"""What an ATOM deployment may set, typed. Each field becomes the flags that `flags.py` names; everything else is verbatim `args`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt

from ixbench.api.engine import Duration, OptionsModel, Size, loading_limit_s
from ixbench_atom.builds import build_of
from ixbench_atom.tables import (
    Compilation,
    KvOffload,
    NotNegativeInt,
    OnlineQuant,
    Profiler,
    Speculative,
    StateCheckpoints,
    WeightLoading,
)

READY_LIMIT_S = 1800.0
STALL_LIMIT_S = 1200.0


def _profiler(value: object) -> object:
    return ({} if value else None) if isinstance(value, bool) else value


def _build(value: str) -> str:
    if not build_of(None, value).told:
        raise ValueError("tells of no build; allowed: the end of an image's tag, such as 'nightly_202608201032', or a day, '2026-08-20'")
    return value


class AtomOptions(OptionsModel):
    """Typed options of ATOM's OpenAI server; a field that is not set leaves ATOM its default."""

    served_name: str | None = None
    """The name that requests carry; ATOM's default is the model path."""
    tensor_parallel: PositiveInt | None = None
    """GPUs that share each layer."""
    pipeline_parallel: PositiveInt | None = None
    """Stages that the layers are split into."""
    data_parallel: PositiveInt | None = None
    """Replicas of the engine behind one server."""
    dp_attention: bool | None = None
    """Attention by data parallelism: ATOM makes tensor_parallel x data_parallel its data-parallel ranks."""
    expert_parallel: bool | None = None
    """Spread whole experts over the GPUs instead of splitting each."""
    all2all_backend: Literal["high-throughput", "low-latency"] | None = None
    """How tokens travel to the GPUs of their experts."""
    tbo: Literal["prefill", "all"] | None = None
    """Two-batch overlap: of prompts alone, or of all steps."""
    eplb: bool | None = None
    """Expert load balancing."""
    prefill_context_parallel: PositiveInt | None = None
    """GPUs that share the tokens of a prompt while it is computed."""
    decode_context_parallel: PositiveInt | None = None
    """GPUs of tensor_parallel that share the KV cache of a request by tokens; divides tensor_parallel."""
    kv_cache_dtype: Literal["auto", "bf16", "fp8"] | None = None
    """Number format of the KV cache; "auto" sets no flag."""
    index_cache_dtype: Literal["bf16", "fp8", "fp4"] | None = None
    """Number format of the index of sparse attention."""
    block_size: PositiveInt | None = None
    """Tokens in a block of the KV cache."""
    max_num_seqs: PositiveInt | None = None
    """Requests that are computed at once, at most."""
    max_batched_tokens: PositiveInt | None = None
    """Tokens that a step computes, at most."""
    long_prefill_threshold: NotNegativeInt | None = None
    """Prompt tokens from which on a request counts as a long one, of which a step computes no more at a time; 0 = none does."""
    chunked_prefill: bool | None = None
    """Compute long prompts in pieces, beside the decode of others."""
    max_model_len: PositiveInt | None = None
    """Longest prompt with its answer, in tokens."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of each GPU's memory that the engine takes."""
    prefix_caching: bool | None = None
    """Keep the KV cache of prompts for later ones that begin alike."""
    state_checkpoints: StateCheckpoints | None = None
    """Checkpoints of recurrent state, for hybrid models."""
    online_quant: OnlineQuant | None = None
    """Quantization while loading."""
    attention_backend: Literal["triton_mla", "triton", "unified"] | None = None
    """Instead of what ATOM chooses: its Triton MLA, Triton wherever there is a fallback, or unified attention; set by variables."""
    moe_backend: str | None = None
    """Kernels of experts, "standard" or "mega"; older builds know others."""
    compilation: Compilation | None = None
    """Compilation and graph capture."""
    eager: bool | None = None
    """Run without graphs and compilation."""
    speculative: Speculative | None = None
    """Speculative decoding."""
    kv_offload: KvOffload | None = None
    """A tier of the KV cache in host memory."""
    load: WeightLoading | None = None
    """How the weights are read."""
    chat_template: str | None = None
    """File of a chat template, in place of the model's own."""
    chat_template_kwargs: dict[str, bool | int | float | str] | None = None
    """Defaults for the chat template's variables."""
    trust_remote_code: bool | None = None
    """Run the code that comes with the model."""
    hf_overrides: dict[str, object] | None = None
    """Values in place of those in the model's config.json."""
    scheduler_delay_factor: Annotated[float, Field(ge=0)] | None = None
    """How long waiting prompts are held back, as a multiple of the time of the last prompt step; 0 = not at all."""
    dp_load_balance: Literal["least_requests", "round_robin", "least_tokens"] | None = None
    """Which replica gets a request."""
    numa_bind: bool | None = None
    """Pin each worker to the CPUs and the memory beside its GPU."""
    keep_alive: Annotated[Duration, Field(ge=1)] | None = None
    """How long the server keeps an idle connection, in seconds or as a text; ATOM's default of 5 s is shorter than an agent's pause."""
    profiler: Annotated[Profiler | None, BeforeValidator(_profiler, json_schema_input_type=Profiler | bool)] = None
    """true, or a table of settings: only a server that is started with it can be profiled."""
    build: Annotated[str, AfterValidator(_build)] | None = None
    """Which ATOM it is, where the image's tag does not tell or no image runs: a tag, "nightly_202608201032" or "kimi_k3_agentic_0820", or
    the day of the main branch, "2026-08-20"."""
    mec_firmware: PositiveInt | None = None
    """Version of the GPUs' MEC firmware (`ixbench doctor` tells it); below 177 memory of kernels must not be given back."""
    ready_limit: Annotated[Duration, Field(gt=0)] = READY_LIMIT_S
    """Hard limit for getting ready, in seconds or as a text; no flag of ATOM, which itself waits without one."""
    stall_limit: Annotated[Duration, Field(gt=0)] = STALL_LIMIT_S
    """Soft limit, in seconds or as a text: so long without a line of progress in the log means that it will not get ready."""
    weights: Annotated[Size, Field(gt=0)] | None = None
    """Size of the model's files in bytes or as a text, for `load_rate`."""
    load_rate: Annotated[Size, Field(gt=0)] | None = None
    """Bytes a second at which this machine reads the weights, for instance "3.2 GB": with `weights` it makes the limit for getting ready,
    twice the reading time and half an hour, in place of `ready_limit`."""
    sanity: bool | None = None
    """Whether two prompts with known answers are asked before anything is measured. Where nothing is said: for fp4 models on GPUs that
    compute in fp4. Never under synthetic acceptance."""

    @property
    def ready_limit_s(self) -> float:
        """The hard limit for getting ready that applies."""
        if self.weights is None or self.load_rate is None:
            return self.ready_limit
        return loading_limit_s(self.weights, self.load_rate)

    @property
    def ranks(self) -> int:
        """GPUs that the deployment takes, one a rank."""
        sizes = (self.tensor_parallel, self.pipeline_parallel, self.data_parallel, self.prefill_context_parallel)
        product = 1
        for size in sizes:
            product *= size or 1
        return product
