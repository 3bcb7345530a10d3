"""What is surely wrong with a vLLM deployment, said before a node is rented for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, args_findings, gpu_findings, replaced_findings, visibility_findings
from ixbench_vllm.flags import ALIASES, NAMING, RESERVED, TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import Deployment
    from ixbench_vllm.options import Speculative, VllmOptions


def findings(deployment: Deployment[VllmOptions]) -> Iterator[Finding]:
    """Yield errors first found, then warnings and notes, subject by subject."""
    options = deployment.options
    if deployment.url is None and not (deployment.model.path or deployment.model.id):
        yield _error("no_model", "vLLM needs a model to serve; set [model] id or path")
    yield from args_findings(deployment.args, reserved=RESERVED, aliases=ALIASES)
    yield from replaced_findings((*NAMING, *TABLE), options, deployment.args, ALIASES)
    yield from visibility_findings(deployment.env, deployment.gpu_indices)
    yield from gpu_findings(deployment, options.ranks)
    if options.decode_context_parallel is not None and (options.tensor_parallel or 1) % options.decode_context_parallel:
        text = f"decode_context_parallel = {options.decode_context_parallel} must divide tensor_parallel = {options.tensor_parallel or 1}"
        yield _error("context_parallel", text)
    if options.load_format == "dummy":
        yield _error("dummy_weights", "load_format 'dummy' makes up the weights, which never counts as a result; name the real format")
    if options.speculative is not None:
        yield from _speculative(options.speculative)
        yield from _capture(options, options.speculative)
    if options.kv_offload is not None and options.kv_offload.backend == "native" and "VLLM_USE_SIMPLE_KV_OFFLOAD" in deployment.env:
        text = (
            "env VLLM_USE_SIMPLE_KV_OFFLOAD swaps another connector in for kv_offload backend 'native'; remove it or use backend 'simple'"
        )
        yield _error("kv_offload_swapped", text)


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _speculative(spec: Speculative) -> Iterator[Finding]:
    length = spec.acceptance_length
    if length is None:
        if spec.rejection == "synthetic":
            yield _error("acceptance_missing", "speculative.rejection 'synthetic' needs acceptance_length")
        return
    if spec.rejection not in (None, "synthetic"):
        text = f"speculative.rejection '{spec.rejection}' and acceptance_length exclude each other; keep one of them"
        yield _error("acceptance_conflict", text)
    if spec.tokens is None:
        yield _error("acceptance_tokens", "speculative.acceptance_length needs speculative.tokens")
    elif not 1 <= length <= spec.tokens + 1:
        text = f"speculative.acceptance_length = {length:g} is impossible with tokens = {spec.tokens}; allowed: 1 to {spec.tokens + 1}"
        yield _error("acceptance_range", text)


def _capture(options: VllmOptions, spec: Speculative) -> Iterator[Finding]:
    compilation = options.compilation
    if compilation is None or options.max_num_seqs is None or options.eager:
        return
    sizes = compilation.cudagraph_capture_sizes
    largest = max(sizes) if sizes else compilation.max_cudagraph_capture_size
    needed = options.max_num_seqs * (1 + (spec.tokens or 0))
    if largest is not None and largest < needed:
        text = (
            f"graphs are captured up to {largest} tokens, but max_num_seqs x (1 + speculative.tokens) is {needed}: "
            f"fuller batches run without a graph; raise compilation.cudagraph_capture_sizes to {needed}"
        )
        yield Finding(level="warning", code="capture_too_small", text=text)
