"""Names as people write them: engines, workloads, SKUs, and a point's configuration in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.report import UNTOLD, counted, is_speculative

if TYPE_CHECKING:
    from ixbench.api.report import PointIdentity, PointResult, RunView

ENGINES = {
    "atom": "ATOM",
    "dynamo-sglang": "Dynamo SGLang",
    "dynamo-trt": "Dynamo TRT-LLM",
    "dynamo-vllm": "Dynamo vLLM",
    "llamacpp": "llama.cpp",
    "mooncake-atom": "Mooncake ATOM",
    "mori-sglang": "MoRI SGLang",
    "sglang": "SGLang",
    "trt": "TRT-LLM",
    "vllm": "vLLM",
}
"""An engine that is not here is called as its adapter is."""
_WORKLOADS = {
    "agentx": "AgentX agentic coding",
    "azure": "Azure trace",
    "fixed": "fixed sequence lengths",
    "mooncake": "Mooncake trace",
    "prompts": "recorded prompts",
}
_NO_OFFLOAD = frozenset({"", "none", "off", UNTOLD})


def engine_name(engine: str) -> str:
    """Return an engine's name in print."""
    return ENGINES.get(engine.lower(), engine)


def workload_name(identity: PointIdentity) -> str:
    """Return a workload in print, with its lengths where it has fixed ones."""
    name = _WORKLOADS.get(identity.workload, identity.workload)
    if identity.input_tokens is None and identity.output_tokens is None:
        return name
    return f"{name}, {_length(identity.input_tokens)} input and {_length(identity.output_tokens)} output tokens"


def hardware_name(hardware: str | None, run: RunView) -> str:
    """Return a SKU in print: as the hardware book that the run used has it."""
    if hardware is None:
        return "unknown hardware"
    return run.sku.name if run.sku is not None and run.sku.sku == hardware else hardware.upper()


def load_words(identity: PointIdentity) -> str:
    """Return the load of a point in words."""
    if identity.concurrency is not None:
        return counted(identity.concurrency, "user")
    return f"{identity.rate:g} sessions/s" if identity.rate is not None else "load not known"


def configuration(point: PointResult) -> str:
    """Return what tells a point from the others of its model and SKU: engine, precision, parallelism, modes and load."""
    identity = point.identity
    sizes = (("TP", identity.tensor_parallel), ("PP", identity.pipeline_parallel), ("DP", identity.data_parallel))
    known = [
        engine_name(identity.engine),
        identity.precision or "",
        # One pipeline stage and one replica are what everybody expects.
        " ".join(f"{name}{size}" for name, size in sizes if size is not None and (size > 1 or name == "TP")),
        "EP" if identity.expert_parallel else "",
        "disaggregated" if identity.disaggregated else "",
        "several nodes" if identity.multinode else "",
        speculation(identity.spec_method) if is_speculative(identity.spec_method) else "",
        kv_offload(identity.kv_offload) if identity.kv_offload not in _NO_OFFLOAD else "",
        *(f"{name} = {value}" for name, value in identity.settings.items()),
        load_words(identity),
    ]
    return ", ".join(filter(None, known))


def speculation(method: str | None) -> str:
    """Return the method of speculative decoding in print."""
    if method == UNTOLD:
        return "not known whether speculative"
    return f"speculative ({method})" if is_speculative(method) else "not speculative"


def kv_offload(mode: str) -> str:
    """Return the mode of KV offload in print."""
    if mode == UNTOLD:
        return "KV offload not known"
    return "no KV offload" if mode == "off" else f"KV offload {mode}"


def _length(tokens: int | None) -> str:
    return "any number of" if tokens is None else f"{tokens:,}"
