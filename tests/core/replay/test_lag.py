"""The lag monitor keeps the longest delay since any moment, and a blocked loop shows in the records."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.model.exchange import Exchange
from ixbench.model.schedule import Edge, Schedule
from ixbench.replay import lag
from ixbench.replay.clock import MonotonicClock
from ixbench.replay.execute import execute
from ixbench.replay.lag import LagMonitor, run_queue_wait_s


class _At:
    """A clock that stands still."""

    kind = "read"

    def __init__(self) -> None:
        self.moment_ns = 0

    def now_ns(self) -> int:
        return self.moment_ns


@given(st.lists(st.integers(0, 5000).map(lambda us: us * 1000), min_size=1, max_size=60), st.integers(0, 60))
def test_the_longest_delay_since_a_moment(delays, since):
    monitor = LagMonitor(_At())
    for step, delay in enumerate(delays, 1):
        monitor.note(step * 1_000_000, step * 1_000_000 - delay)
    assert monitor.since(since * 1_000_000) == max(delays[max(since - 1, 0) :], default=0)


def test_of_equal_delays_the_last_is_kept():
    monitor = LagMonitor(_At())
    for step in range(1000):
        monitor.note(step, step)
    assert (monitor._stamps, monitor._delays) == ([999], [0])


def test_of_too_many_delays_the_oldest_is_let_go(monkeypatch):
    monkeypatch.setattr(lag, "_MOST_KEPT", 3)
    monitor = LagMonitor(_At())
    for step, delay_us in enumerate([9, 7, 5, 3]):
        monitor.note(step, step - 1000 * delay_us)
    assert [monitor.since(moment) for moment in range(5)] == [7000, 7000, 5000, 3000, 0]


def test_a_delay_that_still_lasts_counts():
    clock = _At()
    monitor = LagMonitor(clock)
    monitor._due_ns = 10
    clock.moment_ns = 500_010
    assert monitor.since(0) == 500_000
    monitor._due_ns = 1_000_000
    assert monitor.since(0) == 0, "not yet due"


class _Stepping(_At):
    """A clock whose sleeps end when the test says so, so many microseconds late."""

    def __init__(self):
        super().__init__()
        self.awake = anyio.Event()
        self.due_ns = 0

    async def sleep_until_ns(self, moment_ns):
        self.due_ns = moment_ns
        await self.awake.wait()

    async def wake(self, late_us):
        self.moment_ns = self.due_ns + 1000 * late_us
        awake, self.awake = self.awake, anyio.Event()
        awake.set()
        await anyio.wait_all_tasks_blocked()


def test_the_loop_is_watched_while_requests_are_in_flight_and_no_longer():
    async def main():
        clock = _Stepping()
        monitor = LagMonitor(clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(monitor.run)
            await anyio.wait_all_tasks_blocked()
            clock.moment_ns = 10**9
            assert monitor.since(0) == 0, "nobody is late for nothing"
            monitor.begin()
            clock.moment_ns += 2000
            assert monitor.since(0) == 2000, "from the first request on"
            await anyio.wait_all_tasks_blocked()
            assert clock.due_ns == clock.moment_ns + 10_000_000
            await clock.wake(late_us=7)
            assert monitor.since(0) == 7000
            began_ns = clock.moment_ns
            clock.moment_ns = clock.due_ns + 50_000
            monitor.begin()
            assert monitor.since(began_ns + 1) == 50_000, "another request does not end the delay"
            await clock.wake(late_us=60)
            assert monitor.since(began_ns + 1) == 60_000
            monitor.end()
            monitor.end()
            await clock.wake(late_us=1)
            idle_ns = clock.moment_ns
            clock.moment_ns += 10**9
            assert monitor.since(idle_ns + 1) == 0
            tasks.cancel_scope.cancel()

    anyio.run(main)


@pytest.mark.parametrize(("text", "waited_s"), [("81 4500000000 17\n", 4.5), ("81\n", None), ("", None), ("81 x 17\n", None), (None, None)])
def test_how_long_the_process_had_no_core(text, waited_s, tmp_path, monkeypatch):
    file = tmp_path / "schedstat"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(lag, "_SCHEDSTAT", file)
    assert run_queue_wait_s() == waited_s


@pytest.mark.skipif(not Path("/proc/self/schedstat").is_file(), reason="the system does not tell")
def test_the_system_tells_it_of_this_process():
    before = run_queue_wait_s()
    assert 0 <= before <= run_queue_wait_s()


def test_a_blocked_loop_is_in_the_record(phase, session, turn):
    records = []

    class Blocking:
        async def send(self, request):
            send_ns = time.monotonic_ns()
            await anyio.sleep(0.02)
            time.sleep(0.05)  # noqa: ASYNC251 - the fault that the monitor is there to find
            return Exchange(send_ns=send_ns, close_ns=time.monotonic_ns())

    async def main():
        schedule = Schedule(phases=(phase([session("a", turn())]),))
        return await execute(schedule, Blocking(), record=records.append, ids=lambda: "1")

    anyio.run(main)
    assert records[0].lag_ns >= 30_000_000


class _Counting(MonotonicClock):
    """Real time that knows how often someone waits for it."""

    waits = 0

    async def sleep_until_ns(self, moment_ns):
        _Counting.waits += 1
        await super().sleep_until_ns(moment_ns)


def test_idle_lanes_wake_nobody(phase, session, turn, memory_channel):
    _Counting.waits = 0
    clock = _Counting()
    sessions = [session(f"s{lane}", turn(), turn(1, after=(Edge(turn=0, delay_ns=3600 * 10**9),))) for lane in range(64)]

    async def main():
        schedule = Schedule(phases=(phase(sessions, lanes=64, duration_s=0.6, grace_s=0.0),))
        return await execute(schedule, memory_channel(clock=clock, takes_ms=1), record=lambda _: None, ids=lambda: "1", clock=clock)

    report = anyio.run(main)
    assert report.phase("profile").sent == 64
    # Each request, each turn that waits, the end of the phase, and the monitor while requests were in flight.
    assert _Counting.waits < 64 + 64 + 2 + 25
