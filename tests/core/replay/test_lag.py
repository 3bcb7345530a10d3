"""The lag monitor keeps the longest delay since any moment, and a blocked loop shows in the records."""

from __future__ import annotations

import time

import anyio
from hypothesis import given
from hypothesis import strategies as st

from ixbench.model.exchange import Exchange
from ixbench.model.schedule import Edge, Schedule
from ixbench.replay.clock import MonotonicClock
from ixbench.replay.execute import execute
from ixbench.replay.lag import LagMonitor


class _At:
    """A clock that stands still."""

    kind = "read"

    def __init__(self) -> None:
        self.moment_ns = 0

    def now_ns(self) -> int:
        return self.moment_ns


@given(st.lists(st.integers(0, 50).map(lambda us: us * 1000), min_size=1, max_size=60), st.integers(0, 60))
def test_the_longest_delay_since_a_moment(delays, since):
    monitor = LagMonitor(_At())
    for step, delay in enumerate(delays, 1):
        monitor.note(step * 1_000_000, step * 1_000_000 - delay)
    assert monitor.since(since * 1_000_000) == max(delays[max(since - 1, 0) :], default=0)


def test_a_delay_that_still_lasts_counts():
    clock = _At()
    monitor = LagMonitor(clock)
    monitor._due_ns = 10
    clock.moment_ns = 500_010
    assert monitor.since(0) == 500_000


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
