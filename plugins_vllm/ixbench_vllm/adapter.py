"""From a vLLM deployment to a launch plan: a pure function, so that a launch on eight GPUs is tested on a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.engine import (
    Capabilities,
    EngineAdapter,
    Fault,
    InputError,
    LaunchPlan,
    ProcessPlan,
    Readiness,
    argv_of,
    assigned_gpus,
    attached_notes,
    flags_by_key,
    load_recipes,
)
from ixbench_vllm import profiler, provenance, reset
from ixbench_vllm.environment import environment
from ixbench_vllm.findings import findings
from ixbench_vllm.flags import launch_flags
from ixbench_vllm.help_text import HELP_COMMAND, unknown_flags
from ixbench_vllm.identity import identity
from ixbench_vllm.metrics import METRICS
from ixbench_vllm.notes import notes
from ixbench_vllm.options import VllmOptions
from ixbench_vllm.sanity import prompts
from ixbench_vllm.sidecars import files, sidecars

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.api.engine import ArgValue, CacheReset, Deployment, Engine, EngineMetrics, Finding

EXECUTABLE = "vllm"
PROGRESS = (
    r"Loading (safetensors|pt|weights|model)",
    r"Capturing",
    r"Graph capturing finished",
    r"\[aiter\] (start|finish)",
    r"(Compiling|Directly load|torch\.compile|JIT compilation|[Aa]utotuning)",
    r"GPU KV cache size",
    r"Memory budget:",
)
"""Log lines that show that a start goes on, however long it takes, or that a step takes long because a kernel is built for it."""


class VllmAdapter(EngineAdapter[VllmOptions]):
    """vLLM's OpenAI server, `vllm serve`."""

    name: ClassVar[str] = "vllm"
    summary: ClassVar[str] = "vLLM's OpenAI-compatible server"
    Options = VllmOptions

    def recipes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the recipes in this package's TOML files."""
        return load_recipes("ixbench_vllm")

    def validate(self, deployment: Deployment[VllmOptions]) -> Iterable[Finding]:
        """Say what is surely wrong, and which settings are suspect."""
        return findings(deployment)

    def plan(self, deployment: Deployment[VllmOptions]) -> LaunchPlan:
        """Return `vllm serve MODEL ...`, sidecars before it; or no process where a URL is given."""
        options = deployment.options
        flags = launch_flags(deployment)
        if deployment.url is not None:
            return LaunchPlan(
                engine=self.name,
                processes=(),
                served_model=options.served_name or deployment.model.id or None,
                url=deployment.url,
                api_key_env=deployment.api_key_env,
                identity=identity(flags, launched=False, told_off=options.kv_offload is not None and options.kv_offload.backend == "off"),
                notes=attached_notes(deployment, options.sanity),
            )
        model = deployment.model.path or deployment.model.id
        if not model:
            raise InputError(Fault(where=deployment.name, problem="vLLM needs a model to serve", advice="set [model] id or path"))
        env = environment(deployment, host=dict(flags).get("--host"))
        what = identity(flags, launched=True)
        server = ProcessPlan(
            name="server",
            argv=(deployment.executable or EXECUTABLE, "serve", model, *argv_of(flags)),
            env=env,
            readiness=Readiness(sanity=prompts(deployment, what)),
            gpus=assigned_gpus(deployment),
        )
        return LaunchPlan(
            engine=self.name,
            processes=(*sidecars(deployment, env), server),
            served_model=served_model(flags, default=model),
            files=files(deployment),
            reads=read_here(deployment),
            api_key_env=deployment.api_key_env,
            runtime=deployment.runtime,
            image=deployment.image,
            identity=what,
            ready_limit_s=options.ready_limit_s,
            stall_limit_s=options.stall_limit,
            progress=PROGRESS,
            profiler="--profiler-config" in flags_by_key((flag.partition(".")[0], value) for flag, value in flags),
            notes=notes(deployment, flags, env, what),
        )

    def help_command(self, deployment: Deployment[VllmOptions]) -> tuple[str, ...] | None:
        """Return what prints every flag of the vLLM that would be started."""
        return (deployment.executable or EXECUTABLE, *HELP_COMMAND)

    def check_help(self, text: str, plan: LaunchPlan) -> Iterable[Finding]:
        """Say which flags of the server this build does not have."""
        return unknown_flags(text, plan)

    def capabilities(self, build: str | None = None) -> Capabilities:
        """Return what holds for all builds; where a server refuses to empty its cache, `reset_cache` says so."""
        del build
        return Capabilities(health_tells=True, cache_reset="call", profiler=True)

    def metrics(self) -> EngineMetrics:
        """Return how to read /metrics."""
        return METRICS

    async def reset_cache(self, engine: Engine) -> CacheReset:
        """Empty the prefix cache, an external store included, and prove it with a prompt that was cached before."""
        return await reset.reset_cache(engine)

    async def profile(self, engine: Engine, *, on: bool) -> tuple[str, ...]:
        """Start or stop the torch profiler that the option `profiler` loads; its traces lie in the launch's folder, in `profile`."""
        return await profiler.profile(engine, on=on)

    async def provenance(self, engine: Engine) -> Mapping[str, object]:
        """Return version, limits, cache and, in dev mode, the configuration that the server runs with."""
        return await provenance.provenance(engine)


def read_here(deployment: Deployment[VllmOptions]) -> tuple[str, ...]:
    """Return files and folders, beside the model's, that the server reads: those given by absolute paths."""
    spec = deployment.options.speculative
    given = (deployment.options.chat_template, spec.draft if spec is not None else None)
    return tuple(path for path in given if path is not None and path.startswith("/"))


def served_model(flags: list[tuple[str, ArgValue]], *, default: str) -> str:
    """Return the name that requests must carry; vLLM answers to the first of several."""
    value = dict(flags).get("--served-model-name", default)
    first = value[0] if isinstance(value, list) and value else value
    return str(first)
