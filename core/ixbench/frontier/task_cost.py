"""What a completed task costs at each point: all GPUs for the whole phase, also for what failed, over the tasks that ended well."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic resolves the annotations for the JSON Schema of cost.json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.frontier.cost import session_cost
from ixbench.model.price import quotes_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.result import PointResult
    from ixbench.model.run import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCost:
    """One point."""

    run: str
    """Id of the run."""
    point: str
    """Id of the point in its run."""
    tasks: float
    """Tasks completed in the measured phase; of a simulated point the mean over its replicas."""
    phase_s: float
    """Length of the measured phase in seconds."""
    gpus: int
    """GPUs that are paid for."""
    usd: Mapping[str, float | None]
    """USD for a completed task: gpus x phase_s x the price of a GPU-second / tasks, by the tier's label; None where nothing was
    completed."""


def task_costs(runs: Sequence[RunView]) -> tuple[TaskCost, ...]:
    """Return the costs of tasks at every usable point of an agentic workload, in the order of the runs.

    Left out are points without a number of GPUs or a price. Elsewhere a task is one request, and tokens tell its cost.
    """
    return tuple(cost for run in runs for point in run.points if (cost := _cost(run, point)) is not None)


def _cost(run: RunView, point: PointResult) -> TaskCost | None:
    tasks, phase_s = point.metrics.get("tasks_completed"), point.metrics.get("phase_s")
    gpus, quotes = point.identity.gpus, quotes_for(run.quotes, point.identity.hardware)
    if not point.usable or not point.identity.agentic or not gpus or not quotes:
        return None
    if not isinstance(tasks, int | float) or not isinstance(phase_s, int | float) or phase_s <= 0:
        return None
    usd = {quote.label: session_cost(quote.usd_per_gpu_hour, gpus=gpus, window_s=phase_s, completed=tasks) for quote in quotes}
    return TaskCost(run=run.id, point=point.id, tasks=tasks, phase_s=phase_s, gpus=gpus, usd=usd)
