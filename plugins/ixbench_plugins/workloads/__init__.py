"""The workloads that ixbench ships."""

from __future__ import annotations

from ixbench_plugins.workloads.agentx import AgentX

WORKLOADS = (AgentX(),)
