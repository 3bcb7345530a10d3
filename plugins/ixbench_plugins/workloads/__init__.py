"""The workloads that ixbench ships, each imported when it is needed."""

from __future__ import annotations

from ixbench.api.hooks import Deferred

WORKLOADS = (
    Deferred(name="agentx", place="ixbench_plugins.workloads.agentx:AgentX"),
    Deferred(name="azure", place="ixbench_plugins.workloads.azure:Azure"),
    Deferred(name="fixed", place="ixbench_plugins.workloads.fixed:Fixed"),
    Deferred(name="mooncake", place="ixbench_plugins.workloads.mooncake:MooncakeTrace"),
    Deferred(name="prompts", place="ixbench_plugins.workloads.prompts:Prompts"),
)
