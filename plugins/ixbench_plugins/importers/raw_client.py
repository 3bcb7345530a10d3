"""What a serving client writes itself, one object a point, in either of its two unit dialects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ixbench.api.report import UNTOLD
from ixbench_plugins.importers.detect import RAW
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.flat import date_of, facts_of
from ixbench_plugins.importers.names import engine_of, model_of
from ixbench_plugins.importers.row import Row, split_unknown
from ixbench_plugins.importers.units import LATENCIES, STATISTICS, latencies_in_seconds
from ixbench_plugins.importers.values import number, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.report import ImportContext

_RATES = ("request_throughput", "output_throughput", "total_token_throughput", "input_throughput")
_TOTALS = ("total_input_tokens", "total_output_tokens")
_FACTS = ("backend", "model_id", "tokenizer_id", "burstiness", "request_rate", "num_prompts", "good_completed", "request_goodput")
_LATENCY_KEYS = frozenset(f"{statistic}_{name}{unit}" for statistic in STATISTICS for name in LATENCIES for unit in ("", "_ms"))
_KNOWN = _LATENCY_KEYS | {*_RATES, *_TOTALS, *_FACTS, "date", "max_concurrency", "duration", "completed", "request_goodput:"}


def read_raw(document: Mapping[str, Any], context: ImportContext) -> Row:
    """Return the row.

    :raises RowError: if it cannot be taken.
    """
    duration = number(document.get("duration"))
    if duration is None or duration <= 0:
        raise RowError("bad_rate", f"duration is {document.get('duration')!r:.40}, which is no time to divide by")
    if context.hardware is not None and context.hardware not in context.skus:
        raise RowError("unknown_hardware", f"{context.hardware[:60]!r} is no SKU that a hardware book has")
    numbers = {key: found for key in _LATENCY_KEYS if (found := number(document.get(key))) is not None}
    seconds: dict[str, float] = latencies_in_seconds(numbers, duration)
    for statistic, other in (("median", "p50"),):
        for name in LATENCIES:
            if (value := seconds.pop(f"{other}_{name}", None)) is not None:
                seconds.setdefault(f"{statistic}_{name}", value)
    concurrency, rate = _load(document, context)
    ok = whole(document.get("completed"))
    requests = whole(document.get("num_prompts"))
    engine = engine_of(text(document.get("backend")))
    extra, dropped = split_unknown(document, _KNOWN)
    rates = {key: value for key in _RATES if (value := number(document.get(key))) is not None}
    warnings, lengths, tokens = _lengths(document, ok, context)
    return Row(
        schema=RAW,
        model=model_of(text(document.get("model_id")), context.model or ""),
        runner="",
        hardware=context.hardware,
        engine=context.engine or engine.engine or "endpoint",
        precision=context.precision,
        spec_method=UNTOLD,
        kv_offload=UNTOLD,
        image=None,
        agentic=False,
        disaggregated=True if engine.disaggregated else None,
        multinode=None,
        input_tokens=lengths[0],
        output_tokens=lengths[1],
        concurrency=concurrency,
        rate=rate,
        gpus=context.gpus,
        numbers=seconds | rates,
        duration_s=duration,
        requests=requests if requests is not None and (ok is None or requests >= ok) else ok,
        ok=ok,
        tokens=tokens,
        date=date_of(document.get("date")) or context.date,
        started=_started(document.get("date")),
        facts=facts_of(document, _FACTS),
        extra=extra,
        warnings=warnings,
        dropped=dropped,
    )


def _load(document: Mapping[str, Any], context: ImportContext) -> tuple[int | None, float | None]:
    concurrency = whole(document.get("max_concurrency")) or context.concurrency
    if concurrency:
        return concurrency, None
    rate = number(document.get("request_rate"))
    if rate is None or rate <= 0:
        raise RowError("missing_conc", "neither max_concurrency nor a finite request_rate says how much load there was")
    return None, rate


def _lengths(
    document: Mapping[str, Any], ok: int | None, context: ImportContext
) -> tuple[tuple[str, ...], tuple[int | None, int | None], dict[str, dict[str, float]]]:
    """Return warnings, the mean lengths, and what is known of the tokens. Such files tell totals, not what was asked for."""
    warnings: list[str] = []
    means: list[int | None] = []
    tokens: dict[str, dict[str, float]] = {}
    for key, role, said in zip(_TOTALS, ("input", "output"), (context.input_tokens, context.output_tokens), strict=True):
        total = whole(document.get(key))
        if total is None or not ok:
            means.append(said)
            continue
        tokens[role] = {"mean": total / ok, "sum": total}
        if total % ok and said is None:
            warnings.append(f"{role} lengths vary around {total / ok:.1f} tokens; say --{role}-tokens to put several files on one curve")
        means.append(round(total / ok) if said is None else said)
    return tuple(warnings), (means[0], means[1]), tokens


def _started(value: Any) -> str:  # noqa: ANN401 - a JSON value
    match = re.fullmatch(r"(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})", text(value))
    return "{}-{}-{}T{}:{}:{}".format(*match.groups()) if match and date_of(value) else ""
