"""The seam between replay and engines: a channel takes a `TurnRequest` and gives back an `Exchange`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ixbench.model.record import Chunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.record import ErrorClass, FailureKind
    from ixbench.model.schedule import PhaseName, Session, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """One turn that is due now."""

    req_id: str
    session: Session
    index: int
    """Position of the turn in the session."""
    phase: PhaseName
    lane: int | None
    answers: Mapping[int, str] = field(default_factory=dict)
    """Live answers of the session's earlier turns that were asked to keep them, by index."""
    memory: dict[str, Any] = field(default_factory=dict)
    """The same object for all turns of a session: what the channel keeps from turn to turn, by stream. It is gone when the session is."""
    output_limit: int | None = None
    """Caps the turn's output tokens."""
    turn: Turn = field(init=False)
    """The turn itself, capped."""

    def __post_init__(self) -> None:
        """Look the turn up."""
        turn = self.session.turns[self.index]
        limit = self.output_limit
        if limit is not None and (turn.output_tokens is None or turn.output_tokens > limit):
            turn = replace(turn, output_tokens=limit)
        object.__setattr__(self, "turn", turn)

    @property
    def conversation(self) -> str:
        """Id of the conversation, stable for all its requests: the session's, with the stream where that is not the main one."""
        return self.session.id if self.turn.stream == "main" else f"{self.session.id}:{self.turn.stream}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What happened on the wire, in the terms of `RequestRecord`; a channel never raises for a failed request."""

    send_ns: int
    close_ns: int
    conn_ns: int | None = None
    sent_ns: int | None = None
    headers_ns: int | None = None
    conn_reused: bool = False
    chunks: Chunks = field(default_factory=Chunks)
    input_asked: int | None = None
    output_asked: int | None = None
    usage_asked: bool = True
    usage_input: int | None = None
    usage_cached: int | None = None
    usage_output: int | None = None
    usage_reasoning: int | None = None
    http_status: int | None = None
    finish_reason: str | None = None
    done_seen: bool | None = None
    failure: FailureKind | None = None
    error_class: ErrorClass | None = None
    error_text: str | None = None
    resent: bool = False
    bundled: int = 0
    ttft_upper_bound: bool = False
    answer: str | None = None
    """The text, where the turn asked to keep it; lives in memory only."""


class Channel(Protocol):
    """What replay knows of an engine."""

    async def send(self, request: TurnRequest) -> Exchange:
        """Send one turn and return when its response has ended, well or badly.

        Cancellation propagates; replay then records the request as cancelled.
        """
        ...
