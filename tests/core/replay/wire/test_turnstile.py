"""A herd passes a few at a time, in order, with the loop's other work in between; what can wait lets all else go first."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from ixbench.replay.wire.loop import replay_loop
from ixbench.replay.wire.turnstile import _AT_A_TIME, SpareTime, Turnstile

LOOPS = pytest.mark.parametrize("make_loop", [replay_loop, asyncio.new_event_loop])


def run(main, make_loop):
    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(main())


def test_a_herd_lets_the_loop_breathe():
    async def main():
        gate, passed, rounds = Turnstile(), [], []

        async def one(number):
            await gate.enter()
            passed.append(number)

        async def watch():
            while len(passed) < 100:
                rounds.append(len(passed))
                await asyncio.sleep(0)

        tasks = [asyncio.ensure_future(one(number)) for number in range(100)]
        await watch()
        await asyncio.gather(*tasks)
        return passed, rounds

    passed, rounds = asyncio.run(main())
    assert passed == list(range(100))
    assert max(after - before for before, after in pairwise(rounds)) <= 8
    assert len(rounds) >= 100 // 8


def test_nobody_waits_for_someone_who_gave_up():
    async def main():
        gate = Turnstile()
        tasks = [asyncio.ensure_future(gate.enter()) for _ in range(20)]
        await asyncio.sleep(0)
        for task in tasks[4:19]:
            task.cancel()
        await asyncio.wait_for(tasks[19], 5)
        await asyncio.wait_for(gate.enter(), 5)
        return [task.cancelled() for task in tasks].count(True)

    assert asyncio.run(main()) == 15


@LOOPS
def test_heavy_work_is_done_in_parts_a_few_pieces_at_a_time(make_loop):
    async def main():
        spare, under_way, most, ended = SpareTime(), set(), 0, []

        async def work(number):
            nonlocal most
            async with spare:
                under_way.add(number)
                most = max(most, len(under_way))
                for _ in range(3):
                    await spare.pause()
                under_way.remove(number)
            ended.append(number)

        await asyncio.gather(*map(work, range(100)))
        return most, ended

    most, ended = run(main, make_loop)
    assert most == _AT_A_TIME
    assert sorted(ended) == list(range(100))
    assert all(abs(number - place) < 2 * _AT_A_TIME for place, number in enumerate(ended)), "first come, first served"


@LOOPS
def test_one_part_in_a_round_of_the_loop(make_loop):
    """So that sockets are read between any two."""

    async def main():
        spare, done, rounds = SpareTime(), [], []

        async def work():
            async with spare:
                await spare.pause()
                done.append(None)

        async def watch():
            while len(done) < 50:
                rounds.append(len(done))
                await asyncio.sleep(0)

        await asyncio.gather(watch(), *(work() for _ in range(50)))
        return rounds

    rounds = run(main, make_loop)
    assert max(after - before for before, after in pairwise(rounds)) <= (1 if make_loop is replay_loop else _AT_A_TIME)


@LOOPS
def test_work_that_was_given_up_keeps_no_room(make_loop):
    async def main():
        spare = SpareTime()

        async def work():
            async with spare:
                await spare.pause()

        tasks = [asyncio.ensure_future(work()) for _ in range(3 * _AT_A_TIME)]
        await asyncio.sleep(0)
        for task in tasks[:-1]:
            task.cancel()
        await asyncio.wait_for(tasks[-1], 5)
        await asyncio.wait_for(work(), 5)

    run(main, make_loop)
