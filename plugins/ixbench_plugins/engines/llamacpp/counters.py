"""llama.cpp's counters under canonical names. It counts prompt tokens that it computed and those that it found in a slot apart."""

from __future__ import annotations

from ixbench.api.engine import EngineMetrics, MetricAlias

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
    ),
    live_counters=(),
    # Its loop of slots answers, so there is no answer while a batch is computed; on a CPU that may take most of a minute.
    written_between_steps=True,
)
