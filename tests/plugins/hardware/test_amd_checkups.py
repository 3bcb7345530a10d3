"""What about a host of AMD GPUs stops runs or spoils their numbers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ixbench_plugins.hardware import rocm_smi
from ixbench_plugins.hardware.book import ShippedHardware


@pytest.fixture
def host(shared, tmp_path):
    """Return a maker of hosts: the checkups of a recorded topology on a root of files, by id."""
    rocm = shared / "data" / "rocm"

    def examine(*, case="mi355x-8", firmware=None, cmdline="quiet iommu=pt pci=realloc=off", balancing="0", devices=True, environ=None):
        (tmp_path / "proc/sys/kernel").mkdir(parents=True, exist_ok=True)
        if cmdline is not None:
            (tmp_path / "proc/cmdline").write_text(f"{cmdline}\n")
        if balancing is not None:
            (tmp_path / "proc/sys/kernel/numa_balancing").write_text(f"{balancing}\n")
        if devices:
            (tmp_path / "dev/dri").mkdir(parents=True, exist_ok=True)
            for name in ("kfd", *(f"dri/renderD{minor}" for minor in range(128, 128 + 64))):
                (tmp_path / "dev" / name).touch()
        answers = {} if firmware is None else {rocm_smi.FIRMWARE: (rocm / firmware).read_text()}
        book = ShippedHardware(kfd=rocm / "kfd" / case, nvidia=Path("/nonexistent"), root=tmp_path, ask=answers.get, environ=environ or {})
        return {checkup.id: checkup for checkup in book.checkups()}

    return examine


def test_a_host_in_order(host):
    found = host(firmware="rocm_smi_showfw_178.txt")
    assert {name: (checkup.status, checkup.value) for name, checkup in found.items()} == {
        "kfd_access": ("ok", "yes"),
        "render_access": ("ok", "yes, all 8"),
        "mec_firmware": ("ok", "178"),
        "numa_balancing": ("ok", "off"),
        "kernel_parameters": ("ok", "has iommu=pt and pci=realloc=off"),
    }
    assert not any(checkup.advice for checkup in found.values())


@pytest.mark.parametrize("case", ["no-gpu", "no-kfd"])
def test_a_host_without_amd_gpus_has_nothing_of_it(host, case):
    assert host(case=case) == {}


def test_old_firmware_asks_for_a_variable(host):
    old = host(firmware="rocm_smi_showfw_171.txt")["mec_firmware"]
    assert (old.status, old.value) == ("warning", "171")
    assert old.advice.startswith("set HSA_NO_SCRATCH_RECLAIM=1")
    mended = host(firmware="rocm_smi_showfw_171.txt", environ={"HSA_NO_SCRATCH_RECLAIM": "1"})["mec_firmware"]
    assert (mended.status, mended.advice) == ("ok", "")
    unknown = host()["mec_firmware"]
    assert unknown.status == "unknown"
    assert "HSA_NO_SCRATCH_RECLAIM=1" in unknown.advice


def test_numa_balancing_must_be_off(host):
    assert host(balancing="1")["numa_balancing"].status == "warning"
    assert "kernel.numa_balancing=0" in host(balancing="1")["numa_balancing"].advice


def test_the_kernel_command_line_is_looked_at(host):
    found = host(cmdline="quiet iommu=pt")["kernel_parameters"]
    assert (found.status, found.value) == ("warning", "lacks pci=realloc=off")


def test_what_cannot_be_read_is_unknown(host):
    found = host(cmdline=None, balancing=None)
    assert found["kernel_parameters"].status == "unknown"
    assert found["numa_balancing"].value == "this kernel has none"


def test_absent_device_nodes_stop_a_run(host):
    found = host(case="mi355x-2-of-8-container", devices=False)
    assert (found["kfd_access"].status, found["kfd_access"].value) == ("problem", "not there: /dev/kfd")
    assert found["render_access"].value == "not there: /dev/dri/renderD130, /dev/dri/renderD131"
    assert "--device /dev/kfd" in found["render_access"].advice


def test_refused_device_nodes_name_the_group_by_number(host, tmp_path, monkeypatch):
    # The superuser may read everything, so the system's answer is made up here.
    monkeypatch.setattr("ixbench_plugins.hardware.amd.os.access", lambda path, mode: "renderD131" not in str(path))
    found = host(case="mi355x-2-of-8-container")["render_access"]
    assert (found.status, found.value) == ("problem", "refused: /dev/dri/renderD131")
    assert f"number {(tmp_path / 'dev/dri/renderD131').stat().st_gid}" in found.advice
    assert os.getgid() == (tmp_path / "dev/dri/renderD131").stat().st_gid


def test_devices_of_others_are_mentioned(host):
    found = host(case="mi355x-2-of-8-container")
    assert found["hidden_gpus"].value == "2 GPUs granted to this container, 6 more devices in this machine"
    assert "hidden_gpus" not in host()
