"""The same server, agreeing clocks, GPUs at full clock, and phases as long as their preset says."""

from __future__ import annotations

import pytest

from ixbench.measure.verdict import judge
from ixbench.model.sample import Sample
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks import CHECKS

S = 1_000_000_000
ROWS = tuple(sample_record(f"r{i}", send_s=float(i)) for i in range(200))


def reason(limits=None, **changes):
    """Return the one reason of the verdict, or None."""
    found = judge(sample_measurement(ROWS, **changes), {}, CHECKS, limits or {}).reasons
    assert len(found) <= 1
    return found[0] if found else None


def test_another_server_at_the_end_makes_the_point_invalid():
    found = reason(server_changes=("it serves b and no longer a", "it says that it is version 2, and was 1 before"))
    assert (found.code, found.severity) == ("wrong_server", "invalid")
    assert found.text.endswith("it serves b and no longer a; it says that it is version 2, and was 1 before")


@pytest.mark.parametrize(
    ("drift", "words"),
    [(None, None), (1.0, None), (-1.0, None), (1.1, "ran ahead by 1.1 s"), (-3600.0, "fell back by 3600 s")],
)
def test_clocks_must_agree(drift, words):
    one = reason(clock_drift_s=drift)
    assert (one is None) is (words is None)
    assert one is None or (one.code, one.value, one.limit) == ("clock", drift, 1.0)
    assert one is None or words in one.text


def test_the_user_may_allow_more_or_less_drift_of_the_clocks():
    assert reason({"clock": 5.0}, clock_drift_s=3.0) is None
    assert "ran ahead by 0.5 s" in reason({"clock": 0.1}, clock_drift_s=0.5).text
    assert "fell back by 0.5 s" in reason({"clock": 0.1}, clock_drift_s=-0.5).text


def readings(throttled, *, gpu="3", name="throttled"):
    """Return a reader of 100 readings of a GPU, some of them throttled, and one before the window that is."""
    rows = [Sample(ns=-S, source="amd", name=name, value=1.0, labels={"gpu": gpu})]
    rows += [Sample(ns=second * S, source="amd", name=name, value=float(second < throttled), labels={"gpu": gpu}) for second in range(100)]
    rows += [Sample(ns=second * S, source="amd", name=name, value=0.0, labels={"gpu": "5"}) for second in range(100)]
    rows += [Sample(ns=second * S, source="amd", name=name, value=0.0, labels={"gpu": "0"}) for second in range(100)]
    return lambda names: [row for row in rows if row.name in names]


@pytest.mark.parametrize(("throttled", "found"), [(0, False), (5, False), (6, True)])
def test_a_gpu_may_be_throttled_for_a_twentieth_of_the_time(throttled, found):
    one = reason(read_samples=readings(throttled))
    assert (one is not None) is found
    assert one is None or (one.code, one.value, one.limit) == ("gpu_dirty", 0.06, 0.05)
    assert one is None or one.text.startswith("GPU 3 ")


def test_the_last_moment_of_the_phase_belongs_to_it():
    end = max(row.close_ns for row in ROWS)
    rows = [Sample(ns=ns, source="amd", name="throttled", value=1.0, labels={"gpu": "0"}) for ns in (end, end + 1)]
    assert reason(read_samples=lambda names: [row for row in rows if row.name in names]).value == 1.0
    assert reason(read_samples=lambda names: [row for row in rows[1:] if row.name in names]) is None


def test_a_gpu_at_its_power_limit_warns():
    one = reason(read_samples=readings(40, name="power_capped"))
    assert (one.code, one.severity, one.value) == ("gpu_dirty", "warning", 0.4)
    assert reason({"power_capped": 0.5}, read_samples=readings(40, name="power_capped")) is None
    assert reason(read_samples=readings(5, name="power_capped")) is None


def test_where_no_driver_tells_nothing_is_said():
    assert reason(read_samples=lambda _names: []) is None


@pytest.mark.parametrize(("least", "found"), [(None, False), (180.0, False), (199.82, False), (900.0, True)])
def test_a_preset_may_ask_for_a_length_of_its_own(least, found):
    one = reason(least_s=least)
    assert (one is not None) is found
    assert one is None or (one.code, one.severity, one.limit) == ("too_short", "invalid", 900.0)
