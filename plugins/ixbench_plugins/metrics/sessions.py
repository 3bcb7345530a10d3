"""Whole tasks: what became of a session with all its sub-agents; and main agents apart from sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api import measure
from ixbench.api.measure import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

    from ixbench.api.measure import Measurement, MetricValue, RequestRecord

    Summary = dict[str, MetricValue] | None

_TASK = "a session with all its sub-agents that came to its end in the measured phase and whose requests in it all succeeded"


def _tasks(measurement: Measurement) -> list[list[RequestRecord]]:
    """Return the requests of each completed task."""
    trees: dict[str, list[RequestRecord]] = {}
    for record in measurement.profile:
        trees.setdefault(record.tree_id, []).append(record)
    for name in measurement.unfinished:
        trees.pop(name, None)
    return [records for records in trees.values() if all(record.ok for record in records)]


def _times(measurement: Measurement) -> Summary:
    tasks = _tasks(measurement)
    return measure.summarise(
        (max(record.close_ns for record in records) - min(record.send_ns for record in records)) / 1e9 for records in tasks
    )


def _tokens(measurement: Measurement) -> Summary:
    counts = [[(record.usage_input, record.usage_output) for record in records] for records in _tasks(measurement)]
    known = [sum((i or 0) + (o or 0) for i, o in pairs) for pairs in counts if all(i is not None and o is not None for i, o in pairs)]
    summary = measure.summarise(known)
    return None if summary is None else summary | {"sum": sum(known)}


def _completed(measurement: Measurement) -> int | None:
    return len(_tasks(measurement)) if measurement.profile else None


def _times_of(column: str, *, root: bool) -> Callable[[Measurement], Summary]:
    """Return the summary of a column of the request table over main agents, or over sub-agents, of an agentic workload."""

    def compute(measurement: Measurement) -> Summary:
        if not measurement.agentic:
            return None
        values = getattr(measurement.times, column).tolist()
        pairs = zip(measurement.successes, values, strict=True)
        return measure.summarise([value for record, value in pairs if (record.depth == 0) == root])

    return compute


def _depth_tokens(measurement: Measurement) -> dict[str, MetricValue] | None:
    if not measurement.agentic or not measurement.successes:
        return None
    found: dict[str, MetricValue] = {}
    for name, root in (("root", True), ("sub", False)):
        records = [record for record in measurement.successes if (record.depth == 0) == root]
        found[f"{name}_requests"] = len(records)
        found |= {
            f"{name}_input": _sum([record.usage_input for record in records]),
            f"{name}_output": _sum([record.usage_output for record in records]),
        }
    return found


def _sum(counts: list[int | None]) -> int | None:
    return None if None in counts else sum(count for count in counts if count is not None)


def _split(name: str, what: str, column: str, *, root: bool, needs: tuple[str, ...]) -> Metric:
    who = "main agents alone" if root else "sub-agents alone, at any depth"
    return Metric(
        name=name,
        unit="s",
        better="lower",
        definition=f"{what} of {who}, in an agentic workload.",
        compute=_times_of(column, root=root),
        needs=needs,
        source="ixbench",
    )


SESSIONS: tuple[Metric, ...] = (
    Metric(
        name="task_time_s",
        unit="s",
        better="lower",
        definition=f"Time of a whole task, from its first send in the measured phase to its last close. A task is {_TASK}.",
        compute=_times,
        source="ixbench",
    ),
    Metric(
        name="task_tokens",
        unit="tokens",
        better="neither",
        definition=f"Input and output tokens of a whole task, cached ones included. A task is {_TASK}.",
        compute=_tokens,
        needs=("usage",),
        source="ixbench",
    ),
    Metric(
        name="tasks_completed",
        unit="tasks",
        better="higher",
        definition="Completed tasks: the price of all GPUs for the measured phase, divided by them, is what a task costs. "
        f"A task is {_TASK}.",
        compute=_completed,
        source="ixbench",
    ),
    _split("ttft_root_s", "Time to first token", "ttft", root=True, needs=("chunks",)),
    _split("ttft_sub_s", "Time to first token", "ttft", root=False, needs=("chunks",)),
    _split("tpot_root_s", "Time per output token", "tpot", root=True, needs=("chunks", "usage")),
    _split("tpot_sub_s", "Time per output token", "tpot", root=False, needs=("chunks", "usage")),
    Metric(
        name="depth_tokens",
        unit="tokens",
        better="neither",
        definition="Requests, input and output tokens of the successes of main agents (root) and of sub-agents (sub), in an agentic "
        "workload.",
        compute=_depth_tokens,
        needs=("usage",),
        source="ixbench",
    ),
)
