"""What a metric and a verdict rule are: pure functions of a `Measurement`, with their meaning beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from ixbench.measure.request import RequestTable
    from ixbench.model.accuracy import AccuracyResult
    from ixbench.model.engine_metrics import CacheReset, EngineWindow
    from ixbench.model.point import Load
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import EnergyReading, Failure, Metrics, MetricValue, Reason
    from ixbench.model.sample import Sample
    from ixbench.model.signature import LogFinding

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
    output_mean: int | None = None
    """Mean output length that the workload promises; None = it promises none, as for a user's own prompts."""
    least_s: float | None = None
    """How long the profile phase must be under the workload's own rules; None = long enough for its latencies."""
    engine_failure: Failure | None = None
    """Set when the engine died or was lost while the point ran."""
    lag_p99_s: float | None = None
    """p99 of the largest event-loop delay of the client while each request was in flight."""
    client_cpu_s: float | None = None
    """CPU seconds of the client in the profile phase."""
    client_wait_s: float | None = None
    """Seconds of that phase in which the client could have run and had no core."""
    clock: Literal["kernel", "read", "virtual"] | None = None
    """What stamped the chunks; None = not known."""
    engine_window: EngineWindow | None = None
    """What the engine's own counters said over the profile phase; None = nobody asked, or it has none."""
    questions: int = 0
    """Completions of one token that were asked for while the point ran, to see whether a silent engine lives."""
    question_input: int | None = None
    """Prompt tokens of one of them; None = the server did not tell."""
    log_findings: tuple[LogFinding, ...] = ()
    """Known lines that the engine's log took on during the profile phase."""
    server_changes: tuple[str, ...] = ()
    """How the server that answered at the end of the profile phase is another one than was launched, each to follow "the server: "."""
    clock_drift_s: float | None = None
    """By how much the wall clock ran ahead of the clock of the records over the profile phase; None = not looked at."""
    cache_reset: CacheReset | None = None
    """What became of emptying the prefix cache before this point; None = the engine had just started."""
    prompts_repeat: bool = False
    """Whether points that share an engine start may send equal prompts, so that one finds in the cache what another has left."""
    profiled: bool = False
    """Whether the server's own profiler ran during the profile phase, which makes the engine slower."""
    acceptance_configured: float | None = None
    """Synthetic acceptance length that the launch asked for; None = real acceptance or no speculation."""
    acceptance_reported: float | None = None
    """Mean acceptance length as the engine itself reports it; None = it does not."""
    goodput: Mapping[str, float] = field(default_factory=dict)
    """Seconds that a request may take to count as good, by column of `RequestTable`; empty = nobody said."""
    unfinished: tuple[str, ...] = ()
    """Session trees that were under way when the profile phase ended."""
    accuracy_gate: str | None = None
    """The accuracy gate that the launch is held to; None = it has none."""
    accuracy: AccuracyResult | None = None
    """What came of it; None where there is no gate, or none that came to an end."""
    all_in_kw: float | None = None
    """Power that the hardware book provisions for a GPU, with its share of host, network and cooling; None = not known."""
    read_samples: Callable[[Collection[str]], Iterable[Sample]] | None = field(default=None, repr=False, compare=False)
    """Returns the samples with one of these names, which lie on the disk until a metric asks for them; None = there are none."""

    @cached_property
    def profile(self) -> tuple[RequestRecord, ...]:
        """The records of the profile phase, cancelled and failed ones included."""
        return tuple(record for record in self.records if record.phase == "profile")

    @cached_property
    def successes(self) -> tuple[RequestRecord, ...]:
        """The successful records of the profile phase: what headline numbers are made of."""
        return tuple(record for record in self.profile if record.ok)

    @cached_property
    def times(self) -> RequestTable:
        """The times of the successes, one row each, as numpy columns.

        :raises BadRecordError: if the stamps of a record go backwards.
        """
        # Here, since plugins import this module when they are loaded, and numpy must not load with it.
        from ixbench.measure.request import request_table

        return request_table(self.successes)

    def samples(self, *names: str) -> tuple[Sample, ...]:
        """Return what the collectors read under these names, in order of writing.

        :raises IxbenchError: if the samples cannot be read.
        """
        return () if self.read_samples is None else tuple(self.read_samples(names))

    @cached_property
    def energy(self) -> EnergyReading | None:
        """What the GPUs took in the profile phase, with a verdict of its own; None where their power was not read.

        :raises IxbenchError: if the samples cannot be read.
        """
        from ixbench.measure.energy import energy_of

        return energy_of(self)


def in_order_of_send(records: Iterable[RequestRecord]) -> tuple[RequestRecord, ...]:
    """Return records as a measurement holds them; those of one moment in order of their ids, whose numbers grow."""
    return tuple(sorted(records, key=lambda record: (record.send_ns, len(record.req_id), record.req_id)))


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
    """Returns a number, parts by name, or None where it is undefined. NaN and infinities become None too: JSON has no words for them."""
    needs: tuple[str, ...] = ()
    """What it is made of: "usage", "gpus", "chunks", "cached_tokens"; documentation for `ixbench metrics`."""
    source: str = ""
    """Who else defines it so, or where the formula comes from; empty = its author's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One verdict rule."""

    code: str
    """What the verdict calls it, and the name of its limit; a plugin's own begins with the plugin's name. Rules that are two sides of one
    fault have a limit each, and may give reasons of one code."""
    limit: float | None
    """Default of `[limits] <code>`; None for a rule without a number."""
    explain: str
    """What it asks and why, one sentence."""
    decide: Callable[[Measurement, Metrics, float | None], Reason | None]
    """Gets the measurement, its metrics and the limit in force; returns a reason, or None if all is well."""
    agentic_limit: float | None = None
    """Default where the workload is agentic; None = the same."""
    most: float | None = None
    """The most that `[limits] <code>` may be: 1 where it is a share; None = any number from 0 on."""
    advice: str = ""
    """What to do where it is not met, one or two sentences for `ixbench metrics` and the page of verdicts."""

    def limit_for(self, measurement: Measurement, limits: Mapping[str, float]) -> float | None:
        """Return the limit in force: the user's, else the default for this kind of workload."""
        usual = self.agentic_limit if measurement.agentic and self.agentic_limit is not None else self.limit
        return limits.get(self.code, usual)
