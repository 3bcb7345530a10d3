"""The engines that ixbench ships beside vLLM and ATOM."""

from __future__ import annotations

from ixbench_plugins.engines.endpoint import EndpointAdapter
from ixbench_plugins.engines.llamacpp.adapter import LlamaCppAdapter
from ixbench_plugins.engines.simulated.adapter import SimulatedAdapter

ENGINES = (EndpointAdapter(), LlamaCppAdapter(), SimulatedAdapter())
