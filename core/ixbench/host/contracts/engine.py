"""What an engine plugin subclasses: an `EngineAdapter` maps typed options to a pure launch plan. The host owns every process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from ixbench.model.deployment import OptionsT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import httpx
    from pydantic import BaseModel

    from ixbench.model.deployment import Deployment
    from ixbench.model.engine_metrics import CacheReset, EngineMetrics
    from ixbench.model.exchange import Channel
    from ixbench.model.launch import Finding, LaunchPlan
    from ixbench.model.prompt import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQuirks:
    """How an engine's streams differ from the common form; data that the wire reads, never ifs in the wire."""

    reasoning_fields: tuple[str, ...] = ("reasoning", "reasoning_content")
    """Delta fields that carry thinking."""
    sends_done: bool = True
    """Whether the stream ends with [DONE]; without it the orderly end of the body is the end mark."""
    finish_reason_reliable: bool = True
    """Whether "length" is said when the limit ended the answer."""
    chunk_is_token: bool = False
    """Whether each content chunk holds exactly one token by construction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a build of an engine can do, as far as ixbench acts on it."""

    health_tells: bool = True
    """Whether the health path notices a dead engine; where it does not, a canary completion is asked instead."""
    cache_reset: Literal["call", "restart", "none"] = "none"
    """How the prefix cache is emptied between points."""
    profiler: bool = False
    """Whether a running server can start and stop its own profiler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSpec:
    """One request before it is JSON."""

    model: str
    api: Literal["chat", "completions"]
    messages: tuple[Message, ...] = ()
    """For the chat API."""
    prompt: str | list[int] | None = None
    """For the completions API: text, or token ids where the engine takes them."""
    max_tokens: int | None = None
    exact_length: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A running server, as an adapter's async methods see it."""

    url: str
    """Base URL without /v1."""
    model: str
    """The served name that requests carry."""
    client: httpx.AsyncClient
    """For control requests only; its base URL and auth headers are set, its timeouts bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A model of an engine that stands in for a deployment where its hardware is not there."""

    channel: Callable[[], Channel]
    """Makes the channel to an engine that has just started, with empty caches; called on the virtual clock's loop, once a replica."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What the numbers rest on: the profile's name, which of them are facts, fitted or chosen."""
    notes: tuple[str, ...] = ()
    """What every reader of a simulated result must know, one sentence each."""


class EngineAdapter(ABC, Generic[OptionsT]):
    """One engine.

    Subclass it, set `name`, `summary` and `Options`, implement `plan`, and return an instance from `ixbench_engines`.
    Everything else has a sensible default.
    """

    name: ClassVar[str]
    """The `engine = "..."` of a deployment."""
    summary: ClassVar[str] = ""
    """One line for `ixbench plugins`."""
    Options: ClassVar[type[BaseModel]]
    """Typed options (a subclass of `OptionsModel`); its fields are the keys that a deployment may hold."""
    quirks: ClassVar[StreamQuirks] = StreamQuirks()

    def recipes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the recipes shipped with the adapter, by name: tables with `title`, `source`, `image`, options, `args`, `env` and `at`."""
        return {}

    def validate(self, deployment: Deployment[OptionsT]) -> Iterable[Finding]:
        """Say what is wrong or remarkable about a deployment before anything starts. Pure."""
        del deployment
        return ()

    @abstractmethod
    def plan(self, deployment: Deployment[OptionsT]) -> LaunchPlan:
        """Return how to start the engine. Pure: reads neither the machine nor the clock, and gives equal plans for equal deployments.

        :raises InputError: if the deployment cannot be launched as asked.
        """

    def help_command(self, deployment: Deployment[OptionsT]) -> tuple[str, ...] | None:
        """Return the command that prints every flag of the build that a deployment starts, or None where there is none. Pure.

        The host runs it once for each image or executable before the first start, within a limit and where the server would run.
        """
        del deployment
        return None

    def check_help(self, text: str, plan: LaunchPlan) -> Iterable[Finding]:
        """Say what the text that `help_command` printed tells of a plan: an error stops the launch before it loads anything. Pure."""
        del text, plan
        return ()

    def request(self, spec: RequestSpec) -> dict[str, Any]:
        """Return the JSON payload of a streaming request; override to add what the engine needs or to drop what it refuses."""
        payload: dict[str, Any] = {"model": spec.model}
        if spec.api == "chat":
            payload["messages"] = [{"role": message.role, "content": message.content} for message in spec.messages]
        else:
            payload["prompt"] = spec.prompt
        payload |= {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0}
        if spec.max_tokens is not None:
            payload["max_tokens"] = spec.max_tokens
        if spec.exact_length:
            payload["ignore_eos"] = True
        return payload

    def simulate(self, deployment: Deployment[Any]) -> Simulation | None:
        """Return what stands in for a deployment of any engine, or None where this adapter has no model of it. Pure.

        :raises InputError: if there is a model of the engine, but not for what the deployment sets.
        """
        del deployment
        return None

    def capabilities(self, build: str | None = None) -> Capabilities:
        """Return what a build can do; None = the build is not known. Pure."""
        del build
        return Capabilities()

    def metrics(self) -> EngineMetrics | None:
        """Return how to read the engine's Prometheus page, or None where it has none. Pure."""
        return None

    async def reset_cache(self, engine: Engine) -> CacheReset:
        """Empty the prefix cache between two points, and prove it. Called only while no request runs.

        Return "verified" only where the engine confirmed it and a probe found nothing cached.
        """
        del engine
        return "unsupported"

    async def acceptance(self, engine: Engine) -> float | None:
        """Return the mean acceptance length since the start as the engine itself reports it; None where its counters tell it."""
        del engine
        return None

    async def profile(self, engine: Engine, *, on: bool) -> tuple[str, ...]:
        """Start or stop the server's own profiler; return the traces that stopping tells of.

        :raises EngineError: if the server has none configured.
        """
        # Asked only where `capabilities` promises a profiler, and then this method must be overridden.
        raise NotImplementedError(
            f"engine {self.name} promises a profiler, but has no way to {'start' if on else 'stop'} it at {engine.url}"
        )

    async def provenance(self, engine: Engine) -> Mapping[str, object]:
        """Return what the running server says about itself; it may use `engine_version` as a key, which then enters the identity."""
        del engine
        return {}
