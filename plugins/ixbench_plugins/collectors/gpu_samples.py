"""What GPUs' readings are called and when they were taken, the same for every vendor and every source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ixbench.api.engine import NS_PER_S, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

POWER = "power_w"
CLOCK = "clock_mhz"
TEMPERATURE = "temperature_c"
ACTIVITY = "activity_share"
VRAM = "vram_used_bytes"
ENERGY = "energy_j"
"""A counter: what the GPU has taken since its driver was loaded."""
THROTTLED = "throttled"
"""Share of the readings since the sample before in which heat or power held the clocks down; of GPUs whose driver tells."""
POWER_CAPPED = "power_capped"
"""The same for the power limit that is set for a GPU, at which many run under full load; of drivers that tell it apart."""
NAMES = (POWER, CLOCK, TEMPERATURE, ACTIVITY, VRAM, ENERGY, THROTTLED, POWER_CAPPED)

MOST_POWER_W = 20_000.0
"""Ten times what a GPU takes: a number above is none, whatever its column is called. Neither is one below 0."""
FULL_EVERY = 5
"""Of so many readings of a GPU one is kept in full, of the others power alone: energy needs every second of it, the rest does not."""
SLACK_S = 0.5
"""How long a tool may take from its stamp to the row in our hands."""
LATE_LIMIT_S = 300.0
"""A row that is older was not held back by any buffer: its stamp is of another clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """When a row came, on both clocks."""

    mono_ns: int
    """The clock of the records."""
    wall_s: float


def taken_ns(arrival: Arrival, stamp_s: float, resolution_s: float) -> int:
    """Return when a row was taken, on the clock of the records.

    A tool stamps its rows with the wall clock, often in whole seconds, so that a reading may be almost a second later than its stamp. A row
    that comes within that second was taken when it came, which is exact to some milliseconds. One that comes later lay in a buffer of the
    tool: it was taken in the middle of its second, for all we know. Stamps that cannot be of this machine's clock tell nothing.

    :param stamp_s: seconds since the epoch.
    :param resolution_s: what the stamp is rounded down to.
    """
    late_s = arrival.wall_s - stamp_s
    if late_s <= resolution_s + SLACK_S or late_s > LATE_LIMIT_S:
        return arrival.mono_ns
    return arrival.mono_ns - round((late_s - resolution_s / 2) * NS_PER_S)


@dataclass(slots=True)
class Turns:
    """Whose turn it is to be kept in full."""

    _counts: dict[int, int] = field(default_factory=dict)
    _told: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    """What was told of each GPU since its last full reading."""

    def tell(self, gpu: int, name: str, value: float | None) -> None:
        """Keep what is to be averaged until the next full reading; what is not told is not counted."""
        if value is not None:
            self._told.setdefault(gpu, {}).setdefault(name, []).append(value)

    def told(self, gpu: int) -> dict[str, float | None]:
        """Return the means since the last call, and begin anew."""
        return {name: sum(values) / len(values) for name, values in self._told.pop(gpu, {}).items()}

    def full(self, gpu: int) -> bool:
        """Return whether this reading of a GPU is to be kept in full; the first one is."""
        count = self._counts.get(gpu, 0)
        self._counts[gpu] = count + 1
        return count % FULL_EVERY == 0


def samples_of(source: str, gpu: int, ns: int, values: Mapping[str, float | None]) -> Iterator[Sample]:
    """Yield the samples of one GPU; what was not told has none, nor has a power that cannot be.

    :param source: the collector's name.
    :param gpu: its index, as HIP or CUDA counts.
    """
    for name, value in values.items():
        if value is not None and (name != POWER or 0 <= value <= MOST_POWER_W):
            yield Sample(ns=ns, source=source, name=name, value=value, labels={"gpu": str(gpu)})
