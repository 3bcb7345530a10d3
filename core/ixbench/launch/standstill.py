"""Whether a running engine stands still: requests are under way, no byte of any answer comes, and nothing else shows that it computes.

Silence alone never counts, since a long prompt is computed without a word. What counts is that the engine's own page moves no more while it
says that requests run, if it moves with every step of the engine; where it does not, that a completion of one token is not answered. How
much a process computes tells nothing: an engine that spins for ever computes too. How soon it counts depends on what the engine may be at:
a step that takes longer than `STEP_LIMIT_S` is no step, but prompts that are under way may be computed for longer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ixbench.launch.progress import ProgressWatch
    from ixbench.launch.vitals import Motion, Prefill, Vitals

STEP_LIMIT_S = 12.0
"""Default of `[run] stall_limit` where the engine's page moves with every step, or no prompt is under way."""
STALL_LIMIT_S = 60.0
"""Default where it is not known how long the prompts under way may take, and the most that they are given."""
_PREFILL_FACTOR = 3.0
"""They may take so many times as long as those before them show."""
_TICK_S = 1.0
_READ_AFTER_S = 2.0
"""Shortest silence after which the engine's page is read."""
_ASK_AFTER_S = 10.0
"""Longest standstill without the question for a sign of life: the question is a request, and the engine has others to serve."""
_ASK_SHARE = 0.4
"""Of the limit: the same."""
_ANSWER_SHARE = 0.5
"""Of the limit: so long the question must have been under way."""
_SURVIVED = 3.0
"""An engine that came back from a standstill may stand still for so many times as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """What shows that an engine stands still."""

    silent_s: float
    limit_s: float
    """So long it was given."""
    what: str
    """In words."""


def prefill_limit_s(prefill_s: float | None) -> float:
    """Return how long an engine that does not tell its steps may stand still. Pure.

    :param prefill_s: how long it may be busy with the prompts under way; None = not known.
    """
    if prefill_s is None:
        return STALL_LIMIT_S
    return min(max(STEP_LIMIT_S, _PREFILL_FACTOR * prefill_s), STALL_LIMIT_S)


@dataclass(slots=True, kw_only=True)
class Standstill:
    """Looks for one while a point runs."""

    motion: Motion
    vitals: Vitals
    prefill_s: Prefill
    progress: ProgressWatch
    """Of the engine's log: what is compiled or captured takes its time."""
    health_tells: bool
    limit_s: float | None
    """As the user wants it; None = the defaults."""
    build_limit_s: float = STALL_LIMIT_S
    """Limit, unless the user wants another, once the log told of progress: a kernel that is compiled says so when it begins and when it
    ends, and nothing between."""
    _building: bool = False
    _asked_at: float | None = None
    """When a completion of one token was asked for in this standstill; None where none was, or one is answered."""
    _under_way: bool = False
    """Whether one has not come back."""

    async def found(self) -> Stall:
        """Return once it stands still; wait for ever otherwise, so cancel it."""
        self.progress.skip()
        stall: Stall | None = None
        async with anyio.create_task_group() as tasks:
            while stall is None:
                await anyio.sleep(_TICK_S)
                stall = await self._look(tasks)
            tasks.cancel_scope.cancel()
        assert stall is not None
        return stall

    async def _look(self, tasks: TaskGroup) -> Stall | None:
        motion = self.motion
        if motion.silent_s() < _READ_AFTER_S:
            self._building, self._asked_at = False, None
            self.progress.skip()
            return None
        if self.progress.look():
            self._building = True
            motion.lives()
        # A page that does not come is not waited for beyond the limit.
        with anyio.move_on_after(max(self._limit_s() - motion.still_s(), _TICK_S)):
            if await motion.count(asked=self._under_way):
                self._building, self._asked_at = False, None
        # Reading the page takes time too, and an answer may have come meanwhile.
        silent_s = motion.silent_s()
        limit_s = self._limit_s()
        if not self._steps_told and motion.still_s() >= min(_ASK_AFTER_S, _ASK_SHARE * limit_s):
            self._ask_once(tasks)
        asked_s = 0.0 if self._asked_at is None else time.monotonic() - self._asked_at
        unanswered = asked_s >= _ANSWER_SHARE * limit_s
        if not unanswered and not (motion.flat and motion.tells_steps):
            return None
        if motion.still_s() < limit_s:
            return None
        flat = "its counters stand still although requests run" if motion.flat else ""
        asked = "a completion of one token is not answered" if unanswered else ""
        return Stall(silent_s=silent_s, limit_s=limit_s, what=", and ".join(filter(None, (flat, asked))))

    @property
    def _steps_told(self) -> bool:
        """Whether the page alone tells; what one that cannot be read, or on which nothing runs, does not tell has to be asked for."""
        motion = self.motion
        return self.health_tells and motion.tells_steps and motion.counted and not motion.idle

    def _limit_s(self) -> float:
        motion = self.motion
        prefill_s = self.prefill_s(motion.recomputes)
        motion.prompts = prefill_s != 0
        by_step = motion.flat and motion.tells_steps
        if self._building:
            default_s = self.build_limit_s
        elif by_step:
            default_s = STEP_LIMIT_S
        else:
            default_s = prefill_limit_s(None if motion.prompts and motion.loads else prefill_s)
        survived = motion.survived
        longest_s = survived.longest_s if by_step or motion.prompts else survived.decoding_s
        return max(self.limit_s or default_s, _SURVIVED * longest_s)

    def _ask_once(self, tasks: TaskGroup) -> None:
        """Ask for a completion of one token unless one is under way."""
        if self._asked_at is None:
            self._asked_at = time.monotonic()
        if not self._under_way:
            self._under_way = True
            tasks.start_soon(self._ask)

    async def _ask(self) -> None:
        try:
            if await self.vitals.completes(self.limit_s or STALL_LIMIT_S):
                self._asked_at = None
                self.motion.lives()
        finally:
            self._under_way = False
