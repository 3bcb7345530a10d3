"""What inferencex.json holds: rows with keys of another project; named are those that ixbench fills, and imported rows may have more."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ixbench.api.report import Evidence, Origin
from ixbench_plugins.reporters.inferencex_rows import DEVIATION, FLAT

LATENCIES = ("ttft", "tpot", "itl", "e2el")
SPEED = "intvty"

Number = float | None
Summary = dict[str, float]
"""mean, std and percentiles by name."""
Size = int | None


class _Open(BaseModel):
    """Keys beside the ones named are what an imported row had."""

    model_config = ConfigDict(extra="allow", use_attribute_docstrings=True, protected_namespaces=())


class Reason(BaseModel):
    """Why a point is not plainly valid."""

    model_config = ConfigDict(extra="forbid")

    code: str
    value: Number
    limit: Number
    text: str
    severity: Literal["invalid", "warning"]


class Client(BaseModel):
    """The client's own part."""

    model_config = ConfigDict(extra="forbid")

    floor_s: Number
    lag_s: Number
    clock: Literal["kernel", "read", "virtual"]


class Own(BaseModel):
    """What these rows have no keys for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    version: str | None
    """Of ixbench."""
    run: str
    point: str
    origin: Origin
    evidence: Evidence
    verdict: Literal["valid", "valid_with_warnings", "invalid"]
    verdict_reasons: list[Reason]
    price_book: str | None
    client: Client | None
    window_rule: Literal["span"] | None
    """Rates are over the time from the first send to the last output; null for an imported point, whose tool had its own rule."""
    gpus_reserved: int | None
    token_source: str | None
    """Who counted the tokens; usage = the server."""
    model: str
    engine_version: str | None
    workload: str
    preset: str | None
    corpus: str | None
    spec_method: str | None
    """Null = none, "unknown" = nobody told, of which `spec_decoding` says "none"."""
    kv_offload: str
    """"off" = none, "unknown" = nobody told, of which `kv_offloading` says "none"."""
    tensor_parallel: int | None
    """GPUs that share each layer; null = nobody told, of which `tp` says all GPUs."""
    pipeline_parallel: int | None
    """Stages; null = nobody told, of which `pp` says 1."""
    expert_parallel: bool | None
    """Whether experts are spread over the GPUs; null = nobody told, of which `ep` says 1."""
    disaggregated: bool | None
    """Whether prefill and decode have GPUs of their own; null = nobody told, of which `disagg` says false."""
    multinode: bool | None
    """Whether it ran on more than one node; null = nobody told, of which `is_multinode` says false."""
    requests: int | None
    """Null where the file of an imported point did not tell."""
    ok: int | None
    started: str | None


class Outcome(BaseModel):
    """Of a point that is not valid."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["failed"]
    requested: int
    completed: int
    failed: int
    max_failure_rate: float


class _Row(_Open):
    """What every row has."""

    hw: str
    """SKU, or the runner's own name of it."""
    conc: int
    """Users at once."""
    image: str
    model: str
    infmax_model_prefix: str
    framework: str
    """The engine."""
    precision: str
    spec_decoding: str
    disagg: bool
    recipe_fingerprint: str
    is_multinode: bool
    tp: Size = None
    pp: Size = None
    ep: Size = None
    dcp_size: Size = None
    pcp_size: Size = None
    dp_attention: Literal["true", "false"] = "false"
    num_prefill_gpu: Size = None
    num_decode_gpu: Size = None
    power_valid: int = 0
    """Whether measured power may be used."""
    avg_power_w: Number = None
    """Of one GPU."""
    total_gpu_energy_j: Number = None
    benchmark_outcome: Outcome | None = None
    ixbench: Own


class _Fixed(_Row):
    """A point of a fixed-sequence workload: latencies in seconds, `intvty` in tok/s/user."""

    isl: int
    """Input tokens asked for."""
    osl: int
    """Output tokens asked for."""
    tput_per_gpu: float
    """All tokens a second and GPU."""
    output_tput_per_gpu: Number = None
    input_tput_per_gpu: Number = None


_STATISTICS = (f"{statistic}_{name}" for name, statistic in product((*LATENCIES, SPEED), FLAT.values()))
_NUMBERS: dict[str, Any] = {name: (float, 0.0) for name in _STATISTICS if name != f"{DEVIATION}_{SPEED}"}
FixedRow: Any = create_model("FixedRow", __base__=_Fixed, __doc__=_Fixed.__doc__, **_NUMBERS)


class RequestMetrics(_Open):
    """Of an agentic point."""

    qps: dict[str, Any]
    latency: dict[str, Summary]
    """Times in seconds, `intvty` in tok/s/user."""
    tokens: dict[str, Summary]
    throughput: dict[str, Any]
    """Tokens a second, whole and by GPU."""
    cache: dict[str, Any]


class AgenticRow(_Row):
    """A point of an agentic workload."""

    scenario_type: str
    num_gpus: int
    kv_offloading: str
    kv_offload_backend: dict[str, Any] | None
    allocated_cpu_dram_gb: Number
    num_requests_total: int | None
    num_requests_successful: int | None
    request_accounting: dict[str, Any] | None
    """Records by what became of them; null, as the counts, where the file of an imported point did not tell."""
    dataset: Any
    request_metrics: RequestMetrics
    server_metrics: dict[str, Any]
    """What the engine's counters say."""
    kv_cache_pool_tokens: Number
    warnings: list[Any]


Rows: Any = Annotated[list[AgenticRow | FixedRow], Field(description="A row a point.")]
"""What inferencex.json holds."""
