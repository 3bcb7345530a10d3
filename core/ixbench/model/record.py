"""What one request did: the flat record that every metric is a pure function of."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ixbench.model.schedule import PhaseName

ChunkKind = Literal["role", "text", "think", "tool", "finish", "usage", "done", "error"]
CHUNK_KINDS: tuple[ChunkKind, ...] = ("role", "text", "think", "tool", "finish", "usage", "done", "error")
"""Position = the code stored for the kind."""
CONTENT_KINDS: frozenset[ChunkKind] = frozenset({"text", "think", "tool"})
"""Kinds that carry output; a role chunk, a finish or a usage never counts as a token."""

FailureKind = Literal["transport", "http_status", "not_a_stream", "server_error", "malformed", "truncated", "no_usage", "length_mismatch"]
FAILURE_KINDS: tuple[FailureKind, ...] = (
    "transport",
    "http_status",
    "not_a_stream",
    "server_error",
    "malformed",
    "truncated",
    "no_usage",
    "length_mismatch",
)
"""In order of precedence: a failed request has the first that applies."""

ErrorClass = Literal["connect", "reset", "timeout", "tls", "dns", "protocol", "context_overflow", "rate_limited"]
"""Closed list that refines `transport` and `http_status`."""

UNKNOWN_TOKENS = -1
"""In `Chunks.tokens`: the server did not say how many tokens the chunk holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One SSE event."""

    ns: int
    """When its bytes arrived, on the record's clock."""
    kind: ChunkKind
    tokens: int | None
    """Output tokens in it, where the server reports them per chunk."""
    size: int
    """Bytes of the event."""


@dataclass(frozen=True, slots=True)
class Chunks:  # noqa: PLW1641 - columns have no hash
    """All events of one response as four parallel columns, cheap to keep by the million."""

    ns: array[int] = field(default_factory=lambda: array("q"))
    kind: bytearray = field(default_factory=bytearray)
    """One byte a chunk: the index in CHUNK_KINDS."""
    tokens: array[int] = field(default_factory=lambda: array("i"))
    """UNKNOWN_TOKENS where not reported."""
    size: array[int] = field(default_factory=lambda: array("i"))

    @classmethod
    def of(cls, rows: Iterable[tuple[int, ChunkKind, int | None, int]]) -> Chunks:
        """Build the columns from (ns, kind, tokens, bytes) rows."""
        chunks = cls()
        for ns, kind, tokens, size in rows:
            chunks.append(ns, kind, tokens, size)
        return chunks

    def append(self, ns: int, kind: ChunkKind, tokens: int | None, size: int) -> None:
        """Add one event; only the maker of the record does so, before the record exists."""
        self.ns.append(ns)
        self.kind.append(CHUNK_KINDS.index(kind))
        self.tokens.append(UNKNOWN_TOKENS if tokens is None else tokens)
        self.size.append(size)

    def packed(self, column: Literal["ns", "kind", "tokens"]) -> memoryview:
        """Return a column's bytes as numpy reads them, to be copied at once: what takes many responses together needs no array of each."""
        return memoryview(getattr(self, column))

    def __eq__(self, other: object) -> bool:
        """Say whether the columns are equal, wherever they are kept."""
        if not isinstance(other, Chunks):
            return NotImplemented
        return (self.ns, self.kind, self.tokens, self.size) == (other.ns, other.kind, other.tokens, other.size)

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.ns)

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the events one by one; slower than the columns."""
        for ns, kind, tokens, size in zip(self.ns, self.kind, self.tokens, self.size, strict=True):
            yield Chunk(ns=ns, kind=CHUNK_KINDS[kind], tokens=None if tokens == UNKNOWN_TOKENS else tokens, size=size)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request, whatever became of it. Times are integer nanoseconds of one monotonic clock."""

    req_id: str
    """Unique in the run, sent as a request header."""
    phase: PhaseName
    """Fixed at send time; only `profile` enters headline numbers."""
    session_id: str
    tree_id: str
    lane: int | None
    """The load slot; None in an open loop."""
    trace_id: str | None = None
    stream: str = "main"
    turn: int = 0
    depth: int = 0
    due_ns: int | None = None
    """When the schedule wanted the send; None only in a closed loop without delays."""
    send_ns: int = 0
    """Just before the request is handed to the HTTP client: body serialised, connection wait still to come."""
    conn_ns: int | None = None
    sent_ns: int | None = None
    headers_ns: int | None = None
    conn_reused: bool = False
    chunks: Chunks = field(default_factory=Chunks)
    close_ns: int = 0
    """Body closed, or the failure's time."""
    input_asked: int | None = None
    output_asked: int | None = None
    """The max_tokens sent."""
    exact_length: bool = False
    usage_asked: bool = True
    """Whether the request asked for usage; `no_usage` is a failure only then."""
    usage_input: int | None = None
    usage_cached: int | None = None
    usage_output: int | None = None
    usage_reasoning: int | None = None
    local_input: int | None = None
    """Counted by a named local tokenizer, where asked for; never mixed into `usage_*`."""
    local_output: int | None = None
    http_status: int | None = None
    finish_reason: str | None = None
    """First non-null reason of choice 0, as sent."""
    done_seen: bool | None = None
    failure: FailureKind | None = None
    """None for a success or a cancelled request."""
    error_class: ErrorClass | None = None
    error_text: str | None = None
    """Cut to 200 characters, secrets redacted."""
    cancelled: bool = False
    """By the client (deadline, end of phase): counted apart, neither ok nor failed."""
    resent: bool = False
    bundled: int = 0
    """Chunks with output whose stamp is an upper bound: more bytes came in the same read, and its stamp is that of the last of them."""
    ttft_upper_bound: bool = False
    """Whether the first chunk with output is one of them."""
    lag_ns: int = 0
    """Largest event-loop delay seen while the request was in flight."""
    prompt_blocks: int | None = None
    """Whole blocks of the prompt, where the corpus tells equal ones."""
    hit_blocks: int | None = None
    """Blocks at its start that a prefix cache without bounds would have held."""

    @property
    def ok(self) -> bool:
        """Whether the request counts as a success."""
        return self.failure is None and not self.cancelled
