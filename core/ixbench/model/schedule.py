"""What the replay executes: phases of sessions, sessions of turns, turns with predecessors and delays. Workloads only build it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from ixbench.model.prompt import Prompt

PhaseName = Literal["warmup", "profile", "drain"]
Anchor = Literal["end", "start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A turn waits for another turn of its session, then for a delay."""

    turn: int
    """Index of the predecessor in `Session.turns`."""
    delay_ns: int = 0
    anchor: Anchor = "end"
    """Whether the delay counts from the predecessor's end (its close) or from its send."""
    required: bool = False
    """Whether the turn makes no sense without the predecessor: it is skipped, with all that follows in its stream, where the predecessor
    was never sent. Otherwise a predecessor that will never be sent holds nothing up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request to come."""

    prompt: Prompt
    after: tuple[Edge, ...] = ()
    """All must have ended, well or badly; the turn is due at the latest of them plus its delay."""
    delay_ns: int = 0
    """For a turn without predecessors: the wait after the session's start."""
    resume_ns: int = 0
    """For a turn all or some of whose predecessors ended before the phase: the earliest moment after the phase's start. The same for a
    turn that was ready in the phase before and was not sent there."""
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
    prompt_blocks: int | None = None
    """Whole blocks of the prompt, where its corpus tells which of them are equal to earlier ones."""
    hit_blocks: int | None = None
    """Blocks at its start that a prefix cache without bounds would hold if the corpus was sent as recorded."""


class TurnGraph(Protocol):
    """The turns of a large session, made when they are needed: of a session of thousands a phase may play a few."""

    def __len__(self) -> int:
        """Return the number of turns."""
        ...

    def __getitem__(self, index: int, /) -> Turn:
        """Return a turn; the same one on every call."""
        ...

    def first(self) -> Iterable[int]:
        """Return at least all turns of which every predecessor is done when the session begins."""
        ...

    def followers(self, index: int, anchor: Anchor) -> Iterable[int]:
        """Return the turns that have an edge from this one with that anchor."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One user's conversation, or one agent's tree: a graph of turns that one lane plays."""

    id: str
    turns: tuple[Turn, ...] | TurnGraph
    trace_id: str | None = None
    """Corpus entry that it was made from."""
    arrival_ns: int | None = None
    """Open loop: when it is due, from the start of the phase. None: when a lane is free."""
    done: Collection[int] = frozenset()
    """Turns that count as ended before the session begins; they are never sent."""


class SessionSource(Protocol):
    """Where sessions come from that depend on who plays them. An iterator of sessions does for all others."""

    def draw(self, lane: int | None) -> Session | None:
        """Return the next session for a lane (None: the next arrival of an open loop), or None where there is none left for it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of load: lanes draw sessions until these end or the time is over, then requests in flight get their grace."""

    name: PhaseName
    sessions: Callable[[], Iterator[Session] | SessionSource] | None
    """Makes the sessions anew, in the order in which lanes draw them; equal on every call, possibly endless where `duration_s` or
    `turns_per_lane` is given. None: the lanes go on with the sessions that they held in the phase before, in the state reached, and draw
    further ones from where that phase did."""
    lanes: int | None
    """Sessions in flight at once; None = open loop, each session starts at its arrival."""
    count: int | None = None
    """Turns in all, where known: for progress."""
    duration_s: float | None = None
    """Nothing new starts after it."""
    grace_s: float = 600.0
    """How long requests in flight may still take when the phase is over; then they are cancelled."""
    turns_per_lane: int | None = None
    """Requests that each lane may send; further turns are held back, and the phase is over when all lanes have sent theirs."""
    delays: bool = True
    """False: turns start as soon as their predecessors allow it."""
    output_limit: int | None = None
    """Caps the output tokens of every turn."""
    align_start: bool = False
    """Whether all lanes begin earlier by the same amount, so that the first request goes at once."""
    idle_limit_s: float | None = None
    """Longest time without a request in flight: when the next turn is due later, all turns that wait for their moment move forward by
    one amount. Joins are not bypassed."""
    session_idle_limit_s: float | None = None
    """The same for the turns of one session while none of its own requests is in flight."""
    failed_share_limit: float | None = None
    """Ends the replay when more than this share of the phase's requests failed, looked at from the first max(lanes, 10) results on."""
    main_must_succeed: bool = False
    """Ends the replay when a request of depth 0 fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """All phases of one point, in order."""

    phases: tuple[Phase, ...]
    request_limit_s: float = 3600.0
    """Bound on one request; reaching it is a failure of class timeout: transport before the response head, truncated after it."""
    facts: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    """What the workload wants on record: arrival process, length rule, corpus hash."""
