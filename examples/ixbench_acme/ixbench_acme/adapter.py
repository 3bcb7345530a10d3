"""From a deployment of Acme's engine to a launch plan: a pure function, which ixbench's host carries out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from ixbench.api.engine import (
    LOOPBACK,
    Capabilities,
    EngineAdapter,
    Finding,
    Identity,
    LaunchPlan,
    ProcessPlan,
    Readiness,
    launch_notes,
    load_recipes,
)
from ixbench_acme.metrics import METRICS
from ixbench_acme.options import AcmeOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ixbench.api.engine import Deployment, Engine, EngineMetrics


class AcmeAdapter(EngineAdapter[AcmeOptions]):
    """Acme's server, which invents words."""

    name: ClassVar[str] = "acme"
    summary: ClassVar[str] = "Acme's server, which invents words at a fixed pace on any machine"
    Options = AcmeOptions

    def recipes(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the recipes in this package's TOML files."""
        return load_recipes("ixbench_acme")

    def validate(self, deployment: Deployment[AcmeOptions]) -> Iterable[Finding]:
        """Say what the server would refuse, and which loads wait for a slot."""
        if deployment.args:
            text = f"the server knows no further flags, found {', '.join(deployment.args)}; take them out of args"
            yield Finding(level="error", code="unknown_flag", text=text)
        slots = deployment.options.slots
        if deployment.concurrency is not None and deployment.concurrency > slots:
            text = f"concurrency {deployment.concurrency} is more than slots = {slots}: requests will wait; raise slots"
            yield Finding(level="warning", code="more_users_than_slots", text=text)

    def plan(self, deployment: Deployment[AcmeOptions]) -> LaunchPlan:
        """Return one process, or none where the server runs already."""
        model, options = deployment.model.id or None, deployment.options
        if deployment.url is not None:
            return LaunchPlan(engine=self.name, processes=(), served_model=model, url=deployment.url, api_key_env=deployment.api_key_env)
        command = (deployment.executable,) if deployment.executable else (sys.executable, "-m", "ixbench_acme.server")
        flags = ["--port", "{port:http}", "--name", model or "acme", "--tokens-per-s", f"{options.tokens_per_s:g}"]
        flags += ["--first-token-ms", f"{options.first_token_ms:g}", "--slots", str(options.slots)]
        if options.vocabulary is not None:
            flags += ["--vocabulary", str(options.vocabulary)]
        server = ProcessPlan(
            name="server", argv=(*command, *flags), env=deployment.env, readiness=Readiness(health_path="/health"), gpus=()
        )
        return LaunchPlan(
            engine=self.name,
            processes=(server,),
            served_model=model or "acme",
            identity=Identity(kv_offload="off"),
            notes=tuple(launch_notes(deployment, package="ixbench_acme", host=LOOPBACK, published_host=LOOPBACK)),
            ready_limit_s=60.0,
        )

    def capabilities(self, build: str | None = None) -> Capabilities:
        """Return that there is no prefix cache to empty."""
        del build
        return Capabilities(cache_reset="none")

    def metrics(self) -> EngineMetrics:
        """Return what the server calls its counters."""
        return METRICS

    async def provenance(self, engine: Engine) -> Mapping[str, Any]:
        """Return the server's own version."""
        answer = await engine.client.get("/version")
        answer.raise_for_status()
        return {"engine_version": answer.json()["version"]}
