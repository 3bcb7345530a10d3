"""Phases of the workloads that replay a file: its conversations, pass after pass, until a phase has enough."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Protocol, Self

from pydantic import Field, model_validator

from ixbench.api.workload import Phase, Session
from ixbench_plugins.workloads.load import MOST_REQUESTS, LoadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ixbench.api.workload import Load, PhaseName, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of a file a phase replays; both None: without end."""

    requests: int | None = None
    """The last conversation is cut short to hit it."""
    sessions: int | None = None

    @property
    def endless(self) -> bool:
        """Whether only a duration ends it."""
        return self.requests is None and self.sessions is None


class PassesOptions(LoadOptions):
    """Keys of the workloads that replay a file."""

    passes: Annotated[int, Field(ge=1, le=MOST_REQUESTS)] | None = None
    """How often the whole file is replayed; 1 where neither requests nor duration is given, and with these it is repeated as needed."""

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        given = [name for name in ("requests", "duration", "passes") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given together; a point ends by one of them")
        return self

    def amount(self, load: Load, *, sessions: int, turns: int) -> Amount:
        """Return how much is measured; in an open loop a duration is a number of conversations too, since the rate is given.

        :param sessions: conversations of the file.
        :param turns: requests that they make.
        """
        if self.requests is not None:
            return Amount(requests=self.requests)
        if self.duration is not None:
            return Amount() if load.rate is None else Amount(sessions=max(1, round(load.rate * self.duration)))
        passes = self.passes or 1
        return Amount(requests=passes * turns, sessions=passes * sessions)


class Playable(Protocol):
    """One conversation of a file."""

    @property
    def name(self) -> str:
        """Where it stands in the file, or its id there."""
        ...

    @property
    def turns(self) -> int:
        """How many requests it makes."""
        ...

    def make(self, key: str, most: int) -> tuple[Turn, ...]:
        """Return its first turns, no more than `most`.

        :param key: of the pass that it is played in; no other pass of any point has it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """A file's conversations as one point plays them."""

    options: PassesOptions
    load: Load
    key: str
    order: Callable[[PhaseName, int], Sequence[Playable]]
    """Returns the conversations of one pass of a phase, counted from 0, in the order in which they start; equal on every call."""

    def phases(self, measured: Amount, arrival_ns: Callable[[int], int] | None = None) -> tuple[Phase, ...]:
        """Return a warm-up, where there is to be one, and the measured phase.

        :param arrival_ns: open loop: when the session of a number is due after its phase's start; None: as the options draw it.
        """
        warmup = Amount(requests=self.options.warmup_requests(self.load))
        before = (self._phase("warmup", warmup, arrival_ns),) if warmup.requests else ()
        return (*before, self._phase("profile", measured, arrival_ns))

    def plays(self, name: PhaseName, amount: Amount) -> Iterator[tuple[Playable, int, int]]:
        """Yield conversations, the pass that each belongs to, and how many of its turns are played; equal on every call."""
        left = amount.requests
        drawn = ((talk, lap) for lap in count() for talk in self.order(name, lap))
        for number, (talk, lap) in enumerate(drawn):
            if number == amount.sessions or left == 0:
                return
            turns = talk.turns if left is None else min(talk.turns, left)
            if left is not None:
                left -= turns
            yield talk, lap, turns

    def _phase(self, name: PhaseName, amount: Amount, arrival_ns: Callable[[int], int] | None) -> Phase:
        """Return a phase; its sessions are made as lanes draw them."""
        load, options = self.load, self.options
        requests = None if amount.endless else [turns for _, _, turns in self.plays(name, amount)]
        if arrival_ns is None and load.rate is not None and requests:
            arrival_ns = options.arrivals_ns(load.rate, len(requests), name).__getitem__

        def sessions() -> Iterator[Session]:
            for number, (talk, lap, turns) in enumerate(self.plays(name, amount)):
                yield Session(
                    id=f"{name}-{number}",
                    turns=talk.make(f"{self.key}:{name}:{lap}", turns),
                    trace_id=talk.name,
                    arrival_ns=None if arrival_ns is None else arrival_ns(number),
                )

        return Phase(
            name=name,
            sessions=sessions,
            lanes=load.concurrency,
            count=None if requests is None else sum(requests),
            # Where arrivals are given they end by themselves within the duration.
            duration_s=options.duration if amount.endless else None,
        )
