"""Reads one request of a Weka trace: in one step where all is well, value by value where anything is not, so that each fault is told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ixbench.api.workload import counted
from ixbench_plugins.agentx.id_lists import NO_IDS, IdSlice
from ixbench_plugins.agentx.json_object import LARGEST_INTEGER, MOST_SECONDS, quoted
from ixbench_plugins.agentx.trace import Request

if TYPE_CHECKING:
    from ixbench_plugins.agentx.json_object import ObjectText
    from ixbench_plugins.agentx.json_text import JsonText

MOST_TOKENS = 16_777_216
"""Of a prompt, an answer or a prefix; checked before anything is allocated for them."""

_PLAIN_KEYS = ("t", "type", "model", "in", "out", "hash_ids", "input_types", "output_types", "stop", "api_time", "think_time")
_STREAMED_KEYS = (*_PLAIN_KEYS, "ttft")
_KINDS = ("n", "s")


class Draft(NamedTuple):
    """A request before its ids and its start are final."""

    path: str
    start_s: float | None
    """As the file has it."""
    ids: IdSlice | None
    """None where they have faults."""
    most_ids: int
    make: partial[Request] | None
    """None if the request has faults."""


class _Faultless(msgspec.Struct, forbid_unknown_fields=True):
    t: float
    type: str
    model: str
    tokens: int = msgspec.field(name="in")
    out: int
    hash_ids: msgspec.Raw | UnsetType = UNSET
    """A mark in the place of the list."""
    input_types: tuple[str, ...] | UnsetType = UNSET
    output_types: tuple[str, ...] | UnsetType = UNSET
    stop: str | UnsetType = UNSET
    api_time: float | UnsetType | None = UNSET
    think_time: float | UnsetType | None = UNSET
    ttft: float | UnsetType | None = UNSET


_FAULTLESS = msgspec.json.Decoder(_Faultless)
_OPTIONAL = ("hash_ids", "input_types", "output_types", "stop", "api_time", "think_time", "ttft")
_KEYS_IN_ALL = len(_STREAMED_KEYS)


class RequestReader:
    """Reads the requests of one document."""

    def __init__(self, document: JsonText, block_size: int | None) -> None:
        """`block_size` is None where it has a fault itself."""
        self._document = document
        self._block_size = block_size
        self._words: dict[str, str] = {}
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}

    def read_at_once(self, raw: msgspec.Raw, path: str, index: int) -> Draft | None:
        """Return the request that a value is; None if it may be anything else, or have a fault: then `read` tells."""
        try:
            found = _FAULTLESS.decode(raw)
        except msgspec.ValidationError:
            return None
        size = self._block_size
        ids = NO_IDS if found.hash_ids is UNSET else self._document.ids.place(bytes(found.hash_ids))
        times = (found.t, found.api_time or 0.0, found.think_time or 0.0, found.ttft or 0.0)
        if (
            size is None
            or ids is None
            or found.type not in _KINDS
            or not 1 <= found.tokens <= MOST_TOKENS
            or not 0 <= found.out <= MOST_TOKENS
            or ids.length > -(-found.tokens // size)
            or found.t < 0
            or not -MOST_SECONDS <= min(times) <= max(times) <= MOST_SECONDS
            or (found.ttft is not UNSET and found.type == "n")
        ):
            return None
        keys = _KEYS_IN_ALL - sum([getattr(found, key) is UNSET for key in _OPTIONAL])
        if self._document.may_repeat_keys(bytes(raw), keys):
            return None
        return Draft(path, found.t, ids, found.tokens // size, self._made(index, found))

    def read(self, entry: ObjectText, kind: str, index: int) -> Draft:
        """Return a request with every fault noted."""
        before = self._document.faults.count
        streamed = kind == "s"
        entry.tell_unknown(_STREAMED_KEYS if streamed else _PLAIN_KEYS)
        start = entry.seconds("t", least=0.0, required=True)
        model = entry.text("model", required=True)
        tokens = entry.integer("in", least=1, most=MOST_TOKENS, required=True)
        output = entry.integer("out", least=0, most=MOST_TOKENS, required=True)
        ids = self._ids(entry)
        most = 0
        if tokens is not None and self._block_size is not None:
            most = tokens // self._block_size
            if ids is not None and ids.length > (fit := -(-tokens // self._block_size)):
                given = f"{counted(ids.length, 'block id')} for {counted(tokens, 'token')} of block size {self._block_size}"
                entry.tell("hash_ids", f"{given}, allowed: at most {fit}")
        inputs, outputs = entry.texts("input_types"), entry.texts("output_types")
        stop = entry.text("stop")
        api_time, think_time = entry.seconds("api_time"), entry.seconds("think_time")
        ttft = entry.seconds("ttft") if streamed else None
        make = None
        if self._document.faults.count == before and start is not None and tokens is not None and output is not None:
            make = self._made(
                index,
                _Faultless(
                    t=start, type=kind, model=model or "", tokens=tokens, out=output, input_types=inputs, output_types=outputs,
                    stop=stop or "", api_time=api_time, think_time=think_time, ttft=ttft,
                ),
            )  # fmt: skip
        return Draft(entry.path, start, ids, most, make)

    def finish(self, drafts: list[Draft], shift_s: float) -> tuple[Request, ...]:
        """Return the requests that have no fault, later by so many seconds; no list of ids can be read any more."""
        return tuple(
            draft.make(start_s=draft.start_s + shift_s, block_ids=self._document.ids.ids(draft.ids, draft.most_ids))
            for draft in drafts
            if draft.make is not None and draft.start_s is not None and draft.ids is not None
        )

    def _made(self, index: int, found: _Faultless) -> partial[Request]:
        return partial(
            Request,
            index=index,
            model=self._word(found.model),
            input_tokens=found.tokens,
            output_tokens=found.out,
            streamed=found.type == "s",
            api_time_s=_known(found.api_time),
            think_time_s=_known(found.think_time),
            ttft_s=_known(found.ttft),
            input_types=self._list(found.input_types),
            output_types=self._list(found.output_types),
            stop=self._word(found.stop),
        )

    def _ids(self, entry: ObjectText) -> IdSlice | None:
        """Return a request's block ids; None, with the faults noted, if they are none."""
        raw = entry.raw("hash_ids")
        if raw is None:
            return NO_IDS
        if (place := self._document.ids.place(bytes(raw))) is not None:
            return place
        path = entry.at("hash_ids")
        elements = self._document.elements(raw, path, "whole numbers")
        if elements is None:
            return None
        values = [
            self._document.value(element, f"{path}[{number}]").integer("", least=0, most=LARGEST_INTEGER, required=True)
            for number, element in enumerate(elements)
        ]
        ids = [value for value in values if value is not None]
        return self._document.ids.add(ids) if len(ids) == len(values) else None

    def _word(self, text: str | UnsetType) -> str:
        """Return one object for equal texts: a trace has few."""
        return "" if text is UNSET else self._words.setdefault(text, text)

    def _list(self, texts: tuple[str, ...] | UnsetType) -> tuple[str, ...]:
        return () if texts is UNSET else self._lists.setdefault(texts, texts)


def kind_of_entry(entry: ObjectText, allowed: tuple[str, ...]) -> str | None:
    """Return the type of an entry; None, with a fault noted, if it is none that is allowed there."""
    kind = entry.text("type", required=True)
    if kind is None or kind in allowed:
        return kind
    if kind == "subagent":
        entry.tell("type", "a subagent inside a subagent; only one level is allowed")
    else:
        entry.tell("type", f"{quoted(kind)} is no type of an entry", allowed=", ".join(f"'{name}'" for name in allowed))
    return None


def _known(seconds: float | UnsetType | None) -> float | None:
    return None if seconds is UNSET else seconds
