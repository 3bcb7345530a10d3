"""What is surely wrong with an ATOM deployment, said before a node is rented for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, args_findings, gpu_findings, replaced_findings, visibility_findings
from ixbench_atom.flags import ALIASES, RESERVED, TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import Deployment
    from ixbench_atom.options import AtomOptions, Speculative


def findings(deployment: Deployment[AtomOptions]) -> Iterator[Finding]:
    """Yield what is wrong, subject by subject."""
    options, model = deployment.options, deployment.model
    if deployment.url is None and not (model.path or model.id):
        yield _error("no_model", "ATOM needs a model to serve; set [model] id or path")
    if deployment.url is None and model.revision and not model.path:
        text = f"ATOM has no flag that pins revision '{model.revision}' of a hub model; set [model] path to a folder of that revision"
        yield _error("revision_not_pinned", text)
    yield from args_findings(deployment.args, reserved=RESERVED, aliases=ALIASES)
    yield from replaced_findings(TABLE, options, deployment.args, ALIASES)
    yield from visibility_findings(deployment.env, deployment.gpu_indices)
    yield from gpu_findings(deployment, options.ranks)
    yield from _parallel(options)
    if options.speculative is not None:
        yield from _speculative(options.speculative, model.id)
        yield from _capture(options, options.speculative)


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _parallel(options: AtomOptions) -> Iterator[Finding]:
    tensor = options.tensor_parallel or 1
    if options.decode_context_parallel is not None and tensor % options.decode_context_parallel:
        text = f"decode_context_parallel = {options.decode_context_parallel} must divide tensor_parallel = {tensor}"
        yield _error("context_parallel", text)
    if (options.pipeline_parallel or 1) > 1 and ((options.data_parallel or 1) > 1 or options.dp_attention):
        other = "dp_attention" if options.dp_attention else f"data_parallel = {options.data_parallel}"
        yield _error(
            "pipeline_parallel", f"ATOM has no pipeline_parallel = {options.pipeline_parallel} together with {other}; keep one of them"
        )


def _speculative(spec: Speculative, model: str) -> Iterator[Finding]:
    if spec.method == "mtp" and spec.draft is not None:
        yield _error("draft_refused", "speculative.draft: method 'mtp' drafts with the model's own layers; remove it")
    needs_draft = spec.method == "eagle3" or (spec.method == "dspark" and "kimi-k3" in model.lower())
    if needs_draft and spec.draft is None:
        yield _error("draft_missing", f"speculative.draft is missing: method '{spec.method}' needs a draft model")
    tokens = spec.tokens or 1
    if spec.acceptance_length is not None and not 1 <= spec.acceptance_length <= tokens + 1:
        text = (
            f"speculative.acceptance_length = {spec.acceptance_length:g} is impossible with tokens = {tokens}; allowed: 1 to {tokens + 1}"
        )
        yield _error("acceptance_range", text)


def _capture(options: AtomOptions, spec: Speculative) -> Iterator[Finding]:
    sizes = options.compilation.cudagraph_capture_sizes if options.compilation is not None else None
    if sizes is None or options.max_num_seqs is None or options.eager:
        return
    needed = options.max_num_seqs * (1 + (spec.tokens or 1))
    if max(sizes) < needed:
        text = (
            f"graphs are captured up to {max(sizes)} tokens, but max_num_seqs x (1 + speculative.tokens) is {needed}: "
            f"fuller batches run without a graph; raise compilation.cudagraph_capture_sizes to {needed}"
        )
        yield Finding(level="warning", code="capture_too_small", text=text)
