"""From an ATOM deployment to a launch plan: a pure function, so that a launch on eight GPUs is tested on a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.engine import (
    Capabilities,
    EngineAdapter,
    Fault,
    InputError,
    LaunchPlan,
    ProcessPlan,
    StreamQuirks,
    argv_of,
    assigned_gpus,
    attached_notes,
    flags_by_key,
    load_recipes,
)
from ixbench_atom import endpoints
from ixbench_atom.against_help import against_help
from ixbench_atom.builds import build_of
from ixbench_atom.environment import environment
from ixbench_atom.findings import findings
from ixbench_atom.flags import ALIASES, launch_flags
from ixbench_atom.identity import identity
from ixbench_atom.metrics import engine_metrics
from ixbench_atom.notes import notes
from ixbench_atom.options import AtomOptions
from ixbench_atom.readiness import PROGRESS, STOP_GRACE_S, readiness

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.api.engine import CacheReset, Deployment, Engine, EngineMetrics, Finding, RequestSpec

EXECUTABLE = "python"
MODULE = ("-m", "atom.entrypoints.openai_server")
MAX_TOKENS = 8192
"""ATOM's own limit for an answer where a request names none."""


class AtomAdapter(EngineAdapter[AtomOptions]):
    """ATOM's OpenAI server, `python -m atom.entrypoints.openai_server`."""

    name: ClassVar[str] = "atom"
    summary: ClassVar[str] = "AMD ATOM's OpenAI-compatible server"
    Options = AtomOptions
    quirks: ClassVar[StreamQuirks] = StreamQuirks(reasoning_fields=("reasoning_content",), finish_reason_reliable=False)

    def recipes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the recipes in this package's TOML files."""
        return load_recipes("ixbench_atom")

    def validate(self, deployment: Deployment[AtomOptions]) -> Iterable[Finding]:
        """Say what is surely wrong, and which settings are suspect."""
        return findings(deployment)

    def plan(self, deployment: Deployment[AtomOptions]) -> LaunchPlan:
        """Return the one process of the server, or none where a URL is given."""
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
            raise InputError(Fault(where=deployment.name, problem="ATOM needs a model to serve", advice="set [model] id or path"))
        env = environment(deployment)
        version = build_of(deployment.image if deployment.runtime != "process" else None, options.build).name
        what = identity(flags, launched=True, version=version)
        process = ProcessPlan(
            name="server",
            argv=(deployment.executable or EXECUTABLE, *MODULE, "--model", model, *argv_of(flags)),
            env=env,
            readiness=readiness(deployment, what),
            gpus=assigned_gpus(deployment),
        )
        return LaunchPlan(
            engine=self.name,
            processes=(process,),
            served_model=str(dict(flags).get("--served-model-name", model)),
            api_key_env=deployment.api_key_env,
            runtime=deployment.runtime,
            image=deployment.image,
            reads=local_paths(options),
            identity=what,
            ready_limit_s=options.ready_limit_s,
            stall_limit_s=options.stall_limit,
            progress=PROGRESS,
            profiler="--torch-profiler-dir" in flags_by_key(flags, ALIASES),
            stop_grace_s=STOP_GRACE_S,
            notes=notes(deployment, flags, env, what),
        )

    def help_command(self, deployment: Deployment[AtomOptions]) -> tuple[str, ...] | None:
        """Return what prints every flag of the ATOM that would be started."""
        return (deployment.executable or EXECUTABLE, *MODULE, "--help")

    def check_help(self, text: str, plan: LaunchPlan) -> Iterable[Finding]:
        """Say which flags of the server this build does not have, as they are spelled."""
        return against_help(text, plan)

    def request(self, spec: RequestSpec) -> dict[str, Any]:
        """Return the payload with every sampling value said: ATOM's own defaults are temperature 1, top_p 1 and 8192 tokens.

        :raises InputError: if the prompt is token ids: ATOM takes text only.
        """
        if isinstance(spec.prompt, list):
            raise InputError(Fault(where="prompt", problem="ATOM takes no token ids", advice="send text, or use the chat API"))
        return {"max_tokens": MAX_TOKENS, **super().request(spec), "top_p": 1.0}

    def capabilities(self, build: str | None = None) -> Capabilities:
        """Return what holds for all builds: /health is a constant, and only a restart empties the prefix cache."""
        del build
        return Capabilities(health_tells=False, cache_reset="restart", profiler=True)

    def metrics(self) -> EngineMetrics:
        """Return how to read /metrics."""
        return engine_metrics()

    async def reset_cache(self, engine: Engine) -> CacheReset:
        """Say that ATOM must be started again: it has no endpoint for this."""
        del engine
        return "needs_restart"

    async def acceptance(self, engine: Engine) -> float | None:
        """Return mean tokens a verify step since the start, from /debug/mtp_stats."""
        return await endpoints.acceptance(engine)

    async def profile(self, engine: Engine, *, on: bool) -> tuple[str, ...]:
        """Start or stop the profiler that `profiler` configured; return the folders of its traces."""
        return await endpoints.profile(engine, on=on)

    async def provenance(self, engine: Engine) -> Mapping[str, object]:
        """Return what /server_info, /v1/models and /kv_transfer_info say; none of them has a version."""
        return await endpoints.about(engine)


def local_paths(options: AtomOptions) -> tuple[str, ...]:
    """Return the files and folders that options name beside the model; a relative name may be one of a hub."""
    draft = options.speculative.draft if options.speculative is not None else None
    return tuple(path for path in (draft, options.chat_template) if path is not None and path.startswith("/"))
