"""What is surely wrong with a vLLM deployment, said before a node is rented for it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.api.engine import (
    Finding,
    args_findings,
    counted,
    gpu_findings,
    number_findings,
    numbers_by_option,
    queue_findings,
    replaced_findings,
    visibility_findings,
)
from ixbench_vllm.flags import ALIASES, NAMING, NUMBERS, RESERVED, TABLE, launch_flags
from ixbench_vllm.help_text import listed_flags
from ixbench_vllm.rocm import SIMPLE_OFFLOAD, environment_findings
from ixbench_vllm.sidecars import GB, LMCACHE_RESERVED, MOONCAKE_RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import Deployment
    from ixbench_vllm.options import KvOffload, Speculative, VllmOptions


def findings(deployment: Deployment[VllmOptions]) -> Iterator[Finding]:
    """Yield errors first found, then warnings and notes, subject by subject."""
    options = deployment.options
    launched = options.model_copy(update=numbers_by_option(launch_flags(deployment), NUMBERS, ALIASES))
    if deployment.url is None and not (deployment.model.path or deployment.model.id):
        yield _error("no_model", "vLLM needs a model to serve; set [model] id or path")
    yield from args_findings(deployment.args, reserved=RESERVED, aliases=ALIASES)
    yield from replaced_findings((*NAMING, *TABLE), options, deployment.args, ALIASES)
    yield from number_findings(deployment.args, NUMBERS.values(), ALIASES)
    yield from visibility_findings(deployment.env, deployment.gpu_indices)
    yield from gpu_findings(deployment, launched.ranks)
    yield from _parallel(launched)
    yield from queue_findings(deployment.concurrency, launched.max_num_seqs, engines=launched.data_parallel or 1)
    if options.load_format == "dummy":
        yield _error("dummy_weights", "load_format 'dummy' makes up the weights, which never counts as a result; name the real format")
    if options.load_rate is not None and options.weights is None:
        yield _error("load_rate", "load_rate needs weights, the size of the model's files")
    if options.speculative is not None:
        yield from _speculative(options.speculative)
        yield from _capture(launched, options.speculative)
    if options.sanity and options.speculative is not None and _synthetic(options.speculative):
        text = "sanity = true and synthetic acceptance exclude each other: the text is meaningless; remove one of them"
        yield _error("sanity_synthetic", text)
    if options.kv_offload is not None:
        yield from _kv_offload(options.kv_offload, options)
        if options.kv_offload.backend != "off" and launched.ranks != options.ranks:
            shared = f"kv_offload is shared out to {counted(options.ranks, 'rank')}"
            text = f"{shared}, and args make them {launched.ranks}; set the parallel sizes by options"
            yield _error("kv_offload_share", text)
        if options.kv_offload.backend == "native" and SIMPLE_OFFLOAD in deployment.env and deployment.env[SIMPLE_OFFLOAD].value != "0":
            text = f"env {SIMPLE_OFFLOAD} swaps another connector in for kv_offload backend 'native'; remove it or use backend 'simple'"
            yield _error("kv_offload_swapped", text)
    if deployment.url is None:
        yield from listed_flags(deployment)
        yield from environment_findings(deployment)


def _parallel(options: VllmOptions) -> Iterator[Finding]:
    shared = options.decode_context_parallel
    if shared is not None and options.attention_ranks % shared:
        found = f"tensor_parallel = {options.attention_ranks}" + (", to which dp_attention sets it" if options.dp_attention else "")
        yield _error("context_parallel", f"decode_context_parallel = {shared} must divide {found}")
    if options.dp_attention and (options.tensor_parallel or 1) * (options.data_parallel or 1) == 1:
        yield _error("dp_attention", "dp_attention spreads attention over ranks, and there is one GPU; set tensor_parallel to their number")


def _kv_offload(offload: KvOffload, options: VllmOptions) -> Iterator[Finding]:
    reserved = {"lmcache": LMCACHE_RESERVED, "mooncake": MOONCAKE_RESERVED}.get(offload.backend, {})
    for finding in args_findings(offload.server_args or {}, reserved=reserved):
        yield Finding(level=finding.level, code=finding.code, text=finding.text.replace("args:", "kv_offload.server_args:", 1))
    per_rank = offload.per_rank(options.ranks)
    if offload.backend == "lmcache" and per_rank is not None and per_rank < GB:
        text = f"kv_offload: {per_rank} bytes a rank are less than the 1 GB that an LMCache server takes in whole numbers; give more"
        yield _error("kv_offload_small", text)
    if offload.backend == "lmcache" and (options.data_parallel or 1) > 1:
        text = "kv_offload 'lmcache' with data_parallel is unverified: which of the servers an engine's ranks use is LMCache's choice"
        yield Finding(level="warning", code="kv_offload_ranks", text=text)


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _synthetic(spec: Speculative) -> bool:
    return spec.rejection == "synthetic" or spec.acceptance_length is not None or spec.acceptance_rates is not None


def _speculative(spec: Speculative) -> Iterator[Finding]:
    length, rates = spec.acceptance_length, spec.acceptance_rates
    if length is not None and rates is not None:
        yield _error("acceptance_conflict", "speculative.acceptance_length and acceptance_rates exclude each other; keep one of them")
        return
    if length is None and rates is None:
        if spec.rejection == "synthetic":
            yield _error("acceptance_missing", "speculative.rejection 'synthetic' needs acceptance_length or acceptance_rates")
        return
    given = "acceptance_length" if rates is None else "acceptance_rates"
    if spec.rejection not in (None, "synthetic"):
        text = f"speculative.rejection '{spec.rejection}' and {given} exclude each other; keep one of them"
        yield _error("acceptance_conflict", text)
    if spec.tokens is None:
        yield _error("acceptance_tokens", f"speculative.{given} needs speculative.tokens")
    elif length is not None and not 1 <= length <= spec.tokens + 1:
        text = f"speculative.acceptance_length = {length:g} is impossible with tokens = {spec.tokens}; allowed: 1 to {spec.tokens + 1}"
        yield _error("acceptance_range", text)
    elif rates is not None:
        yield from _rates(rates, spec.tokens)


def _rates(rates: tuple[float, ...], tokens: int) -> Iterator[Finding]:
    shown = ", ".join(f"{rate:g}" for rate in rates)
    if len(rates) != tokens:
        yield _error("acceptance_range", f"speculative.acceptance_rates = [{shown}] must hold {counted(tokens, 'rate')}, one a draft token")
    elif not all(0 <= rate <= 1 for rate in rates):
        yield _error("acceptance_range", f"speculative.acceptance_rates = [{shown}]: allowed: numbers from 0 to 1")
    elif any(later > earlier for earlier, later in pairwise(rates)):
        text = f"speculative.acceptance_rates = [{shown}]: none may be above the one before: each counts all drafts up to its own"
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
