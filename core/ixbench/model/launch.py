"""How a deployment is started, as data: an adapter's `plan()` returns it, a runtime carries it out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.deployment import EnvVar

KEEP_VARIABLE = "IXBENCH_KEEP_ENGINE"
"""Set for engines that `[run] keep_engine` may leave running: one that watches for the end of its parent must not then."""

Scalar = str | int | float | bool | None

LOOPBACK = "127.0.0.1"
"""Where every server that ixbench starts listens: nothing but this machine needs to reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """When a process counts as ready."""

    port: str = "http"
    """Name of the port that must answer."""
    health_path: str = "/health"
    """Path that must answer 200."""
    completion: bool = True
    """Whether a one-token completion must succeed too."""


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
    """What a launch is, for curves and tables; an adapter fills in what it knows."""

    engine_version: str | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: bool | None = None
    spec_method: str | None = None
    """Speculative decoding method; None = off."""
    kv_offload: str = "off"
    """KV offload mode; a curve key."""
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
    url: str | None = None
    """Base URL of a server that is already running, without /v1."""
    api: Literal["chat", "completions"] = "chat"
    """Which endpoint the workload uses."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Extra request headers; values are secrets until shown otherwise."""
    api_key_env: str | None = None
    ca_file: str | None = None
    """A PEM file of certificates to trust, for https URLs."""
    runtime: str = "process"
    image: str | None = None
    identity: Identity = field(default_factory=Identity)
    ready_limit_s: float = 600.0
    """Hard limit for getting ready."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an adapter's `validate` has to say about a deployment before anything is launched."""

    level: Literal["error", "warning", "note"]
    code: str
    text: str
    """One sentence: what was found and what to do."""
