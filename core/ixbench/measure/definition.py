"""What a metric and a verdict rule are: pure functions of a `Measurement`, with their meaning beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ixbench.model.point import Load
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import Failure, Metrics, MetricValue, Reason

    MetricResult = MetricValue | dict[str, MetricValue]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """All that is known of a point when its load has ended; the input of every metric and check.

    Not slotted: the cached views below are computed once and shared by all metrics.
    """

    records: tuple[RequestRecord, ...]
    """All phases, in order of send."""
    load: Load
    gpus: int | None
    """Reserved GPUs; None leaves every per-GPU figure null."""
    agentic: bool = False
    on_host: bool = True
    """Whether the server runs on this machine."""
    start_ns: int | None = None
    """Start of the profile phase; None = the first send."""
    end_ns: int | None = None
    """End of the profile phase, grace included; None = the last close."""
    engine_failure: Failure | None = None
    """Set when the engine died or was lost while the point ran."""
    lag_p99_s: float | None = None
    client_cpu_s: float | None = None

    @cached_property
    def profile(self) -> tuple[RequestRecord, ...]:
        """The records of the profile phase, cancelled and failed ones included."""
        return tuple(record for record in self.records if record.phase == "profile")

    @cached_property
    def successes(self) -> tuple[RequestRecord, ...]:
        """The successful records of the profile phase: what headline numbers are made of."""
        return tuple(record for record in self.profile if record.ok)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric, as it stands in point.json."""

    name: str
    """With its unit: `ttft_s`."""
    unit: str
    better: Literal["higher", "lower", "neither"]
    definition: str
    """One or two sentences, printed beside the number."""
    compute: Callable[[Measurement], MetricResult]
    """Returns a number, parts by name, or None where it is undefined."""
    needs: tuple[str, ...] = ()
    """What it is made of: "usage", "gpus", "chunks", "cached_tokens"; documentation for `ixbench metrics`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One verdict rule."""

    code: str
    """A code of metrics.md section 6, or a plugin's own."""
    limit: float | None
    """Default of `[limits] <code>`; None for a rule without a number."""
    explain: str
    """What it asks and why, one sentence."""
    decide: Callable[[Measurement, Metrics, float | None], Reason | None]
    """Gets the measurement, its metrics and the limit in force; returns a reason, or None if all is well."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Further words for the documentation page."""
