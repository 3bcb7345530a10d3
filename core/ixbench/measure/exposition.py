"""What an engine's Prometheus page says, under the names that all engines share: each engine has names of its own for the same thing.

Pages are read for a few counters and gauges once a second, while the same process stamps tokens: only the lines that an alias names are
parsed at all, and a line that is broken costs itself, never the page.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ixbench.model.engine_metrics import COUNTERS, GAUGES, READ_AS_COUNTERS, EngineWindow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.model.engine_metrics import EngineMetrics, MetricAlias

    Series = tuple[str, tuple[tuple[str, str], ...]]
    """One time series of a page: its name without "_total", and its labels, sorted."""

PAGE_LIMIT_BYTES = 4 * 2**20
"""What is read of a page; those of real engines have 5 to 100 KB."""
_LINES_LIMIT = 10_000
"""Lines of interest that are parsed, for the same reason."""
_LINE_LIMIT = 4096
_TOTAL = "_total"
_START_TIME = "process_start_time_seconds"
"""What Python servers export by themselves; it moves when the server was started again."""
_START_TOLERANCE_S = 1.0
_NO_COUNTERS = frozenset({"histogram", "summary", "gaugehistogram"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one scrape offers, by canonical name."""

    series: Mapping[str, Mapping[Series, float]] = field(default_factory=dict)
    """Canonical name -> value of each of its series. A name that the page does not offer is absent."""
    process_start_s: float | None = None
    """When the server's process began, where the page tells it."""
    cpu_s: float = 0.0
    """CPU seconds that reading the page took."""

    def totals(self) -> dict[str, float]:
        """Return one number a canonical name: the sum over its series, of kv_usage the largest."""
        return {name: max(values.values()) if name == "kv_usage" else sum(values.values()) for name, values in self.series.items()}


def read_exposition(page: bytes | str, metrics: EngineMetrics) -> Reading:
    """Return what a Prometheus text page says under canonical names.

    Names match whole, counters with and without "_total"; histograms and summaries are never taken for counters, nor are their parts or the
    "_created" gauges. Values that are no finite numbers are left out. Whatever the bytes are, there is a reading; it may be empty.
    """
    began_s = time.thread_time()
    text = page[:PAGE_LIMIT_BYTES].decode("utf-8", "replace") if isinstance(page, bytes) else page[:PAGE_LIMIT_BYTES]
    if len(page) > PAGE_LIMIT_BYTES:
        # What is left of the last line may be a number without its last digits, and a counter that goes down is taken for a restart.
        text = text[: text.rfind("\n") + 1]
    offered, refused = _samples(text, metrics)
    starts = offered.pop(_START_TIME, {})
    series: dict[str, dict[Series, float]] = {}
    for alias in metrics.aliases:
        values = _values(alias, offered, refused, metrics.one_rank)
        if values:
            series[alias.canonical] = series.get(alias.canonical, {}) | values
    start_s = next(iter(starts.values())) if len(starts) == 1 else None
    return Reading(series=series, process_start_s=start_s, cpu_s=time.thread_time() - began_s)


def engine_window(readings: Iterable[Reading]) -> EngineWindow:
    """Return what counters and gauges did from the first reading to the last."""
    fold = WindowFold()
    for reading in readings:
        fold.add(reading)
    return fold.window()


@dataclass(slots=True, kw_only=True)
class WindowFold:
    """Makes an `EngineWindow` of readings as they come, so that an hour of them need not be kept.

    A scrape that offers nothing at all tells nothing: it is counted, and looked at no further. A series that appears when others were there
    before began at zero then, as Prometheus clients make them when they are first counted.
    """

    scrapes: int = 0
    reset: bool = False
    _last: Reading | None = None
    _delta: dict[str, float] = field(default_factory=dict)
    _maximum: dict[str, float] = field(default_factory=dict)

    def add(self, reading: Reading) -> None:
        """Take one more reading, in order of time."""
        self.scrapes += 1
        if not reading.series:
            return
        for name, value in reading.totals().items():
            if name in GAUGES:
                self._maximum[name] = max(value, self._maximum.get(name, value))
        if self._last is not None:
            self._step(self._last, reading)
        self._last = reading

    def _step(self, before: Reading, after: Reading) -> None:
        restarted = _started_later(before, after)
        self.reset = self.reset or restarted
        for name in COUNTERS:
            known = before.series.get(name, {})
            for key, value in after.series.get(name, {}).items():
                earlier = 0.0 if restarted else known.get(key, 0.0)
                if value < earlier:
                    self.reset = True
                    earlier = 0.0
                self._delta[name] = self._delta.get(name, 0.0) + value - earlier

    def window(self) -> EngineWindow:
        """Return what is known so far. Counters that the last reading no longer offers are missing, and one reading knows no increase."""
        offered = self._last.series if self._last is not None else {}
        delta = {name: self._delta[name] for name in COUNTERS if name in offered and name in self._delta}
        return EngineWindow(
            delta=delta,
            maximum=dict(self._maximum),
            reset=self.reset,
            missing=tuple(name for name in (*COUNTERS, *GAUGES) if name not in delta and name not in self._maximum),
            scrapes=self.scrapes,
        )


def _started_later(before: Reading, after: Reading) -> bool:
    if before.process_start_s is None or after.process_start_s is None:
        return False
    return after.process_start_s > before.process_start_s + _START_TOLERANCE_S


def _samples(text: str, metrics: EngineMetrics) -> tuple[dict[str, dict[Series, float]], frozenset[str]]:
    """Return the values of the names of interest, as the page spells these, and which of them are no counters or gauges."""
    offered: dict[str, dict[Series, float]] = {}
    refused: set[str] = set()
    for number, match in enumerate(_lines(_names(metrics)).finditer(text)):
        if number == _LINES_LIMIT:
            break
        if match["typed"] is not None:
            if match["type"] in _NO_COUNTERS:
                refused.add(match["typed"])
        elif (sample := _sample(match["line"])) is not None:
            name, labels, value = sample
            offered.setdefault(name, {})[name.removesuffix(_TOTAL), labels] = value
    return offered, frozenset(refused)


def _sample(line: str) -> tuple[str, tuple[tuple[str, str], ...], float] | None:
    """Return name, sorted labels and value of a line; None where it is broken or its value is no finite number."""
    # Imported here: plugins import this module's neighbours when they are loaded, and the parser must not load with them.
    from prometheus_client.parser import text_string_to_metric_families

    if len(line) > _LINE_LIMIT:
        return None
    try:
        for family in text_string_to_metric_families(line):
            for sample in family.samples:
                value = float(sample.value)
                return (sample.name, tuple(sorted(sample.labels.items())), value) if math.isfinite(value) else None
    except (ValueError, LookupError, OverflowError):
        return None
    return None


def _values(
    alias: MetricAlias, offered: Mapping[str, Mapping[Series, float]], refused: frozenset[str], one_rank: str | None
) -> dict[Series, float]:
    """Return the series of an alias: those of its first name that is offered, and of the names that are added."""

    def of(name: str) -> dict[Series, float]:
        for spelled in _spellings(name, counter=alias.canonical in READ_AS_COUNTERS):
            found = {key: value for key, value in offered.get(spelled, {}).items() if _counts(dict(key[1]), alias.labels, one_rank)}
            if found and spelled not in refused:
                return found
        return {}

    values: dict[Series, float] = next((found for name in alias.names if (found := of(name))), {})
    for name in alias.added:
        values = values | of(name)
    return values


def _counts(labels: Mapping[str, str], wanted: Mapping[str, str], one_rank: str | None) -> bool:
    if one_rank is not None and labels.get(one_rank, "0") != "0":
        return False
    return all(
        labels.get(name, "") != value.removeprefix("!") if value.startswith("!") else labels.get(name, "") == value
        for name, value in wanted.items()
    )


def _spellings(name: str, *, counter: bool) -> tuple[str, ...]:
    return (f"{name}{_TOTAL}", name) if counter else (name,)


def _names(metrics: EngineMetrics) -> frozenset[str]:
    names = {_START_TIME}
    for alias in metrics.aliases:
        for name in (*alias.names, *alias.added):
            names.update(_spellings(name, counter=alias.canonical in READ_AS_COUNTERS))
    return frozenset(names)


@lru_cache(maxsize=32)
def _lines(names: frozenset[str]) -> re.Pattern[str]:
    """Return what finds the samples and the types of these names, whole names only."""
    either = "|".join(map(re.escape, sorted(names)))
    return re.compile(
        rf"^(?:[ \t]*(?P<line>(?:{either})[ \t{{][^\n]*)|#[ \t]*TYPE[ \t]+(?P<typed>{either})[ \t]+(?P<type>\w+)[ \t\r]*$)", re.MULTILINE
    )
