"""Writes Azure's form: a time and two lengths for each request, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ixbench.api.workload import NS_PER_S
from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.hits import turns_in_order
from ixbench_plugins.agentx.sources import iter_traces
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.traces.azure import HEADER
from ixbench_plugins.traces.convert import Converted
from ixbench_plugins.traces.mooncake import read_mooncake

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TICK_NS = 100
"""Azure's times have seven digits after the second."""
_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_DATE = f"The date is {_DAY:%Y-%m-%d}, as there is none in the recording."


def azure_from_mooncake(path: Path) -> Converted:
    """Return the requests of a Mooncake trace, all of which must be alone and have times and lengths.

    :raises InputError: with every line that does not.
    """
    trace = read_mooncake(path)
    faults = FaultList(trace.file)
    requests: list[tuple[int, int, int]] = []
    shared = False
    for talk in trace.conversations:
        first = talk.lines[0]
        found = FaultList(trace.file, first.number)
        if first.kind != "tokens":
            found.add("", "holds a text, and Azure's form holds lengths alone")
        elif len(talk.lines) > 1:
            found.add("session_id", "has several turns, and Azure's requests stand alone")
        elif first.output_tokens is None:
            found.add("output_length", "is missing")
        elif first.timestamp_ns is None:
            found.add("timestamp", "is missing")
        else:
            requests.append((first.timestamp_ns + (first.delay_ns or 0), first.input_tokens, first.output_tokens))
            shared = shared or first.block_ids is not None
        faults.extend(found)
    faults.raise_any()
    notes = [_DATE]
    if shared:
        notes.append("Azure's form holds no block ids, so what prompts share is lost.")
    return _converted(requests, notes)


def azure_from_weka(source: str, note: Callable[[str], None] | None) -> Converted:
    """Return all requests of Weka traces that a replay would send."""
    requests = [
        (round(request.start_s * NS_PER_S), request.input_tokens, request.output_tokens)
        for trace in iter_traces(source, note=note)
        for _, request in turns_in_order(make_tree(trace))
    ]
    loss = (
        "Azure's form holds times and lengths alone: agents, delays and what prompts share are left out, and all traces begin at one time."
    )
    return _converted(requests, [_DATE, loss])


def _converted(requests: list[tuple[int, int, int]], notes: list[str]) -> Converted:
    rows = [f"{_time(moment_ns)},{tokens},{output}" for moment_ns, tokens, output in sorted(requests, key=lambda request: request[0])]
    if any(moment_ns % _TICK_NS for moment_ns, _, _ in requests):
        notes.append("Its times have seven digits after the second; further ones are cut off.")
    return Converted(lines=[HEADER, *rows], requests=len(rows), traces=0, notes=tuple(notes))


def _time(moment_ns: int) -> str:
    seconds, rest = divmod(moment_ns, NS_PER_S)
    return f"{_DAY + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}.{rest // _TICK_NS:07}"
