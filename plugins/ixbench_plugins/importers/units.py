"""Latencies of foreign files in seconds: the suffix of a key decides its unit, and what then makes no sense is refused, not mended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ixbench_plugins.importers.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

STATISTICS = ("mean", "median", "std", "p50", "p75", "p90", "p95", "p99", "p99.9")
LATENCIES = ("ttft", "tpot", "itl", "e2el")
FASTEST_TPOT_S, SLOWEST_TPOT_S = 1e-4, 60.0
"""A time per output token outside of these was written in another unit than its key says."""

_LATENCY = re.compile(rf"(?P<stem>(?P<statistic>{'|'.join(map(re.escape, STATISTICS))})_(?P<name>{'|'.join(LATENCIES)}))(?P<ms>_ms)?")


def latencies_in_seconds(raw: Mapping[str, float], duration_s: float | None = None) -> dict[str, float]:
    """Return the latencies among the keys in seconds, by stem: `median_tpot_ms` and `median_tpot` both give `median_tpot`.

    :param raw: numbers by key; keys that are no latency are passed over.
    :param duration_s: how long the measurement took, which no latency can exceed; None = not known.
    :raises RowError: duplicate_unit, if a stem stands there in both units; unit_suspect, for a latency longer than the measurement
        or a time per output token that no engine has.
    """
    found: dict[str, float] = {}
    for key, value in raw.items():
        match = _LATENCY.fullmatch(key)
        if match is None:
            continue
        stem = match["stem"]
        if stem in found:
            raise RowError("duplicate_unit", f"{stem} stands there in ms and in seconds; only one of them can be meant")
        found[stem] = value / 1000 if match["ms"] else value
    for stem, value in found.items():
        check_seconds(stem, value, duration_s)
    return found


def refuse_both_units(keys: Container[str], seconds: Iterable[str]) -> None:
    """Refuse an object of a schema in seconds that has the same latency in milliseconds too.

    :param seconds: the keys that it has in seconds.
    :raises RowError: duplicate_unit.
    """
    for stem in seconds:
        if f"{stem}_ms" in keys:
            raise RowError("duplicate_unit", f"{stem} stands there in ms and in seconds; only one of them can be meant")


def check_seconds(stem: str, value: float, duration_s: float | None) -> None:
    """Refuse a latency that was written in another unit than its key says.

    :raises RowError: unit_suspect.
    """
    statistic, _, name = stem.partition("_")
    if duration_s is not None and value > duration_s:
        raise RowError("unit_suspect", f"{stem} is {value:g} s, longer than the whole measurement of {duration_s:g} s: is it in ms?")
    if name == "tpot" and statistic != "std" and not FASTEST_TPOT_S <= value <= SLOWEST_TPOT_S:
        raise RowError(
            "unit_suspect", f"{stem} is {value:g} s, which no engine has ({FASTEST_TPOT_S:g} to {SLOWEST_TPOT_S:g} s): another unit?"
        )


def speeds_of(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return 1 / time per output token for each of its statistics but the deviation, which has no reciprocal: `median_intvty`."""
    tpots = {stem.removesuffix("_tpot"): value for stem, value in seconds.items() if stem.endswith("_tpot")}
    return {f"{statistic}_intvty": 1 / value for statistic, value in tpots.items() if statistic != "std" and value > 0}
