"""The one table from typed options to flags of `vllm serve`, in the order of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ixbench.api.engine import LOOPBACK, FlagRule, flags_of, replace_flags, switch_flag, value_flag
from ixbench_vllm.builds import build_of

if TYPE_CHECKING:
    from ixbench.api.engine import ArgValue, Deployment
    from ixbench_vllm.options import Compilation, KvOffload, Speculative, VllmOptions

    Flags = list[tuple[str, ArgValue]]

ALIASES = {
    "-ac": "--attention-config",
    "-cc": "--compilation-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-pcp": "--prefill-context-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-q": "--quantization",
    "-sc": "--speculative-config",
    "-tp": "--tensor-parallel-size",
}

RESERVED = {
    "--port": "ixbench chooses a free port",
    "--model": "the model stands in [model]",
}

GIB = 2**30
LMCACHE_CONNECTOR = "lmcache.integration.vllm.lmcache_mp_connector"
LMCACHE_TIMEOUT_S = 6000.0
"""How long vLLM waits for an answer of the LMCache server: long prompts move much at once."""
TRACES = "{folder}/profile"
"""Where the profiler leaves its traces."""


def _kv_cache_dtype(value: str, _options: VllmOptions) -> Flags:
    return [] if value == "auto" else [("--kv-cache-dtype", value)]


def _tensor_parallel(value: int, options: VllmOptions) -> Flags:
    return [] if options.dp_attention else [("--tensor-parallel-size", value)]


def _data_parallel(value: int, options: VllmOptions) -> Flags:
    return [] if options.dp_attention else [("--data-parallel-size", value)]


def _dp_attention(value: bool, options: VllmOptions) -> Flags:
    if not value:
        return []
    ranks = (options.tensor_parallel or 1) * (options.data_parallel or 1)
    return [("--tensor-parallel-size", 1), ("--data-parallel-size", ranks)]


def _online_quant(value: dict[str, object], _options: VllmOptions) -> Flags:
    return [("--additional-config", {"online_quant_config": value})]


def _profiler(value: bool, _options: VllmOptions) -> Flags:
    return [("--profiler-config", {"profiler": "torch", "torch_profiler_dir": TRACES})] if value else []


def _tool_parser(value: str, _options: VllmOptions) -> Flags:
    return [("--enable-auto-tool-choice", True), ("--tool-call-parser", value)]


def _compilation(value: Compilation, _options: VllmOptions) -> Flags:
    return [("--compilation-config", value.model_dump(mode="json", exclude_none=True))]


def _speculative(value: Speculative, _options: VllmOptions) -> Flags:
    synthetic = value.acceptance_length is not None or value.acceptance_rates is not None
    config = {
        "model": value.draft,
        "num_speculative_tokens": value.tokens,
        "method": value.method,
        "attention_backend": value.attention_backend,
        "kv_cache_dtype": value.kv_cache_dtype,
        "draft_sample_method": value.draft_sampling,
        "rejection_sample_method": "synthetic" if synthetic else value.rejection,
        "synthetic_acceptance_length": value.acceptance_length,
        "synthetic_acceptance_rates": None if value.acceptance_rates is None else list(value.acceptance_rates),
    }
    return [("--speculative-config", {key: item for key, item in config.items() if item is not None})]


def _kv_offload(value: KvOffload, options: VllmOptions) -> Flags:
    per_rank = value.per_rank(options.ranks)
    if value.backend == "off" or per_rank is None:
        return []
    if value.backend == "native":
        # vLLM wants the total over the ranks of one engine; each data-parallel rank is an engine of its own.
        engines = (options.data_parallel or 1) * ((options.tensor_parallel or 1) if options.dp_attention else 1)
        total = per_rank * options.ranks // engines
        return [("--kv-offloading-backend", "native"), ("--kv-offloading-size", round(total / GIB, 3))]
    config: dict[str, object]
    if value.backend == "simple":
        extra: dict[str, object] = {"cpu_bytes_to_use_per_rank": per_rank, "lazy_offload": value.lazy}
        config = {"kv_connector": "SimpleCPUOffloadConnector", "kv_role": "kv_both"}
    elif value.backend == "lmcache":
        urls = ",".join(f"tcp://{LOOPBACK}:{{port:lmcache-{rank}}}" for rank in range(options.ranks))
        extra = {"lmcache.mp.server_urls": urls, "lmcache.mp.mq_timeout": LMCACHE_TIMEOUT_S}
        config = {"kv_connector": "LMCacheMPConnector", "kv_connector_module_path": LMCACHE_CONNECTOR, "kv_role": "kv_both"}
    else:
        extra = {"load_async": True}
        config = {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}
    return [("--kv-transfer-config", config | {"kv_connector_extra_config": extra | (value.connector or {})})]


def _rule(option: str, make: Any, *flags: str) -> FlagRule:  # noqa: ANN401 - each option has its own value type
    return FlagRule(option=option, flags=flags, make=make)


NAMING = (value_flag("served_name", "--served-model-name"),)
"""Comes before host and port."""

TABLE = (
    switch_flag("trust_remote_code", "--trust-remote-code"),
    value_flag("moe_backend", "--moe-backend"),
    value_flag("linear_backend", "--linear-backend"),
    value_flag("attention_backend", "--attention-backend"),
    _rule("tensor_parallel", _tensor_parallel, "--tensor-parallel-size"),
    _rule("dp_attention", _dp_attention, "--tensor-parallel-size", "--data-parallel-size"),
    value_flag("pipeline_parallel", "--pipeline-parallel-size"),
    _rule("data_parallel", _data_parallel, "--data-parallel-size"),
    value_flag("prefill_context_parallel", "--prefill-context-parallel-size"),
    value_flag("decode_context_parallel", "--decode-context-parallel-size"),
    switch_flag("expert_parallel", "--enable-expert-parallel"),
    value_flag("load_format", "--load-format"),
    value_flag("quantization", "--quantization"),
    _rule("online_quant", _online_quant, "--additional-config"),
    value_flag("gpu_memory_utilization", "--gpu-memory-utilization"),
    switch_flag("language_model_only", "--language-model-only"),
    value_flag("max_num_seqs", "--max-num-seqs"),
    value_flag("max_batched_tokens", "--max-num-batched-tokens"),
    value_flag("long_prefill_threshold", "--long-prefill-token-threshold"),
    _rule("tool_parser", _tool_parser, "--enable-auto-tool-choice", "--tool-call-parser"),
    value_flag("reasoning_parser", "--reasoning-parser"),
    value_flag("tokenizer_mode", "--tokenizer-mode"),
    value_flag("chat_template", "--chat-template"),
    value_flag("chat_template_kwargs", "--default-chat-template-kwargs"),
    value_flag("hf_overrides", "--hf-overrides"),
    value_flag("max_model_len", "--max-model-len"),
    switch_flag("prefix_caching", "--enable-prefix-caching", "--no-enable-prefix-caching"),
    value_flag("state_checkpoints", "--mamba-cache-mode"),
    value_flag("block_size", "--block-size"),
    _rule("kv_cache_dtype", _kv_cache_dtype, "--kv-cache-dtype"),
    switch_flag("eager", "--enforce-eager"),
    switch_flag("async_scheduling", "--async-scheduling", "--no-async-scheduling"),
    value_flag("stream_interval", "--stream-interval"),
    _rule("compilation", _compilation, "--compilation-config"),
    _rule("speculative", _speculative, "--speculative-config"),
    _rule("kv_offload", _kv_offload, "--kv-transfer-config", "--kv-offloading-backend", "--kv-offloading-size"),
    _rule("profiler", _profiler, "--profiler-config"),
)

NO_FLAGS = ("build", "load_rate", "prompt_tokens_details", "ready_limit", "sanity", "stall_limit", "weights")
"""Options that are no flags of their own; `prompt_tokens_details` is `DETAILS`, which is on where no recipe says otherwise."""

DETAILS = "--enable-prompt-tokens-details"
STRICT = "--fail-on-environ-validation"
ADDED = {
    DETAILS: "without it vLLM reports no cached tokens; not with a recipe, unless asked for",
    STRICT: "a VLLM_ variable that this build does not read then ends the launch instead of changing nothing",
}
"""Flags that ixbench adds of itself, each with its reason."""

NUMBERS = {
    "tensor_parallel": "--tensor-parallel-size",
    "pipeline_parallel": "--pipeline-parallel-size",
    "data_parallel": "--data-parallel-size",
    "prefill_context_parallel": "--prefill-context-parallel-size",
    "decode_context_parallel": "--decode-context-parallel-size",
    "max_num_seqs": "--max-num-seqs",
}
"""Whole numbers that rules count with, so that verbatim args are counted too."""


def launch_flags(deployment: Deployment[VllmOptions]) -> list[tuple[str, ArgValue]]:
    """Return all flags: typed options, host and port, what ixbench adds, and the verbatim args put in."""
    typed = [
        *flags_of(NAMING, deployment.options),
        ("--host", LOOPBACK),
        ("--port", "{port:http}"),
        *revision_flags(deployment),
        *flags_of(TABLE, deployment.options),
        *added_flags(deployment),
    ]
    return replace_flags(typed, deployment.args, ALIASES)


def added_flags(deployment: Deployment[VllmOptions]) -> list[tuple[str, ArgValue]]:
    """Return the flags that a launch gets beside what was asked for."""
    if deployment.url is not None:
        return []
    found: list[tuple[str, ArgValue]] = []
    if _wants_details(deployment):
        found.append((DETAILS, True))
    if build_of(deployment).strict:
        found.append((STRICT, True))
    return found


def _wants_details(deployment: Deployment[VllmOptions]) -> bool:
    """Whether requests shall report cached tokens; a recipe is started as it was published, unless someone asks for them."""
    asked = deployment.options.prompt_tokens_details
    return deployment.recipe is None if asked is None else asked


def revision_flags(deployment: Deployment[VllmOptions]) -> list[tuple[str, ArgValue]]:
    """Return the flag that pins a hub model; a local folder is what it is."""
    model = deployment.model
    return [("--revision", model.revision)] if model.revision and not model.path else []
