"""A reason to believe that an engine is dead although its server lives: it counts once nothing speaks against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ixbench.model.result import Failure

SILENCE_S = 3.0
"""So long without a byte after it makes a suspicion true; an engine that ends by itself meanwhile tells better why."""
ALIVE_S = 10.0
"""Answers that go on for so long make it untrue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """One of them."""

    since: float
    """On the monotonic clock."""
    failure: Failure
    """What became of the engine, if it is true."""
    what: str
    """What happened, for a note where it is not."""

    def judge(self, *, in_flight: int, silent_s: float, now: float) -> Literal["wait", "ask", "dead", "alive"]:
        """Say what is known by now; "ask": nothing is under way, so that only a request can tell. Pure.

        :param silent_s: since the last byte of any answer.
        """
        passed_s = now - self.since
        if passed_s < SILENCE_S:
            return "wait"
        if not in_flight:
            return "ask"
        if silent_s >= SILENCE_S:
            return "dead"
        return "alive" if passed_s >= ALIVE_S else "wait"
