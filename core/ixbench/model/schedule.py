"""What the replay executes: phases of sessions, sessions of turns, turns with predecessors and delays. Workloads only build it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ixbench.model.prompt import Prompt

PhaseName = Literal["warmup", "profile", "drain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A turn waits for another turn of its session, then for a delay."""

    turn: int
    """Index of the predecessor in `Session.turns`."""
    delay_ns: int = 0
    anchor: Literal["end", "start"] = "end"
    """Whether the delay counts from the predecessor's end (its close) or from its send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request to come."""

    prompt: Prompt
    after: tuple[Edge, ...] = ()
    """All must have ended, well or badly; the turn is due at the latest of them plus its delay."""
    delay_ns: int = 0
    """For a turn without predecessors: the wait after the session's start."""
    stream: str = "main"
    """Which conversation of the session it belongs to (the main agent, a sub-agent)."""
    number: int = 0
    """Turn number within its stream."""
    depth: int = 0
    """0 for the main agent."""
    input_tokens: int | None = None
    """Prompt tokens wanted; None = whatever the text has."""
    output_tokens: int | None = None
    """Output limit sent to the server; None = the server's own."""
    exact_length: bool = False
    """Whether the server must ignore end-of-sequence and return exactly `output_tokens`."""
    keep_answer: bool = False
    """Whether a later turn needs the answer's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One user's conversation, or one agent's tree: a graph of turns that one lane plays."""

    id: str
    turns: tuple[Turn, ...]
    trace_id: str | None = None
    """Corpus entry that it was made from."""
    arrival_ns: int | None = None
    """Open loop: when it is due, from the start of the phase. None: when a lane is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of load: lanes draw sessions until these end or the time is over, then requests in flight get their grace."""

    name: PhaseName
    sessions: Callable[[], Iterator[Session]]
    """Makes the sessions anew, in the order in which lanes draw them; equal on every call, possibly endless where `duration_s` is given."""
    lanes: int | None
    """Sessions in flight at once; None = open loop, each session starts at its arrival."""
    count: int | None = None
    """Turns in all, where known: for progress."""
    duration_s: float | None = None
    """Nothing new starts after it."""
    grace_s: float = 600.0
    """How long requests in flight may still take when the phase is over; then they are cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """All phases of one point, in order."""

    phases: tuple[Phase, ...]
    request_limit_s: float = 3600.0
    """Bound on one request; reaching it is a failure of class timeout: transport before the response head, truncated after it."""
    facts: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    """What the workload wants on record: arrival process, length rule, corpus hash."""
