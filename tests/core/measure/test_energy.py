"""Energy is what lies below the power of each GPU between the bounds of the window, and valid only where all of that was seen."""

from __future__ import annotations

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure.energy import WindowNotCoveredError, integrate
from ixbench.model.sample import Sample
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.hardware.amd_smi import read_csv

S = 1_000_000_000


def samples(name, series, *, source="amd", start_s=0):
    """Return samples of several GPUs: GPU -> (second, value)."""
    return [
        Sample(ns=round((start_s + moment) * S), source=source, name=name, value=value, labels={"gpu": str(gpu)})
        for gpu, moments in series.items()
        for moment, value in moments
    ]


def steady(watts, *, first=0, last=10, step=1):
    return [(first + step * number, watts) for number in range(int((last - first) / step) + 1)]


def measured(power, counters=None, *, gpus=2, window=(2, 8)):
    """Return the energy of a point whose GPUs were read so."""
    found = [*samples("power_w", power), *samples("energy_j", counters or {})]
    start, end = window
    measurement = sample_measurement(
        [sample_record(send_s=start)],
        gpus=gpus,
        start_ns=round(start * S),
        end_ns=round(end * S),
        read_samples=lambda names: [sample for sample in found if sample.name in names],
    )
    return measurement.energy


def codes(energy):
    assert energy.valid == (not energy.reasons)
    return [reason.code for reason in energy.reasons]


def test_a_line_between_two_readings():
    assert integrate([(0, 120), (10, 320)], 0, 10) == 2200
    assert integrate([(0, 220), (10, 420)], 2.5, 7.5) == 1600


def test_readings_outside_the_window_change_nothing():
    inside = [(2, 100), (4, 300), (8, 100)]
    assert integrate(inside, 2, 8) == integrate([(-5, 9000), (1, 9000), *inside, (9, 9000), (20, 9000)], 2, 8) == 1200


def test_what_was_not_read_is_skipped_and_not_taken_for_zero():
    assert integrate([(0, 100), (1, math.nan), (2, 100)], 0, 2) == 200


def test_order_does_not_matter():
    assert integrate([(2, 300), (0, 100), (1, 200)], 0, 2) == 400


@pytest.mark.parametrize("window", [(-1, 5), (5, 11), (8, 2), (math.nan, 5), (0, math.inf)])
def test_a_window_that_is_not_covered_is_refused(window):
    with pytest.raises(WindowNotCoveredError) as refused:
        integrate([(0, 1), (10, 1)], *window)
    assert refused.value.code == "power_window_not_covered"
    assert "power is known from 0 to 10" in str(refused.value)
    with pytest.raises(WindowNotCoveredError, match="power is known from no moment at all"):
        integrate([], *window)


SERIES = st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 2000)), min_size=2, unique_by=lambda moment: moment[0])


@given(SERIES, st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_parts_of_a_window_add_up_and_lie_between_the_extremes(series, shares):
    first, last = min(series)[0], max(series)[0]
    start, middle, end = (first + share * (last - first) for share in sorted(shares))
    whole = integrate(series, start, end)
    assert whole == pytest.approx(integrate(series, start, middle) + integrate(series, middle, end), rel=1e-6, abs=1e-6)
    watts = [value for _, value in series]
    assert min(watts) * (end - start) - 1e-6 <= whole <= max(watts) * (end - start) + 1e-6


def test_all_gpus_of_the_point_together():
    energy = measured({0: steady(100), 1: steady(300)}, {0: [(0, 5), (10, 1005)], 1: [(0, 0), (10, 3000)]})
    assert codes(energy) == []
    assert (energy.joules, energy.gpus, energy.counter_error_share) == (pytest.approx(2400), 2, pytest.approx(0))


def test_a_point_whose_power_nobody_read_has_no_energy():
    assert measured({}) is None
    assert sample_measurement([sample_record()]).energy is None
    assert measured({}, {0: [(0, 0), (10, 100)]}) is None


def test_a_missing_gpu():
    energy = measured({0: steady(100)})
    assert codes(energy) == ["power_gpu_count"]
    assert energy.joules == pytest.approx(600), "what was read is kept"
    assert codes(measured({0: steady(100)}, gpus=None)) == ["power_gpu_count"]


def test_two_sources_of_one_index_are_two_gpus():
    found = [*samples("power_w", {0: steady(100)}), *samples("power_w", {0: steady(100)}, source="nvidia")]
    energy = sample_measurement([], gpus=1, start_ns=2 * S, end_ns=8 * S, read_samples=lambda _: found).energy
    assert codes(energy) == ["power_gpu_count"]


@pytest.mark.parametrize(("first", "last", "missing"), [(3.5, 10, 1.5), (0, 7.5, 0.5)])
def test_an_end_that_was_not_seen(first, last, missing):
    energy = measured({0: steady(100), 1: steady(100, first=first, last=last, step=0.5)})
    assert codes(energy) == ["power_window_not_covered"]
    assert energy.reasons[0].value == pytest.approx(missing)
    assert energy.joules is None


def test_a_reading_at_the_very_bound_covers_it():
    assert codes(measured({0: steady(100, first=2, last=8), 1: steady(100, first=2, last=8)})) == []


def test_a_gap_of_more_than_three_seconds_in_the_window():
    energy = measured({0: steady(100), 1: [(0, 100), (1, 100), (4, 100), (7.5, 100), (10, 100)]})
    assert codes(energy) == ["power_gap"]
    assert (energy.reasons[0].value, energy.reasons[0].limit) == (3.5, 3)
    assert codes(measured({0: steady(100), 1: [(0, 1), (1.5, 1), (4, 1), (7, 1), (8, 1), (60, 1)]})) == [], "later ones do not matter"


def test_gaps_that_end_or_begin_with_the_window_do_not_matter():
    assert codes(measured({0: steady(100), 1: [(-60, 1), (2, 1), (5, 1), (8, 1), (60, 1)]})) == []


def test_one_reading_is_too_few():
    energy = measured({0: steady(100), 1: [(5, 100)]})
    assert codes(energy) == ["power_too_few_samples", "power_window_not_covered"]
    assert "1 time of GPU 1, at least 2" in energy.reasons[0].text


def test_two_readings_are_enough():
    assert codes(measured({0: [(2, 100), (5, 100)]}, gpus=1, window=(2, 5))) == []


def test_power_that_is_missing_at_both_ends_alike_is_told_of_the_beginning():
    (reason,) = measured({0: steady(100, first=3, last=7)}, gpus=1).reasons
    assert reason.text == "the power of some GPU begins 1.0 s after the beginning of the measured phase"
    assert (reason.value, reason.limit) == (1.0, 0)


def test_samples_that_name_no_gpu_are_left_out():
    found = [*samples("power_w", {0: steady(100)}), Sample(ns=5 * S, source="amd", name="power_w", value=9000.0, labels={})]
    energy = sample_measurement([], gpus=1, start_ns=2 * S, end_ns=8 * S, read_samples=lambda _: found).energy
    assert (codes(energy), energy.joules) == ([], pytest.approx(600))


def test_samples_in_any_order_and_those_that_are_no_numbers():
    found = samples("power_w", {0: [*reversed(steady(100)), (5.5, math.nan), (6.5, math.inf)]})
    energy = sample_measurement([], gpus=1, start_ns=2 * S, end_ns=8 * S, read_samples=lambda _: found).energy
    assert (codes(energy), energy.joules) == ([], pytest.approx(600))
    assert sample_measurement([], gpus=1, read_samples=lambda _: found).energy is None, "nobody knows when it was measured"
    assert codes(measured({0: [*steady(100, last=7), (8, math.nan)]}, gpus=1)) == ["power_window_not_covered"]


def test_counters_of_some_gpus_are_held_against_their_own_power():
    energy = measured({0: steady(100), 1: steady(300)}, {1: [(0, 0), (10, 6000)]})
    assert (codes(energy), energy.counter_error_share) == (["power_counter_mismatch"], 0.5)


def test_counters_that_tell_another_story():
    power = {0: steady(100), 1: steady(300)}
    energy = measured(power, {0: [(0, 0), (10, 1200)], 1: [(0, 0), (10, 3050)]})
    assert codes(energy) == ["power_counter_mismatch"]
    assert energy.counter_error_share == energy.reasons[0].value == pytest.approx(250 / 4250)
    assert codes(measured(power, {0: [(0, 0), (10, 1100)], 1: [(0, 0), (10, 3000)]})) == []


def test_a_twentieth_of_what_the_counters_say_is_allowed():
    energy = measured({0: [(0, 17.5), (3, 17.5), (6, 17.5)]}, {0: [(0, 0), (6, 100)]}, gpus=1, window=(0, 6))
    assert (codes(energy), energy.counter_error_share) == ([], 0.05)


def test_shares_are_of_the_counters_however_little_and_of_the_larger_where_they_went_back():
    little = measured({0: steady(0.2)}, {0: [(2, 3), (8, 4)]}, gpus=1)
    assert little.counter_error_share == pytest.approx(0.2)
    back = measured({0: steady(100)}, {0: [(2, 1000), (8, 0)]}, gpus=1)
    assert back.counter_error_share == pytest.approx(1.6)


def test_counters_that_went_back_or_stand_still():
    power = {0: steady(100), 1: steady(300)}
    assert codes(measured(power, {0: [(0, 10**6), (10, 0)], 1: [(0, 0), (10, 3000)]})) == ["power_counter_mismatch"]
    assert "GPU 0 went down" in measured(power, {0: [(0, 10**6), (10, 0)], 1: [(0, 0), (10, 3000)]}).reasons[0].text
    assert codes(measured(power, {0: [(0, 900), (10, 0)], 1: [(0, 0), (10, 4900)]})) == ["power_counter_mismatch"]
    assert codes(measured(power, {0: [(0, 7), (10, 7)], 1: [(0, 7), (10, 7)]})) == ["power_counter_mismatch"]


def test_counters_are_compared_only_where_power_is_known():
    power = {0: steady(100), 1: steady(300)}
    assert measured(power, {0: [(-5, 0), (10, 10**6)], 1: [(0, 0), (20, 10**6)]}).counter_error_share is None
    every_second = {0: [(moment, 100 * moment) for moment in range(-5, 20)], 1: [(moment, 300 * moment) for moment in range(-5, 20)]}
    assert measured(power, every_second).counter_error_share == pytest.approx(0)


def test_idle_gpus_that_count_nothing_agree():
    energy = measured({0: steady(0), 1: steady(0)}, {0: [(0, 0), (10, 0)], 1: [(0, 0), (10, 0)]})
    assert (codes(energy), energy.counter_error_share) == ([], 0)


def test_the_recorded_stream_of_eight_gpus(shared):
    rocm = shared / "data" / "rocm"
    expected = tomllib.loads((rocm / "expected.toml").read_text())
    rows = read_csv((rocm / expected["csv"]["file"]).read_text())
    ticks = sorted({int(row["timestamp"]) for row in rows})
    assert (len(rows), len(ticks), ticks[0], ticks[-1]) == tuple(expected["csv"][key] for key in ("rows", "ticks", "first", "last"))
    found = [
        Sample(ns=int(row["timestamp"]) * S, source="amd", name="power_w", value=float(row["socket_power"]), labels={"gpu": row["gpu"]})
        for row in rows
        if row["socket_power"] != "N/A"
    ]
    for name in ("start", "end"):
        moment = expected["csv"]["first" if name == "start" else "last"]
        for row in read_csv((rocm / expected["energy"][name]).read_text()):
            value = float(row["total_energy_consumption"])
            found.append(Sample(ns=moment * S, source="amd", name="energy_j", value=value, labels={"gpu": row["gpu"]}))
    energy = sample_measurement(
        [], gpus=8, start_ns=ticks[0] * S, end_ns=ticks[-1] * S, read_samples=lambda names: [one for one in found if one.name in names]
    ).energy
    assert codes(energy) == []
    assert energy.joules == pytest.approx(sum(expected["csv"]["joules"]))
    assert energy.counter_error_share == pytest.approx(0)
