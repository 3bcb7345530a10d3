"""examples/ixbench_acme as a stranger would use it: built, installed beside ixbench, tested, listed, run and reported with."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples" / "ixbench_acme"
LIMIT_S = 110
SITE = "import site; site.addsitedir({!r})\n"
"""What a .pth file holds that makes the packages of this environment, ixbench among them, visible in another one."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a fresh virtual environment with the example's wheel in it, and ixbench and its libraries from this one. No network."""
    folder = tmp_path_factory.mktemp("acme")
    pytest.importorskip("hatchling", reason="the extra 'test' is not installed")
    shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    wheel = subprocess.run(
        [sys.executable, "-c", build], cwd=folder / "source", check=True, capture_output=True, text=True, timeout=LIMIT_S
    )
    home = folder / "venv"
    venv.create(home)
    python = home / "bin" / "python"
    libraries = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (libraries / "ixbench-under-test.pth").write_text(SITE.format(sysconfig.get_paths()["purelib"]))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", "--no-cache-dir"]
    subprocess.run([*pip, str(folder / wheel.stdout.split()[-1])], check=True, capture_output=True, timeout=LIMIT_S)
    assert (libraries / "ixbench_acme" / "recipes" / "steady.toml").is_file()
    return python


@pytest.fixture(scope="module")
def ixbench(installed, tmp_path_factory):
    """Return a function that runs ixbench in that environment, and the folder that it runs in."""
    folder = tmp_path_factory.mktemp("there")
    command = [installed, "-c", "import sys; from ixbench.cli.entry import main; sys.exit(main())"]

    def run(*words):
        return subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    return run, folder


def test_the_distribution_does_not_pin_ixbench():
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == ["ixbench"]
    assert project["entry-points"] == {"ixbench": {"acme": "ixbench_acme"}}


def test_its_own_tests_pass_where_it_is_installed(installed):
    done = subprocess.run(
        [installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(SOURCE)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d{2,} passed", done.stdout)


def test_plugins_lists_what_it_gives(ixbench):
    run, _ = ixbench
    done = run("plugins", "--json")
    found = json.loads(done.stdout)
    assert found["failures"] == []
    (acme,) = [plugin for plugin in found["plugins"] if plugin["name"] == "acme"]
    assert (acme["distribution"], acme["version"]) == ("ixbench-acme", "1.0")
    assert acme["contributions"] == {
        "engines": ["acme"],
        "signatures": ["acme-no-vocabulary", "acme-empty-vocabulary"],
        "reporters": ["brief"],
    }


def test_its_campaign_runs_against_its_own_server(ixbench):
    run, folder = ixbench
    done = run("run", str(SOURCE / "acme.toml"), "--set", "workload.requests=20", "--results", "results")
    assert done.returncode in {0, 1}, done.stderr  # a verdict depends on how busy this machine is
    (results,) = (folder / "results").iterdir()
    points = {path.parent.name: json.loads(path.read_text()) for path in results.glob("points/*/point.json")}
    assert sorted(points) == ["quick-c4", "steady-c1", "steady-c4"]
    for point in points.values():
        assert point["failure"] is None
        assert (point["accounting"]["requests"], point["accounting"]["ok"]) == (20, 20)
        assert (point["identity"]["engine"], point["identity"]["engine_version"]) == ("acme", "1.0")
        assert point["metrics"]["output_tokens"]["sum"] == 20 * 16
        assert (point["metrics"]["input_tokens"]["min"], point["metrics"]["input_tokens"]["max"]) == (64, 64)
        assert not {"length_mismatch", "metrics_missing", "counters_mismatch"} & {reason["code"] for reason in point["verdict"]["reasons"]}
    (launch,) = [path for path in results.glob("launches/*/launch.json") if "steady" in path.read_text()]
    assert "words are invented" in launch.read_text()
    assert (results / "reports" / "brief.txt").is_file()


def test_its_signature_tells_why_a_launch_failed(ixbench):
    run, folder = ixbench
    wrong = 'deployment.quick.vocabulary="nowhere.txt"'
    done = run("run", str(SOURCE / "acme.toml"), "--only", "quick-*", "--set", wrong, "--results", "failed")
    assert done.returncode == 3, done.stderr
    assert "The file of words that the deployment names is not there." in done.stderr
    (log,) = folder.glob("failed/*/launches/*/engine.log")
    told = json.loads(run("diagnose", str(log), "--json").stdout)
    assert told["root"]["id"] == "acme-no-vocabulary"


@pytest.mark.parametrize("use", ["brief", str(SOURCE / "ixbench_acme" / "reporter.py")])
def test_its_reporter_works_installed_and_as_a_file(ixbench, use, tmp_path):
    run, _ = ixbench
    results = write_sample_run(tmp_path, load_host())
    done = run("report", str(results), "--use", use, "--set", "brief.top=1")
    assert (done.returncode, done.stdout) == (0, "vllm-c1: 100 tok/s/user, measured\n")
    assert (results / "reports" / "brief.txt").read_text() == done.stdout


def test_as_a_file_it_needs_no_package(tmp_path):
    copied = shutil.copy(SOURCE / "ixbench_acme" / "reporter.py", tmp_path / "mine.py")
    results = write_sample_run(tmp_path / "results", load_host())
    command = [sys.executable, "-c", "import sys; from ixbench.cli.entry import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "report", str(results), "--use", str(copied)], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, (results / "reports" / "brief.txt").read_text())
    assert done.stdout == "vllm-c1: 100 tok/s/user, measured\n"  # the one point of the sample that is valid


def test_the_reporter_is_the_one_in_the_docs_and_has_20_lines():
    source = (SOURCE / "ixbench_acme" / "reporter.py").read_text()
    assert len(source.splitlines()) == 20
    assert f"```python\n{source}```\n" in (ROOT / "docs" / "reports.md").read_text()
