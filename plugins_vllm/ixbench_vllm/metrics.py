"""What vLLM calls its counters and gauges on its Prometheus page, newest build first."""

from __future__ import annotations

from ixbench.api.engine import EngineMetrics, MetricAlias

_NAMES = {
    "running": ("num_requests_running",),
    "waiting": ("num_requests_waiting",),
    "kv_usage": ("kv_cache_usage_perc", "gpu_cache_usage_perc"),
    "prompt_tokens": ("prompt_tokens",),
    "generation_tokens": ("generation_tokens",),
    "prefix_cache_hits": ("prefix_cache_hits", "gpu_prefix_cache_hits"),
    "prefix_cache_queries": ("prefix_cache_queries", "gpu_prefix_cache_queries"),
    "external_cache_hits": ("external_prefix_cache_hits",),
    "external_cache_queries": ("external_prefix_cache_queries",),
    "preemptions": ("num_preemptions",),
    "accepted_tokens": ("spec_decode_num_accepted_tokens",),
    "drafted_tokens": ("spec_decode_num_draft_tokens",),
    "drafts": ("spec_decode_num_drafts",),
    "finished": ("request_success",),
}

METRICS = EngineMetrics(
    aliases=tuple(MetricAlias(canonical=canonical, names=tuple(f"vllm:{name}" for name in names)) for canonical, names in _NAMES.items()),
    live_counters=("prompt_tokens", "generation_tokens", "prefix_cache_queries"),
    # A step that ends a prompt or adds tokens counts these; one that computes a part of a prompt takes blocks of the cache for it.
    tells_steps=True,
)
"""With data parallelism each engine has a label set of its own, and they are summed; kv_usage is the largest. The speculation counters are
there only with speculation, and nothing is there with --disable-log-stats."""
