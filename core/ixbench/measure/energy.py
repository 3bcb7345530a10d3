"""Energy of a point: what its GPUs took while it was measured, by their own power readings, and whether that figure may be used.

Its verdict is its own. Throughput stays valid where power was not read well, and a figure that may not be used is not given.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.measure.point import window_ns
from ixbench.model.counts import counted
from ixbench.model.errors import IxbenchError
from ixbench.model.result import EnergyReading, Reason
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ixbench.measure.definition import Measurement
    from ixbench.model.sample import Sample

    Moment = tuple[float, float]
    """When, and how much: watts, or joules so far."""
    Series = Sequence[Moment]
    """In order of time."""
    Gpu = tuple[str, str]
    """The collector that read it, and its index."""

POWER = "power_w"
"""Sample of a GPU: what it takes now. The label `gpu` tells which."""
COUNTER = "energy_j"
"""Sample of a GPU: what it has taken since it was started, by its own counter."""
GPU_LABEL = "gpu"
GAP_LIMIT_S = 3.0
COUNTER_LIMIT = 0.05
"""Share by which the GPUs' own counters and the integral of their power may differ."""
_LEAST_SAMPLES = 2


class WindowNotCoveredError(IxbenchError, ValueError):
    """Power was not read at both ends of a window: what is missing cannot be made up."""

    code = "power_window_not_covered"


def integrate(series: Iterable[Moment], start: float, end: float) -> float:
    """Return the trapezoid integral of a series between two moments, at which it is interpolated linearly.

    :param series: values that are no finite numbers are left out, as if nothing had been read.
    :raises WindowNotCoveredError: unless there are readings at or before the start, and at or after the end.
    """
    known = sorted(moment for moment in series if all(map(math.isfinite, moment)))
    if not known or not known[0][0] <= start <= end <= known[-1][0]:
        raise WindowNotCoveredError(f"power is known from {_span(known)}, and the window lasts from {start:g} to {end:g}")
    first, last = max(bisect_right(known, start, key=_when) - 1, 0), bisect_left(known, end, key=_when)
    return math.fsum(_area(one, other, start, end) for one, other in pairwise(known[first : last + 1]))


def _when(moment: Moment) -> float:
    return moment[0]


def _span(known: Series) -> str:
    return f"{known[0][0]:g} to {known[-1][0]:g}" if known else "no moment at all"


def _area(one: Moment, other: Moment, start: float, end: float) -> float:
    """Return the area below the line from one reading to the next, between start and end."""
    (begin, low), (finish, high) = one, other
    left, right = max(begin, start), min(finish, end)
    if right <= left:
        return 0.0
    slope = (high - low) / (finish - begin)
    return (right - left) * (low + slope * ((left + right) / 2 - begin))


def energy_of(measurement: Measurement) -> EnergyReading | None:
    """Return what the GPUs of a point took in its measured phase, and whether that may be used; None where no power was read at all.

    :raises IxbenchError: if the samples of the point cannot be read.
    """
    window = window_ns(measurement)
    found = _by_gpu(measurement.samples(POWER, COUNTER))
    power, counters = found[POWER], found[COUNTER]
    if not power or window is None:
        return None
    start, end = window
    reasons = [*_wrong_gpus(power, measurement.gpus), *_too_few(power), *_not_covered(power, start, end), *_gaps(power, start, end)]
    apart, mismatch = _cross_check(power, counters)
    reasons += mismatch
    try:
        joules: float | None = math.fsum(integrate(series, start, end) for series in power.values()) / NS_PER_S
    except WindowNotCoveredError:
        joules = None
    return EnergyReading(valid=not reasons, reasons=tuple(reasons), joules=joules, gpus=len(power), counter_error_share=apart)


def _by_gpu(samples: Iterable[Sample]) -> Mapping[str, Mapping[Gpu, Series]]:
    """Return the series of each GPU in order of time, by name."""
    found: dict[str, dict[Gpu, list[Moment]]] = {POWER: defaultdict(list), COUNTER: defaultdict(list)}
    for sample in samples:
        if GPU_LABEL in sample.labels and math.isfinite(sample.value):
            found[sample.name][sample.source, sample.labels[GPU_LABEL]].append((sample.ns, sample.value))
    return {name: {gpu: sorted(dict(series).items()) for gpu, series in gpus.items()} for name, gpus in found.items()}


def _wrong_gpus(power: Mapping[Gpu, Series], gpus: int | None) -> Iterator[Reason]:
    if gpus is None:
        text = f"power was read of {counted(len(power), 'GPU')}, and nobody said how many the point has"
    elif gpus != len(power):
        text = f"power was read of {counted(len(power), 'GPU')}, and the point has {gpus}"
    else:
        return
    yield Reason(code="power_gpu_count", value=len(power), limit=gpus, text=text)


def _too_few(power: Mapping[Gpu, Series]) -> Iterator[Reason]:
    least = min(map(len, power.values()))
    if least < _LEAST_SAMPLES:
        text = f"power was read {counted(least, 'time')} of {_first(power, least)}, at least {_LEAST_SAMPLES} are needed"
        yield Reason(code="power_too_few_samples", value=least, limit=_LEAST_SAMPLES, text=text)


def _first(power: Mapping[Gpu, Series], count: int) -> str:
    return next(f"GPU {gpu}" for (_, gpu), series in power.items() if len(series) == count)


def _not_covered(power: Mapping[Gpu, Series], start: float, end: float) -> Iterator[Reason]:
    late_s = max(series[0][0] - start for series in power.values()) / NS_PER_S
    early_s = max(end - series[-1][0] for series in power.values()) / NS_PER_S
    missing_s = max(late_s, early_s)
    if missing_s > 0:
        what = f"begins {late_s:.1f} s after" if late_s >= early_s else f"ends {early_s:.1f} s before"
        text = f"the power of some GPU {what} {'the beginning' if late_s >= early_s else 'the end'} of the measured phase"
        yield Reason(code="power_window_not_covered", value=missing_s, limit=0, text=text)


def _gaps(power: Mapping[Gpu, Series], start: float, end: float) -> Iterator[Reason]:
    gaps = (
        (after - before) / NS_PER_S
        for series in power.values()
        for (before, _), (after, _) in pairwise(series)
        if after > start and before < end
    )
    longest_s = max(gaps, default=0.0)
    if longest_s > GAP_LIMIT_S:
        text = f"for {longest_s:.1f} s the power of some GPU was not read, at most {GAP_LIMIT_S:g} s may lie between two readings"
        yield Reason(code="power_gap", value=longest_s, limit=GAP_LIMIT_S, text=text)


def _cross_check(power: Mapping[Gpu, Series], counters: Mapping[Gpu, Series]) -> tuple[float | None, list[Reason]]:
    """Return by what share the GPUs' own counters and the integral over the same time differ, and what is wrong with that.

    None: no GPU has a counter that was read twice while its power was read.
    """
    by_counter = integrated = 0.0
    known = False
    fell: str | None = None
    for gpu, series in power.items():
        readings = [moment for moment in counters.get(gpu, ()) if series[0][0] <= moment[0] <= series[-1][0]]
        if len(readings) < _LEAST_SAMPLES:
            continue
        (begin, before), (finish, after) = readings[0], readings[-1]
        known = True
        fell = gpu[1] if after < before else fell
        by_counter += after - before
        integrated += integrate(series, begin, finish) / NS_PER_S
    if not known:
        return None, []
    whole = max(abs(by_counter), abs(integrated))
    apart = abs(by_counter - integrated) / (by_counter if by_counter > 0 else whole) if whole else 0.0
    if fell is not None:
        text = f"the own energy counter of GPU {fell} went down while the point ran: it was reset, or its driver was loaded anew"
        return apart, [Reason(code="power_counter_mismatch", value=apart, limit=COUNTER_LIMIT, text=text)]
    if apart <= COUNTER_LIMIT:
        return apart, []
    text = (
        f"the GPUs' own counters say {by_counter:.0f} J and their power comes to {integrated:.0f} J over the same time, "
        f"{100 * apart:.1f} % apart, at most {100 * COUNTER_LIMIT:g} % are allowed"
    )
    return apart, [Reason(code="power_counter_mismatch", value=apart, limit=COUNTER_LIMIT, text=text)]
