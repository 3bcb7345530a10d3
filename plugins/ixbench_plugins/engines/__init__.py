"""The engines that ixbench ships beside vLLM and ATOM, each imported when it is needed."""

from __future__ import annotations

from ixbench.api.hooks import Deferred

ENGINES = (
    Deferred(name="endpoint", place="ixbench_plugins.engines.endpoint:EndpointAdapter"),
    Deferred(name="llamacpp", place="ixbench_plugins.engines.llamacpp.adapter:LlamaCppAdapter"),
    Deferred(name="simulated", place="ixbench_plugins.engines.simulated.adapter:SimulatedAdapter"),
)
