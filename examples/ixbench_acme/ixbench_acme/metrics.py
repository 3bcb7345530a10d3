"""What Acme's server calls its counters and gauges on its Prometheus page."""

from __future__ import annotations

from ixbench.api.engine import EngineMetrics, MetricAlias

_NAMES = {
    "running": "acme_running",
    "waiting": "acme_waiting",
    "prompt_tokens": "acme_prompt_tokens",
    "generation_tokens": "acme_generated_tokens",
    "finished": "acme_answers",
}

METRICS = EngineMetrics(
    aliases=tuple(MetricAlias(canonical=canonical, names=(name,)) for canonical, name in _NAMES.items()),
    live_counters=("generation_tokens",),
)
