"""How long prompts and answers were, as the server counted them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric
from ixbench_plugins.metrics.engine import counted_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.measure import Measurement, MetricValue, RequestRecord


def _counts(count: Callable[[RequestRecord], int | None]) -> Callable[[Measurement], dict[str, MetricValue] | None]:
    """Return the summary of a count over the successes that have it, with its sum."""

    def compute(measurement: Measurement) -> dict[str, MetricValue] | None:
        known = [value for record in measurement.successes if (value := count(record)) is not None]
        summary = measure.summarise(known)
        return None if summary is None else summary | {"sum": sum(known)}

    return compute


def _uncached(record: RequestRecord) -> int | None:
    if record.usage_input is None or record.usage_cached is None:
        return None
    return record.usage_input - record.usage_cached


def _of_asked(measurement: Measurement) -> float | None:
    pairs = [(record.usage_output, record.output_asked) for record in measurement.successes]
    known = [(found, asked) for found, asked in pairs if found is not None and asked is not None]
    asked_sum = sum(asked for _, asked in known)
    return sum(found for found, _ in known) / asked_sum if asked_sum else None


def _cache_hits(measurement: Measurement) -> dict[str, MetricValue]:
    """Return the measured share, the corpus's own where it knows its blocks, and the server's where its counters are read."""
    sums = measure.token_sums(measurement)
    measured = None if sums.cached is None or not sums.input else sums.cached / sums.input
    known = [record for record in measurement.successes if record.prompt_blocks is not None and record.hit_blocks is not None]
    blocks, hits = (sum(getattr(record, name) for record in known) for name in ("prompt_blocks", "hit_blocks"))
    return {"measured": measured, "theoretical": hits / blocks if blocks else None} | {
        "server": counted_share(measurement, "prefix_cache_hits", "prefix_cache_queries"),
        "external": counted_share(measurement, "external_cache_hits", "prefix_cache_queries"),
    }


TOKENS: tuple[Metric, ...] = (
    Metric(
        name="input_tokens",
        unit="tokens",
        better="neither",
        definition="Prompt tokens of a request as the server counted them, chat template and cached ones included.",
        compute=_counts(lambda record: record.usage_input),
        needs=("usage",),
        source="InferenceX (ISL)",
    ),
    Metric(
        name="output_tokens",
        unit="tokens",
        better="neither",
        definition="Output tokens of a request as the server counted them, thinking included.",
        compute=_counts(lambda record: record.usage_output),
        needs=("usage",),
        source="InferenceX (OSL)",
    ),
    Metric(
        name="cached_tokens",
        unit="tokens",
        better="neither",
        definition="Prompt tokens that the server found in its prefix cache, over the requests for which it says so.",
        compute=_counts(lambda record: record.usage_cached),
        needs=("usage", "cached_tokens"),
        source="OpenAI usage (prompt_tokens_details)",
    ),
    Metric(
        name="uncached_tokens",
        unit="tokens",
        better="neither",
        definition="Prompt tokens that the server had to compute: input - cached, over the requests for which it says what was cached.",
        compute=_counts(_uncached),
        needs=("usage", "cached_tokens"),
        source="ixbench",
    ),
    Metric(
        name="output_asked_tokens",
        unit="tokens",
        better="neither",
        definition="Output tokens that a request asked for at most (max_tokens): what the workload expects where lengths are forced.",
        compute=_counts(lambda record: record.output_asked),
        source="AgentX (expected output length)",
    ),
    Metric(
        name="output_of_asked_share",
        unit="share",
        better="neither",
        definition="Sum of output tokens / sum of those asked for, over the successes that asked for a number: below 1 where answers ended "
        "before their limit.",
        compute=_of_asked,
        needs=("usage",),
        source="ixbench",
    ),
    Metric(
        name="cache_hit_share",
        unit="share",
        better="higher",
        definition="Cached prompt tokens / prompt tokens. measured: from the answers' usage, where an answer that leaves the field out "
        "counts as nothing cached; theoretical: what an infinite cache would give on this corpus, in whole blocks; "
        "server: by the server's own counters over the measured phase, without what came from outside its prefix cache, which is external.",
        compute=_cache_hits,
        needs=("usage", "cached_tokens", "counters"),
        source="AgentX (theoretical hit rate)",
    ),
    Metric(
        name="length_error_share",
        unit="share",
        better="lower",
        definition="Sum of |output tokens - asked| / sum of asked, over complete answers whose length was forced.",
        compute=lambda measurement: measure.length_error(measurement.profile),
        needs=("usage",),
        source="ixbench",
    ),
)
