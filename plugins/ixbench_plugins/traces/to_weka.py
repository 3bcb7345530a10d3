"""Writes Weka traces from Mooncake's: one for each conversation, or one for a whole file of timed single requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ixbench.api.workload import NS_PER_S
from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.weka_request import MOST_TOKENS
from ixbench_plugins.traces.convert import Converted
from ixbench_plugins.traces.mooncake import read_mooncake
from ixbench_plugins.traces.mooncake_line import BLOCK_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from ixbench_plugins.traces.mooncake import Mooncake, MooncakeConversation
    from ixbench_plugins.traces.mooncake_line import Line

_MODEL = "unknown"
_ALONE = "Weka traces share no blocks, so what different conversations have in common is lost."
_NO_ARRIVALS = "A Weka trace begins at 0, so the times at which conversations arrive are left out."
_ONE_SESSION = (
    "A Weka trace is one session: where a prompt goes on with an earlier one, the replay takes both for turns of one agent, "
    "and the later one waits for the earlier answer."
)


def weka_from_mooncake(path: Path) -> Converted:
    """Return the traces.

    Timed single requests with block ids make one trace, in which times and everything shared stay. Conversations make a trace each: its
    prompts hold all that was said before, as Weka's do, and its blocks are numbered anew.

    :raises InputError: with every line that holds no lengths.
    """
    trace = read_mooncake(path)
    _check(trace)
    talks = trace.conversations
    requests = sum(len(talk.lines) for talk in talks)
    if trace.timed and all(len(talk.lines) == 1 and talk.lines[0].block_ids is not None for talk in talks):
        return Converted(lines=[_weka(path.stem, list(_timed(talks)))], requests=requests, traces=1, notes=(_ONE_SESSION,))
    notes = []
    ids = [set(line.block_ids.tolist()) for talk in talks for line in talk.lines if line.block_ids is not None]
    if sum(map(len, ids)) > len(set().union(*ids)):
        notes.append(_ALONE)
    if trace.timed:
        notes.append(_NO_ARRIVALS)
    lines = [_weka(name, list(_turns(talk))) for name, talk in _named(talks)]
    return Converted(lines=lines, requests=requests, traces=len(lines), notes=tuple(notes))


def _check(trace: Mooncake) -> None:
    faults = FaultList(trace.file)
    for talk in trace.conversations:
        length = 0
        for line in talk.lines:
            found = FaultList(trace.file, line.number)
            length += line.input_tokens
            if line.kind != "tokens":
                found.add("", "holds a text, and a Weka trace holds lengths and no text", allowed="input_length")
            elif line.output_tokens is None:
                found.add("output_length", "is missing, and a Weka trace needs it")
            elif length > MOST_TOKENS:
                found.add("input_length", f"makes a prompt of {length} tokens with what was said before", allowed=f"at most {MOST_TOKENS}")
            length += line.output_tokens or 0
            faults.extend(found)
    faults.raise_any()


def _named(talks: tuple[MooncakeConversation, ...]) -> Iterator[tuple[str, MooncakeConversation]]:
    """Yield conversations with names of which none comes twice."""
    taken: set[str] = set()
    for talk in talks:
        name = talk.name
        while name in taken:
            name = f"{name} ({talk.stream})"
        taken.add(name)
        yield name, talk


def _timed(talks: tuple[MooncakeConversation, ...]) -> Iterator[dict[str, Any]]:
    """Yield single requests at their times, with the file's own ids."""
    moments = sorted(((talk.lines[0].timestamp_ns or 0) + (talk.lines[0].delay_ns or 0), talk.lines[0].number, talk) for talk in talks)
    for moment_ns, _, talk in moments:
        line = talk.lines[0]
        ids = [] if line.block_ids is None else line.block_ids.tolist()
        yield _request((moment_ns - moments[0][0]) / NS_PER_S, line.input_tokens, line, ids)


def _turns(talk: MooncakeConversation) -> Iterator[dict[str, Any]]:
    """Yield the requests of a conversation, each with all that was said before it."""
    first = talk.lines[0]
    ids: list[int] = []
    if first.block_ids is not None:
        numbers: dict[int, int] = {}
        ids = [numbers.setdefault(number, len(numbers)) for number in first.block_ids.tolist()][: first.input_tokens // BLOCK_TOKENS]
    following = len(ids)
    tokens = moment_ns = 0
    for number, line in enumerate(talk.lines):
        tokens += line.input_tokens
        if number:
            moment_ns += line.delay_ns or 0
            if line.timestamp_ns is not None:
                moment_ns = max(moment_ns, line.timestamp_ns - (first.timestamp_ns or 0))
        more = tokens // BLOCK_TOKENS - len(ids)
        ids += range(following, following + more)
        following += more
        yield _request(moment_ns / NS_PER_S, tokens, line, ids)
        tokens += line.output_tokens or 0


def _request(start_s: float, tokens: int, line: Line, ids: list[int]) -> dict[str, Any]:
    return {"t": start_s, "type": "n", "model": _MODEL, "in": tokens, "out": line.output_tokens, "hash_ids": list(ids), "api_time": None}


def _weka(name: str, requests: list[dict[str, Any]]) -> str:
    head = {"id": name, "models": [_MODEL], "block_size": BLOCK_TOKENS, "hash_id_scope": "local"}
    return json.dumps({**head, "requests": requests}, separators=(",", ":"))
