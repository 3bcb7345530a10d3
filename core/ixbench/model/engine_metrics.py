"""What an engine's own counters are called, and what they said over a window; the words that all engines share."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec resolves the annotations when it reads point.json
from dataclasses import dataclass, field
from typing import Literal

CacheReset = Literal["verified", "unsupported", "needs_restart"]
"""What became of a wish to empty the prefix cache: proved empty, cannot be asked for, or only a restart empties it."""

COUNTERS = (
    "prompt_tokens",
    "generation_tokens",
    "prefix_cache_hits",
    "prefix_cache_queries",
    "external_cache_hits",
    "external_cache_queries",
    "preemptions",
    "accepted_tokens",
    "drafted_tokens",
    "drafts",
    "finished",
)
"""Canonical names of counters; cache hits and queries count tokens, drafts count verify steps that had a draft."""
GAUGES = ("running", "waiting", "kv_usage")
"""Canonical names of gauges; kv_usage is a share, 0 to 1."""
STEPS = "steps"
"""Canonical name of an engine's count of the batches that it computed. It tells whether the engine moves, and stands in no window."""
READ_AS_COUNTERS = frozenset({*COUNTERS, STEPS})
"""Names whose samples Prometheus calls counters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAlias:
    """One canonical name, and what an engine calls it."""

    canonical: str
    """One of `COUNTERS` or `GAUGES`, or `STEPS`."""
    names: tuple[str, ...]
    """Alternatives, newest build first, without "_total": the first that a scrape offers counts."""
    added: tuple[str, ...] = ()
    """Further names whose values are added where they are offered."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Only samples with these label values count; a value that begins with "!" must differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMetrics:
    """How to read an engine's Prometheus page."""

    aliases: tuple[MetricAlias, ...]
    path: str = "/metrics"
    refresh_s: float = 0.0
    """How old the values may be: some engines refresh them only every few seconds."""
    live_counters: tuple[str, ...] = ("prompt_tokens", "generation_tokens")
    """Canonical counters that move while requests run; an engine with running requests and all of these flat is stuck."""
    tells_steps: bool = False
    """Whether the live counters or kv_usage move with every step of the engine, that of a long prompt's part included: a standstill is then
    known after seconds."""
    one_rank: str | None = None
    """A label whose ranks all export the same values: only its value "0" counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineWindow:
    """What the engine's counters and gauges said over the measured window, under canonical names."""

    delta: Mapping[str, float] = field(default_factory=dict)
    """Counters: increase over the window, summed over label sets; after a reset the value since it."""
    maximum: Mapping[str, float] = field(default_factory=dict)
    """Gauges: largest value over all scrapes; running and waiting are sums over engines, kv_usage the largest of any."""
    reset: bool = False
    """Whether a counter went down, which means that the engine was restarted."""
    missing: tuple[str, ...] = ()
    """Canonical names that the engine does not offer: absent, never zero."""
    scrapes: int = 0
    promised: tuple[str, ...] = ()
    """Canonical names for which the engine's adapter knows a name."""
