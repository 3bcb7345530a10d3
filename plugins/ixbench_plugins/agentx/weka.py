"""Reads one Weka trace: a recorded coding session as one JSON object. Strict: whatever is unknown, missing or impossible is a fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ixbench.api.workload import counted
from ixbench_plugins.agentx.faults import TooManyFaultsError
from ixbench_plugins.agentx.json_object import LARGEST_INTEGER, MOST_SECONDS, quoted
from ixbench_plugins.agentx.json_text import JsonText, UnreadableError
from ixbench_plugins.agentx.trace import EPSILON_S, Request, SubagentEntry, Trace
from ixbench_plugins.agentx.weka_request import MOST_TOKENS, Draft, RequestReader, kind_of_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from ixbench_plugins.agentx.faults import FaultList
    from ixbench_plugins.agentx.json_object import ObjectText

_TOP_KEYS = ("id", "models", "block_size", "hash_id_scope", "tool_tokens", "system_tokens", "requests", "totals")
_SUBAGENT_KEYS = (
    "t", "type", "agent_id", "subagent_type", "status", "requests", "models",
    "duration_ms", "total_tokens", "tool_use_count", "tool_tokens", "system_tokens",
)  # fmt: skip
_SUBAGENT = "subagent"
_SCOPE = "local"
_MS_PER_S = 1000.0


def read_trace(data: bytes, faults: FaultList) -> Trace | None:
    """Return the trace that a JSON text is; None if it has faults, all of which are noted."""
    before = faults.count
    try:
        trace = _TraceReader(JsonText(data, faults)).read()
    except (UnreadableError, TooManyFaultsError):
        return None
    return None if faults.count > before else trace


class _TraceReader:
    """Reads the object of one trace."""

    def __init__(self, document: JsonText) -> None:
        self._document = document
        self._faults = document.faults
        self._block_size: int | None = None
        self._requests = RequestReader(document, None)

    def read(self) -> Trace | None:
        """Return the trace; None if a fault was noted."""
        top = self._document.top(("requests", "totals"))
        top.tell_unknown(_TOP_KEYS)
        name = top.text("id", required=True, empty=False)
        models = top.texts("models", required=True)
        self._block_size = top.integer("block_size", least=1, most=MOST_TOKENS, required=True)
        self._requests = RequestReader(self._document, self._block_size)
        scope = top.text("hash_id_scope", required=True)
        if scope is not None and scope != _SCOPE:
            top.tell("hash_id_scope", f"{quoted(scope)} is not supported", allowed=f"'{_SCOPE}': ids that mean nothing in other traces")
        prefix = _prefix(top)
        self._skip_totals(top)
        raw = top.raw("requests", required=True)
        entries = None if raw is None else self._document.elements(raw, "requests", "entries")
        if entries is not None and not entries:
            top.tell("requests", "the list is empty", allowed="at least one request")
        requests, subagents = self._entries(entries or (), prefix)
        if self._faults.count or name is None or self._block_size is None:
            return None
        return Trace(
            id=name,
            file=self._faults.file,
            line=self._faults.line,
            block_size=self._block_size,
            models=models,
            tool_tokens=prefix[0],
            system_tokens=prefix[1],
            requests=requests,
            subagents=subagents,
        )

    def _entries(self, entries: Sequence[msgspec.Raw], prefix: tuple[int, int]) -> tuple[tuple[Request, ...], tuple[SubagentEntry, ...]]:
        drafts: list[Draft] = []
        subagents: list[SubagentEntry] = []
        agents: dict[str, str] = {}
        """Paths of the subagents that are kept, by their id."""
        unknown = False
        for index, raw in enumerate(entries):
            path = f"requests[{index}]"
            if draft := self._requests.read_at_once(raw, path, index):
                drafts.append(draft)
                continue
            entry = self._document.open(raw, path, ("requests",))
            kind = None if entry is None else kind_of_entry(entry, ("n", "s", _SUBAGENT))
            if entry is None or kind is None:
                unknown = True
            elif kind != _SUBAGENT:
                drafts.append(self._requests.read(entry, kind, index))
            elif subagent := self._subagent(entry, index, agents if drafts else {}):
                subagents.append(subagent)
        if entries and not drafts and not unknown:
            self._faults.add("requests", "holds no top-level request, so nothing can spawn its subagents", allowed="at least one request")
        _tell_unordered(self._faults, drafts, "the top-level request")
        self._tell_short_prefix(drafts, prefix)
        return self._requests.finish(drafts, 0.0), tuple(subagents)

    def _subagent(self, entry: ObjectText, index: int, agents: dict[str, str]) -> SubagentEntry | None:
        before = self._faults.count
        entry.tell_unknown(_SUBAGENT_KEYS)
        spawn = entry.seconds("t", least=0.0, required=True)
        agent = entry.text("agent_id", required=True, empty=False)
        if agent is not None and agents.setdefault(agent, entry.path) != entry.path:
            entry.tell("agent_id", f"{quoted(agent)} is already used by {agents[agent]}")
        kind, status = entry.text("subagent_type", required=True), entry.text("status", required=True)
        duration = entry.integer("duration_ms", least=None, most=int(MOST_SECONDS * _MS_PER_S))
        tokens, tool_uses = (entry.integer(key, least=0, most=LARGEST_INTEGER) for key in ("total_tokens", "tool_use_count"))
        models = entry.texts("models", required=True)
        prefix = _prefix(entry)
        requests = self._inner(entry, spawn, prefix)
        if self._faults.count > before or spawn is None or agent is None:
            return None
        return SubagentEntry(
            index=index,
            spawn_s=spawn,
            agent_id=agent,
            requests=requests,
            subagent_type=kind or "",
            status=status or "",
            models=models,
            duration_s=None if duration is None else duration / _MS_PER_S,
            total_tokens=tokens,
            tool_use_count=tool_uses,
            tool_tokens=prefix[0],
            system_tokens=prefix[1],
        )

    def _inner(self, entry: ObjectText, spawn_s: float | None, prefix: tuple[int, int]) -> tuple[Request, ...]:
        """Return a subagent's requests, with times from the start of the trace."""
        drafts: list[Draft] = []
        raw = entry.raw("requests", required=True)
        elements = None if raw is None else self._document.elements(raw, entry.at("requests"), "requests")
        for index, element in enumerate(elements or ()):
            path = f"{entry.at('requests')}[{index}]"
            if draft := self._requests.read_at_once(element, path, index):
                drafts.append(draft)
            elif (request := self._document.open(element, path)) and (kind := kind_of_entry(request, ("n", "s"))):
                drafts.append(self._requests.read(request, kind, index))
        self._tell_short_prefix(drafts, prefix)
        first = drafts[0].start_s if drafts else None
        counts_from_spawn = first is not None and spawn_s is not None and first + EPSILON_S < spawn_s
        ordered = []
        for draft in drafts:
            if first is None or spawn_s is None or counts_from_spawn or draft.start_s is None or draft.start_s + EPSILON_S >= spawn_s:
                ordered.append(draft)
            else:
                self._faults.add(
                    f"{draft.path}.t",
                    f"{draft.start_s} lies before the spawn time {spawn_s} although the first inner request ({first}) does not: "
                    "times since the spawn and since the start of the trace are mixed in one subagent",
                )
        _tell_unordered(self._faults, ordered, "the inner request")
        return self._requests.finish(drafts, spawn_s if counts_from_spawn and spawn_s is not None else 0.0)

    def _tell_short_prefix(self, drafts: Sequence[Draft], prefix: tuple[int, int]) -> None:
        """Note a stream whose first prompt cannot hold the system message that is declared for it."""
        if not drafts or drafts[0].ids is None or self._block_size is None:
            return
        needed, recorded = -(-sum(prefix) // self._block_size), drafts[0].ids.length
        if needed > recorded:
            declared = f"tool_tokens {prefix[0]} + system_tokens {prefix[1]}"
            problem = f"{declared} need {counted(needed, 'block')}, the first request records {recorded}"
            self._faults.add(f"{drafts[0].path}.hash_ids", problem)

    def _skip_totals(self, top: ObjectText) -> None:
        """Look at what else stands in the file, which means nothing here, only for keys that stand twice."""
        raw = top.raw("totals")
        if raw is None or bytes(raw) == b"null":
            return
        if not bytes(raw).startswith(b"{"):
            top.tell("totals", f"{self._document.shown(bytes(raw))} where an object or null is required")
            return
        pairs: list[list[str]] = []
        json.loads(bytes(raw), parse_int=str, object_pairs_hook=lambda found: pairs.append([key for key, _ in found]))
        for keys in pairs:
            seen: set[str] = set()
            for key in keys:
                if key in seen:
                    top.tell("totals", f"the key {quoted(key)} appears twice in one object")
                seen.add(key)


def _prefix(entry: ObjectText) -> tuple[int, int]:
    """Return tool tokens and system tokens."""
    tool, system = (entry.integer(key, least=0, most=MOST_TOKENS) or 0 for key in ("tool_tokens", "system_tokens"))
    return tool, system


def _tell_unordered(faults: FaultList, drafts: Sequence[Draft], what: str) -> None:
    before: float | None = None
    for draft in drafts:
        if draft.start_s is None:
            continue
        if before is not None and draft.start_s < before:
            faults.add(f"{draft.path}.t", f"{draft.start_s} is earlier than {what} before it ({before})")
        before = draft.start_s
