"""The loop of a replay: on time to the fraction of a millisecond, and a nap only where nobody waits."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import contextmanager
from time import monotonic

import pytest

from ixbench.replay.wire import loop as loops
from ixbench.replay.wire.loop import ReplayLoop, replay_loop
from ixbench.replay.wire.readers import EpollReaders

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loop is asyncio's own")


def run(main):
    with asyncio.Runner(loop_factory=replay_loop) as runner:
        return runner.run(main())


@contextmanager
def socket_pairs(number):
    pairs = [socket.socketpair() for _ in range(number)]
    try:
        yield pairs
    finally:
        for one, other in pairs:
            one.close()
            other.close()


@pytest.fixture
def napped(monkeypatch):
    """Return the naps that the loop takes, and let none last."""
    naps = []
    monkeypatch.setattr(loops, "sleep", naps.append)
    return naps


def test_a_wait_is_not_rounded_up_to_a_millisecond():
    """Epoll would sleep 2 ms each time. A busy machine may be late a hundred times, but not every time."""

    async def main():
        late_s = []
        for _ in range(100):
            due_s = monotonic() + 0.0011
            await asyncio.sleep(0.0011)
            late_s.append(monotonic() - due_s)
        return late_s

    late_s = run(main)
    assert min(late_s) >= 0, "nothing is early"
    assert min(late_s) < 0.0006


def test_timers_sockets_and_threads_wake_it():
    async def main():
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ReplayLoop)
        with socket_pairs(1) as [(ours, theirs)]:
            ours.setblocking(False)
            loop.call_later(0.01, theirs.send, b"x")
            async with asyncio.timeout(30):
                assert await loop.sock_recv(ours, 10) == b"x"
                assert await loop.run_in_executor(None, lambda: "done") == "done"

    run(main)


def naps_beside(napped, *harmless):
    """Return how often the loop napped while there was always something to read, with readers to whom a late read does harm or not."""

    async def main():
        loop = asyncio.get_running_loop()
        readers = [EpollReaders(loop, may_nap=one) for one in harmless]
        with socket_pairs(1) as [(ours, theirs)]:
            theirs.send(b"x")  # never read: the loop finds it each time that it looks
            readers[0].add(ours.fileno(), lambda: None)
            await asyncio.sleep(0.02)
            readers[0].remove(ours.fileno())
            for reader in readers:
                reader.close()
        await asyncio.sleep(0.02)
        return len(napped)

    return run(main)


def test_chunks_that_come_fast_are_left_to_gather(napped):
    assert naps_beside(napped, True) > 0


def test_no_nap_where_a_late_read_does_harm(napped):
    """One reader that stamps by itself is enough."""
    assert naps_beside(napped, True, False) == 0


def test_no_nap_while_a_task_is_ready_or_a_timer_is_about_to_run_out(napped):
    async def main():
        loop = asyncio.get_running_loop()
        reader = EpollReaders(loop, may_nap=True)
        with socket_pairs(1) as [(ours, theirs)]:
            theirs.send(b"x")  # never read: the loop finds it each time that it looks
            reader.add(ours.fileno(), lambda: None)
            for _ in range(50):
                await asyncio.sleep(0)
            beside_a_task = len(napped)
            for _ in range(20):
                due = loop.create_future()
                loop.call_later(loops._NAP_S / 2, due.set_result, None)
                await due
            beside_a_timer = len(napped)
            await asyncio.sleep(0.01)
            reader.remove(ours.fileno())
            reader.close()
        return beside_a_task, beside_a_timer, len(napped)

    beside_a_task, beside_a_timer, alone = run(main)
    assert beside_a_task == beside_a_timer == 0
    assert alone > 0, "while nothing was to be done it did nap"


def test_a_task_that_is_ready_waits_for_few_sockets_only():
    """Five hundred streams that have something to read are no reason to send a request late."""

    async def main():
        loop = asyncio.get_running_loop()
        reader = EpollReaders(loop, may_nap=False)
        read = [0]

        def receive():
            read[0] += 1

        between = []
        with socket_pairs(200) as pairs:
            for ours, theirs in pairs:
                theirs.send(b"x")
                reader.add(ours.fileno(), receive)
            for _ in range(20):
                before = read[0]
                await asyncio.sleep(0)
                between.append(read[0] - before)
            before = read[0]
            await asyncio.sleep(0.05)
            alone = read[0] - before
            for ours, _ in pairs:
                reader.remove(ours.fileno())
            reader.close()
        return between, alone

    between, alone = run(main)
    assert max(between) <= 16
    assert sum(between) > 0, "they are read all the same"
    assert alone >= 64


def test_a_loop_with_a_high_descriptor_waits_as_asyncio_does(monkeypatch):
    """`select` knows descriptors up to 1,023 only."""
    monkeypatch.setattr(loops, "_SELECTED", 0)
    called = []
    monkeypatch.setattr(loops.select, "select", lambda *args: called.append(args))

    async def main():
        await asyncio.sleep(0.005)
        return "done"

    assert run(main) == "done"
    assert called == []


def test_what_can_wait_lets_ready_tasks_go_first():
    async def main():
        order, ended = [], asyncio.Event()
        asyncio.get_running_loop().call_in_spare_time(lambda: (order.append("spare"), ended.set()))
        for number in range(5):
            await asyncio.sleep(0)
            order.append(number)
        await asyncio.wait_for(ended.wait(), 30)
        return order

    assert run(main) == [0, 1, 2, 3, 4, "spare"]


def test_what_can_wait_lets_a_timer_go_first_that_is_about_to_run_out():
    async def main():
        loop, order, ended = asyncio.get_running_loop(), [], asyncio.Event()
        loop.call_later(loops._SPARE_S / 2, order.append, "timer")
        loop.call_in_spare_time(lambda: (order.append("spare"), ended.set()))
        await asyncio.wait_for(ended.wait(), 30)
        return order

    assert run(main) == ["timer", "spare"]


def test_what_can_wait_comes_to_its_turn_where_tasks_are_always_ready():
    async def main():
        seen, rounds = [], 0
        for _ in range(3):
            asyncio.get_running_loop().call_in_spare_time(lambda: seen.append(rounds))
        while len(seen) < 3 and rounds < 1000:
            await asyncio.sleep(0)
            rounds += 1
        return seen

    seen = run(main)
    assert len(seen) == 3
    assert seen[1] - seen[0] == seen[2] - seen[1] == loops._MOST_PASSED_OVER + 1
