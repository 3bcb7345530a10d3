"""A wall clock that jumps while a run goes on: every duration is what it was, and the run ends in good order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

EVERY_S = 1
GAP_S = 0.02
TOKENS = 16


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return the library that lets a process's wall clock jump."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler, so no clock can be made to jump")
    built = tmp_path_factory.mktemp("clock") / "clock_steps.so"
    source = Path(__file__).with_name("clock_steps.c")
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    look = "import time; first = time.time(); time.sleep(1.1); print(time.time() - first > 3000)"
    variables = {**os.environ, "LD_PRELOAD": str(built), "IXBENCH_TEST_STEP_S": "3600", "IXBENCH_TEST_STEP_EVERY_S": "1"}
    seen = subprocess.run([sys.executable, "-S", "-c", look], env=variables, check=True, capture_output=True, text=True)
    assert seen.stdout == "True\n", "the clock does not jump"
    return built


@pytest.mark.parametrize("step_s", [3600, -3600, 1, -1])
def test_durations_are_those_of_a_clock_that_does_not_jump(shell, scripted, library, step_s):
    shell.write_prompts([f"number {number}" for number in range(24)])
    flags = scripted({"default": {"gap_s": GAP_S, "prefill_s": 0.05}})
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = [2]\n{flags}\n', workload="")
    campaign = (shell.folder / "campaign.toml").read_text().replace("output_tokens = 4", f"output_tokens = {TOKENS}")
    shell.write("campaign.toml", campaign)
    variables = {"LD_PRELOAD": str(library), "IXBENCH_TEST_STEP_S": str(step_s), "IXBENCH_TEST_STEP_EVERY_S": str(EVERY_S)}
    began = time.monotonic()
    done = shell.run("run", "campaign.toml", **variables)
    took_s = time.monotonic() - began
    assert done.code in {0, 1}, done.err
    assert "Traceback" not in done.err
    point = done.point("scripted-c2")
    assert point["failure"] is None
    records = done.records("scripted-c2")
    assert len(records) == 24
    for record in records:
        stamps = [record.send_ns, *record.chunks.ns, record.close_ns]
        assert stamps == sorted(stamps)
        assert (record.close_ns - record.send_ns) / 1e9 < took_s
        # The server lets so much time pass; a jump must not take away from it more than one look at the clocks may lag behind.
        assert (record.close_ns - record.send_ns) / 1e9 > 0.05 + GAP_S * (TOKENS - 1) * 0.9
    span = (max(record.close_ns for record in records) - min(record.send_ns for record in records)) / 1e9
    assert span > 2 * EVERY_S, "the clock jumped while the point was measured"
    assert 0 < point["metrics"]["ttft_s"]["p50"] < took_s
    header = json.loads((done.folder / "run.json").read_text())
    assert header["started"].startswith("20")
    again = shell.run("run", "campaign.toml", "--resume", **variables)
    assert (again.code, len(again.folders)) == (done.code, 1)
