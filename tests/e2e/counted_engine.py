"""A third party's engine whose cache can be emptied, or not, and whose counters are read: the scripted server with a richer adapter."""

from __future__ import annotations

from dataclasses import replace

from ixbench.api.engine import Capabilities, EngineAdapter, EngineMetrics, LaunchPlan, MetricAlias, OptionsModel, ProcessPlan
from ixbench.api.hooks import hookimpl

METRICS = EngineMetrics(
    aliases=(
        MetricAlias(canonical="running", names=("scripted:running",)),
        MetricAlias(canonical="prompt_tokens", names=("scripted:prompt_tokens",)),
        MetricAlias(canonical="generation_tokens", names=("scripted:generation_tokens",)),
        MetricAlias(canonical="kv_usage", names=("scripted:kv_usage",)),
    )
)


class Options(OptionsModel):
    """No options."""


class Counted(EngineAdapter[Options]):
    """One for each way, since an adapter's methods see no options."""

    Options = Options

    def __init__(self, name, reset, path="/metrics"):
        self.name = name
        self.reset = reset
        self.path = path

    def plan(self, deployment):
        """Return the one process, or none."""
        served = deployment.model.id or "scripted"
        if deployment.url is not None:
            return LaunchPlan(engine=self.name, processes=(), served_model=served, url=deployment.url)
        argv = ("{python}", "-m", "ixbench.testing.scripted_server", "--port", "{port:http}", "--cached")
        process = ProcessPlan(name="server", argv=argv, env=deployment.env)
        return LaunchPlan(engine=self.name, processes=(process,), served_model=served, stop_grace_s=5.0)

    def capabilities(self, build=None):
        """Return the way that this one has."""
        del build
        way = self.reset if self.reset in {"restart", "none"} else "call"
        return Capabilities(cache_reset=way, profiler=self.reset != "none")

    def metrics(self):
        """Return how to read the page."""
        return replace(METRICS, path=self.path)

    async def reset_cache(self, engine):
        """Empty the cache, or fail at it."""
        if self.reset == "fails":
            raise RuntimeError("blocks are held")
        if self.reset == "refuses":
            return "needs_restart"
        answer = await engine.client.post("/reset_prefix_cache")
        return "verified" if answer.json()["success"] else "needs_restart"

    async def acceptance(self, engine):
        """Return what nobody counts."""
        del engine
        return 2.5 if self.reset == "call" else None

    async def profile(self, engine, *, on):
        """Start or stop the profiler."""
        if self.reset == "refuses":
            raise RuntimeError("no profiler is loaded")
        (await engine.client.post("/start_profile" if on else "/stop_profile")).raise_for_status()
        return () if on else ("trace-0.json",)


@hookimpl
def ixbench_engines():
    """Return the engines."""
    ways = ("call", "restart", "none", "fails", "refuses")
    return [*(Counted(f"counted-{way}", way) for way in ways), Counted("counted-blind", "none", "/nowhere")]
