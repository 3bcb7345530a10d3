"""What is wrong with speculative decoding, and with the graphs that it needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ixbench.api.engine import Finding
from ixbench_atom.models import is_kimi_k3

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ixbench.api.engine import ModelSpec
    from ixbench_atom.options import AtomOptions
    from ixbench_atom.tables import Speculative

MAX_NUM_SEQS = 512
MAX_BATCHED_TOKENS = 16384
"""ATOM's defaults."""


def speculation_findings(options: AtomOptions, model: ModelSpec) -> Iterator[Finding]:
    """Yield what is wrong with drafts, with synthetic acceptance and with the sizes of graphs."""
    if options.speculative is not None:
        yield from _draft(options.speculative, model)
        yield from _acceptance(options.speculative)
        yield from _together(options, options.speculative)
        if options.sanity and options.speculative.synthetic:
            yield _error("sanity_synthetic", "sanity = true and synthetic acceptance exclude each other: no answer has a meaning then")
    yield from _capture(options)


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def _draft(spec: Speculative, model: ModelSpec) -> Iterator[Finding]:
    if spec.method == "mtp" and spec.draft is not None:
        yield _error("draft_refused", "speculative.draft: method 'mtp' drafts with the model's own layers; remove it")
    needs_draft = spec.method == "eagle3" or (spec.method == "dspark" and is_kimi_k3(model))
    if needs_draft and spec.draft is None:
        yield _error("draft_missing", f"speculative.draft is missing: method '{spec.method}' needs a draft model")
    elif spec.method == "dspark" and spec.draft is None:
        text = (
            "speculative.draft is missing: Kimi K3 needs a draft model for method 'dspark', and that another model does without one is not "
            "verified; name a draft"
        )
        yield Finding(level="warning", code="draft_unverified", text=text)


def _acceptance(spec: Speculative) -> Iterator[Finding]:
    tokens = spec.tokens or 1
    if spec.acceptance_length is not None and not 1 <= spec.acceptance_length <= tokens + 1:
        text = (
            f"speculative.acceptance_length = {spec.acceptance_length:g} is impossible with tokens = {tokens}; allowed: 1 to {tokens + 1}"
        )
        yield _error("acceptance_range", text)
    if spec.synthetic and spec.dspark is not None and spec.dspark.confidence_schedule:
        text = (
            "speculative.dspark.confidence_schedule and synthetic acceptance exclude each other: a request that verifies few tokens "
            "stays below the acceptance asked for; keep one of them"
        )
        yield _error("acceptance_schedule", text)


def _together(options: AtomOptions, spec: Speculative) -> Iterator[Finding]:
    if options.tbo == "all":
        text = "tbo = 'all' loses what speculative decoding needs in decode steps; use tbo = 'prefill'"
        yield _error("tbo_speculative", text)
    if options.eager and spec.dspark is not None and spec.dspark.ragged:
        text = "speculative.dspark.ragged replays captured graphs, and eager = true captures none; remove one of them"
        yield Finding(level="warning", code="ragged_eager", text=text)


def _capture(options: AtomOptions) -> Iterator[Finding]:
    """ATOM counts sequences, and captures each size with 1 + draft tokens a sequence; no step can be larger than its limits let it."""
    sizes = options.compilation.cudagraph_capture_sizes if options.compilation is not None else None
    if sizes is None or options.eager:
        return
    a_sequence = 1 + ((options.speculative.tokens or 1) if options.speculative is not None else 0)
    # With dp_attention each rank takes its share of what comes in; max_num_seqs is what it takes at most.
    ranks = (options.tensor_parallel or 1) * (options.data_parallel or 1) if options.dp_attention else 1
    sequences = math.ceil((options.max_num_seqs or MAX_NUM_SEQS) / ranks)
    batched = options.max_batched_tokens or MAX_BATCHED_TOKENS
    largest = min(sequences, batched // a_sequence)
    if max(sizes) < largest:
        text = (
            f"graphs are captured up to {max(sizes)} sequences of {a_sequence} tokens each, and batches reach {largest} "
            f"({largest * a_sequence} tokens): fuller ones run without a graph; raise compilation.cudagraph_capture_sizes to {largest}"
        )
        yield Finding(level="warning", code="capture_too_small", text=text)
    elif min(sizes) > largest and not options.dp_attention:
        text = (
            f"no graph is left to capture: the smallest of compilation.cudagraph_capture_sizes is {min(sizes)} sequences, and batches "
            f"reach {largest}; add sizes up to {largest}"
        )
        yield _error("capture_none", text)
