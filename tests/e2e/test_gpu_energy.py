"""A run on a machine with GPUs, whose tools are stand-ins: power is read over the measured phase, and a tool that dies spoils no point."""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from ixbench.host.load import load_host
from ixbench.report.load import load_run
from ixbench.report.recompute import recompute
from ixbench.store.folder import RunReader
from ixbench.testing.gpu_tools import write_amd_smi, write_nvidia_smi

WATTS = 600.0
POINT = "scripted-c1"
SECONDS = 1e9


@pytest.fixture(scope="module")
def lab(make_shell, tmp_path_factory, install):
    """Return a shell on a machine with two accelerators, of a third party's book."""
    folder = tmp_path_factory.mktemp("lab")
    site = folder / "site"
    site.mkdir()
    shutil.copy(Path(__file__).with_name("lab_plugin.py"), site)
    install(site, "lab-bench", "1.0", {"lab": "lab_plugin"})
    shell = make_shell(folder, site)
    shell.write_prompts(f"tell me about number {number}" for number in range(40))
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1]\n', rest="[limits]\ntoo_short = 0\n")
    return shell


def run(lab, name, *flags):
    tools = f"{lab.folder / name}{os.pathsep}{os.environ['PATH']}"
    memory = lab.write("readings", "5\n")
    hardware = ("--set", "hardware.sku=lab1", "--set", "hardware.gpus=2")
    done = lab.run("run", "campaign.toml", *hardware, *flags, "--results", f"results-{name}", LAB_MEMORY=str(memory), PATH=tools)
    # How valid the point is depends on how busy this machine is; that it has its numbers does not.
    assert done.code in (0, 1), done.err
    (folder,) = (lab.folder / f"results-{name}").iterdir()
    return done, folder, json.loads((folder / "points" / POINT / "point.json").read_text())


@pytest.fixture(scope="module")
def good(lab):
    write_amd_smi(lab.folder / "good", gpus=2, watts=WATTS)
    return run(lab, "good")


def test_the_point_has_its_energy_with_a_verdict_of_its_own(good):
    _, _, point = good
    energy, metrics = point["energy"], point["metrics"]
    assert (energy["valid"], energy["reasons"], energy["gpus"]) == (True, [], 2)
    assert energy["counter_error_share"] < 0.05
    assert metrics["power_w_gpu"] == pytest.approx(WATTS)
    facts = point["provenance"]["measurement"]
    window_s = (facts["end_ns"] - facts["start_ns"]) / SECONDS
    assert energy["joules"] == pytest.approx(2 * WATTS * window_s)
    tokens = metrics["input_tokens"]["sum"] + metrics["output_tokens"]["sum"]
    assert metrics["joules_per_token"]["total"] == pytest.approx(energy["joules"] / tokens)
    assert metrics["joules_per_token"]["output"] == pytest.approx(energy["joules"] / metrics["output_tokens"]["sum"])


def test_what_the_book_provisions_stands_beside_it(good):
    _, _, point = good
    rate = point["metrics"]["throughput_tok_s_gpu"]["total"]
    assert point["metrics"]["provisioned_joules_per_token"]["total"] == pytest.approx(2000 / rate)
    assert point["metrics"]["provisioned_tok_s_mw"]["total"] == pytest.approx(500 * rate)


def test_all_samples_are_of_the_clock_of_the_records(good):
    _, folder, point = good
    reader = RunReader(folder)
    samples, records = reader.samples(POINT), reader.records(POINT)
    assert {sample.source for sample in samples} >= {"amd", "host"}
    facts = point["provenance"]["measurement"]
    for source in {sample.source for sample in samples}:
        moments = [sample.ns for sample in samples if sample.source == source]
        # Whatever stamps a source has itself, it was read around these requests.
        assert min(moments) <= facts["start_ns"] + 2 * SECONDS, source
        assert facts["end_ns"] <= max(moments) <= facts["end_ns"] + 30 * SECONDS, source
        assert min(moments) >= facts["start_ns"] - 60 * SECONDS, source
    assert facts["start_ns"] <= min(record.send_ns for record in records)
    for gpu in ("0", "1"):
        series = [sample.ns for sample in samples if sample.name == "power_w" and sample.labels["gpu"] == gpu]
        assert all(before < after for before, after in pairwise(series))
        assert series[0] <= facts["start_ns"]
        assert series[-1] >= facts["end_ns"]


def test_the_cost_of_every_collector_stands_in_the_point(good):
    _, folder, point = good
    told = point["provenance"]["collectors"]
    assert set(told) == {"amd", "host", "nvidia", "prometheus"}
    samples = RunReader(folder).samples(POINT)
    for name, facts in told.items():
        assert set(facts) == {"samples", "cpu_s"}
        assert facts["samples"] == sum(sample.source == name for sample in samples)
        assert (facts["cpu_s"] > 0) == (facts["samples"] > 0)
    assert point["provenance"]["collector_failures"] == {}


def test_recomputing_reads_the_samples_back(good):
    _, folder, _ = good
    view = load_run(folder)
    again = recompute(view, RunReader(folder), load_host(), lambda note: None)
    for name in ("power_w_gpu", "joules_per_token", "provisioned_joules_per_token", "provisioned_tok_s_mw"):
        assert again.points[0].metrics[name] == view.points[0].metrics[name], name
    assert again.points[0].energy == view.points[0].energy
    (folder / "points" / POINT / "samples.jsonl").write_bytes(b"")
    without = recompute(view, RunReader(folder), load_host(), lambda note: None)
    assert without.points[0].energy is None
    assert without.points[0].metrics["power_w_gpu"] is None
    assert without.points[0].metrics["ttft_s"] == view.points[0].metrics["ttft_s"]


def test_a_tool_that_dies_in_mid_stream_is_a_warning_and_never_the_points_fault(lab):
    write_nvidia_smi(lab.folder / "dying", gpus=2, ticks=1, step_s=0.2)
    done, _, point = run(lab, "dying")
    why = "nvidia-smi ended with code 1: Unable to determine the device handle: GPU is lost."
    assert point["provenance"]["collector_failures"] == {"nvidia": why}
    assert f"{POINT}: collector nvidia failed: {why}" in done.err
    assert point["energy"]["valid"] is False
    assert [reason["code"] for reason in point["energy"]["reasons"]] == ["power_too_few_samples", "power_window_not_covered"]
    assert point["metrics"]["power_w_gpu"] is None
    assert not [reason for reason in point["verdict"]["reasons"] if reason["code"].startswith("power")]
    assert point["metrics"]["throughput_tok_s_gpu"]["total"] > 0


def test_an_exporter_that_is_not_there_is_a_warning(lab):
    write_amd_smi(lab.folder / "unused", gpus=2)
    done, _, point = run(lab, "unused", "--set", "collectors.amd.exporter=http://127.0.0.1:9/metrics")
    assert "http://127.0.0.1:9/metrics cannot be read" in point["provenance"]["collector_failures"]["amd"]
    assert f"{POINT}: collector amd failed" in done.err
    assert point["energy"] is None
    assert point["metrics"]["joules_per_token"] == {"total": None, "input": None, "output": None, "computed": None}
