"""llama.cpp's counters under canonical names. It counts prompt tokens that it computed and those that it found in a slot apart."""

from __future__ import annotations

from ixbench.api.engine import STEPS, EngineMetrics, MetricAlias

_COMPUTED, _CACHED = "llamacpp:prompt_tokens", "llamacpp:prompt_tokens_cached"

LLAMACPP_METRICS = EngineMetrics(
    aliases=(
        MetricAlias(canonical="running", names=("llamacpp:requests_processing",)),
        MetricAlias(canonical="waiting", names=("llamacpp:requests_deferred",)),
        MetricAlias(canonical="prompt_tokens", names=(_COMPUTED,), added=(_CACHED,)),
        MetricAlias(canonical="generation_tokens", names=("llamacpp:tokens_predicted",)),
        MetricAlias(canonical="prefix_cache_hits", names=(_CACHED,)),
        MetricAlias(canonical="prefix_cache_queries", names=(_COMPUTED,), added=(_CACHED,)),
        MetricAlias(canonical="accepted_tokens", names=("llamacpp:spec_decode_num_accepted_tokens",)),
        MetricAlias(canonical="drafted_tokens", names=("llamacpp:spec_decode_num_draft_tokens",)),
        MetricAlias(canonical="drafts", names=("llamacpp:spec_decode_num_drafts",)),
        # The page is answered while a batch is computed, which on a CPU may take most of a minute; tokens count when a prompt or an answer
        # is whole.
        MetricAlias(canonical=STEPS, names=("llamacpp:n_decode",)),
    ),
    live_counters=(),
)
