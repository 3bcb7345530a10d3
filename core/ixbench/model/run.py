"""A run folder as reporters see it: read-only, complete, without paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.model.price import Quote, Sku
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import Evidence, Metrics, PointResult

Interpolation = Literal["steffen", "linear", "step"]
RangePolicy = Literal["in_range", "min_slo"]
SelectionPolicy = Literal["max_throughput", "min_cost", "priority"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """The `[report]` table, resolved."""

    rungs: tuple[float, ...] = (30.0, 50.0, 75.0, 100.0, 150.0, 200.0)
    """Target speeds in tok/s/user, rising."""
    primary: float = 50.0
    """The rung of the headline and of the cost table."""
    axis: str = "median"
    """Percentile of TPOT whose reciprocal is the speed: p50 or median, p75, p90, p95, p99, mean."""
    interpolation: Interpolation = "steffen"
    range: RangePolicy = "in_range"
    policy: SelectionPolicy = "max_throughput"
    scope: str | tuple[str, ...] = "all"
    """"all", "community", or names of engines."""
    use: tuple[str, ...] = ("console", "ladder", "cost", "table")
    """Reporters to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricNote:
    """What a metric of a point means; kept with the run, since the plugin that gave it may be gone when it is read."""

    name: str
    unit: str
    better: str
    """"higher", "lower" or "neither"."""
    needs: tuple[str, ...]
    """What it is made of."""
    definition: str
    source: str
    """Who else defines it so; may be empty."""
    plugin: str
    """Name of the plugin that gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run: what was asked, what was found, and how to read it."""

    id: str
    """Name of the run folder."""
    title: str
    started: str
    """UTC, ISO 8601."""
    evidence: Evidence
    """"simulated" as soon as one point is."""
    report: ReportSettings
    points: tuple[PointResult, ...]
    """Finished points in plan order, invalid and failed ones included."""
    planned: tuple[str, ...]
    """Ids of all planned points."""
    quotes: tuple[Quote, ...] = ()
    """Prices by tier for the run's SKU, in the book's order; empty = no price is known."""
    sku: Sku | None = None
    campaign: Mapping[str, object] = field(default_factory=dict)
    """The campaign with secrets redacted."""
    machine: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[MetricNote, ...] = ()
    """What the metrics of its points mean, in their order; empty where nobody said, as in a foreign file."""
    read_records: Callable[[str], tuple[RequestRecord, ...]] | None = field(default=None, repr=False, compare=False)
    """Returns what each request of a point did, by the point's id; None where no records are kept."""
    read_replicas: Callable[[str], tuple[Metrics, ...]] | None = field(default=None, repr=False, compare=False)
    """Returns the metrics of each replica of a simulated point, by the point's id; None where none are kept."""
    launches: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """How engines were started, the content of each launch.json by the launch's id; empty for imported points."""
    notes: tuple[str, ...] = ()
    """What the reader of its results must know of the run as a whole, sentences without a full stop: which plugins were missing."""
    unreadable: str = ""
    """Why there is nothing but a name, in one sentence; only reporters that look over many runs (`surveys`) get such views."""

    @property
    def repeats(self) -> int:
        """How often each point was to be measured, `[run] repeats`; 1 where the campaign is not known."""
        table = self.campaign.get("run")
        asked = table.get("repeats", 1) if isinstance(table, Mapping) else 1
        return asked if isinstance(asked, int) and asked > 0 else 1

    @property
    def missing(self) -> tuple[str, ...]:
        """Planned points that are not there yet."""
        present = {point.id for point in self.points}
        return tuple(name for name in self.planned if name not in present)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file that a reporter made; the host writes it."""

    name: str
    """File name, `<reporter>.<ext>`."""
    content: str | bytes
    show: bool = False
    """Whether its text belongs on the terminal too."""
