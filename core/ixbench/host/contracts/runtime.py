"""What a runtime plugin subclasses: it turns a planned process into the command that this machine runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ixbench.model.launch import LaunchPlan, ProcessPlan


class Runtime(ABC):
    """Where processes run. Pure: the host starts, watches and ends the command."""

    name: ClassVar[str]
    """The `use = "..."` of [runtime]."""
    summary: ClassVar[str] = ""

    @abstractmethod
    def wrap(self, plan: LaunchPlan, process: ProcessPlan) -> ProcessPlan:
        """Return the process as it is to be started here, for instance inside `docker run`."""
