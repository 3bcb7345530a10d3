"""When the load of a point was steady, and what happened in which part of it: tokens by their own stamps, requests in flight by time.

Rates over the whole span hold the ramp at the start and the tail at the end, during which the server has less to do than was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.blocks import CONTENT_MASK, integers
from ixbench.measure.percentile import percentile
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ixbench.measure.blocks import Booleans, Integers
    from ixbench.measure.definition import Measurement
    from ixbench.measure.request import RequestTable
    from ixbench.model.record import RequestRecord

    Floats = NDArray[np.float64]

STAYS = 0.95
"""Share of the target that the load must keep on average to count as having reached it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of a point on the clock of its records: from its start to just before its end."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) / NS_PER_S

    def slices(self, count: int) -> Integers:
        """Return the edges of equal parts, one more than parts."""
        return integers(self.start_ns + (self.end_ns - self.start_ns) * position // count for position in range(count + 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenTimes:
    """Tokens of the successes by when they came, one number a part of the time; None where a success was not counted."""

    input: Floats | None
    """Prompt tokens, at the first chunk with output of their request."""
    output: Floats | None
    """Output tokens at the stamps of their chunks: as many as the server counted in each, else spread evenly over the chunks."""
    cached: Floats | None
    """Of the input, from the prefix cache; None where no answer tells."""


def sending_window(measurement: Measurement) -> Window | None:
    """Return the measured phase from its first send to its last; None for fewer than two moments of sending."""
    sends = [record.send_ns for record in measurement.profile]
    return Window(start_ns=min(sends), end_ns=max(sends)) if sends and min(sends) < max(sends) else None


def steady_window(measurement: Measurement) -> Window | None:
    """Return the part with a steady load: without the ramp, and without everything after the last send.

    The ramp ends when the requests in flight have reached their number, the concurrency asked for, and then kept it for one median
    end-to-end latency, that is stayed on average within 5 % of it: between an answer and the next request there is always a moment. In an
    open loop the number is the mean from the first send to the last, and it need only be reached. None where that never happens.
    """
    window = sending_window(measurement)
    latency_s = percentile(measurement.times.e2el, 50)
    if window is None or latency_s is None:
        return None
    profile = measurement.profile
    send = integers(record.send_ns for record in profile)
    close = integers(record.close_ns for record in profile)
    times, in_flight = _in_flight(send, close)
    if measurement.load.concurrency is None:
        target = float(in_flight_means(measurement, window.slices(1))[0])
        reached = times[in_flight >= target]
        start = int(reached[0])
    else:
        kept = _kept(times, in_flight, measurement.load.concurrency, latency_s)
        if kept is None:
            return None
        start = kept + round(latency_s * NS_PER_S)
    return Window(start_ns=start, end_ns=window.end_ns) if start < window.end_ns else None


def in_flight_means(measurement: Measurement, edges_ns: Integers) -> Floats:
    """Return the mean number of requests of the measured phase in flight between neighbouring edges, whatever became of them."""
    profile = measurement.profile
    send = integers(record.send_ns for record in profile)
    close = integers(record.close_ns for record in profile)
    busy = [(np.clip(close, start, end) - np.clip(send, start, end)).sum() for start, end in pairwise(edges_ns)]
    return np.array(busy, dtype=np.float64) / np.diff(edges_ns)


def token_times(measurement: Measurement, edges_ns: Integers) -> TokenTimes:
    """Return the tokens of the successes that came between neighbouring edges, the later edge excluded."""
    times, successes = measurement.times, measurement.successes
    parts = len(edges_ns) - 1
    first = np.searchsorted(edges_ns, times.first_ns, side="right") - 1
    read = (first >= 0) & (first < parts) & times.has_content

    def at_first(counts: Sequence[int]) -> Floats:
        return _sums(first, read, counts, parts)

    inputs = [record.usage_input for record in successes]
    outputs = [record.usage_output for record in successes]
    cached = [record.usage_cached for record in successes]
    return TokenTimes(
        input=at_first([count for count in inputs if count is not None]) if None not in inputs else None,
        output=_outputs(times, [count for count in outputs if count is not None], edges_ns) if None not in outputs else None,
        cached=at_first([count or 0 for count in cached]) if any(count is not None for count in cached) else None,
    )


def output_served(measurement: Measurement, edges_ns: Integers) -> Floats | None:
    """Return the output tokens of the successes between neighbouring edges, each answer's spread evenly from its send to its last output.

    That is the work of the server, not when it reaches the client: where users go in step, as equal requests do, all read their prompts at
    once and then all answer, so that slices with more prompts than answers in them look idle. None where a success was not counted.
    """
    times, counts = measurement.times, [record.usage_output for record in measurement.successes]
    if None in counts:
        return None
    tokens = np.array(counts, dtype=np.float64)[times.has_content]
    send, last = times.send_ns[times.has_content], times.last_ns[times.has_content]
    took = np.maximum(last - send, 1)
    so_far = [float((tokens * np.clip((edge - send) / took, 0.0, 1.0)).sum()) for edge in edges_ns]
    served: Floats = np.diff(so_far)
    return served


def _outputs(times: RequestTable, counts: Sequence[int], edges_ns: Integers) -> Floats:
    """Return the output tokens of each part; only answers that lie in several parts are looked at chunk by chunk."""
    parts = len(edges_ns) - 1
    first = np.searchsorted(edges_ns, times.first_ns, side="right") - 1
    last = np.searchsorted(edges_ns, times.last_ns, side="right") - 1
    whole = times.has_content & (first == last) & (first >= 0) & (first < parts)
    found = _sums(first, whole, counts, parts)
    for row in np.flatnonzero(times.has_content & (first != last)).tolist():
        found += _spread(times.records[row], counts[row], edges_ns)
    return found


def _sums(part: Integers, where: Booleans, counts: Sequence[int], parts: int) -> Floats:
    """Return the sum of the counts of each part, over the rows that are asked for."""
    found = np.zeros(parts)
    np.add.at(found, part[where], np.array(counts, dtype=np.float64)[where])
    return found


def _spread(record: RequestRecord, count: int, edges_ns: Integers) -> Floats:
    content = CONTENT_MASK[np.frombuffer(bytes(record.chunks.packed("kind")), dtype=np.uint8)]
    stamps = np.frombuffer(bytes(record.chunks.packed("ns")), dtype=np.int64)[content]
    tokens = np.frombuffer(bytes(record.chunks.packed("tokens")), dtype=np.intc)[content]
    counted = tokens.min() >= 0 and tokens.sum() > 0
    so_far = np.concatenate(([0], np.cumsum(tokens if counted else np.ones_like(tokens))))
    spread: Floats = np.diff(so_far[np.searchsorted(stamps, edges_ns)]) * (count / float(so_far[-1]))
    return spread


def _in_flight(send: Integers, close: Integers) -> tuple[Integers, Integers]:
    """Return when the number of requests in flight changes, and the number from then on."""
    moments = np.concatenate((close, send))
    steps = np.concatenate((np.full(len(close), -1), np.full(len(send), 1)))
    # Where one ends and another begins at the same moment, the end comes first: they were never in flight together.
    order = np.lexsort((steps, moments))
    return moments[order], np.cumsum(steps[order])


def _kept(times: Integers, in_flight: Integers, target: int, latency_s: float) -> int | None:
    """Return when the target was reached for the first time and then kept."""
    since = (times - times[0]) / NS_PER_S
    area = np.concatenate(([0.0], np.cumsum(in_flight[:-1] * np.diff(since))))
    candidates = np.flatnonzero((in_flight >= target) & (since + latency_s <= since[-1]))
    means = (np.interp(since[candidates] + latency_s, since, area) - area[candidates]) / latency_s if latency_s else in_flight[candidates]
    good = candidates[means >= STAYS * target]
    return int(times[good[0]]) if len(good) else None
