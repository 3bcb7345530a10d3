"""The workloads that ixbench ships."""

from __future__ import annotations

from ixbench_plugins.workloads.agentx import AgentX
from ixbench_plugins.workloads.azure import Azure
from ixbench_plugins.workloads.fixed import Fixed
from ixbench_plugins.workloads.mooncake import MooncakeTrace
from ixbench_plugins.workloads.prompts import Prompts

WORKLOADS = (AgentX(), Azure(), Fixed(), MooncakeTrace(), Prompts())
