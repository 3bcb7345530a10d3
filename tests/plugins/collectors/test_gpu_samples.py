"""Rows of tools become samples on the clock of the records, for the GPUs that matter."""

from __future__ import annotations

import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure.energy import COUNTER, POWER, integrate
from ixbench_plugins.collectors import gpu_samples
from ixbench_plugins.collectors.amd import AmdRows, labels_of
from ixbench_plugins.collectors.gpu_samples import FULL_EVERY, LATE_LIMIT_S, Arrival, taken_ns
from ixbench_plugins.collectors.nvidia import COLUMNS, REASONS, NvidiaRows, arguments, columns_of, stamp_s
from ixbench_plugins.hardware.amd_smi import read_list
from ixbench_plugins.hardware.kfd import read_gpus

S = 1_000_000_000
WALL_S = 1_796_000_000


def read_row(line, came, wanted):
    return NvidiaRows(wanted=wanted).read(line, came)


ROW = "2026/11/30 06:45:01.250, 3, GPU-0, 700.5, 1980, 61, 97, 1024\n"


def arrival(wall_s):
    """Return the arrival of a row on a machine whose clock of the records began 1000 s before WALL_S."""
    return Arrival(mono_ns=round((wall_s - WALL_S + 1000) * S), wall_s=wall_s)


def test_energy_is_made_of_the_names_that_collectors_use():
    assert (POWER, COUNTER) == (gpu_samples.POWER, gpu_samples.ENERGY)


@pytest.mark.parametrize("after_s", [0.0, 0.999, 1.4])
def test_a_row_that_comes_within_its_second_was_taken_when_it_came(after_s):
    came = arrival(WALL_S + after_s)
    assert taken_ns(came, WALL_S, 1.0) == came.mono_ns


@pytest.mark.parametrize("late_s", [1.6, 9, LATE_LIMIT_S])
def test_a_row_that_lay_in_a_buffer_was_taken_in_the_middle_of_its_second(late_s):
    assert taken_ns(arrival(WALL_S + late_s), WALL_S, 1.0) == pytest.approx(1000.5 * S, abs=1000)


@pytest.mark.parametrize("apart_s", [-3600, -1, LATE_LIMIT_S + 1, 10**7])
def test_a_stamp_of_another_clock_tells_nothing(apart_s):
    assert taken_ns(arrival(WALL_S + apart_s), WALL_S, 1.0) == arrival(WALL_S + apart_s).mono_ns


@pytest.mark.parametrize(("told", "value"), [("THROTTLED", 1.0), ("UNTHROTTLED", 0.0), ("N/A", None), ("", None)])
def test_a_driver_may_tell_that_clocks_are_held_down(told, value):
    rows = AmdRows(labels={}, wanted=())
    rows.read("timestamp,gpu,socket_power,throttle_status\n", arrival(WALL_S))
    found = {sample.name: sample.value for sample in rows.read(f"{WALL_S:.0f},0,1000,{told}\n", arrival(WALL_S)) or []}
    assert found.get("throttled") == value
    assert found["power_w"] == 1000


@given(st.floats(-10, 400), st.sampled_from([1.0, 0.001]))
def test_no_row_is_from_the_future(late_s, resolution_s):
    came = arrival(WALL_S + late_s)
    assert came.mono_ns - LATE_LIMIT_S * S <= taken_ns(came, WALL_S, resolution_s) <= came.mono_ns


def test_the_recorded_stream_gives_every_series_and_the_recorded_energy(shared):
    rocm = shared / "data" / "rocm"
    expected = tomllib.loads((rocm / "expected.toml").read_text())["csv"]
    rows = AmdRows(labels={}, wanted=())
    found, told = [], 0
    for line in (rocm / expected["file"]).read_text().splitlines(keepends=True):
        tick = line.partition(",")[0]
        samples = rows.read(line, arrival(int(tick) + 0.5) if tick.isdecimal() else arrival(WALL_S))
        told += samples is not None
        found += samples or []
    assert told == expected["rows"]
    assert {sample.name for sample in found} == {"power_w", "clock_mhz", "temperature_c", "activity_share"}
    first = {sample.name: sample.value for sample in found[:4]}
    assert first == {"power_w": 1000, "clock_mhz": 2200, "temperature_c": 70, "activity_share": 0.9}
    for gpu, joules in enumerate(expected["joules"]):
        series = [(sample.ns / S, sample.value) for sample in found if sample.labels == {"gpu": str(gpu)} and sample.name == POWER]
        assert integrate(series, min(series)[0], max(series)[0]) == pytest.approx(joules)


def test_only_the_gpus_of_the_launch_count_by_their_hip_index(shared):
    rocm = shared / "data" / "rocm"
    listed = read_list((rocm / "amd_smi_list_enum_gpu_data.json").read_text())
    rows = AmdRows(labels=labels_of(listed, (), (0, 1)), wanted=frozenset((0, 1)))
    counters = rows.energy((rocm / "amd_smi_energy_start.csv").read_text(), 7)
    # amd-smi's GPUs 3 and 2 are HIP's 0 and 1.
    assert {sample.labels["gpu"]: sample.value for sample in counters} == {"0": 178003000.0, "1": 178002000.0}
    assert {(sample.name, sample.ns) for sample in counters} == {("energy_j", 7)}


def test_without_hip_indices_the_order_of_the_driver_tells(shared):
    rocm = shared / "data" / "rocm"
    listed = read_list((rocm / "amd_smi_list_plain.json").read_text())
    gpus = read_gpus(rocm / "kfd" / "mi355x-8")
    assert labels_of(listed, gpus, (1,)) == {index: index for index in range(8)}
    assert labels_of(tuple(reversed(listed)), gpus, (1,)) == {index: index for index in range(8)}, "addresses count, not places"


def test_where_nothing_tells_all_gpus_may_be_used_and_some_may_not(shared):
    listed = read_list((shared / "data" / "rocm" / "amd_smi_list_plain.json").read_text())
    assert labels_of(listed, (), range(8)) == labels_of(listed, (), ()) == labels_of((), (), (3,)) == {}
    with pytest.raises(Exception, match="does not tell which of them HIP calls 4, 5"):
        labels_of(listed, (), (4, 5))


def test_memory_comes_from_the_driver(shared, tmp_path):
    rows = AmdRows(labels={0: 3}, wanted=frozenset((3,)), vram={0: lambda: 2**30})
    rows.read("timestamp,gpu,socket_power\n", arrival(WALL_S))
    assert {sample.name: sample.value for sample in rows.read(f"{WALL_S},0,900\n", arrival(WALL_S))} == {
        "power_w": 900,
        "vram_used_bytes": 2**30,
    }


@given(st.text(max_size=200))
def test_whatever_a_tool_prints_is_no_row_or_samples(text):
    rows = AmdRows(labels={}, wanted=())
    rows.read("timestamp,gpu,socket_power\n", arrival(WALL_S))
    for line in (text, f"{text}\n", f"{text},0,900\n", f"1,{text},900\n"):
        assert all(sample.name == POWER for sample in rows.read(line, arrival(WALL_S)) or ())
        assert isinstance(read_row(line, arrival(WALL_S), ()), list | None)


def test_a_row_of_nvidia_smi(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        taken_s = stamp_s("2026/11/30 06:45:01.250")
        assert taken_s == 1795988701.25
        samples = read_row(ROW, Arrival(mono_ns=5 * S, wall_s=taken_s + 0.01), (3,))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert {sample.name: sample.value for sample in samples} == {
        "power_w": 700.5,
        "clock_mhz": 1980,
        "temperature_c": 61,
        "activity_share": 0.97,
        "vram_used_bytes": 2**30,
    }
    assert {(sample.ns, sample.labels["gpu"], sample.source) for sample in samples} == {(5 * S, "3", "nvidia")}


@pytest.mark.parametrize("line", ["No devices were found\n", ROW[:-1], ROW.replace(", 1024", ""), ROW.replace(" 3,", " N/A,"), "\n"])
def test_what_is_no_row_of_nvidia_smi(line):
    assert read_row(line, arrival(WALL_S), ()) is None


def test_what_nvidia_smi_does_not_know_has_no_sample():
    row = ROW.replace("700.5", "[N/A]").replace("1980", "[Not Supported]")
    assert {sample.name for sample in read_row(row, arrival(WALL_S), ())} == {"temperature_c", "activity_share", "vram_used_bytes"}
    assert read_row(ROW, arrival(WALL_S), (0,)) == []
    assert stamp_s("soon") is None


def test_power_is_kept_of_every_reading_and_the_rest_of_some():
    for rows, line in ((NvidiaRows(wanted=()), ROW), (AmdRows(labels={}, wanted=()), "1,0,90,2200\n")):
        if isinstance(rows, AmdRows):
            rows.read("timestamp,gpu,socket_power,gfx_0_clk\n", arrival(WALL_S))
        found = [{sample.name for sample in rows.read(line, arrival(WALL_S))} for _ in range(2 * FULL_EVERY + 1)]
        full = [number for number, names in enumerate(found) if "clock_mhz" in names]
        assert full == [0, FULL_EVERY, 2 * FULL_EVERY]
        assert all("power_w" in names for names in found)


def test_the_columns_are_those_that_are_asked_for():
    assert arguments(COLUMNS)[0] == f"--query-gpu={','.join(COLUMNS)}"


def test_what_holds_the_clocks_down_is_asked_for_by_the_name_that_this_version_knows():
    newer = '"clocks_event_reasons.active" or "clocks_throttle_reasons.active"\nBitmask of active clock event reasons.\n'
    assert columns_of(newer) == (*COLUMNS, REASONS[0])
    assert columns_of('"clocks_throttle_reasons.active"\nBitmask\n"clocks_throttle_reasons.gpu_idle"\n') == (*COLUMNS, REASONS[1])
    assert columns_of("") == COLUMNS


@pytest.mark.parametrize(
    ("mask", "throttled", "capped"),
    [
        ("0x0000000000000000", 0, 0),
        ("0x0000000000000001", 0, 0),  # idle
        ("0x0000000000000102", 0, 0),  # clocks of an application, clocks of a display
        ("0x0000000000000004", 0, 1),
        ("0x0000000000000008", 1, 0),
        ("0x0000000000000024", 1, 1),
        ("0x0000000000000048", 1, 0),
        ("0x00000000000000C4", 1, 1),
        ("[N/A]", None, None),
        ("[Not Supported]", None, None),
        ("-4", None, None),
    ],
)
def test_nvidia_tells_what_holds_the_clocks_down(mask, throttled, capped):
    rows = NvidiaRows(wanted=(), columns=(*COLUMNS, REASONS[0]))
    found = {sample.name: sample.value for sample in rows.read(ROW.replace("\n", f", {mask}\n"), arrival(WALL_S))}
    assert (found.get("throttled"), found.get("power_capped")) == (throttled, capped)
    assert rows.read(ROW, arrival(WALL_S)) is None


def test_every_reading_counts_for_what_holds_the_clocks_down():
    rows = NvidiaRows(wanted=(), columns=(*COLUMNS, REASONS[0]))
    masks = ["0x00", *["0x40", "0x04", "0x44", "0x00"], "0x00", *["[N/A]"] * (FULL_EVERY - 1), "0x40"]
    found = [
        (sample.name, sample.value)
        for mask in masks
        for sample in rows.read(ROW.replace("\n", f", {mask}\n"), arrival(WALL_S))
        if sample.name in {"throttled", "power_capped"}
    ]
    assert found == [
        ("throttled", 0),
        ("power_capped", 0),
        ("throttled", 0.4),
        ("power_capped", 0.4),
        ("throttled", 1),
        ("power_capped", 0),
    ]


@pytest.mark.parametrize(("watts", "kept"), [("0", True), ("1400.5", True), ("-5", False), ("1796042728", False)])
def test_a_power_that_cannot_be_is_none(watts, kept):
    rows = AmdRows(labels={}, wanted=())
    rows.read("timestamp,gpu,socket_power\n", arrival(WALL_S))
    assert bool(rows.read(f"{WALL_S},0,{watts}\n", arrival(WALL_S))) is kept
