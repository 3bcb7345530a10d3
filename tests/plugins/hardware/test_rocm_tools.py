"""What AMD's tools print is understood in every recorded shape; what they do not tell stays unknown."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.launch.gpu_gate import busy_gpus
from ixbench_plugins.hardware import amd_smi, rocm_smi, tool_json
from ixbench_plugins.hardware.book import ShippedHardware

MIB = 2**20
KEYS = ("list", "static", "metric", "process", "rocm_smi", "firmware", "unavailable")
"""Kinds of recorded files; nothing asks for "static", since the kernel tells the same."""


@pytest.fixture
def rocm(shared):
    return shared / "data" / "rocm"


@pytest.fixture
def expected(rocm):
    return tomllib.loads((rocm / "expected.toml").read_text())


def machine(rocm, answers, *, case="mi355x-8", root=Path("/nonexistent"), environ=None):
    """Return a book on a recorded machine whose tools answer with recorded files."""

    def ask(argv):
        found = answers.get(argv)
        return None if found is None else (rocm / found).read_text()

    return ShippedHardware(kfd=rocm / "kfd" / case, nvidia=Path("/nonexistent"), root=root, ask=ask, environ=environ or {})


def test_every_recorded_file_is_tested(rocm, expected):
    named = {case["file"] for key in KEYS for case in expected[key]}
    named |= {expected["csv"]["file"], expected["energy"]["start"], expected["energy"]["end"]}
    assert named == {path.name for path in rocm.iterdir() if path.is_file()} - {"README.md", "expected.toml"}


def test_lists(rocm, expected):
    for case in expected["list"]:
        found = amd_smi.read_list((rocm / case["file"]).read_text())
        assert (len(found), found[0].bdf) == (case["count"], case["bdf_of_gpu0"]), case["file"]
        assert amd_smi.hip_indices(found) == dict(enumerate(case["hip_of_gpu"])), case["file"]


def test_metric(rocm, expected):
    for case in expected["metric"]:
        found = amd_smi.read_metric((rocm / case["file"]).read_text())
        assert [gpu.used_bytes for gpu in found] == [used * MIB for used in case["used_mib"]], case["file"]
        assert [gpu.power_w for gpu in found] == [None if watts == "N/A" else watts for watts in case["power_w"]], case["file"]
        readings = machine(rocm, {amd_smi.MEMORY: case["file"]}).memory_used()
        assert (not busy_gpus(readings, ())) == case["free"], case["file"]


def test_processes(rocm, expected):
    for case in expected["process"]:
        found = amd_smi.read_processes((rocm / case["file"]).read_text())
        assert len(found) == case["holders"]
        if found:
            assert (found[0].name, found[0].pid, found[0].used_bytes) == (case["first_name"], case["first_pid"], 271803482112)


def test_rocm_smi(rocm, expected):
    for case in expected["rocm_smi"]:
        text = (rocm / case["file"]).read_text()
        if "used_mib" in case:
            found = rocm_smi.read_memory(text)
            assert [(used // MIB, total // MIB) for used, total in found.values()] == [
                (used, case["total_mib"]) for used in case["used_mib"]
            ], case["file"]
            readings = machine(rocm, {rocm_smi.MEMORY: case["file"]}).memory_used()
            assert (not busy_gpus(readings, ())) == case["free"], case["file"]


def test_firmware(rocm, expected):
    for case in expected["firmware"]:
        mec = rocm_smi.read_mec_firmware((rocm / case["file"]).read_text())
        assert (mec, rocm_smi.needs_no_scratch_reclaim(mec)) == (case["mec"], case["needs_no_scratch_reclaim"])
    assert rocm_smi.needs_no_scratch_reclaim(None)


def test_a_missing_tool_tells_nothing_and_is_never_taken_for_free(rocm, expected):
    for case in expected["unavailable"]:
        text = (rocm / case["file"]).read_text()
        assert amd_smi.read_list(text) == amd_smi.read_metric(text) == amd_smi.read_csv(text) == ()
        assert amd_smi.read_processes(text) is None
        assert rocm_smi.read_memory(text) == {}
        assert rocm_smi.read_mec_firmware(text) is None
        broken = machine(rocm, dict.fromkeys((amd_smi.MEMORY, amd_smi.LIST, amd_smi.PROCESS, rocm_smi.MEMORY), case["file"]))
        assert (broken.memory_used(), broken.holders()) == (None, None)
    absent = machine(rocm, {})
    assert (absent.memory_used(), absent.holders()) == (None, None)


def test_watched_metrics(rocm, expected):
    case = expected["csv"]
    rows = amd_smi.read_csv((rocm / case["file"]).read_text())
    stamps = sorted({int(row["timestamp"]) for row in rows})
    assert (len(rows), len(stamps), stamps[0], stamps[-1]) == (case["rows"], case["ticks"], case["first"], case["last"])
    series = {}
    for row in rows:
        if (watts := tool_json.quantity(row["socket_power"])) is not None:
            series.setdefault(int(row["gpu"]), []).append((int(row["timestamp"]), watts))
    assert len(series) == case["gpus"]
    joules = [
        sum((later - sooner) * (first + second) / 2 for (sooner, first), (later, second) in pairwise(points))
        for _, points in sorted(series.items())
    ]
    assert joules == case["joules"]


def test_energy(rocm, expected):
    case = expected["energy"]
    start, end = (
        {int(row["gpu"]): float(row["total_energy_consumption"]) for row in amd_smi.read_csv((rocm / case[key]).read_text())}
        for key in ("start", "end")
    )
    assert [end[gpu] - start[gpu] for gpu in sorted(start)] == case["joules"]


# The book asks the tools in turn and names GPUs as engines count them.


def test_memory_is_told_in_the_order_of_hip(rocm):
    book = machine(rocm, {amd_smi.MEMORY: "amd_smi_metric_strings.json", amd_smi.LIST: "amd_smi_list_enum_gpu_data.json"})
    readings = book.memory_used()
    (busy,) = busy_gpus(readings, ())
    assert (busy.name, busy.index, busy.used_bytes) == ("GPU 5 (0000:95:00.0)", 6, 251003 * MIB)
    assert busy_gpus(readings, (5,)) == ()
    assert busy_gpus(readings, (6,)) == (busy,)


def test_without_hip_indices_every_gpu_matters(rocm):
    book = machine(rocm, {amd_smi.MEMORY: "amd_smi_metric_strings.json", amd_smi.LIST_OLD: "amd_smi_list_plain.json"})
    readings = book.memory_used()
    assert {gpu.index for gpu in readings} == {None}
    assert [gpu.name for gpu in busy_gpus(readings, (0,))] == ["GPU 5 (0000:95:00.0)"]


def test_rocm_smi_stands_in_for_amd_smi_and_the_driver_for_both(rocm, tmp_path):
    by_tool = machine(rocm, {amd_smi.MEMORY: "amd_smi_not_found.txt", rocm_smi.MEMORY: "rocm_smi_meminfo_warning.json"}).memory_used()
    assert [gpu.name for gpu in by_tool] == [f"card{card}" for card in range(8)]
    for minor, used in ((130, 5), (131, 7)):
        device = tmp_path / "sys/class/drm" / f"renderD{minor}" / "device"
        device.mkdir(parents=True)
        (device / "mem_info_vram_used").write_text(f"{used}\n")
        (device / "mem_info_vram_total").write_text("100\n")
    by_driver = machine(rocm, {}, case="mi355x-2-of-8-container", root=tmp_path).memory_used()
    assert [(gpu.name, gpu.used_bytes, gpu.total_bytes) for gpu in by_driver] == [("0000:65:00.0", 5, 100), ("0000:75:00.0", 7, 100)]
    (device / "mem_info_vram_used").unlink()
    assert machine(rocm, {}, case="mi355x-2-of-8-container", root=tmp_path).memory_used() is None


def test_a_gpu_that_does_not_tell_makes_all_of_it_unknown(rocm, tmp_path):
    text = (rocm / "amd_smi_metric_numbers.json").read_text().replace('"used_vram": 283', '"used_vram": "N/A"', 1)
    (tmp_path / "metric.json").write_text(text)
    assert machine(rocm, {amd_smi.MEMORY: str(tmp_path / "metric.json")}).memory_used() is None


def test_holders_carry_the_names_of_their_gpus(rocm):
    answers = {amd_smi.PROCESS: "amd_smi_process_plain.json", amd_smi.LIST_OLD: "amd_smi_list_plain.json"}
    holders = machine(rocm, answers).holders()
    assert (holders[0].pid, holders[0].name, holders[0].gpus) == (4477, "VLLM::Worker_TP0", ("GPU 0 (0000:05:00.0)",))
    assert machine(rocm, {amd_smi.PROCESS: "amd_smi_process_none_gpu_data.json"}).holders() == ()


def test_a_machine_without_gpus_asks_no_tool(rocm):
    def never(argv):
        raise AssertionError(argv)

    book = ShippedHardware(kfd=rocm / "kfd/no-gpu", nvidia=Path("/nonexistent"), ask=never)
    assert (book.memory_used(), book.holders(), book.checkups()) == ((), (), ())


@given(st.text(alphabet='[]{}":,gpu_data0123 N/A\n', max_size=200))
def test_no_text_upsets_a_parser(text):
    for read in (
        amd_smi.read_list,
        amd_smi.read_metric,
        amd_smi.read_processes,
        amd_smi.read_csv,
        rocm_smi.read_memory,
    ):
        read(text)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("9" * 400 + " MB", None),
        (10**400, None),
        (float("inf"), None),
        (283, 283),
        ("283 MB", 283),
        ({"value": 283, "unit": "MB"}, 283),
        ("N/A", None),
        ({"value": "N/A"}, None),
        (None, None),
        (True, None),
    ],
)
def test_quantities(value, found):
    assert tool_json.quantity(value) == found
    assert tool_json.size(value, unit="MB") == (None if found is None else found * MIB)
