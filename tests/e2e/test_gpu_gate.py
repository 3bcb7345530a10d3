"""A run waits for GPUs that are not free, and doctor says who holds them; the hardware is a third party's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def lab(make_shell, tmp_path_factory, install):
    folder = tmp_path_factory.mktemp("lab")
    site = folder / "site"
    site.mkdir()
    shutil.copy(Path(__file__).with_name("lab_plugin.py"), site)
    install(site, "lab-bench", "1.0", {"lab": "lab_plugin"})
    shell = make_shell(folder, site)
    shell.write_prompts(f"tell me about number {number}" for number in range(4))
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1]\n', rest="[limits]\ntoo_short = 0\n")
    return shell


def run(lab, readings, results):
    memory = lab.write(f"{results}.readings", readings)
    flags = ("--set", "hardware.sku=lab1", "--set", "hardware.gpus=2", "--results", results)
    done = lab.run("run", "campaign.toml", *flags, LAB_MEMORY=str(memory))
    # How valid the point is depends on how busy this machine is.
    assert done.code in (0, 1), done.err
    (point,) = (lab.folder / results).glob("*/points/*/point.json")
    assert json.loads(point.read_text())["failure"] is None
    (launch,) = (lab.folder / results).glob("*/launches/*/launch.json")
    return json.loads(launch.read_text())


def test_a_launch_waits_until_the_gpus_are_free(lab):
    launch = run(lab, "91\n91\n5\n", "waits")
    assert any(note.startswith("waited ") and note.endswith(" s for the GPUs to be free") for note in launch["notes"])


def test_what_cannot_be_read_is_a_note_of_the_launch(lab):
    launch = run(lab, "nobody knows\n", "unknown")
    assert any("how full the GPUs are is unknown" in note for note in launch["notes"])


def test_memory_that_comes_back_late_is_waited_for(lab):
    launch = run(lab, "5\n91\n5\n", "comes-back")
    assert launch["failure"] is None


def test_doctor_names_who_holds_the_gpus_and_asks_the_plugin(lab):
    memory = lab.write("doctor.readings", "91\n")
    done = lab.run("doctor", "--json", LAB_MEMORY=str(memory))
    checks = {check["id"]: check for check in json.loads(done.out)["checks"]}
    assert (done.code, checks["gpu_memory"]["status"]) == (1, "problem")
    assert checks["gpu_memory"]["value"] == "Lab 1 91.0 of 100 GiB; held by someone (pid 4477)"
    assert checks["accelerators"]["value"] == "2 x Lab 1"
    assert checks["lab_door"]["advice"] == "close it"
    assert "warning  door of the lab" in lab.run("doctor", LAB_MEMORY=str(memory)).out
