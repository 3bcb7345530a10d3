"""The same request under other tools' rules: why their numbers differ from ours, shown on one record instead of argued."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ixbench.measure.blocks import refuse_backwards
from ixbench.measure.request import request_times
from ixbench.model.record import CHUNK_KINDS, CONTENT_KINDS, UNKNOWN_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ixbench.model.record import RequestRecord

Reading = dict[str, float | list[float] | None]
"""A tool's numbers of one request by its own names, in seconds; None where the tool has none."""

_CONTENT = frozenset(map(CHUNK_KINDS.index, CONTENT_KINDS))
_SPOKEN = frozenset(map(CHUNK_KINDS.index, ("text", "think")))
_CHOICES = _CONTENT | frozenset(map(CHUNK_KINDS.index, ("role", "finish")))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stream:
    """The stamps of one kind of chunk, in integer nanoseconds."""

    send: int
    stamps: Sequence[int]

    def since_send(self, position: int) -> float | None:
        return (self.stamps[position] - self.send) / 1e9 if self.stamps else None

    @property
    def gaps(self) -> list[float]:
        return [(late - early) / 1e9 for early, late in pairwise(self.stamps)]

    def per_token(self, n: int | None, *, until: int | None = None, skip: int | None = 1) -> float | None:
        """Return seconds a token from the first stamp to the last (or `until`), with the first `skip` tokens left out."""
        if not self.stamps or n is None or skip is None or n <= skip:
            return None
        return ((self.stamps[-1] if until is None else until) - self.stamps[0]) / 1e9 / (n - skip)


def _stream(record: RequestRecord, codes: Collection[int]) -> _Stream:
    chunks = record.chunks
    return _Stream(send=record.send_ns, stamps=[ns for ns, code in zip(chunks.ns, chunks.kind, strict=True) if code in codes])


def _content_tokens(record: RequestRecord) -> list[int | None]:
    """Return the tokens of each content chunk, None where they were not counted."""
    chunks = record.chunks
    counts = (count for count, code in zip(chunks.tokens, chunks.kind, strict=True) if code in _CONTENT)
    return [None if count == UNKNOWN_TOKENS else count for count in counts]


def _closed(record: RequestRecord) -> float:
    return (record.close_ns - record.send_ns) / 1e9


def _chunk_tokens(record: RequestRecord) -> int | None:
    """Return the tokens of all content chunks, None unless each one is counted."""
    counts = _content_tokens(record)
    return sum(count for count in counts if count is not None) if counts and None not in counts else None


def _first_known(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _retokenised(record: RequestRecord) -> int | None:
    """Return what a local tokenizer counts; without one the server's counts stand in."""
    return _first_known(record.local_output, record.usage_output, _chunk_tokens(record))


def ixbench(record: RequestRecord) -> Reading:
    """Our own rules."""
    times = request_times(record)
    names = (
        "ttft",
        "ttfa",
        "e2el",
        "tpot",
        "tpot_tail",
        "speed",
        "e2e_norm",
        "dispatch_delay",
        "ttft_sched",
        "e2el_sched",
        "connect",
        "stall",
    )
    reading: Reading = {name: getattr(times, name) for name in names}
    return reading | {"icl": list(times.icl)}


def vllm(record: RequestRecord) -> Reading:
    """`vllm bench serve`: every chunk with choices counts, so a role chunk is the first token and the finish the last.

    Tokens: usage, else a local tokenizer, else 1; a usage of 0 counts as none.
    """
    chunks = _stream(record, _CHOICES)
    n = record.usage_output or record.local_output or 1
    return {"ttft": chunks.since_send(0), "e2el": chunks.since_send(-1), "tpot": chunks.per_token(n), "itl": chunks.gaps}


def sglang(record: RequestRecord) -> Reading:
    """`sglang.bench_serving`: text and thinking count, tool calls do not; the answer ends with the last line of the body.

    Tokens: usage, else the length that was asked for, which overcounts an early end.
    """
    chunks = _stream(record, _SPOKEN)
    n = _first_known(record.usage_output, record.output_asked)
    return {
        "ttft": chunks.since_send(0),
        "e2el": _closed(record),
        "tpot": chunks.per_token(n, until=record.close_ns),
        "itl": chunks.gaps,
    }


def guidellm(record: RequestRecord) -> Reading:
    """GuideLLM: its time per output token starts at the send, so it includes the prefill.

    Tokens: usage, else a local tokenizer, else the number of content chunks.
    """
    chunks = _stream(record, _CONTENT)
    n = _first_known(record.usage_output, record.local_output, len(chunks.stamps))
    last = chunks.since_send(-1)
    return {
        "ttft": chunks.since_send(0),
        "e2el": _closed(record),
        "itl_request": chunks.per_token(n),
        "tpot": last / n if last is not None and n else None,
    }


def inference_perf(record: RequestRecord) -> Reading:
    """inference-perf: each token bears the stamp of its chunk, so most gaps inside a chunk are zero.

    Tokens: its own tokenizer by default; a chunk that nobody counted is taken as one token.
    """
    chunks = zip(_stream(record, _CONTENT).stamps, _content_tokens(record), strict=True)
    tokens = [ns for ns, count in chunks for _ in range(1 if count is None else count)]
    stream = _Stream(send=record.send_ns, stamps=tokens)
    return {
        "ttft": stream.since_send(0),
        "e2el": _closed(record),
        "tpot": stream.per_token(_retokenised(record)),
        "itl": stream.gaps,
    }


def aiperf(record: RequestRecord) -> Reading:
    """AIPerf: its inter-token latency is one number a request, and it has no TPOT; gaps between chunks are called ICL.

    Tokens: its own tokenizer by default.
    """
    chunks = _stream(record, _CONTENT)
    return {
        "ttft": chunks.since_send(0),
        "e2el": chunks.since_send(-1),
        "itl_request": chunks.per_token(_retokenised(record)),
        "icl": chunks.gaps,
    }


def mlperf_endpoints(record: RequestRecord) -> Reading:
    """MLPerf Endpoints: the tokens of the first chunk are left out of the time per token; undefined where nobody counted them."""
    chunks = _stream(record, _CONTENT)
    skip = next(iter(_content_tokens(record)), None)
    return {
        "ttft": chunks.since_send(0),
        "e2el": chunks.since_send(-1),
        "tpot": chunks.per_token(record.usage_output, skip=skip),
    }


def inferencex_agentx(record: RequestRecord) -> Reading:
    """InferenceX's agentic benchmark: AIPerf with the server's counts; TPOT and inter-token latency are one list."""
    chunks = _stream(record, _CONTENT)
    tpot = chunks.per_token(record.usage_output)
    return {"ttft": chunks.since_send(0), "e2el": chunks.since_send(-1), "tpot": tpot, "itl_request": tpot}


TOOLS: dict[str, Callable[[RequestRecord], Reading]] = {
    "ixbench": ixbench,
    "vllm": vllm,
    "sglang": sglang,
    "guidellm": guidellm,
    "inference_perf": inference_perf,
    "aiperf": aiperf,
    "mlperf_endpoints": mlperf_endpoints,
    "inferencex_fixed": vllm,
    "inferencex_agentx": inferencex_agentx,
}
"""Whose rules -> the reading of one record; InferenceX measures fixed lengths with vLLM's client."""


def read_as(tool: str, record: RequestRecord) -> Reading:
    """Return one record's numbers under a tool's rules.

    :raises BadRecordError: if the record's stamps go backwards.
    :raises KeyError: if the tool is unknown.
    """
    refuse_backwards((record,))
    return TOOLS[tool](record)
