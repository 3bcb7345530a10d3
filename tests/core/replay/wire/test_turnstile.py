"""A herd passes a few at a time, in order, with the loop's other work in between."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from ixbench.replay.wire.turnstile import Turnstile


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
