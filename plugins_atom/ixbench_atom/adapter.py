"""From an ATOM deployment to a launch plan: a pure function, so that a launch on eight GPUs is tested on a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.engine import (
    LOOPBACK,
    EngineAdapter,
    Fault,
    InputError,
    LaunchPlan,
    ProcessPlan,
    StreamQuirks,
    argv_of,
    assigned_gpus,
    flags_of,
    load_recipes,
    replace_flags,
)
from ixbench_atom.environment import environment
from ixbench_atom.findings import findings
from ixbench_atom.flags import ALIASES, TABLE
from ixbench_atom.identity import identity
from ixbench_atom.notes import notes
from ixbench_atom.options import AtomOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.api.engine import ArgValue, Deployment, Finding, RequestSpec


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
                identity=identity(flags, launched=False),
                notes=("the server was already running: how it was started is taken from the file on trust",),
            )
        model = deployment.model.path or deployment.model.id
        if not model:
            raise InputError(Fault(where=deployment.name, problem="ATOM needs a model to serve", advice="set [model] id or path"))
        process = ProcessPlan(
            name="server",
            argv=(deployment.executable or "python", "-m", "atom.entrypoints.openai_server", "--model", model, *argv_of(flags)),
            env=environment(deployment),
            gpus=assigned_gpus(deployment),
        )
        return LaunchPlan(
            engine=self.name,
            processes=(process,),
            served_model=str(dict(flags).get("--served-model-name", model)),
            api_key_env=deployment.api_key_env,
            runtime=deployment.runtime,
            image=deployment.image,
            identity=identity(flags, launched=True),
            ready_limit_s=options.ready_limit,
            notes=notes(deployment, flags),
        )

    def request(self, spec: RequestSpec) -> dict[str, Any]:
        """Return the payload with every sampling value said: ATOM's own defaults are temperature 1 and top_p 1."""
        return super().request(spec) | {"top_p": 1.0}


def launch_flags(deployment: Deployment[AtomOptions]) -> list[tuple[str, ArgValue]]:
    """Return all flags after the model: host and port, typed options, and the verbatim args put in."""
    typed = [("--host", LOOPBACK), ("--server-port", "{port:http}"), *flags_of(TABLE, deployment.options)]
    return replace_flags(typed, deployment.args, ALIASES)
