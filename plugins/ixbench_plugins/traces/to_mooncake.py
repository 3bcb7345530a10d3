"""Writes Mooncake traces: one request a line, due at its time, with blocks of 512 tokens that are one for the whole file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ixbench.api.workload import NS_PER_S, Fault, InputError, counted
from ixbench_plugins.agentx.hits import turns_in_order
from ixbench_plugins.agentx.sources import iter_traces
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.traces.azure import read_azure
from ixbench_plugins.traces.convert import Converted
from ixbench_plugins.traces.mooncake_line import BLOCK_TOKENS, NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ixbench_plugins.agentx.trace import Request, Trace

_NO_AGENTS = (
    "A Mooncake trace holds no agents: who waits for whose answer, delays, models and durations are left out, and every request is due at "
    "its recorded time."
)


def from_azure(path: Path) -> Converted:
    """Return Azure's requests; the times count from the first one."""
    rows = read_azure(path).rows
    lines = [
        _json({"timestamp": milliseconds(row.arrival_ns), "input_length": row.input_tokens, "output_length": row.output_tokens})
        for row in rows
    ]
    notes = ("A Mooncake trace counts its times from 0, so the date of the first request is left out.",)
    return Converted(lines=lines, requests=len(rows), traces=0, notes=notes)


def mooncake_from_weka(source: str, note: Callable[[str], None] | None) -> Converted:
    """Return all requests of Weka traces that a replay would send, by their times; every trace begins at 0."""
    blocks = _Blocks()
    found: list[tuple[int, str]] = []
    traces = dropped = 0
    sizes: set[int] = set()
    for trace in iter_traces(source, note=note):
        _check_blocks(trace)
        sizes.add(trace.block_size)
        tree = make_tree(trace)
        dropped += len(tree.dropped)
        for _, request in turns_in_order(tree):
            moment_ns = round(request.start_s * NS_PER_S)
            line = {
                "timestamp": milliseconds(moment_ns),
                "input_length": request.input_tokens,
                "output_length": request.output_tokens,
                "hash_ids": list(blocks.of(traces, trace.block_size, request)),
            }
            found.append((moment_ns, _json(line)))
        traces += 1
    found.sort(key=lambda item: item[0])
    notes = [_NO_AGENTS]
    if smaller := sorted(size for size in sizes if size != BLOCK_TOKENS):
        notes.append(
            f"Its blocks hold {BLOCK_TOKENS} tokens, so what prompts share beyond whole ones is lost (it was told to {smaller[0]})."
        )
    if traces > 1:
        notes.append(f"The {traces} traces all begin at time 0, as nothing tells when they began.")
    if dropped:
        notes.append(f"Left out, as no request of the main agent precedes: {counted(dropped, 'subagent')}.")
    return Converted(lines=[line for _, line in found], requests=len(found), traces=0, notes=tuple(notes))


def milliseconds(moment_ns: int) -> int | float:
    """Return a time as these files have it."""
    whole, rest = divmod(moment_ns, NS_PER_MS)
    return moment_ns / NS_PER_MS if rest else whole


def _check_blocks(trace: Trace) -> None:
    if BLOCK_TOKENS % trace.block_size:
        raise InputError(
            Fault(
                where=f"{trace.file}: block_size",
                problem=f"is {trace.block_size}, and no number of such blocks makes one of {BLOCK_TOKENS} tokens",
                allowed=f"a divisor of {BLOCK_TOKENS}",
            )
        )


class _Blocks:
    """Gives numbers to stretches of 512 tokens, equal where all ids in them are."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], int] = {}
        self._next = 0

    def of(self, trace: int, size: int, request: Request) -> Iterator[int]:
        """Yield the numbers of a prompt's blocks; what its ids do not cover is like nothing else."""
        ids = request.block_ids.tolist()
        each = BLOCK_TOKENS // size
        for start in range(0, request.input_tokens, BLOCK_TOKENS):
            inside = ids[start // size : start // size + each]
            covered = len(inside) * size == min(BLOCK_TOKENS, request.input_tokens - start)
            key = (trace, *inside)
            number = self._known.get(key) if covered else None
            if number is None:
                number = self._next
                self._next += 1
                if covered:
                    self._known[key] = number
            yield number


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value)
