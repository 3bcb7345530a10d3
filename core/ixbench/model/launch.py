"""How a deployment is started, as data: an adapter's `plan()` returns it, a runtime carries it out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.deployment import EnvVar

KEEP_VARIABLE = "IXBENCH_KEEP_ENGINE"
"""Set for engines that `[run] keep_engine` may leave running: one that watches for the end of its parent must not then."""

Scalar = str | int | float | bool | None

UNTOLD = "unknown"
"""How a server was started where nobody told: neither that it does something, nor that it does not."""
LOOPBACK = "127.0.0.1"
"""Where every server that ixbench starts listens: nothing but this machine needs to reach it."""


_LOADING_FACTOR, _LOADING_RESERVE_S = 2.0, 1800.0


def loading_limit_s(weights: int, load_rate: int) -> float:
    """Return the hard limit for getting ready of an engine whose weights are read so fast: twice the reading time and half an hour.

    :param weights: bytes; `load_rate`: bytes a second.
    """
    return weights / load_rate * _LOADING_FACTOR + _LOADING_RESERVE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class SanityPrompt:
    """A prompt with a known answer, asked greedily before anything is measured: some builds give garbage without an error."""

    prompt: str
    expect: str
    """Regular expression that the answer, thinking included, must contain; case is ignored."""
    max_tokens: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStep:
    """A script that changes the engine's container or machine before the server starts, for instance a patch of its kernels."""

    script: str
    """Path of a file."""
    sha256: str
    """What the file must hash to; another hash stops the launch."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """When a process counts as ready."""

    port: str = "http"
    """Name of the port that must answer."""
    health_path: str = "/health"
    """Path that must answer 200."""
    completion: bool = True
    """Whether a one-token completion must succeed too."""
    sanity: tuple[SanityPrompt, ...] = ()
    """Asked after the completion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """One process: the server itself or a sidecar.

    `argv` and `env` values may hold placeholders: `{port:NAME}` (a free port, one a name and launch), `{folder}` (the launch's own folder),
    `{python}` (the interpreter that runs ixbench, for engines that are Python packages beside it).
    """

    name: str
    argv: tuple[str, ...]
    """The engine's own command; flag and value are separate items."""
    env: Mapping[str, EnvVar] = field(default_factory=dict)
    readiness: Readiness = field(default_factory=Readiness)
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that it may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a launch is, for curves and tables; an adapter fills in what it knows. Of a server that already runs it knows no defaults."""

    engine_version: str | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: bool | None = None
    spec_method: str | None = None
    """Speculative decoding method; None = off where ixbench starts the server, `UNTOLD` where it does not."""
    kv_offload: str | None = None
    """KV offload mode, or "off"; None = as of `spec_method`; a curve key."""
    acceptance_length: float | None = None
    """Synthetic acceptance that the launch asks for: mean tokens a step, the target's own included; None = real acceptance."""
    precision: str | None = None
    """Where the engine changes what `[model]` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """Everything that starts one engine. Pure: the same deployment gives the same plan, and equal plans share one launch."""

    engine: str
    processes: tuple[ProcessPlan, ...]
    """In starting order; the last one is the server. Empty where `url` is given."""
    served_model: str | None
    """The name that requests must carry; None = ask /v1/models."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Text files by plain name, written into the launch's own folder before the first process starts; placeholders are filled in as in
    arguments, which refer to a file as `{folder}/NAME`. No secrets: they stay on disk."""
    url: str | None = None
    """Base URL of a server that is already running, without /v1."""
    api: Literal["chat", "completions"] = "chat"
    """Which endpoint the workload uses."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Extra request headers; values are secrets until shown otherwise."""
    api_key_env: str | None = None
    ca_file: str | None = None
    """A PEM file of certificates to trust instead of the system's, for https URLs."""
    runtime: str = "process"
    runtime_options: Any = None
    """The runtime's own keys of `[runtime]`, an instance of its `Options`; ixbench fills it in."""
    image: str | None = None
    reads: tuple[str, ...] = ()
    """Files and folders of this machine that the engine reads; a container gets them, read-only, at the same place. `[model] path` is added
    by ixbench."""
    identity: Identity = field(default_factory=Identity)
    ready_limit_s: float = 600.0
    """Hard limit for getting ready."""
    stall_limit_s: float | None = None
    """Soft limit: so long without a progress line in the log means that it will not get ready; None = only the hard limit counts."""
    progress: tuple[str, ...] = ()
    """Regular expressions of log lines that show progress (weights loading, graphs captured, kernels built) and renew the soft limit."""
    prepare: tuple[PrepareStep, ...] = ()
    """Run in order before the server, where the server runs; one that fails stops the launch."""
    profiler: bool | None = None
    """Whether the server is started with a profiler that can be switched on; None = the adapter does not say."""
    stop_grace_s: float = 10.0
    """Time between TERM and KILL."""
    notes: tuple[str, ...] = ()
    """Deviations from a recipe and other things that the reader of a result must know."""
    amended_by: tuple[str, ...] = ()
    """Plugins that changed the plan through `ixbench_amend_launch`, in order."""

    @property
    def server(self) -> ProcessPlan | None:
        """The process that serves requests, or None for a server that is already running."""
        return self.processes[-1] if self.processes else None

    @property
    def told(self) -> Identity:
        """The identity without gaps: what the adapter does not say is off where ixbench starts the server, else `UNTOLD`."""
        started, said = bool(self.processes), self.identity
        return replace(
            said,
            spec_method=said.spec_method or (None if started else UNTOLD),
            kv_offload=said.kv_offload or ("off" if started else UNTOLD),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an adapter's `validate` has to say about a deployment before anything is launched."""

    level: Literal["error", "warning", "note"]
    code: str
    text: str
    """One sentence: what was found and what to do."""
