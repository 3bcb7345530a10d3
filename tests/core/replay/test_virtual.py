"""Virtual time: hours pass at once, to the nanosecond, and every run is the same."""

from __future__ import annotations

import asyncio
import random
import time
from itertools import count

import anyio
import pytest

from ixbench.model.exchange import Exchange
from ixbench.model.prompt import SyntheticPrompt
from ixbench.model.schedule import Edge, Phase, Schedule, Session, Turn
from ixbench.model.units import NS_PER_S
from ixbench.replay.execute import execute
from ixbench.replay.virtual import VirtualClock, VirtualLoop

HOUR_NS = 3600 * NS_PER_S


def run(main):
    return anyio.run(main, backend_options={"loop_factory": VirtualLoop})


def test_time_begins_at_zero_and_passes_only_in_waits():
    async def main():
        clock = VirtualClock()
        moments = [clock.now_ns()]
        await anyio.sleep(1.5)
        moments.append(clock.now_ns())
        await clock.sleep_until_ns(HOUR_NS)
        moments.append(clock.now_ns())
        await clock.sleep_until_ns(5)
        moments.append(clock.now_ns())
        return moments

    assert run(main) == [0, 1_500_000_000, HOUR_NS, HOUR_NS]


def test_a_day_takes_no_time():
    async def main():
        for hour in range(1, 25):
            await VirtualClock().sleep_until_ns(hour * HOUR_NS)
        return VirtualClock().now_ns()

    began = time.monotonic()
    assert run(main) == 24 * HOUR_NS
    assert time.monotonic() - began < 3600  # else time was not virtual


def test_neighbouring_nanoseconds_stay_apart_for_weeks():
    async def main():
        clock = VirtualClock()
        base = 600 * HOUR_NS
        await clock.sleep_until_ns(base)
        woken: list[tuple[int, int]] = []

        async def wait(moment: int) -> None:
            await clock.sleep_until_ns(moment)
            woken.append((moment - base, clock.now_ns() - base))

        async with anyio.create_task_group() as tasks:
            for step in (3, 1, 2, 5, 4):
                tasks.start_soon(wait, base + step)
        return woken

    assert run(main) == [(step, step) for step in (1, 2, 3, 4, 5)]


def test_any_moment_is_hit_exactly():
    moments = sorted(random.Random(7).sample(range(100 * HOUR_NS), 2000))

    async def main():
        clock = VirtualClock()
        hit = []
        for moment in moments:
            await clock.sleep_until_ns(moment)
            hit.append(clock.now_ns())
        return hit

    assert run(main) == moments


def test_cancelled_timers_do_not_move_time():
    async def main():
        with anyio.move_on_after(HOUR_NS):
            await anyio.sleep(1)
        await anyio.sleep(1)
        return VirtualClock().now_ns()

    assert run(main) == 2 * NS_PER_S


def test_a_deadlock_is_told():
    with pytest.raises(RuntimeError, match="no timer will ever wake"):
        run(anyio.Event().wait)


def test_the_clock_needs_its_loop():
    async def main():
        VirtualClock().now_ns()

    with pytest.raises(TypeError, match="needs a VirtualLoop"):
        anyio.run(main)


def test_the_clock_says_what_it_is():
    assert VirtualClock().kind == "virtual"
    assert (VirtualClock().anchor.wall_ns, VirtualClock().anchor.mono_ns) == (0, 0)


class BusyChannel:
    """Takes longer the more requests are in flight; forgets none."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.in_flight = 0

    async def send(self, request):
        send_ns = self.clock.now_ns()
        self.in_flight += 1
        try:
            await self.clock.sleep_until_ns(send_ns + self.in_flight * 4_000_000_001 + request.index)
        finally:
            self.in_flight -= 1
        return Exchange(send_ns=send_ns, close_ns=self.clock.now_ns(), usage_input=9, usage_output=request.turn.output_tokens)


def sessions():
    """Yield endless trees of turns with random delays."""
    for number in count():
        chance = random.Random(f"session {number}")
        turns = [Turn(prompt=SyntheticPrompt(tokens=9, key="a"), output_tokens=3)]
        for index in range(1, 40):
            before = chance.randrange(index) if chance.random() < 0.3 else index - 1
            edge = Edge(turn=before, delay_ns=chance.randrange(60 * NS_PER_S), anchor=chance.choice(("end", "end", "start")))
            turns.append(Turn(prompt=SyntheticPrompt(tokens=9, key="a"), number=index, after=(edge,), output_tokens=index))
        yield Session(id=f"s{number}", turns=tuple(turns))


def play():
    records = []
    numbers = count()
    schedule = Schedule(
        phases=(
            Phase(name="warmup", sessions=sessions, lanes=8, duration_s=60.0, grace_s=0.0),
            Phase(name="profile", sessions=sessions, lanes=8, duration_s=3600.0, grace_s=1.0),
        )
    )

    async def main():
        return await execute(schedule, BusyChannel(), record=records.append, ids=lambda: f"{next(numbers)}", clock=VirtualClock())

    return run(main), records


def test_a_replay_of_hours_is_the_same_every_time():
    report, records = play()
    kept = [play() for _ in range(2)]
    assert len(records) > 500
    assert any(record.cancelled for record in records)
    assert all(other == records for _, other in kept)
    profile = report.phase("profile")
    assert report.clock == "virtual"
    assert profile.closed_ns - profile.start_ns == HOUR_NS
    assert profile.end_ns <= profile.closed_ns + NS_PER_S


def test_nothing_starts_a_thread():
    async def main():
        return asyncio.get_running_loop()._default_executor

    assert run(main) is None
