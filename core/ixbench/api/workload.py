"""What a workload plugin needs: `Workload` to subclass, and the parts of a Schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api._lazy import lazy
from ixbench.host.contracts.workload import Workload, WorkloadIdentity
from ixbench.model.counts import counted
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.messages import Problem, describe_value, is_sendable, read_messages
from ixbench.model.point import Load
from ixbench.model.prompt import BlockLayout, BlockMessage, BlockPrompt, Message, MessagesPrompt, Prompt, SyntheticPrompt, TextPrompt
from ixbench.model.schedule import Anchor, Edge, Phase, PhaseName, Schedule, Session, SessionSource, Turn, TurnGraph
from ixbench.model.units import NS_PER_S
from ixbench.model.user_cache import user_cache

if TYPE_CHECKING:
    from ixbench.host.contracts.options import Duration, OptionsModel, Size

__all__ = [
    "NS_PER_S",
    "Anchor",
    "BlockLayout",
    "BlockMessage",
    "BlockPrompt",
    "Duration",
    "Edge",
    "Fault",
    "InputError",
    "Load",
    "Message",
    "MessagesPrompt",
    "OptionsModel",
    "Phase",
    "PhaseName",
    "Problem",
    "Prompt",
    "Schedule",
    "Session",
    "SessionSource",
    "Size",
    "SyntheticPrompt",
    "TextPrompt",
    "Turn",
    "TurnGraph",
    "Workload",
    "WorkloadIdentity",
    "counted",
    "describe_value",
    "did_you_mean",
    "is_sendable",
    "read_messages",
    "user_cache",
]

__getattr__ = lazy(__name__, dict.fromkeys(("Duration", "OptionsModel", "Size"), "ixbench.host.contracts.options"))
