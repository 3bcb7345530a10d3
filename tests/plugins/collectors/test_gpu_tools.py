"""The collectors of GPUs at work with real processes in place of the vendors' tools: good ones, slow ones, dying ones, and none at all."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import anyio
import psutil
import pytest

from ixbench.launch.tree import MARKER
from ixbench.testing.gpu_tools import write_amd_smi, write_nvidia_smi
from ixbench.testing.records import sample_measurement
from ixbench_plugins.collectors import amd as amd_module
from ixbench_plugins.collectors import gpu_stream
from ixbench_plugins.collectors import nvidia as nvidia_module
from ixbench_plugins.collectors.amd import AmdCollector
from ixbench_plugins.collectors.nvidia import NvidiaCollector

pytestmark = pytest.mark.anyio
NOWHERE = Path("/nonexistent")


def amd(**places):
    return AmdCollector(**{"kfd": NOWHERE, "root": NOWHERE} | places)


def nvidia(root=NOWHERE):
    return NvidiaCollector(root=root)


class Load:
    """A load of some seconds, with its bounds on the clock of the records."""

    def __init__(self, seconds=1.2):
        self.seconds = seconds

    async def __call__(self, _running):
        self.began_ns = time.monotonic_ns()
        await anyio.sleep(self.seconds)
        self.ended_ns = time.monotonic_ns()

    def energy(self, samples, gpus):
        """Return the energy of a point that was this load."""
        read = lambda names: [sample for sample in samples if sample.name in names]  # noqa: E731 - short
        return sample_measurement([], gpus=gpus, start_ns=self.began_ns, end_ns=self.ended_ns, read_samples=read).energy


def left():
    """Return the stand-ins that still run."""
    return [process for process in psutil.Process().children(recursive=True) if MARKER in process.environ()]


async def test_amd_gpus_are_read_from_before_the_load_until_after_it_and_checked_by_their_counters(tools, sample_load):
    write_amd_smi(tools, gpus=8, watts=900.0)
    load = Load(2.5)
    samples, failure, facts = await sample_load(amd(), load, gpus=tuple(range(8)), sku="mi355x")
    assert failure is None
    energy = load.energy(samples, 8)
    assert energy.valid, energy.reasons
    assert energy.joules == pytest.approx(8 * 900 * (load.ended_ns - load.began_ns) / 1e9)
    assert energy.counter_error_share < 0.05
    assert {sample.name for sample in samples} == {"power_w", "clock_mhz", "temperature_c", "activity_share", "energy_j"}
    assert facts["samples"] == len(samples)
    assert facts["cpu_s"] > 0
    assert left() == []


async def test_counters_that_do_not_agree_make_the_energy_invalid_and_nothing_else(tools, sample_load):
    write_amd_smi(tools, gpus=1, watts=900.0, joules_s=400.0)
    load = Load()
    samples, failure, _ = await sample_load(amd(), load)
    assert failure is None
    assert [reason.code for reason in load.energy(samples, 1).reasons] == ["power_counter_mismatch"]


async def test_a_launch_that_uses_some_gpus_has_theirs_alone(tools, sample_load, shared):
    write_amd_smi(tools, gpus=8, listed=(shared / "data" / "rocm" / "amd_smi_list_enum_gpu_data.json").read_text())
    samples, failure, _ = await sample_load(amd(), Load(0.1), gpus=(0, 5))
    assert failure is None
    assert {sample.labels["gpu"] for sample in samples} == {"0", "5"}
    # HIP's GPU 0 is amd-smi's 3, whose temperature tells it.
    assert {sample.value for sample in samples if sample.name == "temperature_c" and sample.labels["gpu"] == "0"} == {73}


async def test_an_older_tool_is_mapped_by_address_and_memory_is_read_from_the_driver(tools, sample_load, shared, tmp_path):
    rocm = shared / "data" / "rocm"
    write_amd_smi(tools, gpus=8, mode="old", listed=(rocm / "amd_smi_list_plain.json").read_text())
    device = tmp_path / "sys/class/drm/renderD130/device"
    device.mkdir(parents=True)
    (device / "mem_info_vram_used").write_text("283115520\n")
    samples, failure, _ = await sample_load(amd(kfd=rocm / "kfd" / "mi355x-8", root=tmp_path), Load(0.1), gpus=(1, 2))
    assert failure is None
    assert {(sample.labels["gpu"], sample.value) for sample in samples if sample.name == "vram_used_bytes"} == {("2", 283115520)}


@pytest.mark.parametrize("mode", ["", "cut"])
async def test_a_tool_that_dies_costs_its_series_with_its_own_last_words(tools, sample_load, mode):
    write_amd_smi(tools, gpus=2, ticks=2, step_s=0.5, mode=mode)
    load = Load(2.5)
    samples, failure, _ = await sample_load(amd(), load)
    assert failure.startswith("amd-smi ended with code 1: ")
    assert failure.endswith("amdgpu: the device was lost")
    assert len([sample for sample in samples if sample.name == "power_w"]) == 4, "what it gave before is kept"
    assert [reason.code for reason in load.energy(samples, 2).reasons] == ["power_window_not_covered"]
    assert left() == []


async def test_a_tool_that_dies_after_rows_that_nobody_has_fetched_yet_is_told_too(tools, sample_load):
    write_nvidia_smi(tools, gpus=1, ticks=3, step_s=0.4)
    samples, failure, _ = await sample_load(nvidia(), Load(2))
    assert failure.startswith("nvidia-smi ended with code 1")
    assert len([sample for sample in samples if sample.name == "power_w"]) == 3


async def test_a_slow_tool_leaves_gaps(tools, sample_load, monkeypatch):
    monkeypatch.setattr(gpu_stream, "LAST_LIMIT_S", 10.0)
    write_amd_smi(tools, gpus=1, step_s=3.5)
    load = Load(0.5)
    samples, failure, _ = await sample_load(amd(), load)
    assert failure is None
    assert [reason.code for reason in load.energy(samples, 1).reasons] == ["power_gap"]


@pytest.mark.parametrize(
    ("header", "row"),
    [("timestamp,gpu,watts", "{now},0,900"), ("timestamp,gpu,socket_power", "{now},0,N/A"), ("now,index,power", "{now},0,9")],
)
async def test_a_tool_that_tells_no_power_is_a_warning(tools, sample_load, header, row):
    listed = '[{"gpu": 0, "bdf": "0000:05:00.0"}]'
    write_amd_smi(tools, gpus=1, listed=listed, header=header, row=row)
    samples, failure, _ = await sample_load(amd(), Load(0.3))
    assert failure.startswith("amd-smi did not tell the power of any GPU that the launch uses")
    assert "; it printed: " in failure
    assert not any(sample.name == "power_w" for sample in samples)


async def test_a_tool_that_falls_silent_is_given_up(tools, sample_load, monkeypatch):
    monkeypatch.setattr(gpu_stream, "SILENCE_LIMIT_S", 0.5)
    write_nvidia_smi(tools, gpus=1, step_s=600)
    _, failure, _ = await sample_load(nvidia(), Load(2.5))
    assert failure == "nvidia-smi has printed no row for 0.5 s"
    assert left() == []


async def test_rows_that_were_held_back_are_stamped_with_the_seconds_in_which_they_were_taken(tools, sample_load, monkeypatch):
    monkeypatch.setattr(gpu_stream, "FIRST_LIMIT_S", 0.1)
    write_amd_smi(tools, gpus=1, ticks=4, mode="buffered", listed='[{"gpu": 0, "bdf": "0000:05:00.0"}]')
    began_ns = time.monotonic_ns()
    samples, failure, _ = await sample_load(amd(), Load(5))
    assert failure is None
    moments = [(sample.ns - began_ns) / 1e9 for sample in samples if sample.name == "power_w"]
    assert len(moments) == 4
    # Taken 0, 1, 2, 3 s after the start, and printed together after 4 s.
    assert all(abs(moment - number) < 1.6 for number, moment in enumerate(moments)), moments


async def test_nvidia_gpus(tools, sample_load):
    write_nvidia_smi(tools, gpus=4, watts=650.0)
    load = Load()
    samples, failure, facts = await sample_load(nvidia(), load, gpus=(0, 1), sku="h200")
    assert failure is None
    assert {sample.labels["gpu"] for sample in samples} == {"0", "1"}
    energy = load.energy(samples, 2)
    assert (energy.valid, energy.counter_error_share) == (True, None), energy.reasons
    assert energy.joules == pytest.approx(2 * 650 * (load.ended_ns - load.began_ns) / 1e9)
    assert facts["cpu_s"] > 0
    assert left() == []


@pytest.mark.parametrize(
    ("field", "told"), [("clocks_event_reasons.active", {1.0}), ("clocks_throttle_reasons.active", {1.0}), ("", set())]
)
async def test_older_and_newer_nvidia_tools_tell_what_holds_the_clocks_down(tools, sample_load, field, told):
    write_nvidia_smi(tools, gpus=1, field=field, reasons="0x0000000000000040")
    samples, failure, _ = await sample_load(nvidia(), Load(0.1))
    assert failure is None
    assert {sample.value for sample in samples if sample.name == "throttled"} == told
    assert any(sample.name == "power_w" for sample in samples)


@pytest.mark.parametrize("collector", [amd(), nvidia()], ids=["amd", "nvidia"])
async def test_on_a_machine_without_tool_and_gpus_there_is_nothing_to_read(tools, sample_load, collector):
    samples, failure, facts = await sample_load(collector, Load(0))
    assert (samples, failure, facts) == ([], None, {"samples": 0, "cpu_s": 0.0})


async def test_a_tool_without_gpus_is_no_failure(tools, sample_load):
    write_amd_smi(tools, ticks=0)
    write_nvidia_smi(tools, ticks=0)
    for collector in (amd(), nvidia()):
        samples, failure, _ = await sample_load(collector, Load(0))
        assert (samples, failure) == ([], None)


def write_hanging(path, *, answers=""):
    """Write a tool that hangs, but for arguments that begin with a word, and keeps a line of each start."""
    shell, sleep = (shutil.which(name, path=os.defpath) for name in ("sh", "sleep"))
    path.write_text(f'#!{shell}\necho "$1" >> {path}.asked\nif [ "$1" = "{answers}" ]; then exit 0; fi\nexec {sleep} 600\n')
    path.chmod(0o755)


def asked(path):
    """Return the first argument of each start."""
    return Path(f"{path}.asked").read_text().split()


@pytest.mark.parametrize(
    ("module", "make", "tool", "words"),
    [
        (amd_module, amd, "amd-smi", ("list", "metric")),
        (nvidia_module, nvidia, "nvidia-smi", ("--help-query-gpu", f"--query-gpu={','.join(nvidia_module.COLUMNS)}")),
    ],
    ids=["amd", "nvidia"],
)
@pytest.mark.parametrize("answers", [0, 1])
async def test_a_tool_that_hangs_where_no_gpu_is_known_is_told_once_and_not_asked_again(
    tools, sample_load, monkeypatch, *, module, make, tool, words, answers
):
    monkeypatch.setattr(module, "ASK_LIMIT_S", 0.5)
    monkeypatch.setattr(gpu_stream, "FIRST_LIMIT_S", 0.5)
    write_hanging(tools / tool, answers=words[0] if answers else "")
    collector = make()
    samples, failure, _ = await sample_load(collector, Load(0))
    assert samples == []
    assert failure == f"{tool} hangs, and no {module.VENDOR} GPU is known here: it is not asked again in this run"
    starts = asked(tools / tool)
    assert list(dict.fromkeys(starts)) == list(words[: 1 + answers])
    assert (await sample_load(collector, Load(0)))[:2] == ([], None)
    assert asked(tools / tool) == starts
    assert left() == []


async def test_a_tool_that_hangs_is_asked_again_where_the_campaign_names_its_gpus(tools, sample_load, monkeypatch):
    monkeypatch.setattr(amd_module, "ASK_LIMIT_S", 0.5)
    monkeypatch.setattr(gpu_stream, "FIRST_LIMIT_S", 0.5)
    write_hanging(tools / "amd-smi")
    collector = amd()
    for point in (1, 2):
        await sample_load(collector, Load(0), sku="mi355x")
        assert asked(tools / "amd-smi").count("metric") == point


async def test_gpus_without_their_tool_are_a_warning(tools, sample_load, shared, tmp_path):
    folder = tmp_path / "gpus" / "0000:0a:00.0"
    folder.mkdir(parents=True)
    (folder / "information").write_text("Model: \t\t NVIDIA H200\n")
    for collector, tool in ((amd(kfd=shared / "data" / "rocm" / "kfd" / "mi355x-8"), "amd-smi"), (nvidia(folder.parent), "nvidia-smi")):
        samples, failure, _ = await sample_load(collector, Load(0))
        assert samples == []
        assert f"and no {tool} on PATH" in failure


@pytest.mark.parametrize("collector", [amd(), nvidia()], ids=["amd", "nvidia"])
async def test_gpus_that_the_engine_does_not_use_are_not_read(tools, sample_load, collector):
    write_amd_smi(tools)
    write_nvidia_smi(tools)
    other = "h200" if collector.name == "amd" else "mi355x"
    for target in ({"on_host": False}, {"sku": "cpu"}, {"sku": other}):
        samples, failure, _ = await sample_load(collector, Load(0), **target)
        assert (samples, failure) == ([], None)


async def test_a_cancelled_point_leaves_no_tool(tools, sample_load):
    write_amd_smi(tools, gpus=1)
    seen = []

    async def broken(_running):
        seen.extend(left())
        raise LookupError("the replay broke")

    with pytest.raises(ExceptionGroup):
        await sample_load(amd(), broken)
    assert len(seen) == 1
    assert left() == []


async def test_a_tool_that_ignores_term_is_killed(tools, sample_load):
    # Not every shell: dash keeps the trap when it is signalled, and its child ends with the group.
    shell = shutil.which("sh", path=os.defpath)
    path = tools / "nvidia-smi"
    row = "2026/11/30 06:45:01.250, 0, GPU-0, 700, 1980, 61, 97, 1024"
    path.write_text(f"#!{shell}\ntrap '' TERM\nwhile true; do echo '{row}'; {shutil.which('sleep', path=os.defpath)} 0.2; done\n")
    path.chmod(0o755)
    _, failure, _ = await sample_load(nvidia(), Load(0.3), sku="h200")
    assert failure is None
    assert left() == []
