"""Whether a point found in the prefix cache what it should not: prompts of the point before, or its own that were to be new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import Check, Reason, short_share

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics

_WHY = {
    "unsupported": "the prefix cache was not emptied, since the engine has no way to",
    "needs_restart": "the prefix cache was not emptied, since only a restart does it and the server is not ours to start again",
    "verified": "the engine says that the prefix cache was emptied",
    None: "the engine had just started",
}


def _cache_not_reset(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    """Judge by what the point's first request found: nothing of the point came before it."""
    del metrics
    if not measurement.prompts_repeat or not measurement.records or limit is None:
        return None
    why, first = _WHY[measurement.cache_reset], measurement.records[0]
    if first.usage_cached is not None and first.usage_input:
        found = first.usage_cached / first.usage_input
        if found <= limit:
            return None
        text = f"{why}, and the point's first request found {short_share(found)} of its prompt there; allowed: {short_share(limit)}"
        return Reason(code="cache_not_reset", value=found, limit=limit, text=f"{text}. {_advice(measurement)}")
    if measurement.cache_reset in {None, "verified"}:
        return None
    text = f"{why}, points send equal prompts, and the server does not say what it found there. {_advice(measurement)}"
    return Reason(code="cache_not_reset", value=None, limit=limit, text=text, severity="warning")


def _advice(measurement: Measurement) -> str:
    if measurement.cache_reset == "verified":
        return "A cache outside the engine may have kept them"
    return "Let the workload mark its prompts, or start the server anew for each point"


def _cache_leak(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del measurement
    shares = metrics.get("cache_hit_share")
    if not isinstance(shares, dict) or limit is None:
        return None
    measured, theoretical = shares.get("measured"), shares.get("theoretical")
    if measured is None or theoretical is None or measured <= theoretical + limit:
        return None
    text = (
        f"{short_share(measured)} of the prompt tokens were found in the cache, "
        f"and a cache without bounds would give {short_share(theoretical)} "
        f"(allowed above it: {short_share(limit)}): prompts that should be new had been sent before"
    )
    return Reason(code="cache_leak", value=measured - theoretical, limit=limit, text=text)


CACHE: tuple[Check, ...] = (
    Check(
        code="cache_not_reset",
        limit=0.05,
        most=1,
        explain="Where points send equal prompts, the first request of a point must find none of its prompt in the cache (limit: share of "
        "it); where the server does not say, an emptied cache must be proved, else it warns. Prompts that are new in each point need none "
        "of this.",
        advice="Let the workload mark its prompts (`workload.marker`), or start the server anew for each point. If the cache was "
        "emptied and this stands here all the same, a tier outside the engine kept them.",
        decide=_cache_not_reset,
    ),
    Check(
        code="cache_leak",
        limit=0.01,
        most=1,
        explain="The measured share of cache hits may not be above what a cache without bounds would give on this corpus (limit: by how "
        "much): more means that prompts were sent twice.",
        advice="Something has sent these prompts before: another client, an earlier run with a fixed `run_id`. Empty the server's "
        "cache and measure again.",
        decide=_cache_leak,
    ),
)
