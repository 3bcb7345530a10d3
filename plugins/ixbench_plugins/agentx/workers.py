"""Tells what kind of agent a hidden one is, and gives it its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench_plugins.agentx.hidden import Chain, HiddenRules, SplitAgents
    from ixbench_plugins.agentx.trace import Request, StreamKind


def name_workers(agents: SplitAgents, rules: HiddenRules) -> list[tuple[StreamKind, str, bool]]:
    """Return kind, name (`aux:000`, `wg:000_001`, `fa:002`) and whether it is a reduction, for each worker."""
    groups = _groups(agents.workers, rules)
    found: list[tuple[StreamKind, str, bool]] = []
    for number, worker in enumerate(agents.workers):
        aux = _is_aux(worker.requests, agents.detected, rules)
        reduction = not aux and _is_reduction(worker.requests, rules)
        if aux or reduction:
            found.append(("aux", f"aux:{number:03d}", reduction))
        elif number in groups:
            group, member = groups[number]
            found.append(("wg", f"wg:{group:03d}_{member:03d}", False))
        else:
            found.append(("fa", f"fa:{number:03d}", False))
    return found


def _is_aux(requests: Sequence[Request], main: Sequence[Request], rules: HiddenRules) -> bool:
    """Whether a worker is a helper that the main agent asks once: about something short, or of another model."""
    if len(requests) > rules.aux_requests:
        return False
    first = requests[0]
    if rules.aux_other_model and first.model != main[0].model:
        return True
    peak = max(request.input_tokens for request in main)
    return first.input_tokens < max(rules.aux_tokens, int(rules.aux_share * peak))


def _is_reduction(requests: Sequence[Request], rules: HiddenRules) -> bool:
    """Whether a worker condenses a long input into a short answer."""
    first = requests[0]
    return (
        len(requests) == 1
        and 0 < first.output_tokens < rules.reduction_output_tokens
        and first.input_tokens >= rules.aux_tokens
        and first.input_tokens > rules.reduction_ratio * first.output_tokens
    )


def _groups(workers: Sequence[Chain], rules: HiddenRules) -> dict[int, tuple[int, int]]:
    """Return group and place in it for each worker that began where others did and ran beside them, by the worker's number."""
    at_fork: dict[int, list[int]] = {}
    for number, worker in enumerate(workers):
        if worker.depth and worker.fork is not None:
            at_fork.setdefault(worker.fork.index, []).append(number)
    # Workers are in order of their start, so groups and members are as well.
    groups = sorted(
        group for numbers in at_fork.values() for group in _overlapping(numbers, workers) if len(group) >= max(rules.group_size, 1)
    )
    return {number: (group, member) for group, numbers in enumerate(groups) for member, number in enumerate(numbers)}


def _overlapping(numbers: Sequence[int], workers: Sequence[Chain]) -> list[list[int]]:
    """Return sets of workers that are connected by running at the same time; one that starts as another ends does not."""
    sets: list[list[int]] = []
    last_end = 0.0
    for number in numbers:
        requests = workers[number].requests
        if not sets or last_end <= requests[0].start_s:
            sets.append([])
            last_end = 0.0
        sets[-1].append(number)
        last_end = max(last_end, *(request.end_s for request in requests))
    return sets
