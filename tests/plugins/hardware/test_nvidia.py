"""NVIDIA GPUs are told from the driver's files."""

from __future__ import annotations

import pytest

from ixbench_plugins.hardware import nvidia
from ixbench_plugins.hardware.book import ShippedHardware
from ixbench_plugins.hardware.nvidia import MODELS, sku_of_gpu


@pytest.mark.parametrize(
    ("model", "sku"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 SXM5 80GB", "h100"),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200", "h200"),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA B200", "b200"),
        ("NVIDIA B300 SXM6 AC", "b300"),
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA GB300", "gb300"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx6000pro"),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_models(model, sku):
    assert sku_of_gpu(model) == sku


def test_every_sku_that_can_be_found_stands_in_the_book():
    assert {sku for _, sku in MODELS} <= {sku.sku for sku in ShippedHardware().skus()}


def gpu(root, address, text):
    (root / address).mkdir(parents=True)
    (root / address / "information").write_text(text)


def test_in_the_order_of_pci_addresses(tmp_path):
    gpu(tmp_path, "0000:c1:00.0", "Model: \t\t NVIDIA B200\nIRQ:   \t\t 1\n")
    gpu(tmp_path, "0000:1b:00.0", "IRQ:   \t\t 2\nModel: \t\t NVIDIA H100 PCIe\n")
    gpu(tmp_path, "0000:ff:00.0", "no model here\n")
    found = ShippedHardware(kfd=tmp_path / "none", nvidia=tmp_path).detect()
    assert [(item.index, item.sku, item.name, item.memory_bytes) for item in found] == [
        (0, None, "NVIDIA H100 PCIe", None),
        (1, "b200", "NVIDIA B200", None),
    ]


def test_nothing_there_is_nothing_found(tmp_path):
    assert ShippedHardware(kfd=tmp_path / "a", nvidia=tmp_path / "b").detect() == ()


MEMORY = "0, 00000000:1B:00.0, 4, 81559\n1, 00000000:43:00.0, 79000, 81559\n"
PROCESSES = "00000000:43:00.0, 4477, VLLM::Worker, TP1, 78000\n00000000:43:00.0, 5, [N/A], [N/A]\n"


def book_on(tmp_path, answers):
    gpu(tmp_path, "0000:1b:00.0", "Model: \t\t NVIDIA B200\n")
    return ShippedHardware(kfd=tmp_path / "none", nvidia=tmp_path, ask=answers.get)


def test_memory_and_processes_are_told_by_the_tool(tmp_path):
    book = book_on(tmp_path, {nvidia.MEMORY: MEMORY, nvidia.PROCESSES: PROCESSES})
    assert [(item.index, item.name, item.used_bytes, item.total_bytes) for item in book.memory_used()] == [
        (0, "GPU 0 (00000000:1B:00.0)", 4 * 2**20, 81559 * 2**20),
        (1, "GPU 1 (00000000:43:00.0)", 79000 * 2**20, 81559 * 2**20),
    ]
    assert [(holder.pid, holder.name, holder.gpus, holder.used_bytes) for holder in book.holders()] == [
        (4477, "VLLM::Worker, TP1", ("GPU 1 (00000000:43:00.0)",), 78000 * 2**20),
        (5, "[N/A]", ("GPU 1 (00000000:43:00.0)",), None),
    ]


@pytest.mark.parametrize("answer", [None, "", "No devices were found\n", MEMORY.replace("79000", "[N/A]")])
def test_what_the_tool_does_not_tell_is_unknown(tmp_path, answer):
    assert book_on(tmp_path, {nvidia.MEMORY: answer}).memory_used() is None


def test_without_the_tool_nobody_knows_the_processes(tmp_path):
    assert book_on(tmp_path, {}).holders() is None
    assert ShippedHardware(kfd=tmp_path / "a", nvidia=tmp_path / "b", ask={}.get).holders() == ()


def test_a_number_that_is_none_makes_no_process():
    assert nvidia.read_processes("00:1, 8\x1f8, x, 1\n00:1, " + "9" * 5000 + ", x, 1\n00:1, ٣, x, 1\n", ()) == ()
    (found,) = nvidia.read_processes("00:1, 42, python, 9" + "9" * 5000, ())
    assert (found.pid, found.used_bytes) == (42, None)
    assert nvidia.read_memory("0, 00:1, 1, " + "9" * 5000) is None
