"""Whether the engine's own counters agree with what the client saw, and with what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.measure import Check, Reason, counted, short_share
from ixbench_plugins.metrics.engine import counter, realised_acceptance

if TYPE_CHECKING:
    from ixbench.api.measure import Measurement, Metrics, RequestRecord

_EXPECTED = (
    "prompt_tokens",
    "generation_tokens",
    "prefix_cache_hits",
    "prefix_cache_queries",
    "preemptions",
    "running",
    "waiting",
    "kv_usage",
)
"""What is always there where an engine knows it; the others come with a tier of its cache or with speculation only."""
_SPECULATION = ("accepted_tokens", "drafts")


def _engine_restarted(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics, limit
    window = measurement.engine_window
    if window is None or not window.reset:
        return None
    text = "a counter of the engine went down, or its process began anew, while the point ran: it was restarted, with an empty cache"
    return Reason(code="engine_restarted", value=None, limit=None, text=text)


def _profiled(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics, limit
    if not measurement.profiled:
        return None
    text = "the server's profiler ran during the point, as --profile asks, and makes it slower; its numbers are for the traces only"
    return Reason(code="profiled", value=None, limit=None, text=text)


def _acceptance_mismatch(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    configured, realised = measurement.acceptance_configured, realised_acceptance(measurement)
    if configured is None or realised is None or limit is None:
        return None
    error = abs(realised - configured) / configured
    if error <= limit:
        return None
    text = (
        f"{realised:.4g} tokens were accepted a step, and the launch asks for {configured:.4g}: {short_share(error)} off, "
        f"allowed: {short_share(limit)}"
    )
    return Reason(code="acceptance_mismatch", value=error, limit=limit, text=text)


def _preemption(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    preempted, requests = counter(measurement, "preemptions"), len(measurement.profile)
    if preempted is None or not requests or limit is None or preempted / requests <= limit:
        return None
    text = (
        f"the engine preempted {counted(preempted, 'time', 'g')} in {counted(requests, 'request')} ({short_share(preempted / requests)}), "
        f"allowed: {short_share(limit)}; its KV cache is too small for this load. "
        "Raise [limits] preemption where the point is meant to show that"
    )
    return Reason(code="preemption", value=preempted / requests, limit=limit, text=text)


def _metrics_missing(measurement: Measurement, metrics: Metrics, limit: float | None) -> Reason | None:
    del metrics
    window = measurement.engine_window
    if window is None:
        return None
    if not window.reset and limit is not None:
        for name, usage in (("prompt_tokens", "usage_input"), ("generation_tokens", "usage_output")):
            if (reason := _disagreement(measurement, name, usage, limit)) is not None:
                return reason
    speculation = _SPECULATION if measurement.acceptance_configured is not None and measurement.acceptance_reported is None else ()
    absent = [name for name in (*_EXPECTED, *speculation) if name in window.promised and name in window.missing]
    if not absent:
        return None
    text = (
        f"the engine's page does not give {', '.join(absent)} over the measured phase; see the point's notes, and if its statistics are on"
    )
    return Reason(code="metrics_missing", value=len(absent), limit=None, text=text, severity="warning")


def _disagreement(measurement: Measurement, name: str, usage: str, limit: float) -> Reason | None:
    """Hold tokens by counter against those by usage; of a request without usage the server may have counted nothing or all."""
    found = counter(measurement, name)
    if found is None:
        return None
    fewest, most = _bounds(measurement.profile, usage)
    if most is not None and measurement.questions:
        # Whether the engine counted them within the measured phase, nobody knows.
        each = 1 if usage == "usage_output" else measurement.question_input
        most = None if each is None else most + measurement.questions * each
    if fewest * (1 - limit) <= found and (most is None or found <= most * (1 + limit)):
        return None
    nearest = fewest if found < fewest or most is None else most
    error = abs(found - nearest) / nearest if nearest else 1.0
    told = f"{fewest}" if most == fewest else f"at least {fewest}" if most is None else f"{fewest} to {most}"
    cause = (
        "the server did work for others too, or did some of it twice"
        if found > nearest
        else "these counters are not those of the server that answered, or it ended some answers uncounted"
    )
    text = (
        f"the engine counted {found:.0f} {name}, and the answers' usage comes to {told}: {short_share(error)} off, "
        f"allowed: {short_share(limit)}"
    )
    return Reason(code="metrics_missing", value=error, limit=limit, text=f"{text}; {cause}")


def _bounds(records: tuple[RequestRecord, ...], usage: str) -> tuple[int, int | None]:
    """Return the fewest and the most tokens that a server can have counted for these requests; None = no telling."""
    asked = "input_asked" if usage == "usage_input" else "output_asked"
    fewest, most = 0, 0
    bounded = True
    for record in records:
        known: int | None = getattr(record, usage)
        possible: int | None = getattr(record, asked) if known is None else known
        fewest += known or 0
        if possible is None:
            bounded = False
        else:
            most += possible * (2 if record.resent else 1)
    return fewest, most if bounded else None


COUNTERS: tuple[Check, ...] = (
    Check(
        code="engine_restarted",
        limit=None,
        explain="No counter of the engine may go down during the point, nor its process begin anew: else it was restarted.",
        advice="Find out who restarted it (an orchestrator, a crash loop): read its log. Measure again.",
        decide=_engine_restarted,
    ),
    Check(
        code="metrics_missing",
        limit=0.01,
        most=1,
        explain="Tokens by the engine's counters must agree with those by usage (limit: relative difference), or the server did other work "
        "than the point's; what ixbench itself asked a silent engine is allowed for. A counter that the engine should have and that is "
        "absent only warns.",
        advice="Keep others away from the server while it is measured. If counters are absent, turn the engine's statistics on (for "
        "vLLM: leave out `--disable-log-stats`).",
        decide=_metrics_missing,
    ),
    Check(
        code="acceptance_mismatch",
        limit=0.05,
        most=1,
        explain="The realised acceptance length must be the synthetic one that the launch asks for (limit: relative difference).",
        advice="See that the build knows synthetic acceptance, and that draft tokens and acceptance length of the deployment fit "
        "together. Above the limit the throughput belongs to another acceptance length than the one that was named.",
        decide=_acceptance_mismatch,
    ),
    Check(
        code="preemption",
        limit=0.01,
        explain="Few requests may lose their cache while they run (limit: preemptions a request): they are computed twice.",
        advice="Give the engine more KV cache, or ask for fewer users. Raise the limit where the point is meant to show just that.",
        decide=_preemption,
    ),
    Check(
        code="profiled",
        limit=None,
        explain="A point that ran under the server's profiler is slower than the engine is, and stands on no frontier.",
        advice="Nothing is wrong: leave out `--profile` to measure.",
        decide=_profiled,
    ),
)
