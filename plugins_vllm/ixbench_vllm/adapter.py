"""From a vLLM deployment to a launch plan: a pure function, so that a launch on eight GPUs is tested on a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.engine import (
    LOOPBACK,
    EngineAdapter,
    EnvVar,
    Fault,
    InputError,
    LaunchPlan,
    ProcessPlan,
    argv_of,
    assigned_gpus,
    flags_of,
    load_recipes,
    replace_flags,
    visibility_env,
)
from ixbench_vllm.findings import findings
from ixbench_vllm.flags import ALIASES, NAMING, TABLE
from ixbench_vllm.identity import identity
from ixbench_vllm.notes import notes
from ixbench_vllm.options import VllmOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.api.engine import ArgValue, Deployment, Finding

ORIGIN = "adapter vllm"


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
        """Return the one process `vllm serve MODEL ...`, or none where a URL is given."""
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
            raise InputError(Fault(where=deployment.name, problem="vLLM needs a model to serve", advice="set [model] id or path"))
        process = ProcessPlan(
            name="server",
            argv=(deployment.executable or "vllm", "serve", model, *argv_of(flags)),
            env=environment(deployment),
            gpus=assigned_gpus(deployment),
        )
        return LaunchPlan(
            engine=self.name,
            processes=(process,),
            served_model=served_model(flags, default=model),
            api_key_env=deployment.api_key_env,
            runtime=deployment.runtime,
            image=deployment.image,
            identity=identity(flags, launched=True),
            ready_limit_s=options.ready_limit,
            notes=notes(deployment, flags),
        )


def launch_flags(deployment: Deployment[VllmOptions]) -> list[tuple[str, ArgValue]]:
    """Return all flags: typed options, host and port, and the verbatim args put in."""
    typed = [
        *flags_of(NAMING, deployment.options),
        ("--host", LOOPBACK),
        ("--port", "{port:http}"),
        *revision_flags(deployment),
        *flags_of(TABLE, deployment.options),
    ]
    return replace_flags(typed, deployment.args, ALIASES)


def revision_flags(deployment: Deployment[VllmOptions]) -> list[tuple[str, ArgValue]]:
    """Return the flag that pins a hub model; a local folder is what it is."""
    model = deployment.model
    return [("--revision", model.revision)] if model.revision and not model.path else []


def served_model(flags: list[tuple[str, ArgValue]], *, default: str) -> str:
    """Return the name that requests must carry; vLLM answers to the first of several."""
    value = dict(flags).get("--served-model-name", default)
    first = value[0] if isinstance(value, list) and value else value
    return str(first)


def environment(deployment: Deployment[VllmOptions]) -> dict[str, EnvVar]:
    """Return the variables that the options need, and the deployment's own over them."""
    variables = visibility_env(deployment.gpu_indices, sku=deployment.hardware.sku, origin=ORIGIN)
    offload = deployment.options.kv_offload
    if offload is not None and offload.backend == "simple":
        reason = "all ranks must hash cache blocks alike"
        variables["PYTHONHASHSEED"] = EnvVar(value="0", reason=reason, origin=ORIGIN)
    return {**variables, **deployment.env}
