"""What is surely wrong with an ATOM deployment, said before a node is rented for it."""

from __future__ import annotations

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
from ixbench_atom.against_build import against_build
from ixbench_atom.flags import ALIASES, NUMBERS, RESERVED, TABLE, launch_flags
from ixbench_atom.offload import offload_findings
from ixbench_atom.speculation import MAX_NUM_SEQS, speculation_findings
from ixbench_atom.variables import variable_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import Deployment
    from ixbench_atom.options import AtomOptions

LARGEST_TENSOR_PARALLEL = 8


def findings(deployment: Deployment[AtomOptions]) -> Iterator[Finding]:
    """Yield what is wrong, subject by subject."""
    model = deployment.model
    flags = launch_flags(deployment)
    options = deployment.options.model_copy(update=numbers_by_option(flags, NUMBERS, ALIASES))
    if deployment.url is None and not (model.path or model.id):
        yield _error("no_model", "ATOM needs a model to serve; set [model] id or path")
    if deployment.url is None and model.revision and not model.path:
        text = f"ATOM has no flag that pins revision '{model.revision}' of a hub model; set [model] path to a folder of that revision"
        yield _error("revision_not_pinned", text)
    yield from args_findings(deployment.args, reserved=RESERVED, aliases=ALIASES)
    yield from replaced_findings(TABLE, deployment.options, deployment.args, ALIASES)
    yield from _engine_port(deployment)
    yield from number_findings(deployment.args, NUMBERS.values(), ALIASES)
    yield from visibility_findings(deployment.env, deployment.gpu_indices)
    yield from gpu_findings(deployment, options.ranks)
    if options.load_rate is not None and options.weights is None:
        yield _error("load_rate", "load_rate needs weights, the size of the model's files")
    yield from _parallel(options)
    yield from _queueing(deployment, options)
    yield from speculation_findings(options, model)
    if deployment.url is None:
        yield from against_build(deployment, flags)
        yield from offload_findings(deployment)
        offload = options.kv_offload
        if offload is not None and offload.backend != "off" and options.ranks != deployment.options.ranks:
            text = (
                f"kv_offload is shared out to {counted(deployment.options.ranks, 'rank')}, and args make them {options.ranks}; "
                "set the parallel sizes by options"
            )
            yield _error("kv_offload_share", text)
        yield from variable_findings(deployment)


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _engine_port(deployment: Deployment[AtomOptions]) -> Iterator[Finding]:
    if "--port" in deployment.args:
        text = (
            "args: --port is the port that ATOM's engine uses within (8006 by default), not that of its HTTP server, which ixbench "
            "chooses; remove it, unless 8006 is taken"
        )
        yield Finding(level="warning", code="engine_port", text=text)


def _queueing(deployment: Deployment[AtomOptions], options: AtomOptions) -> Iterator[Finding]:
    engines = (options.data_parallel or 1) * ((options.tensor_parallel or 1) if options.dp_attention else 1)
    if options.max_num_seqs is not None:
        yield from queue_findings(deployment.concurrency, options.max_num_seqs, engines=engines)
    elif deployment.url is None:
        yield from queue_findings(deployment.concurrency, MAX_NUM_SEQS, engines=engines, source="ATOM's default of max_num_seqs")


def _parallel(options: AtomOptions) -> Iterator[Finding]:
    tensor, pipeline = options.tensor_parallel or 1, options.pipeline_parallel or 1
    if tensor > LARGEST_TENSOR_PARALLEL:
        yield _error("tensor_parallel", f"tensor_parallel = {tensor} is more than the {LARGEST_TENSOR_PARALLEL} that ATOM allows")
    if options.decode_context_parallel is not None and tensor % options.decode_context_parallel:
        text = f"decode_context_parallel = {options.decode_context_parallel} must divide tensor_parallel = {tensor}"
        yield _error("context_parallel", text)
    if pipeline > 1 and ((options.data_parallel or 1) > 1 or options.dp_attention):
        other = "dp_attention" if options.dp_attention else f"data_parallel = {options.data_parallel}"
        yield _error("pipeline_parallel", f"ATOM has no pipeline_parallel = {pipeline} together with {other}; keep one of them")
    elif pipeline > 1 and not options.eager:
        yield _error("pipeline_graphs", f"pipeline_parallel = {pipeline} needs eager = true: its buffers change places between steps")
    yield from _attention(options)


def _attention(options: AtomOptions) -> Iterator[Finding]:
    context = options.prefill_context_parallel or 1
    if context > 1 and options.dp_attention:
        yield _error("prefill_context", f"ATOM has no prefill_context_parallel = {context} together with dp_attention; keep one of them")
    if context > 1 and (options.tensor_parallel or 1) > 1 and options.tbo is not None:
        text = f"ATOM turns tbo off by itself with prefill_context_parallel = {context} and tensor_parallel > 1; remove tbo"
        yield Finding(level="warning", code="tbo_off", text=text)
    if options.dp_attention and options.max_num_seqs is None:
        text = "dp_attention keeps a whole KV pool on each rank, and ATOM's default of 512 sequences may not fit; set max_num_seqs"
        yield Finding(level="warning", code="dp_attention_sequences", text=text)
