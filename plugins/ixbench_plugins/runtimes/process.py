"""The plainest runtime: a launch's processes are processes of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ixbench.api.engine import Runtime

if TYPE_CHECKING:
    from ixbench.api.engine import LaunchPlan, Place, ProcessPlan


class ProcessRuntime(Runtime):
    """Starts each process as it stands in the plan; an image is not started."""

    name: ClassVar[str] = "process"
    summary: ClassVar[str] = "processes of this machine, without a container"

    def wrap(self, plan: LaunchPlan, process: ProcessPlan, place: Place) -> ProcessPlan:
        """Return the process unchanged."""
        del plan, place
        return process
