"""The suites find what they are for: plugins with one fault each fail in the tests that look for it, and in no other."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from importlib import import_module, util
from pathlib import Path

import pytest

from ixbench.testing.kit.told import AGAIN, SAME

pytestmark = pytest.mark.timeout(500)  # one subprocess runs all broken plugins of a kind
LIMIT_S = 480
BROKEN = Path(__file__).with_name("broken")
KINDS = {
    "adapters": "AdapterSuite",
    "gpu_servers": "GpuServerSuite",
    "reporters": "ReporterSuite",
    "workloads": "WorkloadSuite",
    "collectors": "CollectorSuite",
}


def load(kind):
    spec = util.spec_from_file_location(f"broken_{kind}", BROKEN / f"{kind}.py")
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def suites(kind):
    base = getattr(import_module("ixbench.testing"), KINDS[kind])
    return {
        name: value
        for name, value in vars(load(kind)).items()
        if name.startswith("Test") and isinstance(value, type) and issubclass(value, base)
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a function that runs all suites of a kind: the tests that failed by suite, and the texts of failures."""
    known = {}

    def run(kind):
        if kind not in known:
            folder = tmp_path_factory.mktemp(kind)
            report = folder / "report.xml"
            plugins = ["-p", "no:cacheprovider", "-p", "no:xdist"]
            words = [*plugins, "-q", "--tb=line", f"--junitxml={report}", f"--rootdir={folder}", "--import-mode=prepend"]
            command = [sys.executable, "-m", "pytest", "-c", os.devnull, *words, str(BROKEN / f"{kind}.py")]
            env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            assert done.returncode == 1, done.stdout + done.stderr
            failed, told = defaultdict(set), defaultdict(str)
            for case in ET.parse(report).iter("testcase"):
                suite, test = case.get("classname").rpartition(".")[2], case.get("name").partition("[")[0]
                for failure in (*case.findall("failure"), *case.findall("error")):
                    failed[suite].add(test)
                    told[suite] += failure.get("message")
                if any(skip.get("message").startswith((SAME, AGAIN)) for skip in case.findall("skipped")):
                    failed[suite].add(test)
            known[kind] = failed, told
        return known[kind]

    return run


CASES = [(kind, name) for kind in KINDS for name in suites(kind)]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}-{name}" for kind, name in CASES])
def test_a_fault_is_found_by_the_tests_that_look_for_it(results, kind, name):
    failed, _ = results(kind)
    assert failed[name] == set(suites(kind)[name].breaks)


@pytest.mark.parametrize("kind", KINDS)
def test_every_test_of_a_suite_can_fail(kind):
    base = getattr(import_module("ixbench.testing"), KINDS[kind])
    tests = {name for name in vars(base) if name.startswith("test_")}
    assert tests == {name for suite in suites(kind).values() for name in suite.breaks}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("pass", "TestMine has no adapter: the class needs a line `adapter = ...` with an instance of yours"),
        ("adapter = Good", "TestMine: adapter is the class Good; give an instance: `adapter = Good()`"),
        ("adapter = Good(); options = ({}, {'flag': 1})", "TestMine: entry 1 of `options` is refused: flag: "),
        (
            "adapter = type('Cook', (Good,), {'recipes': lambda self: {'wide': {'at': {'4': {'flag': 1}}}}})()",
            "TestMine: recipe 'wide' at concurrency 4 is refused: flag: ",
        ),
    ],
)
def test_a_suite_without_what_it_needs_says_so_in_one_sentence(tmp_path, body, sentence):
    source = f"from adapters import Good\nfrom ixbench.testing import AdapterSuite\n\n\nclass TestMine(AdapterSuite):\n    {body}\n"
    (tmp_path / "test_mine.py").write_text(source)
    words = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", f"--rootdir={tmp_path}", "-c", os.devnull]
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(BROKEN)}
    command = [sys.executable, "-m", "pytest", *words, "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert sentence in done.stdout
    assert "Traceback" not in done.stdout
