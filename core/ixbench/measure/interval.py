"""How sure a point's numbers are: an interval beside each percentile and each headline number.

Two kinds, of 95 % each. Percentiles of single requests get the two order statistics that enclose them whatever the distribution is. The
headline numbers get a bootstrap over sessions as well, which does not take requests of one session for independent. Neither knows anything
of what would have been different in another run: only repeats do.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.bootstrap import Resampling, bounds
from ixbench.measure.percentile import SUMMARY_PERCENTILES, percentile_ranks, values_of
from ixbench.measure.point import span_s, token_sums
from ixbench.model.result import Intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ixbench.measure.definition import Measurement
    from ixbench.model.result import Bounds

    Floats = NDArray[np.float64]

COLUMNS = (
    "ttft",
    "ttfa",
    "e2el",
    "tpot",
    "tpot_tail",
    "stall",
    "dispatch_delay",
    "ttft_sched",
    "e2el_sched",
    "connect",
)
"""Columns of the request table whose metric is `<column>_s`. Gaps between chunks are not among them: pooled over requests, they are no
independent values."""
SPEEDS = {"speed_tok_s_user": "tpot", "e2e_norm_tok_s_user": "e2e_norm"}
"""Metrics that are a column of times, inverted."""
HEADLINE = ("ttft", "tpot")
"""Columns that are resampled too."""
_NAMES = tuple(f"p{p}" for p in SUMMARY_PERCENTILES)


def intervals_of(measurement: Measurement, seed: str) -> Intervals | None:
    """Return the intervals of a point's numbers, in the unit of each metric; None without any success.

    :param seed: the point's id: the same point always draws the same.
    """
    if not measurement.successes:
        return None
    times = measurement.times
    percentiles = {f"{name}_s": percentile_bounds(getattr(times, name)) for name in COLUMNS}
    percentiles |= {name: _inverted(percentile_bounds(getattr(times, column))) for name, column in SPEEDS.items()}
    number = int.from_bytes(sha256(seed.encode()).digest()[:8])
    resampling = Resampling.of([record.tree_id for record in measurement.successes], number)
    return Intervals(
        percentiles={name: parts for name, parts in percentiles.items() if parts},
        bootstrap={} if resampling is None else _bootstrap(measurement, resampling),
        sessions=len({record.tree_id for record in measurement.successes}),
        resamples=0 if resampling is None else resampling.resamples,
    )


def percentile_bounds(values: Floats) -> dict[str, Bounds]:
    """Return the order statistics that enclose each percentile with 95 % confidence; None where the values are too few for it.

    Distribution-free: the ranks come from the binomial distribution alone. Empty without any value.
    """
    ordered = values_of(values)
    if not len(ordered):
        return {}
    found: dict[str, Bounds] = {}
    for name, p in zip(_NAMES, SUMMARY_PERCENTILES, strict=True):
        ranks = _ranks(len(ordered), p)
        found[name] = None if ranks is None else (float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1]))
    return found


@lru_cache(maxsize=256)
def _ranks(count: int, p: float) -> tuple[int, int] | None:
    return percentile_ranks(count, p)


def _inverted(parts: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """Return the bounds of 1 / time: what was the larger time is the smaller speed."""
    return {name: None if found is None or not all(found) else (1 / found[1], 1 / found[0]) for name, found in parts.items()}


def _bootstrap(measurement: Measurement, resampling: Resampling) -> dict[str, dict[str, Bounds]]:
    found: dict[str, dict[str, Bounds]] = {}
    for column in HEADLINE:
        replicates = resampling.percentiles(getattr(measurement.times, column), SUMMARY_PERCENTILES)
        parts = {name: bounds(replicates[:, position]) for position, name in enumerate((*_NAMES, "mean"))}
        found[f"{column}_s"] = parts
    found["speed_tok_s_user"] = _inverted(found["tpot_s"])
    rates = _rates(measurement, resampling)
    found["throughput_tok_s"] = rates
    if measurement.gpus:
        gpus = measurement.gpus
        found["throughput_tok_s_gpu"] = {name: None if both is None else (both[0] / gpus, both[1] / gpus) for name, both in rates.items()}
    return found


def _rates(measurement: Measurement, resampling: Resampling) -> dict[str, Bounds]:
    """Return the intervals of the token rates of the whole system.

    In a closed loop the number in flight is given, and the rate is that number times tokens per second of a request under way: sessions
    that are drawn bring their tokens and the time that they took. In an open loop arrivals are given, and they bring their tokens.
    """
    sums, span = token_sums(measurement), span_s(measurement)
    if sums.total is None or sums.output is None or not span:
        return {"total": None, "output": None}
    records, times = measurement.successes, measurement.times
    outputs = np.array([record.usage_output for record in records], dtype=np.float64)
    totals = outputs + np.array([record.usage_input for record in records], dtype=np.float64)
    busy = (times.close_ns - times.send_ns) / 1e9 if measurement.load.rate is None else np.ones(len(records))
    columns = np.column_stack([resampling.by_session(values) for values in (totals, outputs, busy)])
    drawn = resampling.sums(columns)
    share = drawn / columns.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = share[:, :2] if measurement.load.rate is not None else share[:, :2] / share[:, 2:]
    return {"total": bounds(sums.total / span * moved[:, 0]), "output": bounds(sums.output / span * moved[:, 1])}
