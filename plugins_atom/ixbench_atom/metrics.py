"""What ATOM's Prometheus page calls what all engines count. The page is refreshed every 5 s, and tokens count when a request ends."""

from __future__ import annotations

from ixbench.api.engine import EngineMetrics, MetricAlias

REFRESH_S = 5.0

_NAMES = {
    "running": ("requests_running",),
    "waiting": ("requests_waiting", "requests_parked_kv_load"),
    "kv_usage": ("kv_cache_usage_ratio",),
    "prompt_tokens": ("prompt_tokens",),
    "generation_tokens": ("generation_tokens",),
    "prefix_cache_hits": ("prefix_cache_cached_tokens",),
    "prefix_cache_queries": ("prefix_cache_full_tokens",),
    "external_cache_hits": ("lmcache_loaded_tokens",),
    "preemptions": ("preemptions",),
    "accepted_tokens": ("mtp_accepted_tokens",),
    "drafted_tokens": ("mtp_draft_tokens",),
    "drafts": ("mtp_decode_steps",),
    "finished": ("requests_finished",),
}
"""Canonical name -> ATOM's own, without prefix; what follows the first is added to it. Decode steps have a label for the number of
accepted tokens: their sum is the number of steps that verified a draft."""

_PREFIXES = ("atom:", "atom_")
"""The second is that of the server behind USE_ATOMESH_ENTRYPOINTS=1 (not verified)."""


LIVE = ("prefix_cache_queries", "accepted_tokens", "drafted_tokens", "drafts")
"""What moves while requests run: token counters stand still until one ends."""


def engine_metrics() -> EngineMetrics:
    """Return the alias map. Histograms of latency and counts of external lookups are not among what ATOM offers."""
    aliases = tuple(_alias(canonical, names) for canonical, names in _NAMES.items())
    return EngineMetrics(aliases=aliases, refresh_s=REFRESH_S, live_counters=LIVE)


def _alias(canonical: str, names: tuple[str, ...]) -> MetricAlias:
    first, *rest = names
    return MetricAlias(
        canonical=canonical,
        names=tuple(f"{prefix}{first}" for prefix in _PREFIXES),
        added=tuple(f"{prefix}{name}" for name in rest for prefix in _PREFIXES),
    )
