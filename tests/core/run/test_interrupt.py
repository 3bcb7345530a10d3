"""Interruption by real signals to this process: once, twice, by each of the signals, and while something waits."""

from __future__ import annotations

import os
import signal

import anyio
import anyio.lowlevel
import pytest

from ixbench.run.interrupt import interruptible

pytestmark = pytest.mark.anyio
LIMIT_S = 20


async def until(condition):
    with anyio.fail_after(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - a signal's effect can only be looked for
            await anyio.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_once_asks_for_the_end_and_cancels_nothing(number):
    names = []
    async with interruptible(names.append) as interruption:
        assert not interruption.asked
        os.kill(os.getpid(), number)
        with anyio.fail_after(LIMIT_S):
            await interruption.stop.wait()
        assert interruption.asked
        await until(lambda: names)
        await anyio.lowlevel.checkpoint()
        assert not interruption.abort.cancel_called
    assert names == [number.name]


async def test_twice_cancels_the_block_but_not_what_follows():
    names = []
    came_to_the_end = False
    async with interruptible(names.append) as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: interruption.asked)
        os.kill(os.getpid(), signal.SIGTERM)
        with anyio.fail_after(LIMIT_S):
            await anyio.sleep_forever()
        came_to_the_end = True
    assert (came_to_the_end, names) == (False, ["SIGINT"])
    await anyio.lowlevel.checkpoint()


async def test_a_first_signal_right_after_the_start_is_not_lost():
    async with interruptible(lambda _: None) as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: interruption.asked)


async def test_what_waits_for_nothing_worth_finishing_is_cut_short():
    reached = []
    async with interruptible(lambda _: None) as interruption:
        with interruption.until_asked():
            os.kill(os.getpid(), signal.SIGINT)
            with anyio.fail_after(LIMIT_S):
                await anyio.sleep_forever()
            reached.append("inside")
        reached.append("after")
        with interruption.until_asked():
            await anyio.lowlevel.checkpoint()
            reached.append("once more inside")
    assert reached == ["after"]


async def test_the_rest_of_a_wait_can_be_made_immune():
    reached = []
    async with interruptible(lambda _: None) as interruption:
        with interruption.until_asked() as immune:
            immune()
            os.kill(os.getpid(), signal.SIGINT)
            await until(lambda: interruption.asked)
            await anyio.lowlevel.checkpoint()
            reached.append("inside")
    assert reached == ["inside"]


async def test_an_ignored_hangup_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with interruptible(lambda _: None) as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGINT)
            await until(lambda: interruption.asked)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_an_error_in_the_block_comes_out():
    with pytest.raises(LookupError, match="no such thing"):
        async with interruptible(lambda _: None):
            raise LookupError("no such thing")
