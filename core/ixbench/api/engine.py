"""What an engine plugin needs: `EngineAdapter` to subclass, and the values that `plan()` takes and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api._lazy import lazy
from ixbench.host.contracts.book import Checkup, DetectedGpu, GpuHolder, GpuMemory, HardwareBook, PriceBook
from ixbench.host.contracts.collector import Collector, CollectorTarget, CounterReader, FinishingSampler, Sampler
from ixbench.host.contracts.engine import Capabilities, Engine, EngineAdapter, RequestSpec, Simulation, StreamQuirks
from ixbench.host.contracts.runtime import Ask, CannotRunError, CommandOutput, Place, Runtime
from ixbench.host.recipes import launch_notes, load_recipes
from ixbench.launch.errors import EngineError
from ixbench.measure.exposition import Reading, read_exposition
from ixbench.model.counts import counted
from ixbench.model.deployment import ArgValue, Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench.model.engine_metrics import COUNTERS, GAUGES, STEPS, CacheReset, EngineMetrics, EngineWindow, MetricAlias
from ixbench.model.errors import Fault, InputError, IxbenchError, did_you_mean
from ixbench.model.exchange import Channel, Exchange, TurnRequest
from ixbench.model.flags import (
    FlagRule,
    args_findings,
    argv_of,
    compact_json,
    flag_key,
    flags_by_key,
    flags_of,
    json_table,
    number_findings,
    numbers_by_option,
    queue_findings,
    replace_flags,
    replaced_findings,
    switch_flag,
    value_flag,
    whole_number,
)
from ixbench.model.help_text import declared_flags
from ixbench.model.launch import (
    KEEP_VARIABLE,
    LOOPBACK,
    UNTOLD,
    Finding,
    Identity,
    LaunchPlan,
    PrepareStep,
    ProcessPlan,
    Readiness,
    SanityPrompt,
    loading_limit_s,
)
from ixbench.model.prepare import prepared_argv
from ixbench.model.price import Quote, Sku
from ixbench.model.printable import is_header_value
from ixbench.model.prompt import Message, SyntheticPrompt
from ixbench.model.record import CHUNK_KINDS, Chunks
from ixbench.model.result import Failure
from ixbench.model.sample import Sample
from ixbench.model.sanity import KNOWN_ANSWERS, NOT_ASKED, attached_notes, sanity_prompts, wants_sanity
from ixbench.model.secrets import is_secret_name
from ixbench.model.signature import Signature
from ixbench.model.units import NS_PER_S
from ixbench.model.user_cache import user_cache
from ixbench.model.visibility import assigned_gpus, gpu_findings, visibility_env, visibility_findings

if TYPE_CHECKING:
    from ixbench.host.contracts.options import Duration, HostMemory, OptionsModel, Size
    from ixbench.launch.tool_stream import ToolStream
    from ixbench.replay.virtual import VirtualClock
    from ixbench.replay.wire import ReplayTransport

__all__ = [
    "CHUNK_KINDS",
    "COUNTERS",
    "GAUGES",
    "KEEP_VARIABLE",
    "KNOWN_ANSWERS",
    "LOOPBACK",
    "NOT_ASKED",
    "NS_PER_S",
    "STEPS",
    "UNTOLD",
    "ArgValue",
    "Ask",
    "CacheReset",
    "CannotRunError",
    "Capabilities",
    "Channel",
    "Checkup",
    "Chunks",
    "Collector",
    "CollectorTarget",
    "CommandOutput",
    "CounterReader",
    "Deployment",
    "DetectedGpu",
    "Duration",
    "Engine",
    "EngineAdapter",
    "EngineError",
    "EngineMetrics",
    "EngineWindow",
    "EnvVar",
    "Exchange",
    "Failure",
    "Fault",
    "Finding",
    "FinishingSampler",
    "FlagRule",
    "GpuHolder",
    "GpuMemory",
    "HardwareBook",
    "HardwareSpec",
    "HostMemory",
    "Identity",
    "InputError",
    "IxbenchError",
    "LaunchPlan",
    "Message",
    "MetricAlias",
    "ModelSpec",
    "OptionsModel",
    "Place",
    "PrepareStep",
    "PriceBook",
    "ProcessPlan",
    "Quote",
    "Readiness",
    "Reading",
    "ReplayTransport",
    "RequestSpec",
    "Runtime",
    "Sample",
    "Sampler",
    "SanityPrompt",
    "Signature",
    "Simulation",
    "Size",
    "Sku",
    "StreamQuirks",
    "SyntheticPrompt",
    "ToolStream",
    "TurnRequest",
    "VirtualClock",
    "args_findings",
    "argv_of",
    "assigned_gpus",
    "attached_notes",
    "compact_json",
    "counted",
    "declared_flags",
    "did_you_mean",
    "flag_key",
    "flags_by_key",
    "flags_of",
    "gpu_findings",
    "is_header_value",
    "is_secret_name",
    "json_table",
    "launch_notes",
    "load_recipes",
    "loading_limit_s",
    "number_findings",
    "numbers_by_option",
    "prepared_argv",
    "queue_findings",
    "read_exposition",
    "replace_flags",
    "replaced_findings",
    "sanity_prompts",
    "switch_flag",
    "user_cache",
    "value_flag",
    "visibility_env",
    "visibility_findings",
    "wants_sanity",
    "whole_number",
]

_OPTION_NAMES = ("Duration", "HostMemory", "OptionsModel", "Size")
_FURTHER_NAMES = {
    "ReplayTransport": "ixbench.replay.wire",
    "ToolStream": "ixbench.launch.tool_stream",
    "VirtualClock": "ixbench.replay.virtual",
}
__getattr__ = lazy(__name__, dict.fromkeys(_OPTION_NAMES, "ixbench.host.contracts.options") | _FURTHER_NAMES)
