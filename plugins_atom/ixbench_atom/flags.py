"""The one table from typed options to flags of ATOM's OpenAI server, in the order of the command line.

Kebab and snake spelling are equal for ATOM; here each flag is spelled as the published recipes spell it.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from ixbench.api.engine import LOOPBACK, FlagRule, compact_json, flags_of, replace_flags, switch_flag, value_flag
from ixbench_atom.builds import build_of

if TYPE_CHECKING:
    from ixbench.api.engine import ArgValue, Deployment
    from ixbench_atom.options import AtomOptions
    from ixbench_atom.tables import Compilation, KvOffload, OnlineQuant, Profiler, Speculative, StateCheckpoints

    Flags = list[tuple[str, ArgValue]]

ALIASES = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "--enable-eplb": "--eplb-enable",
}

RESERVED = {
    "--server-port": "ixbench chooses a free port",
    "--model": "the model stands in [model]",
    "--load-dummy": "made-up weights never count as a result, so load the real ones",
    "--fake-eplb": "made-up routing never counts as a result, so leave it out",
}


MINE = ("--host", "--server-port")
"""What ixbench adds to every launch."""


def _given(*flags: tuple[str, ArgValue | None]) -> Flags:
    return [(flag, value) for flag, value in flags if value is not None]


def _kv_cache_dtype(value: str, _options: AtomOptions) -> Flags:
    return [] if value == "auto" else [("--kv_cache_dtype", value)]


def _state_checkpoints(value: StateCheckpoints, _options: AtomOptions) -> Flags:
    return _given(("--state-checkpoint-interval-tokens", value.interval_tokens), ("--state-checkpoint-slots", value.slots))


def _online_quant(value: OnlineQuant, _options: AtomOptions) -> Flags:
    config: dict[str, object] = {"global_quant_config": value.config or ""}
    if value.layers:
        config["layer_quant_config"] = dict(value.layers)
    if value.exclude:
        config["exclude_layer"] = list(value.exclude)
    return [("--online_quant_config", config)]


def _compilation(value: Compilation, _options: AtomOptions) -> Flags:
    sizes = value.cudagraph_capture_sizes
    return _given(
        ("--level", value.level),
        ("--cudagraph-mode", value.cudagraph_mode),
        ("--cudagraph-capture-sizes", compact_json(sizes) if sizes else None),
    )


def _speculative(value: Speculative, _options: AtomOptions) -> Flags:
    dspark: dict[str, Any] = value.dspark.model_dump(exclude_none=True) if value.dspark is not None else {}
    # ATOM takes these two as text.
    dspark |= {name: ",".join(map(str, dspark[name])) for name in ("ragged_graph_sizes", "q_buckets") if name in dspark}
    return _given(
        ("--method", value.method),
        ("--draft-model", value.draft),
        ("--num-speculative-tokens", value.tokens),
        ("--spec-decode-acceptance-length", value.acceptance_length),
        ("--spec-decode-acceptance-rate", value.acceptance_rate),
        ("--dspark-config", dspark or None),
    )


def _kv_offload(value: KvOffload, _options: AtomOptions) -> Flags:
    if value.backend == "off":
        return []
    return [("--kv-transfer-config", {"kv_connector": "lmcache_offload", "kv_role": "offload"})]


def _profiler(value: Profiler, _options: AtomOptions) -> Flags:
    return _given(("--torch-profiler-dir", value.folder or "{folder}/profile"), ("--mark-trace", value.mark_trace or None))


def _keep_alive(value: float, _options: AtomOptions) -> Flags:
    return [("--timeout-keep-alive", int(value))]


NUMBERS = {
    "tensor_parallel": "--tensor-parallel-size",
    "pipeline_parallel": "--pipeline-parallel-size",
    "data_parallel": "--data-parallel-size",
    "prefill_context_parallel": "--prefill-context-parallel-size",
    "decode_context_parallel": "--decode-context-parallel-size",
    "max_num_seqs": "--max-num-seqs",
}
"""Whole numbers that rules count with, so that verbatim args are counted too."""

VARIABLES = ("attention_backend", "load", "numa_bind", "mec_firmware")
"""Options that become variables alone; `environment.py` has them."""

KEEP_ALIVE_S = 600
"""Where nobody says how long idle connections are kept: an agent's pauses are longer than ATOM's own 5 s."""
_KEEP_ALIVE_SINCE = date(2026, 8, 16)

HOST_ONLY = ("build", "ready_limit", "stall_limit", "weights", "load_rate", "sanity")
"""Options for ixbench itself."""


def _rule(option: str, make: Any, *flags: str) -> FlagRule:  # noqa: ANN401 - each option has its own value type
    return FlagRule(option=option, flags=flags, make=make)


TABLE = (
    value_flag("served_name", "--served-model-name"),
    switch_flag("trust_remote_code", "--trust-remote-code"),
    value_flag("tensor_parallel", "--tensor-parallel-size"),
    value_flag("pipeline_parallel", "--pipeline-parallel-size"),
    value_flag("data_parallel", "--data-parallel-size"),
    switch_flag("dp_attention", "--enable-dp-attention"),
    switch_flag("expert_parallel", "--enable-expert-parallel"),
    value_flag("all2all_backend", "--all2all-backend"),
    value_flag("tbo", "--enable-tbo"),
    switch_flag("eplb", "--eplb-enable"),
    value_flag("prefill_context_parallel", "--prefill-context-parallel-size"),
    value_flag("decode_context_parallel", "--decode-context-parallel-size"),
    value_flag("moe_backend", "--moe-backend"),
    _rule("kv_cache_dtype", _kv_cache_dtype, "--kv_cache_dtype"),
    value_flag("index_cache_dtype", "--index-cache-dtype"),
    value_flag("block_size", "--block-size"),
    value_flag("max_num_seqs", "--max-num-seqs"),
    value_flag("max_batched_tokens", "--max-num-batched-tokens"),
    value_flag("long_prefill_threshold", "--long-prefill-token-threshold"),
    switch_flag("chunked_prefill", "--enable_chunked_prefill", "--no-enable_chunked_prefill"),
    value_flag("max_model_len", "--max-model-len"),
    value_flag("gpu_memory_utilization", "--gpu-memory-utilization"),
    switch_flag("prefix_caching", "--enable_prefix_caching", "--no-enable_prefix_caching"),
    _rule("state_checkpoints", _state_checkpoints, "--state-checkpoint-interval-tokens", "--state-checkpoint-slots"),
    _rule("online_quant", _online_quant, "--online_quant_config"),
    _rule("compilation", _compilation, "--level", "--cudagraph-mode", "--cudagraph-capture-sizes"),
    switch_flag("eager", "--enforce-eager"),
    value_flag("chat_template", "--chat-template"),
    value_flag("chat_template_kwargs", "--default-chat-template-kwargs"),
    value_flag("hf_overrides", "--hf-overrides"),
    value_flag("scheduler_delay_factor", "--scheduler-delay-factor"),
    value_flag("dp_load_balance", "--dp-load-balance"),
    _rule("keep_alive", _keep_alive, "--timeout-keep-alive"),
    _rule("profiler", _profiler, "--torch-profiler-dir", "--mark-trace"),
    _rule(
        "speculative",
        _speculative,
        "--method",
        "--draft-model",
        "--num-speculative-tokens",
        "--spec-decode-acceptance-length",
        "--spec-decode-acceptance-rate",
        "--dspark-config",
    ),
    _rule("kv_offload", _kv_offload, "--kv-transfer-config"),
)


def launch_flags(deployment: Deployment[AtomOptions]) -> Flags:
    """Return all flags after the model: host and port, typed options, and the verbatim args put in."""
    options = deployment.options
    typed = [("--host", LOOPBACK), ("--server-port", "{port:http}"), *flags_of(TABLE, options)]
    if keeps_alive(deployment):
        typed.append(("--timeout-keep-alive", KEEP_ALIVE_S))
    return replace_flags(typed, deployment.args, ALIASES)


def keeps_alive(deployment: Deployment[AtomOptions]) -> bool:
    """Say whether idle connections are kept longer of our own accord: a recipe counts as published, and old builds have no such flag."""
    day = build_of(deployment.image, deployment.options.build).day
    return deployment.recipe is None and deployment.options.keep_alive is None and day is not None and day >= _KEEP_ALIVE_SINCE
