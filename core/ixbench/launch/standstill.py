"""Whether a running engine stands still: requests are under way, no byte of any answer comes, and nothing else shows that it computes.

Silence alone never counts, since a long prompt is computed without a word. What counts is that the engine's own page moves no more while it
says that requests run; where it says nothing of the kind, that a completion of one token is not answered. How much a process computes tells
nothing: an engine that spins for ever computes too. How soon it counts depends on the page: some move with every step of the engine, and a
step that takes longer than `STEP_LIMIT_S` is no step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ixbench.launch.progress import ProgressWatch
    from ixbench.launch.vitals import Motion, Vitals

STEP_LIMIT_S = 12.0
"""Default of `[run] stall_limit` where the engine's page moves with every step."""
STALL_LIMIT_S = 60.0
"""Default where it does not."""
_TICK_S = 1.0
_READ_AFTER_S = 2.0
"""Shortest silence after which the engine's page is read."""
_ASK_AFTER_S = 10.0
"""Shortest standstill after which a sign of life is asked for: the question is a request, and the engine has others to serve."""
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


@dataclass(slots=True, kw_only=True)
class Standstill:
    """Looks for one while a point runs."""

    motion: Motion
    vitals: Vitals
    progress: ProgressWatch
    """Of the engine's log: what is compiled or captured takes its time."""
    health_tells: bool
    limit_s: float | None
    """As the user wants it; None = the defaults."""
    build_limit_s: float = STALL_LIMIT_S
    """Limit, unless the user wants another, once the log told of progress: a kernel that is compiled says so when it begins and when it
    ends, and nothing between."""
    _building: bool = False
    _asked: bool = False
    """Whether a completion of one token was asked for in this standstill, and is not answered."""
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
            self._building = self._asked = False
            self.progress.skip()
            return None
        if self.progress.look():
            self._building = True
            motion.lives()
        if await motion.count(asked=self._under_way):
            self._building = self._asked = False
        # What a page that cannot be read, or one on which nothing runs, does not tell has to be asked for.
        tells = self.health_tells and motion.counted and not motion.idle
        if not tells and motion.still_s() >= _ASK_AFTER_S:
            self._asked = True
            if not self._under_way:
                self._under_way = True
                tasks.start_soon(self._ask)
        if not (motion.flat or self._asked):
            return None
        limit_s = self._limit_s()
        silent_s = motion.silent_s()
        if silent_s < limit_s or motion.still_s() < limit_s:
            return None
        what = "its counters stand still although requests run" if motion.flat else "a completion of one token is not answered"
        return Stall(silent_s=silent_s, limit_s=limit_s, what=what)

    def _limit_s(self) -> float:
        by_step = self.motion.flat and self.motion.tells_steps
        default_s = self.build_limit_s if self._building else STEP_LIMIT_S if by_step else STALL_LIMIT_S
        limit_s = self.limit_s or default_s
        return max(limit_s, _SURVIVED * self.motion.longest_s)

    async def _ask(self) -> None:
        try:
            if await self.vitals.completes(self.limit_s or STALL_LIMIT_S):
                self._asked = False
                self.motion.lives()
        finally:
            self._under_way = False
