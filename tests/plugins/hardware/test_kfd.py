"""AMD GPUs are found in recorded topologies, with the expected values beside them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ixbench.model.fp4 import native_fp4
from ixbench_plugins.hardware.book import ShippedHardware
from ixbench_plugins.hardware.kfd import count_hidden, gfx_target, read_gpus

CASES = ("mi355x-8", "mi300x-8", "mi325x-8", "mi355x-8-cpx", "mi355x-2-of-8-container", "no-gpu", "no-kfd")
MIB = 2**20


@pytest.fixture
def expected(shared):
    return {case["case"]: case for case in tomllib.loads((shared / "data/rocm/expected.toml").read_text())["kfd"]}


def test_every_recorded_topology_is_tested(expected):
    assert set(expected) == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_recorded_topologies(case, shared, expected):
    root, wanted = shared / "data/rocm/kfd" / case, expected[case]
    gpus = read_gpus(root)
    assert len(gpus) == wanted["count"]
    assert sum(gpu.partitions for gpu in gpus) == wanted["partitions"]
    assert {gpu.mode for gpu in gpus} == ({wanted["mode"]} - {""})
    assert {gpu.gfx for gpu in gpus} == ({wanted["gfx"]} - {""})
    assert {gpu.memory_bytes // MIB for gpu in gpus} == ({wanted["vram_mib"]} - {0})
    if "render_minors" in wanted:
        assert [minor for gpu in gpus for minor in gpu.render_minors] == wanted["render_minors"]
    assert {native_fp4(gfx_target=gpu.gfx) for gpu in gpus} == ({wanted["fp4_native"]} if gpus else set())
    assert len({gpu.bdf for gpu in gpus}) == len(gpus)
    found = ShippedHardware(kfd=root, nvidia=Path("/nonexistent")).detect()
    assert {(gpu.gfx, gpu.partitions) for gpu in found} == {(gpu.gfx, gpu.partitions) for gpu in gpus}
    assert [gpu.index for gpu in found] == list(range(wanted["count"]))
    assert {gpu.sku for gpu in found} == ({wanted["sku"]} - {""})
    assert [gpu.memory_bytes for gpu in found] == [gpu.memory_bytes for gpu in gpus]


def test_fp4_capable_targets_are_told_by_the_book(expected):
    targets = {sku.sku: sku.gfx_target for sku in ShippedHardware().skus()}
    for case in expected.values():
        if case["sku"]:
            assert targets[case["sku"]] == case["gfx"]
            assert case["fp4_native"] == (case["gfx"] == "gfx950")


@pytest.mark.parametrize(("case", "hidden"), [("mi355x-2-of-8-container", 6), ("mi355x-8", 0), ("no-gpu", 0), ("no-kfd", 0)])
def test_devices_that_are_not_granted_are_counted(shared, case, hidden):
    assert count_hidden(shared / "data/rocm/kfd" / case) == hidden


@pytest.mark.parametrize("case", ["mi355x-8", "mi355x-8-cpx"])
def test_pci_addresses_are_those_of_amd_smi(shared, case):
    addresses = [gpu.bdf for gpu in read_gpus(shared / "data/rocm/kfd" / case)]
    assert (addresses[0], addresses[2]) == ("0000:05:00.0", "0000:65:00.0")


def test_partitions_are_named(shared):
    found = ShippedHardware(kfd=shared / "data/rocm/kfd/mi355x-8-cpx").detect()
    assert {gpu.name for gpu in found} == {"AMD MI355X in CPX mode, 8 partitions"}


@pytest.mark.parametrize(("version", "name"), [(90500, "gfx950"), (90402, "gfx942"), (90010, "gfx90a"), (110001, "gfx1101")])
def test_targets_from_version_numbers(version, name):
    assert gfx_target(version) == name


def node(root, number, text, memory=None):
    folder = root / "nodes" / str(number)
    folder.mkdir(parents=True)
    (folder / "properties").write_text(text)
    if memory is not None:
        bank = folder / "mem_banks" / "0"
        bank.mkdir(parents=True)
        (bank / "properties").write_text(f"size_in_bytes {memory}\n")


def test_a_gpu_that_the_book_does_not_know_is_counted_without_sku(tmp_path):
    node(tmp_path, 1, "simd_count 912\ngfx_target_version 90402\ndevice_id 29858\nunique_id 7\n", memory=1000)
    (gpu,) = ShippedHardware(kfd=tmp_path).detect()
    assert (gpu.sku, gpu.name, gpu.memory_bytes) == (None, "AMD gfx942 (device 0x74a2)", 1000)


def test_a_virtual_function_is_its_gpu(tmp_path):
    node(tmp_path, 1, f"simd_count 1024\ngfx_target_version 90500\ndevice_id {0x75B3}\n")
    (gpu,) = ShippedHardware(kfd=tmp_path).detect()
    assert (gpu.sku, gpu.memory_bytes) == ("mi355x", None)


def test_nodes_without_unique_id_are_gpus_of_their_own_and_node_10_follows_9(tmp_path):
    for number in (10, 9):
        node(tmp_path, number, f"simd_count 1024\ndevice_id {0x75A3}\ndrm_render_minor {number}\nunique_id 0\n")
    assert [gpu.render_minors for gpu in read_gpus(tmp_path)] == [(9,), (10,)]


def test_broken_files_find_nothing_and_break_nothing(tmp_path):
    node(tmp_path, 0, "simd_count\nnonsense here too\nsimd_count many\n")
    (tmp_path / "nodes" / "not-a-number").mkdir()
    (tmp_path / "nodes" / "3").mkdir()
    assert read_gpus(tmp_path) == ()
