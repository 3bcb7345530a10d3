"""When the client itself makes a point invalid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.api.measure import Chunks, Measurement, RequestRecord
from ixbench.model.point import Load
from ixbench_plugins.checks.client import CLIENT

CHECKS = {check.code: check for check in CLIENT}
MS = 1_000_000


def records(count=100, *, ttft_ms=200, late_ms=0.0, stretch=1.0, first_ms=0):
    """Return requests that are due each 100 ms."""
    found = []
    for number in range(count):
        due = (first_ms + number * 100) * MS
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


def mixed(*kinds):
    """Return requests of several kinds, one kind after the other: `mixed((3, {"late_ms": 9}), (7, {}))` are ten."""
    total = sum(count for count, _ in kinds)
    found = []
    for count, changes in kinds:
        found += records(total, **changes)[len(found) : len(found) + count]
    return tuple(found)


def empty(requests):
    """Return the requests with answers that hold no output."""
    return tuple(replace(record, chunks=Chunks(), usage_output=0) for record in requests)


def ask(code, *, metrics=None, limit=None, load=None, requests=None, **measured):
    measurement = Measurement(records=records() if requests is None else requests, load=load or Load(rate=10.0), gpus=1, **measured)
    check = CHECKS[code]
    reason = check.decide(measurement, metrics or {}, check.limit_for(measurement, {} if limit is None else {code: limit}))
    assert reason is None or reason.code == {"client_wait": "client_lag"}.get(code, code)
    return reason


HALVES = pytest.mark.parametrize(("short", "median"), [(51, "short"), (50, "long")])
"""Of 101 requests: what the 49th or the 51st percentile of their times is, the median is not."""
LATEST = pytest.mark.parametrize(("late", "bad"), [(2, False), (3, True)])
"""Of 201 requests: p99 is the third largest delay."""


def test_a_point_without_requests_has_no_client_to_blame():
    nothing = {"requests": (), "client_cpu_s": 9.0, "client_wait_s": 9.0}
    assert [ask(code, **nothing) for code in CHECKS] == [None, None, None]
    assert ask("client_lag", lag_p99_s=0.5, **nothing).text.endswith("allowed: 10 ms")


class TestLag:
    @pytest.mark.parametrize(
        ("lag", "ttft_ms", "bad"),
        [
            (0.009, 200, False), (0.010, 900, False), (0.011, 900, True), (0.009, 100, True), (0.005, 100, False), (0.0055, 100, True),
            (None, 200, False),
        ],
    )  # fmt: skip
    def test_where_delays_are_part_of_the_stamps(self, lag, ttft_ms, bad):
        reason = ask("client_lag", lag_p99_s=lag, clock="read", requests=records(ttft_ms=ttft_ms))
        assert (reason is not None) is bad
        if bad:
            assert (reason.severity, reason.value) == ("invalid", lag)

    @HALVES
    def test_five_percent_of_the_median_ttft(self, short, median):
        requests = mixed((short, {"ttft_ms": 100}), (101 - short, {"ttft_ms": 900}))
        assert (ask("client_lag", lag_p99_s=0.007, clock="read", requests=requests) is None) is (median == "long")

    def test_what_stamped_is_not_known(self):
        assert ask("client_lag", lag_p99_s=0.02).severity == "invalid"

    def test_kernel_stamps_hold(self):
        reason = ask("client_lag", lag_p99_s=0.02, clock="kernel", metrics={"bundled_share": 0.01, "ttft_bound_share": 0.0})
        assert reason.severity == "warning"
        assert "the kernel's stamps hold" in reason.text
        assert ask("client_lag", lag_p99_s=0.010, clock="kernel", metrics={"bundled_share": 0.9}) is None

    @pytest.mark.parametrize(("metric", "what"), [("bundled_share", "chunks"), ("ttft_bound_share", "first outputs")])
    def test_until_reads_hold_several_chunks(self, metric, what):
        reason = ask("client_lag", lag_p99_s=0.1, clock="kernel", metrics={metric: 0.06}, client_wait_s=1.0)
        assert reason.severity == "invalid"
        assert f"6 % of the {what} are upper bounds" in reason.text
        assert "waited 1 s of" in reason.text
        assert ask("client_lag", lag_p99_s=0.1, clock="kernel", metrics={metric: 0.05}).severity == "warning"

    @pytest.mark.parametrize(("waited_s", "told"), [(None, False), (0.0, False), (1.016, True), (5.0, True)])
    def test_a_wait_is_told_as_the_cause_whatever_its_own_limit_is(self, waited_s, told):
        text = ask("client_lag", lag_p99_s=0.1, clock="read", client_wait_s=waited_s).text
        assert text.endswith("for a core that others had: leave it one" if told else "allowed: 10 ms")

    def test_a_limit_of_ones_own(self):
        assert ask("client_lag", lag_p99_s=0.1, clock="kernel", metrics={"bundled_share": 0.5}, limit=1.0) is None

    def test_a_client_that_is_busy_all_the_time(self):
        reason = ask("client_lag", lag_p99_s=0.0, clock="kernel", client_cpu_s=9.5)
        assert (reason.severity, reason.limit) == ("invalid", 0.85)
        assert reason.value == pytest.approx(9.5 / 10.16)
        assert ask("client_lag", lag_p99_s=0.0, clock="kernel", client_cpu_s=8.636) is None


class TestWait:
    """The window of these records is 10.16 s."""

    @pytest.mark.parametrize("clock", ["read", None])
    def test_where_delays_are_part_of_the_stamps(self, clock):
        reason = ask("client_wait", clock=clock, client_wait_s=3.0)
        assert (reason.severity, reason.limit) == ("invalid", 0.10)
        assert reason.value == pytest.approx(3 / 10.16)
        assert "waited 29.5 % of the time for a core that others had; allowed: 10 % (limits.client_wait)" in reason.text
        assert ask("client_wait", clock=clock, client_wait_s=1.1) is not None
        assert ask("client_wait", clock=clock, client_wait_s=1.016) is None
        assert ask("client_wait", clock=clock, client_wait_s=None) is None

    def test_kernel_stamps_hold(self):
        metrics = {"bundled_share": 0.01, "ttft_bound_share": None}
        reason = ask("client_wait", clock="kernel", client_wait_s=3.0, metrics=metrics)
        assert reason.severity == "warning"
        assert reason.value == pytest.approx(3 / 10.16)
        assert "the kernel's stamps hold and requests were sent in time" in reason.text

    @pytest.mark.parametrize("metric", ["bundled_share", "ttft_bound_share"])
    def test_until_reads_hold_several_chunks(self, metric):
        reason = ask("client_wait", clock="kernel", client_wait_s=3.0, metrics={metric: 0.06})
        assert reason.severity == "invalid"
        assert reason.value == pytest.approx(3 / 10.16)
        assert "6 %" in reason.text

    @pytest.mark.parametrize(("late_ms", "severity"), [(19, "warning"), (21, "invalid")])
    def test_or_requests_leave_late(self, late_ms, severity):
        """In a closed loop too, where schedule_late does not look."""
        asked = {"clock": "kernel", "client_wait_s": 3.0, "load": Load(concurrency=4), "requests": records(late_ms=late_ms)}
        reason = ask("client_wait", **asked)
        assert reason.severity == severity
        if severity == "invalid":
            assert "requests were sent 21 ms later than due (p99); allowed: 20 ms" in reason.text

    def test_a_tenth_of_the_ttft_is_not_late(self):
        asked = {"clock": "kernel", "client_wait_s": 3.0, "requests": records(late_ms=50, ttft_ms=500)}
        assert ask("client_wait", **asked).severity == "warning"

    @LATEST
    def test_a_few_late_sends_are_not_many(self, late, bad):
        requests = mixed((late, {"late_ms": 50}), (201 - late, {}))
        reason = ask("client_wait", clock="kernel", client_wait_s=5.0, requests=requests)
        assert reason.severity == ("invalid" if bad else "warning")

    @HALVES
    def test_a_tenth_of_the_median_ttft(self, short, median):
        requests = mixed((short, {"ttft_ms": 100, "late_ms": 20}), (101 - short, {"ttft_ms": 900, "late_ms": 20}))
        reason = ask("client_wait", clock="kernel", client_wait_s=5.0, requests=requests)
        assert reason.severity == ("warning" if median == "long" else "invalid")

    @pytest.mark.parametrize("requests", [empty(records(late_ms=90)), tuple(replace(record, due_ns=None) for record in records())])
    def test_answers_without_output_and_requests_that_are_not_due_cannot_be_late(self, requests):
        assert ask("client_wait", clock="kernel", client_wait_s=5.0, requests=requests).severity == "warning"

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

    @LATEST
    def test_a_few_late_sends_are_not_many(self, late, bad):
        requests = mixed((late, {"late_ms": 50}), (201 - late, {}))
        assert (ask("schedule_late", requests=requests) is not None) is bad

    @HALVES
    def test_a_tenth_of_the_median_ttft(self, short, median):
        requests = mixed((short, {"ttft_ms": 100, "late_ms": 20}), (101 - short, {"ttft_ms": 900, "late_ms": 20}))
        assert (ask("schedule_late", requests=requests) is None) is (median == "long")

    def test_a_tenth_of_the_ttft_is_not_late(self):
        assert ask("schedule_late", requests=records(late_ms=50, ttft_ms=500)) is None

    @pytest.mark.parametrize(("late_ms", "bad"), [(200, False), (201, True)])
    def test_where_no_answer_holds_output_the_limit_holds_alone(self, late_ms, bad):
        assert (ask("schedule_late", requests=empty(records(late_ms=late_ms))) is not None) is bad

    def test_the_rate_is_held_against_what_was_due_whenever_that_was(self):
        assert ask("schedule_late", requests=records(1000, ttft_ms=60_000, stretch=1.03, first_ms=50_000), limit=100.0).value < 0.98

    def test_98_percent_of_the_rate_are_enough(self):
        assert ask("schedule_late", requests=records(99, ttft_ms=60_000, stretch=10 / 9.8), limit=100.0) is None

    def test_moments_that_are_all_one_have_no_rate(self):
        """Due at once, and sent at once: neither has a rate to hold against the other."""
        due = tuple(replace(record, due_ns=0) for record in records(ttft_ms=200_000))
        sent = tuple(replace(record, due_ns=number * 100 * MS) for number, record in enumerate(records(1, ttft_ms=200_000) * 100))
        assert ask("schedule_late", requests=due, limit=100.0) is None
        assert ask("schedule_late", requests=sent, limit=100.0) is None

    def test_requests_that_are_not_due_have_no_schedule(self):
        assert ask("schedule_late", requests=tuple(replace(record, due_ns=None) for record in records())) is None

    def test_a_rate_that_was_not_reached(self):
        assert "97" in ask("schedule_late", requests=records(1000, ttft_ms=60_000, stretch=1.03), limit=100.0).text
        assert ask("schedule_late", requests=records(1000, ttft_ms=60_000, stretch=1.01), limit=100.0) is None

    def test_users_who_wait_for_answers_have_no_schedule(self):
        assert ask("schedule_late", load=Load(concurrency=4), requests=records(late_ms=500)) is None
