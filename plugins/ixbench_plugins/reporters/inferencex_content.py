"""What inferencex.json holds: rows with keys of another project; named are those that ixbench fills, and imported rows may have more."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ixbench.api.report import Evidence, Origin
from ixbench_plugins.reporters.inferencex_rows import DEVIATION, FLAT

QUANTITIES = {
    "ttft": "the time to the first token, in seconds",
    "tpot": "the time per output token, in seconds",
    "itl": "the time between two chunks, in seconds",
    "e2el": "the time of a whole request, in seconds",
    "intvty": "the speed for a user, 1 / time per output token, in tok/s/user",
}
SPEED = "intvty"

Number = float | None
Summary = dict[str, float]
"""mean, std and percentiles by name."""
Size = int | None


_WORDS = {"mean": "Mean", "median": "Median", DEVIATION: "Standard deviation"}


class _Open(BaseModel):
    """Keys beside the ones named are what an imported row had."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())


class RowReason(BaseModel):
    """Why a point is not plainly valid."""

    model_config = ConfigDict(extra="forbid")

    code: str
    """Code of the rule."""
    value: Number
    """What was measured, in the unit of the rule; null where it is no number."""
    limit: Number
    """What is allowed, in the same unit; null where there is no limit."""
    text: str
    """The same in one sentence."""
    severity: Literal["invalid", "warning"]
    """Whether it makes the point invalid or is a warning."""


class Client(BaseModel):
    """The client's own part."""

    model_config = ConfigDict(extra="forbid")

    floor_s: Number
    """TTFT of a loopback server that answers at once, through the same client, in seconds."""
    lag_s: Number
    """p99 of the largest delay of the client's event loop in flight, in seconds."""
    clock: Literal["kernel", "read", "virtual"]
    """How chunks were stamped: by the kernel, when they were read, or on a simulation's virtual clock."""


class Own(BaseModel):
    """What these rows have no keys for."""

    model_config = ConfigDict(extra="forbid")

    version: str | None
    """Version of ixbench that made the run; null where nobody tells."""
    run: str
    """Id of the run."""
    point: str
    """Id of the point in its run."""
    origin: Origin
    """Whether ixbench ran it, or it was imported from another tool's file."""
    evidence: Evidence
    """Whether a server was measured or simulated."""
    verdict: Literal["valid", "valid_with_warnings", "invalid"]
    """Whether its numbers may be used."""
    verdict_reasons: list[RowReason]
    """Why it is not plainly valid."""
    price_book: str | None
    """Id of the price book of the run; null where no price is known."""
    client: Client | None
    """The client's own part in the times; null for an imported point."""
    window_rule: Literal["span"] | None
    """Rates are over the time from the first send to the last output; null for an imported point, whose tool had its own rule."""
    gpus_reserved: int | None
    """Number of GPUs reserved for the deployment."""
    token_source: str | None
    """Who counted the tokens; usage = the server."""
    model: str
    """Name of the model in print."""
    engine_version: str | None
    """Version of the engine; null where nobody tells."""
    workload: str
    """Name of the workload."""
    preset: str | None
    """Name and version of the workload's locked rules; null where it has none."""
    corpus: str | None
    """Hash of the corpus; null for synthetic prompts."""
    spec_method: str | None
    """Method of speculative decoding; null = none, "unknown" = nobody told, of which `spec_decoding` says "none"."""
    kv_offload: str
    """Mode of KV offload; "off" = none, "unknown" = nobody told, of which `kv_offloading` says "none"."""
    tensor_parallel: int | None
    """Number of GPUs that share each layer; null = nobody told, of which `tp` says all GPUs."""
    pipeline_parallel: int | None
    """Number of stages; null = nobody told, of which `pp` says 1."""
    expert_parallel: bool | None
    """Whether experts are spread over the GPUs; null = nobody told, of which `ep` says 1."""
    disaggregated: bool | None
    """Whether prefill and decode have GPUs of their own; null = nobody told, of which `disagg` says false."""
    multinode: bool | None
    """Whether it ran on more than one node; null = nobody told, of which `is_multinode` says false."""
    requests: int | None
    """Requests of the measured phase; null where the file of an imported point did not tell."""
    ok: int | None
    """Requests that succeeded; null as `requests`."""
    started: str | None
    """When the run began, in UTC; null where the file of an imported point did not tell."""


class Outcome(BaseModel):
    """Of a point that is not valid."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["failed"]
    """That it does not count."""
    requested: int
    """Requests of the measured phase."""
    completed: int
    """Requests that succeeded."""
    failed: int
    """Requests that failed."""
    max_failure_rate: float
    """Largest share of failed requests that is allowed."""


class _Row(_Open):
    """What every row has."""

    hw: str
    """SKU, or the runner's own name of it."""
    conc: int
    """Users at once."""
    image: str
    """The container image; empty where there is none or nobody tells."""
    model: str
    """The model as it was asked for: a name of a hub or a path."""
    infmax_model_prefix: str
    """Key of the model: its name without path and precision, in lower case."""
    framework: str
    """Name of the engine."""
    precision: str
    """Precision of the weights; empty where nobody tells."""
    spec_decoding: str
    """Method of speculative decoding; "none" where there is none or nobody told, which `ixbench` tells apart."""
    disagg: bool
    """Whether prefill and decode have GPUs of their own; false too where nobody told."""
    recipe_fingerprint: str
    """Fingerprint of the recipe that an imported row had; empty otherwise."""
    is_multinode: bool
    """Whether it ran on more than one node; false too where nobody told."""
    tp: Size = None
    """Tensor parallel size of a single pool."""
    pp: Size = None
    """Pipeline parallel size of a single pool."""
    ep: Size = None
    """Expert parallel size of a single pool."""
    dcp_size: Size = None
    """Decode context parallel size of a single pool."""
    pcp_size: Size = None
    """Prefill context parallel size of a single pool."""
    dp_attention: Literal["true", "false"] = "false"
    """Whether attention is data parallel, as a text."""
    num_prefill_gpu: Size = None
    """Number of GPUs of prefill, of a row with roles."""
    num_decode_gpu: Size = None
    """Number of GPUs of decode, of a row with roles; 0 where both share one pool."""
    power_valid: int = 0
    """1 where the figures of measured power may be used, 0 where not."""
    avg_power_w: Number = None
    """Mean power of one GPU, in watts."""
    total_gpu_energy_j: Number = None
    """Energy of all GPUs over the measured phase, in joules."""
    benchmark_outcome: Outcome | None = None
    """Only of a point that is not valid: that it failed, and its counts."""
    ixbench: Own
    """What these rows have no keys for."""


class _Fixed(_Row):
    """A point of a fixed-sequence workload: latencies in seconds, `intvty` in tok/s/user."""

    isl: int
    """Input tokens asked for, of each request."""
    osl: int
    """Output tokens asked for, of each request."""
    tput_per_gpu: float
    """All tokens per second and GPU."""
    output_tput_per_gpu: Number = None
    """Output tokens per second and GPU, of a disaggregated point over the GPUs of decode."""
    input_tput_per_gpu: Number = None
    """Input tokens per second and GPU, of a disaggregated point over the GPUs of prefill."""


_NUMBERS: dict[str, Any] = {
    f"{statistic}_{name}": (float, Field(default=0.0, description=f"{_WORDS.get(statistic, statistic)} of {words}."))
    for (name, words), statistic in product(QUANTITIES.items(), FLAT.values())
    if (statistic, name) != (DEVIATION, SPEED)
}
FixedRow: Any = create_model("FixedRow", __base__=_Fixed, __doc__=_Fixed.__doc__, **_NUMBERS)


class RequestMetrics(_Open):
    """Of an agentic point."""

    qps: dict[str, Any]
    """Requests a second: mean, and how many windows of how many seconds it is over."""
    latency: dict[str, Summary]
    """Times in seconds by name and statistic, and speeds (`intvty` and the like) in tok/s/user."""
    tokens: dict[str, Summary]
    """Input and output tokens of a request, counted and asked for, by statistic."""
    throughput: dict[str, Any]
    """Tokens per second of input, output and both, of the whole system and per GPU, and the time in seconds that they are over."""
    cache: dict[str, Any]
    """Share of input blocks that an unlimited cache would hit; empty where it is not known."""


class AgenticRow(_Row):
    """A point of an agentic workload."""

    scenario_type: str
    """Kind of the workload."""
    num_gpus: int
    """Number of GPUs."""
    kv_offloading: str
    """Where KV blocks go that the GPUs have no room for: "none", "dram", ...; "none" too where nobody told, which `ixbench` tells apart."""
    kv_offload_backend: dict[str, Any] | None
    """What moves them, {name, version}; null where nothing does, or nobody tells."""
    allocated_cpu_dram_gb: Number
    """Host memory for them, in GB; 0 where nobody tells."""
    num_requests_total: int | None
    """Requests, those of the warm-up included."""
    num_requests_successful: int | None
    """Requests of the measured phase that succeeded."""
    request_accounting: dict[str, Any] | None
    """Records by what became of them; null, as the counts, where the file of an imported point did not tell."""
    dataset: Any
    """Where the traces of an imported row came from; null otherwise."""
    request_metrics: RequestMetrics
    """What the requests of the measured phase say."""
    server_metrics: dict[str, Any]
    """What the engine's counters say."""
    kv_cache_pool_tokens: Number
    """Size of the KV cache in tokens, of an imported row; null otherwise."""
    warnings: list[Any]
    """What an imported row warned of; empty otherwise."""


Rows: Any = Annotated[list[AgenticRow | FixedRow], Field(description="A row a point.")]
"""What inferencex.json holds."""
