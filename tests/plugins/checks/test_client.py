"""When the client itself makes a point invalid."""

from __future__ import annotations

import pytest

from ixbench.api.measure import Chunks, Measurement, RequestRecord
from ixbench.model.point import Load
from ixbench_plugins.checks.client import CLIENT

CHECKS = {check.code: check for check in CLIENT}
MS = 1_000_000


def records(count=100, *, ttft_ms=200, late_ms=0.0, stretch=1.0):
    """Return requests that are due each 100 ms."""
    found = []
    for number in range(count):
        due = number * 100 * MS
        send = round(due * stretch + late_ms * MS)
        chunks = Chunks.of([(send + ttft_ms * MS, "text", 1, 9), (send + (ttft_ms + 50) * MS, "text", 1, 9)])
        found.append(
            RequestRecord(
                req_id=str(number),
                phase="profile",
                session_id=str(number),
                tree_id=str(number),
                lane=None,
                due_ns=due,
                send_ns=send,
                chunks=chunks,
                close_ns=send + (ttft_ms + 60) * MS,
                usage_output=2,
                http_status=200,
            )
        )
    return tuple(found)


def ask(code, *, metrics=None, limit=None, load=None, requests=None, **measured):
    measurement = Measurement(records=requests or records(), load=load or Load(rate=10.0), gpus=1, **measured)
    check = CHECKS[code]
    return check.decide(measurement, metrics or {}, check.limit_for(measurement, {} if limit is None else {code: limit}))


class TestLag:
    @pytest.mark.parametrize(("lag", "ttft_ms", "bad"), [(0.009, 200, False), (0.011, 900, True), (0.009, 100, True), (None, 200, False)])
    def test_where_delays_are_part_of_the_stamps(self, lag, ttft_ms, bad):
        reason = ask("client_lag", lag_p99_s=lag, clock="read", requests=records(ttft_ms=ttft_ms))
        assert (reason is not None) is bad
        if bad:
            assert (reason.severity, reason.value) == ("invalid", lag)

    def test_what_stamped_is_not_known(self):
        assert ask("client_lag", lag_p99_s=0.02).severity == "invalid"

    def test_kernel_stamps_hold(self):
        reason = ask("client_lag", lag_p99_s=0.02, clock="kernel", metrics={"bundled_share": 0.01, "ttft_bound_share": 0.0})
        assert reason.severity == "warning"
        assert "the kernel's stamps hold" in reason.text
        assert ask("client_lag", lag_p99_s=0.009, clock="kernel", metrics={"bundled_share": 0.9}) is None

    @pytest.mark.parametrize("metric", ["bundled_share", "ttft_bound_share"])
    def test_until_reads_hold_several_chunks(self, metric):
        reason = ask("client_lag", lag_p99_s=0.1, clock="kernel", metrics={metric: 0.06}, client_wait_s=1.0)
        assert reason.severity == "invalid"
        assert "6 %" in reason.text
        assert "waited 1 s of" in reason.text

    def test_a_limit_of_ones_own(self):
        assert ask("client_lag", lag_p99_s=0.1, clock="kernel", metrics={"bundled_share": 0.5}, limit=1.0) is None

    def test_a_client_that_is_busy_all_the_time(self):
        reason = ask("client_lag", lag_p99_s=0.0, clock="kernel", client_cpu_s=9.5)
        assert (reason.severity, reason.limit) == ("invalid", 0.85)
        assert ask("client_lag", lag_p99_s=0.0, clock="kernel", client_cpu_s=5.0) is None


class TestWait:
    """The window of these records is 10.16 s."""

    @pytest.mark.parametrize("clock", ["read", None])
    def test_where_delays_are_part_of_the_stamps(self, clock):
        reason = ask("client_wait", clock=clock, client_wait_s=3.0)
        assert (reason.code, reason.severity, reason.limit) == ("client_lag", "invalid", 0.10)
        assert reason.value == pytest.approx(3 / 10.16)
        assert "waited 29.5 % of the time for a core that others had; allowed: 10 % (limits.client_wait)" in reason.text
        assert ask("client_wait", clock=clock, client_wait_s=0.9) is None
        assert ask("client_wait", clock=clock, client_wait_s=None) is None

    def test_kernel_stamps_hold(self):
        metrics = {"bundled_share": 0.01, "ttft_bound_share": None}
        reason = ask("client_wait", clock="kernel", client_wait_s=3.0, metrics=metrics)
        assert (reason.code, reason.severity) == ("client_lag", "warning")
        assert "the kernel's stamps hold and requests were sent in time" in reason.text

    @pytest.mark.parametrize("metric", ["bundled_share", "ttft_bound_share"])
    def test_until_reads_hold_several_chunks(self, metric):
        reason = ask("client_wait", clock="kernel", client_wait_s=3.0, metrics={metric: 0.06})
        assert (reason.code, reason.severity) == ("client_lag", "invalid")
        assert "6 %" in reason.text

    @pytest.mark.parametrize(("late_ms", "severity"), [(19, "warning"), (21, "invalid")])
    def test_or_requests_leave_late(self, late_ms, severity):
        """In a closed loop too, where schedule_late does not look."""
        asked = {"clock": "kernel", "client_wait_s": 3.0, "load": Load(concurrency=4), "requests": records(late_ms=late_ms)}
        reason = ask("client_wait", **asked)
        assert reason.severity == severity
        if severity == "invalid":
            assert "requests were sent 21 ms later than due (p99); allowed: 20 ms" in reason.text

    def test_a_limit_of_ones_own(self):
        assert ask("client_wait", clock="read", client_wait_s=3.0, limit=0.4) is None
        assert ask("client_wait", clock="read", client_wait_s=0.9, limit=0.05).limit == 0.05


class TestSchedule:
    @pytest.mark.parametrize(("late_ms", "ttft_ms", "bad"), [(10, 200, False), (30, 200, True), (150, 5000, False), (250, 5000, True)])
    def test_late_sends(self, late_ms, ttft_ms, bad):
        reason = ask("schedule_late", requests=records(late_ms=late_ms, ttft_ms=ttft_ms))
        assert (reason is not None) is bad
        if bad:
            assert reason.value == pytest.approx(late_ms / 1000)

    def test_a_rate_that_was_not_reached(self):
        assert "97" in ask("schedule_late", requests=records(1000, ttft_ms=60_000, stretch=1.03), limit=100.0).text
        assert ask("schedule_late", requests=records(1000, ttft_ms=60_000, stretch=1.01), limit=100.0) is None

    def test_users_who_wait_for_answers_have_no_schedule(self):
        assert ask("schedule_late", load=Load(concurrency=4), requests=records(late_ms=500)) is None
