"""The same request under other tools' rules: why their numbers differ from ours, shown on one record instead of argued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench.measure.blocks import CONTENT_MASK, kind_mask, refuse_backwards
from ixbench.measure.request import request_times
from ixbench.model.record import CONTENT_KINDS, UNKNOWN_TOKENS
from ixbench.model.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ixbench.measure.blocks import Booleans, Integers
    from ixbench.model.record import RequestRecord

ToolReading = dict[str, float | list[float] | None]
"""A tool's numbers of one request by its own names, in seconds; None where the tool has none."""


_SPOKEN = kind_mask({"text", "think"})
_CHOICES = kind_mask({*CONTENT_KINDS, "role", "finish"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolTimes:
    """What a tool makes of one request, in seconds; None where it has nothing."""

    ttft: float | None
    e2el: float | None
    tpot: float | None = None
    itl: float | None = None
    """Inter-token latency as one number a request."""
    gaps_ns: Integers | None = None
    """Inter-token latency, or inter-chunk latency, as gaps in nanoseconds; None = the tool looks at none."""
    tokens: int | None
    """Output tokens as the tool counts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stream:
    """The stamps of one kind of chunk, in integer nanoseconds."""

    send: int
    stamps: Integers

    def since_send(self, position: int) -> float | None:
        return (int(self.stamps[position]) - self.send) / NS_PER_S if len(self.stamps) else None

    @property
    def gaps_ns(self) -> Integers:
        return np.diff(self.stamps)

    def per_token(self, n: int | None, *, until: int | None = None, skip: int | None = 1) -> float | None:
        """Return seconds a token from the first stamp to the last (or `until`), with the first `skip` tokens left out."""
        if not len(self.stamps) or n is None or skip is None or n <= skip:
            return None
        return ((int(self.stamps[-1]) if until is None else until) - int(self.stamps[0])) / NS_PER_S / (n - skip)


def _column(record: RequestRecord, kinds: Booleans, values: NDArray[np.int64] | NDArray[np.intc]) -> Integers:
    where = kinds[np.frombuffer(bytes(record.chunks.packed("kind")), dtype=np.uint8)]
    return values[where].astype(np.int64)


def _stream(record: RequestRecord, kinds: Booleans) -> _Stream:
    stamps = np.frombuffer(bytes(record.chunks.packed("ns")), dtype=np.int64)
    return _Stream(send=record.send_ns, stamps=_column(record, kinds, stamps))


def _content_tokens(record: RequestRecord) -> Integers:
    """Return the tokens of each content chunk, UNKNOWN_TOKENS where they were not counted."""
    return _column(record, CONTENT_MASK, np.frombuffer(bytes(record.chunks.packed("tokens")), dtype=np.intc))


def _closed(record: RequestRecord) -> float:
    return (record.close_ns - record.send_ns) / NS_PER_S


def _chunk_tokens(record: RequestRecord) -> int | None:
    """Return the tokens of all content chunks, None unless each one is counted."""
    counts = _content_tokens(record)
    return int(counts.sum()) if len(counts) and (counts != UNKNOWN_TOKENS).all() else None


def _first_known(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _retokenised(record: RequestRecord) -> int | None:
    """Return what a local tokenizer counts; without one the server's counts stand in."""
    return _first_known(record.local_output, record.usage_output, _chunk_tokens(record))


def ixbench(record: RequestRecord) -> ToolTimes:
    """Our own rules."""
    chunks = _stream(record, CONTENT_MASK)
    return ToolTimes(
        ttft=chunks.since_send(0),
        e2el=chunks.since_send(-1),
        tpot=chunks.per_token(record.usage_output),
        gaps_ns=chunks.gaps_ns,
        tokens=record.usage_output,
    )


def vllm(record: RequestRecord) -> ToolTimes:
    """`vllm bench serve`: every chunk with choices counts, so a role chunk is the first token and the finish the last.

    Tokens: usage, else a local tokenizer, else 1; a usage of 0 counts as none.
    """
    chunks = _stream(record, _CHOICES)
    n = record.usage_output or record.local_output or 1
    return ToolTimes(ttft=chunks.since_send(0), e2el=chunks.since_send(-1), tpot=chunks.per_token(n), gaps_ns=chunks.gaps_ns, tokens=n)


def sglang(record: RequestRecord) -> ToolTimes:
    """`sglang.bench_serving`: text and thinking count, tool calls do not; the answer ends with the last line of the body.

    Tokens: usage, else the length that was asked for, which overcounts an early end.
    """
    chunks = _stream(record, _SPOKEN)
    n = _first_known(record.usage_output, record.output_asked)
    return ToolTimes(
        ttft=chunks.since_send(0),
        e2el=_closed(record),
        tpot=chunks.per_token(n, until=record.close_ns),
        gaps_ns=chunks.gaps_ns,
        tokens=n,
    )


def guidellm(record: RequestRecord) -> ToolTimes:
    """GuideLLM: its time per output token starts at the send, so it includes the prefill.

    Tokens: usage, else a local tokenizer, else the number of content chunks.
    """
    chunks = _stream(record, CONTENT_MASK)
    n = _first_known(record.usage_output, record.local_output, len(chunks.stamps))
    last = chunks.since_send(-1)
    return ToolTimes(
        ttft=chunks.since_send(0),
        e2el=_closed(record),
        itl=chunks.per_token(n),
        tpot=last / n if last is not None and n else None,
        tokens=n,
    )


def inference_perf(record: RequestRecord) -> ToolTimes:
    """inference-perf: each token bears the stamp of its chunk, so most gaps inside a chunk are zero.

    Tokens: its own tokenizer by default; a chunk that nobody counted is taken as one token.
    """
    counts = _content_tokens(record)
    tokens = np.repeat(_stream(record, CONTENT_MASK).stamps, np.where(counts == UNKNOWN_TOKENS, 1, counts))
    stream = _Stream(send=record.send_ns, stamps=tokens)
    n = _retokenised(record)
    return ToolTimes(ttft=stream.since_send(0), e2el=_closed(record), tpot=stream.per_token(n), gaps_ns=stream.gaps_ns, tokens=n)


def aiperf(record: RequestRecord) -> ToolTimes:
    """AIPerf: its inter-token latency is one number a request, and it has no TPOT; gaps between chunks are called ICL.

    Tokens: its own tokenizer by default.
    """
    chunks = _stream(record, CONTENT_MASK)
    n = _retokenised(record)
    return ToolTimes(ttft=chunks.since_send(0), e2el=chunks.since_send(-1), itl=chunks.per_token(n), gaps_ns=chunks.gaps_ns, tokens=n)


def mlperf_endpoints(record: RequestRecord) -> ToolTimes:
    """MLPerf Endpoints: the tokens of the first chunk are left out of the time per token; undefined where nobody counted them."""
    chunks = _stream(record, CONTENT_MASK)
    counts = _content_tokens(record)
    skip = int(counts[0]) if len(counts) and counts[0] != UNKNOWN_TOKENS else None
    return ToolTimes(
        ttft=chunks.since_send(0),
        e2el=chunks.since_send(-1),
        tpot=chunks.per_token(record.usage_output, skip=skip),
        tokens=record.usage_output,
    )


def inferencex_agentx(record: RequestRecord) -> ToolTimes:
    """InferenceX's agentic benchmark: AIPerf with the server's counts; TPOT and inter-token latency are one list."""
    chunks = _stream(record, CONTENT_MASK)
    tpot = chunks.per_token(record.usage_output)
    return ToolTimes(ttft=chunks.since_send(0), e2el=chunks.since_send(-1), tpot=tpot, itl=tpot, tokens=record.usage_output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Whose rules, and what the tool calls what it has."""

    label: str
    times: Callable[[RequestRecord], ToolTimes]
    names: tuple[tuple[str, str], ...]
    """Name in a reading -> field of `ToolTimes`, for what the tool has beside TTFT and the end of the latency."""


_TPOT, _ITL = ("tpot", "tpot"), ("itl_request", "itl")
TOOLS: dict[str, Tool] = {
    "ixbench": Tool(label="ixbench", times=ixbench, names=(_TPOT, ("icl", "gaps_ns"))),
    "vllm": Tool(label="vLLM bench serve", times=vllm, names=(_TPOT, ("itl", "gaps_ns"))),
    "sglang": Tool(label="SGLang bench_serving", times=sglang, names=(_TPOT, ("itl", "gaps_ns"))),
    "guidellm": Tool(label="GuideLLM", times=guidellm, names=(_ITL, _TPOT)),
    "inference_perf": Tool(label="inference-perf", times=inference_perf, names=(_TPOT, ("itl", "gaps_ns"))),
    "aiperf": Tool(label="AIPerf", times=aiperf, names=(_ITL, ("icl", "gaps_ns"))),
    "mlperf_endpoints": Tool(label="MLPerf Endpoints", times=mlperf_endpoints, names=(_TPOT,)),
    "inferencex_fixed": Tool(label="InferenceX fixed", times=vllm, names=(_TPOT, ("itl", "gaps_ns"))),
    "inferencex_agentx": Tool(label="InferenceX AgentX", times=inferencex_agentx, names=(_TPOT, _ITL)),
}
"""InferenceX measures fixed lengths with vLLM's client."""

_OWN_FURTHER = ("ttfa", "tpot_tail", "speed", "e2e_norm", "dispatch_delay", "ttft_sched", "e2el_sched", "connect", "stall")


def read_as(tool: str, record: RequestRecord) -> ToolReading:
    """Return one record's numbers under a tool's rules.

    :raises BadRecordError: if the record's stamps go backwards.
    :raises KeyError: if the tool is unknown.
    """
    refuse_backwards((record,))
    rules = TOOLS[tool]
    times = rules.times(record)
    reading: ToolReading = {"ttft": times.ttft, "e2el": times.e2el}
    for name, field in rules.names:
        value = getattr(times, field)
        reading[name] = (value / NS_PER_S).tolist() if isinstance(value, np.ndarray) else value
    if tool == "ixbench":
        own = request_times(record)
        reading |= {name: getattr(own, name) for name in _OWN_FURTHER}
    return reading
