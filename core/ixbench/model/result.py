"""What became of a point: metrics, a verdict and where they come from. `point.json` is this value, sealed."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec resolves the annotations when it reads point.json
from dataclasses import dataclass, field
from typing import Literal

from ixbench.model.accuracy import AccuracyResult  # noqa: TC001 - as above
from ixbench.model.launch import Scalar  # noqa: TC001 - as above

Evidence = Literal["measured", "simulated"]
Origin = Literal["run", "imported"]
MetricValue = float | int | None
Metrics = dict[str, MetricValue | dict[str, MetricValue]]
"""Name -> number, or name -> parts (percentiles, or the bases of a rate). Units stand in the names."""

Bounds = tuple[float, float] | None
"""Lower and upper end of an interval; None where there are too few values for one."""

POINT_FORMAT = 1
"""History of point.json: 1 = first release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a point is not plainly valid."""

    code: str
    """Code of a verdict rule, for instance "too_short"."""
    value: float | None
    """What was measured."""
    limit: float | None
    """What is allowed."""
    text: str
    """The same in one sentence."""
    severity: Literal["invalid", "warning"] = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the numbers of a point may be used."""

    status: Literal["valid", "valid_with_warnings", "invalid"]
    reasons: tuple[Reason, ...] = ()


def reason_codes(verdict: Verdict) -> tuple[str, ...]:
    """Return the codes of the reasons that decided a verdict, each once: of an invalid point those that made it so."""
    severity = "invalid" if verdict.status == "invalid" else "warning"
    return tuple(dict.fromkeys(reason.code for reason in verdict.reasons if reason.severity == severity))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyReading:
    """What the GPUs of a point took while it was measured, by their own power readings. It never makes a point invalid."""

    valid: bool
    """Whether the figures may be used; metrics of energy are None where not."""
    reasons: tuple[Reason, ...] = ()
    """Why not."""
    joules: float | None = None
    """Of all GPUs that were read, in the profile phase; None where it cannot be known."""
    gpus: int = 0
    """How many GPUs were read."""
    counter_error_share: float | None = None
    """By what share the GPUs' own energy counters differ from the integral of their power; None = they have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """How sure the numbers of one measured point are: 95 % intervals beside its metrics, by metric and part, in the metric's unit.

    They know only what varied within the point. How much another run would differ is told by repeats.
    """

    percentiles: Mapping[str, Mapping[str, Bounds]]
    """Distribution-free: the two values of single requests that enclose the percentile; None where there are too few for it."""
    bootstrap: Mapping[str, Mapping[str, Bounds]]
    """Of headline numbers, from drawing the point's sessions anew; empty where it has fewer than five."""
    sessions: int
    """How many sessions the successes belong to; single requests are a session each."""
    resamples: int
    """How often they were drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a point has no numbers, or an engine none to give."""

    code: str
    cause: str
    """One sentence."""
    fix: str
    """What to do, one sentence; may be empty."""
    evidence: tuple[str, ...] = ()
    """Log lines or messages that show it, secrets redacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Requests of the profile phase by outcome: requests = ok + sum(failed) + cancelled."""

    requests: int = 0
    ok: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    """By failure kind."""
    cancelled: int = 0
    warmup: int = 0
    """Requests of the warm-up, whatever became of them."""
    resent: int = 0
    empty_answers: int = 0
    """Successes without any text: their tokens count, they have no TTFT."""
    context_overflow: int = 0
    """How many of the `http_status` failures were prompts too long for the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointIdentity:
    """What was measured.

    Points stand on one curve if they agree in model, hardware, engine, precision, spec_method (unless agentic), kv_offload, input_tokens,
    output_tokens, disaggregated, multinode and prepared. All points of a ladder agree in model, workload, preset, corpus, input_tokens,
    output_tokens and accuracy.
    """

    model: str
    precision: str | None
    hardware: str | None
    gpus: int | None
    engine: str
    engine_version: str | None
    image: str | None
    deployment: str
    workload: str
    agentic: bool = False
    """Whether the workload is agentic: its curves then mix spec-decode methods and count only the newest run."""
    preset: str | None = None
    corpus: str | None = None
    """Hash of the corpus, or None for synthetic prompts."""
    concurrency: int | None = None
    rate: float | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: bool | None = None
    spec_method: str | None = None
    """Method of speculative decoding; None = off, "unknown" = nobody told how the server was started."""
    kv_offload: str = "off"
    """Mode of KV offload; "off" and "unknown" as of `spec_method`."""
    disaggregated: bool | None = False
    """Whether prefill and decode have GPUs of their own; None = nobody told."""
    multinode: bool | None = False
    """Whether it ran on more than one node; None = nobody told."""
    prepared: str | None = None
    """Short hash of the scripts with which ixbench changed the engine before it started; None = with none."""
    accuracy: str | None = None
    """The accuracy gate that its launch was held to: hash of the questions, share wanted, how answers are judged; None = not gated."""
    input_tokens: int | None = None
    """Asked mean input length of a fixed-sequence workload."""
    output_tokens: int | None = None
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    """Matrix settings of the point."""
    repeat: int = 1
    """Which measurement of the same operating point it is, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Where the point lies on the speed axis of its ladder."""

    name: str
    """"tpot": the speed is 1 / percentile of TPOT."""
    percentile: str
    """"p90", "median", ..."""
    tok_s_user: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReport:
    """What the client itself added: its floor and lag are part of every point."""

    floor_s: float | None
    """TTFT of a loopback server that answers at once, through the same client."""
    lag_s: float | None
    """p99 of the largest event-loop delay in flight."""
    cpu_s: float | None
    """CPU seconds of the client during the profile phase."""
    wait_s: float | None = None
    """Seconds of that phase in which the client could have run and had no core; None where the system does not tell."""
    clock: Literal["kernel", "read", "virtual"]
    """How chunks were stamped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointResult:
    """A finished point."""

    id: str
    evidence: Evidence
    origin: Origin
    identity: PointIdentity
    verdict: Verdict
    failure: Failure | None
    metrics: Metrics
    accounting: Accounting
    axis: Axis
    client: ClientReport | None
    energy: EnergyReading | None = None
    """None where the power of no GPU was read."""
    intervals: Intervals | None = None
    """None for a point without successes, and for a simulated one, whose replicas have a spread instead."""
    accuracy: AccuracyResult | None = None
    """What came of the accuracy gate of its launch; None where it has none, or none that came to an end."""
    provenance: Mapping[str, object] = field(default_factory=dict)
    """Launch id, argv, engine build, dates and whatever else tells how it came about."""
    format: int = POINT_FORMAT

    @property
    def counted(self) -> Accounting | None:
        """Requests by outcome; None where nothing tells them, as in an imported row without counts."""
        return None if self.origin == "imported" and not self.accounting.requests else self.accounting

    @property
    def usable(self) -> bool:
        """Whether the point may stand on a frontier."""
        return self.failure is None and self.verdict.status != "invalid"
