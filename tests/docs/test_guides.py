"""The guides are followed to the letter: their files are written as they stand, and their commands run as a newcomer would run them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ixbench.host.load import load_host
from ixbench.model.run import ReportSettings
from ixbench.report.load import load_run
from ixbench.testing.folders import write_sample_run
from ixbench.testing.running import server_process
from ixbench.testing.runs import sample_point, sample_run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LIMIT_S = 250
"""Bound on a command; a busy machine may need most of it."""
pytestmark = pytest.mark.timeout(300)


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def write_files(name, folder):
    """Write the files of a page, and what pip would write beside them where one of them is a pyproject.toml."""
    spec = importlib.util.spec_from_file_location("make_outputs", DOCS / "make_outputs.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    found = maker.files(page(name))
    for file, content in found.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content, encoding="utf-8")
    return found


def install(folder, pyproject):
    """Make the distribution in a folder one that is found, without the network that pip would ask for hatchling."""
    name, version = (re.search(rf'^{key} = "(.+)"$', pyproject, re.MULTILINE)[1] for key in ("name", "version"))
    entries = pyproject.partition("[project.entry-points.ixbench]\n")[2].partition("\n\n")[0].replace('"', "")
    made = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (made / "entry_points.txt").write_text(f"[ixbench]\n{entries}\n", encoding="utf-8")


def run(*words, folder, code=(0,)):
    foreign = {name for name in os.environ if name.startswith(("IXBENCH_", "COLUMNS", "PYTEST"))}
    env = {name: value for name, value in os.environ.items() if name not in foreign} | {"PYTHONPATH": str(folder), "COLUMNS": "110"}
    command = [Path(sys.executable).parent / words[0], *words[1:]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode in code, done.stdout + done.stderr
    return done.stdout


def test_the_adapter_of_the_guide_is_found_planned_and_measured(tmp_path):
    pytest.importorskip("xllamacpp")
    install(tmp_path, write_files("write-an-adapter.md", tmp_path)["pyproject.toml"])
    plugins = json.loads(run("ixbench", "plugins", "--json", folder=tmp_path))
    assert plugins["failures"] == []
    assert "nova" in [plugin["name"] for plugin in plugins["plugins"]]
    shown = run("ixbench", "plan", "nova.toml", folder=tmp_path)
    (told,) = re.findall(r"^```text\n(launch nova-.*?)^```$", page("write-an-adapter.md"), re.MULTILINE | re.DOTALL)
    assert told.strip() in shown
    # Whether the machine is calm enough for valid points is not the guide's to say: 1 stands for a point that is judged invalid.
    run("ixbench", "run", "nova.toml", "--only", "nova-c8", "--set", "workload.requests=40", folder=tmp_path, code=(0, 1, 3))
    (result,) = tmp_path.glob("results/*/points/nova-c8/point.json")
    point = json.loads(result.read_text())
    assert point["failure"] is None
    assert point["accounting"]["ok"] == 40
    assert point["metrics"]["requests_running_max"] is not None
    run("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests", folder=tmp_path)


def test_the_reporter_of_the_guide_prints_what_it_says(tmp_path):
    write_files("write-a-reporter.md", tmp_path)
    sample = write_sample_run(tmp_path / "results", load_host())
    shown = run("ixbench", "report", str(sample), "--use", "./slowest.py", "--set", "slowest.top=2", "--out", "compare", folder=tmp_path)
    lines = (tmp_path / "compare" / "slowest.md").read_text(encoding="utf-8").splitlines()
    usable = [point.id for point in load_run(sample).points if point.verdict.status != "invalid"]
    assert {line.split(" | ")[0].removeprefix("| ") for line in lines[2:-2]} == set(usable)
    assert lines[-1] == f"{4 - len(usable)} invalid points left out."
    assert "\n".join(lines) in shown
    run("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "test_slowest.py", folder=tmp_path)


def test_the_reporter_prints_of_the_ladder_what_the_guide_shows(tmp_path):
    write_files("write-a-reporter.md", tmp_path)
    write_files("read-a-ladder.md", tmp_path)
    run("ixbench", "run", "ladder.toml", "--simulate", folder=tmp_path)
    (folder,) = tmp_path.glob("results/*")
    shown = run("ixbench", "report", str(folder), "--use", "./slowest.py", "--set", "slowest.top=3", folder=tmp_path)
    (told,) = re.findall(r"^```text\n(\| point \|.*?)^```$", page("write-a-reporter.md"), re.MULTILINE | re.DOTALL)
    assert told in shown


def test_the_further_code_of_the_guide_answers(tmp_path):
    (code,) = [
        code
        for code in re.findall(r"^```python\n(.*?)^```$", page("write-a-reporter.md"), re.MULTILINE | re.DOTALL)
        if "longest_answers" in code
    ]
    module = {}
    exec(compile(code, "write-a-reporter.md", "exec"), module)
    view = load_run(write_sample_run(tmp_path, load_host()))
    assert set(module["longest_answers"](view)) == {"vllm-c1", "vllm-c8", "vllm-c16"}
    curve = [sample_point(f"vllm-c{users}", speed_tok_s_user=speed, rate_tok_s_gpu=100 * users) for users, speed in ((1, 90), (8, 40))]
    assert module["answered_rungs"]([sample_run(*curve, report=ReportSettings(rungs=(25.0, 50.0, 75.0, 100.0)))]) == [50.0, 75.0]


def test_the_workload_and_the_collector_of_the_guide_are_found_and_run(tmp_path):
    install(tmp_path, write_files("write-a-workload.md", tmp_path)["pyproject.toml"])
    plugins = json.loads(run("ixbench", "plugins", "--json", folder=tmp_path))
    assert plugins["failures"] == []
    run("ixbench", "check", "csv.toml", folder=tmp_path)
    with server_process() as server:
        words = ("--attach", server.url, "--only", "endpoint-c4", "--set", "workload.requests=40")
        run("ixbench", "run", "csv.toml", *words, folder=tmp_path, code=(0, 1))
    (folder,) = tmp_path.glob("results/*/points/endpoint-c4")
    assert json.loads((folder / "point.json").read_text())["accounting"]["ok"] == 40
    records = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    assert {record["output_asked"] for record in records} == {16, 24}
    assert '"loadavg"' in (folder / "samples.jsonl").read_text()
    (tmp_path / "prompts.csv").write_text("prompt\nWhat?\n")
    run("ixbench", "check", "csv.toml", folder=tmp_path, code=(2,))
    run("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests", folder=tmp_path)


def test_the_result_in_the_tutorial_is_that_of_the_readme():
    measured = re.findall(r"^```text\n((?:Ladder|Points)\n.*?)^```$", page("tutorial.md"), re.MULTILINE | re.DOTALL)
    assert len(measured) == 2
    for block in measured:
        assert block in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_prompts_of_the_guide_are_taken(tmp_path):
    write_files("own-traffic.md", tmp_path)
    assert run("ixbench", "check", "traffic.toml", folder=tmp_path).startswith("ok: 3 points")
