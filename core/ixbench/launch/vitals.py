"""Signs of life of a server: its health path, a completion of one token, counters that move."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import httpx

from ixbench.launch.completion import complete, prompt_tokens
from ixbench.launch.control import describe_error, describe_response
from ixbench.model.engine_metrics import STEPS
from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ixbench.launch.counters import EngineCounters
    from ixbench.model.launch import LaunchPlan

    Flow = Callable[[], tuple[int, float]]
    """How many requests of ours are in flight, and how many seconds ago the last byte of an answer arrived."""
    Prefill = Callable[[bool], float | None]
    """How many seconds the engine may be busy with the prompts under way: 0 where there are none, None where that is not known. It is told
    whether the engine may compute those once more that have begun to answer."""

HEALTH_LIMIT_S = 2.5
_STEPS = 25
_OK = 200


@dataclass(slots=True, kw_only=True)
class Questions:
    """Completions of one token that were asked for beside the load: the engine's counters hold them, and the load's records do not."""

    asked: int = 0
    input: int | None = None
    """Prompt tokens of one, as the server counts them; None while none was answered with its usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """Asks one server."""

    plan: LaunchPlan
    client: httpx.AsyncClient
    """For control requests."""
    model: str
    questions: Questions = field(default_factory=Questions)

    @property
    def health_path(self) -> str:
        """Where its health is asked."""
        server = self.plan.server
        return server.readiness.health_path if server is not None else "/health"

    async def health(self) -> str | None:
        """Return what is wrong with the health path's answer, or None."""
        problem: str | None = f"no answer within {HEALTH_LIMIT_S:g} s"

        async def wait(scope: anyio.CancelScope) -> None:
            # httpx bounds each step of a request; an answer that drips is bounded here. Time in which this process had no core, and
            # could not have read an answer, does not count: each step is a look at the connection.
            for _ in range(_STEPS):
                await anyio.sleep(HEALTH_LIMIT_S / _STEPS)
            scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, tasks.cancel_scope)
            try:
                response = await self.client.get(self.health_path)
                problem = None if response.status_code == _OK else describe_response(response)
            except httpx.HTTPError as error:
                problem = describe_error(error)
            tasks.cancel_scope.cancel()
        return problem

    async def completes(self, limit_s: float) -> bool:
        """Whether a completion of one token is answered within the limit. A refusal is an answer too: who refuses is not dead."""
        self.questions.asked += 1
        try:
            with anyio.fail_after(limit_s):
                response = await complete(self.client, self.plan, self.model, limit_s=None)
        except (TimeoutError, httpx.HTTPError):
            return False
        self.questions.input = prompt_tokens(response) or self.questions.input
        return response.status_code < httpx.codes.INTERNAL_SERVER_ERROR


@dataclass(slots=True, kw_only=True)
class Survived:
    """The longest standstills that an engine came back from."""

    longest_s: float = 0.0
    decoding_s: float = 0.0
    """Of those in which no prompt was under way."""


@dataclass(slots=True, kw_only=True)
class Motion:
    """Whether an engine that sends nothing moves all the same: a long prompt is computed in silence, but not without a trace."""

    flow: Flow
    counters: EngineCounters | None
    survived: Survived = field(default_factory=Survived)
    prompts: bool = True
    """Whether prompts were under way when this was looked at last."""
    recomputes: bool = False
    """Whether the engine's counters say that it preempted requests, whose prompts it then computes once more."""
    loads: bool = False
    """Whether they say that it took parts of prompts from an external store, which answers need not count as cached."""
    counted: bool = False
    """Whether the engine's counters could be read the last time."""
    flat: bool = False
    """Whether they say that requests run and that nothing has moved."""
    idle: bool = False
    """Whether they say that nothing runs."""
    _in_flight_since: float | None = None
    _silent_s: float = 0.0
    _still_s: float = 0.0
    _alive_at: float = 0.0
    _before: Mapping[str, object] | None = None

    @property
    def tells_steps(self) -> bool:
        """Whether the counters move with every step of the engine."""
        return self.counters is not None and self.counters.metrics.tells_steps

    def silent_s(self) -> float:
        """Return for how long requests have been in flight without a byte of an answer; 0 where none is in flight."""
        in_flight, since_s = self.flow()
        now = time.monotonic()
        if not in_flight:
            self._in_flight_since = None
        elif self._in_flight_since is None:
            self._in_flight_since = now
        silent_s = 0.0 if self._in_flight_since is None else min(since_s, now - self._in_flight_since)
        if silent_s < self._silent_s:
            self._outlive(self._still_s)
            self._before, self.flat, self.idle = None, False, False
        self._silent_s = silent_s
        self._still_s = self.still_s()
        return silent_s

    def still_s(self) -> float:
        """Return for how long there has been no sign of life at all."""
        return min(self._silent_s, time.monotonic() - self._alive_at)

    def lives(self, ago_s: float = 0.0) -> None:
        """Take something else for a sign of life, which may be so many seconds old."""
        self._outlive(self._still_s - ago_s)
        self._alive_at = max(self._alive_at, time.monotonic() - ago_s)
        self._still_s = self.still_s()

    def _outlive(self, still_s: float) -> None:
        survived = self.survived
        survived.longest_s = max(survived.longest_s, still_s)
        if not self.prompts:
            survived.decoding_s = max(survived.decoding_s, still_s)

    async def count(self, *, asked: bool = False) -> bool:
        """Read the engine's counters; return whether they show that it lives.

        :param asked: whether a request of ours that belongs to no load is under way. Its arrival may be counted by a server whose engine
            is dead, so what moves meanwhile shows nothing, but for a count of steps; its answer will.
        """
        self.flat = self.idle = self.counted = False
        if self.counters is None:
            return False
        try:
            reading = await self.counters.read()
        except IxbenchError:
            return False
        metrics = self.counters.metrics
        # Each series by itself: of several engines the one that computes may not be the one with the largest value.
        found = {name: reading.series[name] for name in (*metrics.live_counters, "kv_usage", STEPS) if name in reading.series}
        before, self._before = self._before, found
        moved = before is not None and found != before
        stepped = before is not None and found.get(STEPS) != before.get(STEPS)
        totals = reading.totals()
        self.recomputes = self.recomputes or totals.get("preemptions", 0.0) > 0
        self.loads = self.loads or totals.get("external_cache_hits", 0.0) > 0
        if stepped or (moved and not asked):
            self.counted = True
            self.lives(metrics.refresh_s)
            return True
        self.counted = bool(found)
        # An engine that does not say how many requests run has at least ours.
        runs = totals.get("running", 1.0) > 0
        self.flat = self.counted and before is not None and runs and not moved
        self.idle = self.counted and not runs
        return False
