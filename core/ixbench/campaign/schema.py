"""The tables of benchmarks.toml with their keys, types and defaults: `check`, `schema` and docs/campaign.md all read them here.

The keys of engines and workloads are not here: their `Options` add them to [[deployment]], [defaults] and [workload].
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from ixbench.campaign.address import check_url
from ixbench.campaign.validate import ValueProblemError, field_names, shown
from ixbench.host.contracts.options import Duration, OptionsModel
from ixbench.model.accuracy import Match
from ixbench.model.run import Interpolation, RangePolicy, SelectionPolicy

AxisPercentile = Literal["p50", "median", "p75", "p90", "p95", "p99", "mean"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def _list_of(value: object, *, whole: bool, allowed: str) -> list[Any]:
    values = value if isinstance(value, list) else [value]
    wrong = [
        item
        for item in values
        if isinstance(item, bool) or not isinstance(item, int if whole else int | float) or not 0 < item < float("inf")
    ]
    if wrong or not values:
        raise ValueProblemError(f"found {shown(wrong[0] if wrong and isinstance(value, list) else value)}", allowed=allowed)
    seen: set[Any] = set()
    for item in values:
        if item in seen:
            raise ValueProblemError(f"found {shown(item)} twice", allowed="each value once")
        seen.add(item)
    return values


MOST_CONCURRENT = 1_000_000
MOST_REPEATS = 100
MOST_GPUS = 1_000_000


def _check_concurrency(value: object) -> list[int]:
    found = _list_of(value, whole=True, allowed="whole numbers of 1 or more, such as [1, 2, 4]")
    beyond = [number for number in found if number > MOST_CONCURRENT]
    if beyond:
        raise ValueProblemError(f"found {shown(beyond[0])}", allowed=f"whole numbers from 1 to {MOST_CONCURRENT:,}, such as [1, 2, 4]")
    return found


def _check_rate(value: object) -> list[float]:
    return [
        float(rate) for rate in _list_of(value, whole=False, allowed="finite numbers above 0, in sessions a second, such as [0.5, 1.0]")
    ]


def _check_rungs(value: object) -> list[float]:
    if not isinstance(value, list):
        raise ValueProblemError(f"found {shown(value)}", allowed="a list of speeds in tok/s/user, such as [30, 50, 100]")
    rungs = _list_of(value, whole=False, allowed="speeds in tok/s/user: finite numbers above 0")
    return sorted(float(rung) for rung in rungs)


def _check_gpus(value: object) -> list[int]:
    if not isinstance(value, list) or not value:
        raise ValueProblemError(f"found {shown(value)}", allowed="a list of GPU indices, such as [0, 1, 2, 3]")
    wrong = [item for item in value if isinstance(item, bool) or not isinstance(item, int) or item < 0]
    if wrong:
        raise ValueProblemError(f"found {shown(wrong[0])}", allowed="GPU indices: whole numbers of 0 or more")
    if len(set(value)) < len(value):
        raise ValueProblemError(f"found {shown(value)}", allowed="each GPU once")
    return value


def check_variable_name(value: str) -> str:
    """Return the name of an environment variable, or raise `ValueProblemError`."""
    if not _VARIABLE.fullmatch(value):
        raise ValueProblemError(f"{value!r} is no name of an environment variable", allowed="letters, digits and '_', no digit first")
    return value


def _check_url(value: str) -> str:
    check_url(value)
    return value


def _check_sha256(value: str) -> str:
    if not _SHA256.fullmatch(value):
        raise ValueProblemError(f"found {shown(value)}", allowed="64 hexadecimal digits", advice="take what `sha256sum FILE` prints")
    return value.lower()


def _check_scope(value: object) -> object:
    if value in ("all", "community") or (isinstance(value, list) and value and all(isinstance(item, str) for item in value)):
        return value
    advice = f'write ["{value}"] for one engine' if isinstance(value, str) else ""
    raise ValueProblemError(f"found {shown(value)}", allowed="'all', 'community' or a list of engines", advice=advice)


def _check_share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        advice = ""
        if isinstance(value, int | float) and 1 < value <= 100:  # noqa: PLR2004 - as percentages go
            advice = f"write {value / 100:g} for {value:g} %"
        raise ValueProblemError(f"found {shown(value)}", allowed="a share above 0 and up to 1, such as 0.9", advice=advice)
    return float(value)


def _check_slug(value: str) -> str:
    if not re.search(r"[A-Za-z0-9]", value):
        raise ValueProblemError(f"found {shown(value)}", allowed="a name with a letter or a digit in it: point ids are made of it")
    return value


Concurrencies = Annotated[list[int], BeforeValidator(_check_concurrency, json_schema_input_type=int | list[int])]
Rates = Annotated[list[float], BeforeValidator(_check_rate, json_schema_input_type=float | list[float])]
Rungs = Annotated[list[float], BeforeValidator(_check_rungs, json_schema_input_type=list[float])]
GpuIndices = Annotated[list[int], BeforeValidator(_check_gpus, json_schema_input_type=list[int])]
VariableName = Annotated[str, AfterValidator(check_variable_name)]
Url = Annotated[str, AfterValidator(_check_url)]
Scope = Annotated[str | list[str], BeforeValidator(_check_scope, json_schema_input_type=Literal["all", "community"] | list[str])]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Limit = Annotated[Duration, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]


class ModelTable(OptionsModel):
    """`[model]`: what is served."""

    id: Text | None = None
    """Hub name, or the name that the server answers to.

    May be left out where a server is already running or the engine has a model of its own: then the server is asked.
    """
    label: Text | None = None
    """The name in print."""
    precision: Text | None = None
    """Precision of the weights, for instance "fp4", which "mxfp4" and "nvfp4" mean too."""
    path: Text | None = None
    """Folder or file of the weights on this machine, relative to the campaign file; it is served instead of the hub's."""
    revision: Text | None = None
    """Pinned revision of the weights on the hub."""
    tokenizer: Text | None = None
    """A tokenizer.json, relative to the campaign file; with the extra `tokenizers`, prompts are built with it."""


class HardwareTable(OptionsModel):
    """`[hardware]`: what it runs on."""

    sku: Text | None = None
    """Key in the hardware book, for instance "mi355x"; it names the prices too."""
    gpus: Annotated[int, Field(ge=1, le=MOST_GPUS)] | None = None
    """GPUs reserved for a deployment. Without it all per-GPU figures are null."""
    absent: Literal["fail", "simulate"] = "fail"
    """What a run does where this machine has none of it."""


class WorkloadTable(OptionsModel):
    """`[workload]`: what is asked of the engines. The other keys are the workload's own."""

    model_config = ConfigDict(extra="allow")

    use: Text
    """Name of the workload (`ixbench plugins`)."""


class PrepareTable(OptionsModel):
    """One entry of `prepare`: a script that changes the engine's container or machine before the server starts."""

    script: Text
    """Path of the script, relative to the campaign file; run by `sh` unless it is executable."""
    sha256: Annotated[str, AfterValidator(_check_sha256)]
    """What it must hash to (`sha256sum`): a script that was changed stops the launch."""
    reason: Text
    """Why; every result says so."""


class SharedKeys(OptionsModel):
    """Keys that recipes, `[defaults]`, `[[deployment]]` and `[deployment.at.N]` may hold beside the engine's own."""

    model_config = ConfigDict(extra="allow")

    args: dict[str, Any] = Field(default_factory=dict)
    """Engine flags, verbatim: `--flag = value`; true is the bare flag, false leaves it out, a table becomes JSON."""
    env: dict[str, Any] = Field(default_factory=dict)
    """Environment variables: `NAME = value` or `NAME = { value = ..., reason = "..." }`."""
    executable: Text | None = None
    """Command or path of the engine, in place of the adapter's; a path is relative to the campaign file."""
    image: Text | None = None
    """Container image, for runtimes that use one."""
    gpus: GpuIndices | None = None
    """GPUs of this machine to use, by index; their number takes the place of `hardware.gpus`."""
    prepare: list[PrepareTable] = Field(default_factory=list)
    """Scripts to run before the server, in order, where it runs: `{ script = "fix.sh", sha256 = "...", reason = "..." }`."""


class DefaultsTable(SharedKeys):
    """`[defaults]`: settings for every deployment that does not say otherwise, the engines' own keys among them."""

    recipe: Text | None = None
    """Name of a recipe that the adapter ships: image, options, args and env to start from."""
    concurrency: Concurrencies | None = None
    """Users at once (closed loop): a number or a list, one point each."""
    rate: Rates | None = None
    """Sessions a second (open loop): a number or a list, one point each."""
    api_key_env: VariableName | None = None
    """Name of the variable that holds the server's API key."""


class DeploymentTable(DefaultsTable):
    """`[[deployment]]`: one engine with its settings, at one or more loads. The other keys are the engine's own."""

    name: Annotated[str, AfterValidator(_check_slug)] | None = None
    """Unique; the first part of its points' ids."""
    engine: Text
    """Name of the engine's adapter (`ixbench plugins`)."""
    url: Url | None = None
    """A server that is already running; nothing is launched.

    `http://HOST:PORT`, `https://HOST` or, for a Unix socket, `http+unix:///PATH`. HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY of the
    environment are heeded.
    """
    at: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """`[deployment.at.N]`: settings for concurrency N only."""
    matrix: dict[str, Any] = Field(default_factory=dict)
    """`[deployment.matrix]`: lists of settings to sweep, each combination a point at each load."""


class ReportTable(OptionsModel):
    """`[report]`: how the points are read."""

    rungs: Rungs = Field(default_factory=lambda: [30.0, 50.0, 75.0, 100.0, 150.0, 200.0])
    """Target speeds in tok/s/user."""
    primary: Positive | None = None
    """The rung of the headline and of the cost table; one of the rungs."""
    axis: AxisPercentile | None = None
    """Percentile of the time per output token whose reciprocal is the speed."""
    interpolation: Interpolation = "steffen"
    """How a rung between two points is read."""
    range: RangePolicy = "in_range"
    """Whether a rung slower than the slowest point of the frontier is left open or met by that point."""
    policy: SelectionPolicy = "max_throughput"
    """Which curve answers for a rung."""
    scope: Scope = "all"
    """Engines whose curves compete: "all", "community" or a list of engines."""
    use: list[Text] = Field(default_factory=lambda: ["console", "ladder", "cost", "table"])
    """Reporters to run (`ixbench plugins`)."""


class GoodputTable(OptionsModel):
    """`[goodput]`: what a user calls good, per request. A request is good that succeeds and meets every limit given here."""

    ttft: Limit | None = None
    """Time to first token, in seconds or as a text: "2s"."""
    ttfa: Limit | None = None
    """Time to first answer token, in seconds or as a text: thinking does not count."""
    tpot: Limit | None = None
    """Time per output token, in seconds or as a text, "40ms"; an answer of one token meets it."""
    e2el: Limit | None = None
    """End-to-end latency, in seconds or as a text."""
    stall: Limit | None = None
    """The longest gap between two chunks of an answer, in seconds or as a text."""
    ttft_sched: Limit | None = None
    """Time to first token from the moment when the request was due, in seconds or as a text."""
    e2el_sched: Limit | None = None
    """End-to-end latency from the moment when the request was due, in seconds or as a text."""


class PricesTable(OptionsModel):
    """`[prices]`: what a GPU-hour costs. Either key, not both."""

    book: Text | None = None
    """Id of a dated price book, for instance "2026-09"."""
    tiers: dict[str, Positive] | None = None
    """Prices of your own: `"label" = USD per GPU-hour`; the first is the ladder's."""


class RunTable(OptionsModel):
    """`[run]`: how a run behaves."""

    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = 1
    """How often each point is measured, in whole passes over the plan, each with another seed of the workload. From 2 on, rungs have an
    interval, and say where two curves cannot be told apart."""
    retries: Annotated[int, Field(ge=0, le=10)] = 0
    """How often a point whose engine failed is tried again, with a fresh engine."""
    keep_engine: bool = False
    """Whether the last engine stays up when the run has ended."""
    stall_limit: Annotated[Duration, Field(ge=5)] | None = None
    """How long, in seconds or as a text, an engine that has requests may send no byte and show no sign of life before it is given up.
    Without it 12 s; where the engine's counters do not move with every step, up to 60 s with prompts under way, by how long earlier ones
    took. Raise it where one step may take longer, as a large model's on a CPU does."""


class SimulationTable(OptionsModel):
    """`[simulation]`: how points are simulated where the hardware is absent."""

    replicas: Annotated[int, Field(ge=1, le=1000)] = 16
    """Replicas of each point, every one with another draw of the workload; the point is their geometric mean."""


class RuntimeTable(OptionsModel):
    """`[runtime]`: where engines run. The other keys are the runtime's own."""

    model_config = ConfigDict(extra="allow")

    use: Text = "process"
    """Name of the runtime (`ixbench plugins`)."""


class AccuracyTable(OptionsModel):
    """`[accuracy]`: questions with known answers that each launch must answer before its points count."""

    questions: Path
    """File of JSON Lines, relative to the campaign file: on each line an object with `question` or `messages`, and `answer`."""
    at_least: Annotated[float, BeforeValidator(_check_share)]
    """Share of right answers that is wanted, above 0 and up to 1; a question without an answer counts as wrong."""
    match: Match = "last_number"
    """How an answer is judged: its last number equals that of `answer`, or it is `answer` ("exact"), or `answer` stands in it ("contains").
    Blanks around them do not count, nor does thinking."""
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1024
    """Limit of an answer in tokens, thinking included."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    """Number of questions in flight."""
    time_limit: Limit = 1800.0
    """How long all questions together may take, in seconds or as a text, "30m"; those that have no answer then count as wrong."""


class CampaignTable(OptionsModel):
    """The whole file."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    """Version of this format."""
    title: Text | None = None
    """Title of the reports, and the last part of the run folder's name."""
    model: ModelTable = ModelTable()
    """What is served."""
    hardware: HardwareTable = HardwareTable()
    """What it is served on."""
    workload: WorkloadTable
    """What is sent to it."""
    defaults: DefaultsTable = DefaultsTable()
    """Settings of every deployment whose engine has them."""
    deployment: list[DeploymentTable]
    """The engines, each with its settings and loads; at least one."""
    report: ReportTable = ReportTable()
    """How results are read."""
    goodput: GoodputTable = GoodputTable()
    """What a user calls good, by request."""
    prices: PricesTable = PricesTable()
    """What a GPU-hour costs."""
    accuracy: AccuracyTable | None = None
    """Questions with known answers that each launch must answer before its points count."""
    run: RunTable = RunTable()
    """How a run behaves: repeats, retries, and how long an engine may stand still."""
    runtime: RuntimeTable = RuntimeTable()
    """Where engines run."""
    simulation: SimulationTable = SimulationTable()
    """How points are simulated where the hardware is absent."""
    collectors: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """`[collectors.<name>]`: the keys of a collector that has some (`ixbench plugins` lists the collectors)."""
    limits: dict[str, NotNegative] = Field(default_factory=dict)
    """`<verdict code> = number`: another limit for a verdict rule (`ixbench plugins` lists the checks)."""


SHARED = frozenset(field_names(SharedKeys))
"""Keys that every layer of settings may hold."""
SETTINGS = SHARED | {"api_key_env"}
"""Keys of a deployment that are no options of its engine and yet settings, not loads or names."""
IN_DEFAULTS = frozenset(field_names(DefaultsTable))
IN_DEPLOYMENT = frozenset(field_names(DeploymentTable))
