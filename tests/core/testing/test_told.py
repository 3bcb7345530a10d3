"""One mistake of a plugin's author is one failing test with a sentence, and what follows from it is skipped with the reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from ixbench.testing.kit.plain import differences

REPORTER = """
from dataclasses import dataclass
from datetime import datetime

from ixbench.api.report import Artifact, OptionsModel, Reporter
from ixbench.testing import ReporterSuite


class Options(OptionsModel):
    long: bool = False


@dataclass
class NoModel:
    long: bool = False


class Good(Reporter[Options]):
    name = "mine"
    summary = "one line"
    Options = Options

    def render(self, runs, options):
        yield Artifact(name="mine.txt", content=self.text(runs))

    def text(self, runs):
        return "simulated"


class TestMine(ReporterSuite):
    reporter = {mistake}


class TestGood(ReporterSuite):
    reporter = Good()
"""
MISTAKES = {
    "options that are no model": (
        "type('Mine', (Good,), {'Options': NoModel})()",
        "test_the_host_takes_it",
        r"the host refuses it: reporter 'mine' has no Options; set it to a subclass of OptionsModel, which may have no fields",
    ),
    "options of no class": (
        "type('Mine', (Good,), {'Options': Options()})()",
        "test_unknown_options_are_refused",
        r"Options is an instance of Options; it is a class: `class Mine\(OptionsModel\): \.\.\.`, and then `Options = Mine`",
    ),
    "a clock": (
        "type('Mine', (Good,), {'text': lambda self, runs: f'simulated {datetime.now()}'})()",
        r"test_equal_runs_give_equal_bytes\[measured-options0\]",
        (
            r"render\(\) is not pure: of two calls with equal arguments the second, on another day in another environment, differs: "
            r"\[0\]\.content: 'simulated [^']*' and 'simulated [^']*'; "
            r"ask no clock, no chance and no environment, and take all from what is given"
        ),
    ),
    "an exception": (
        "type('Mine', (Good,), {'text': lambda self, runs: runs[0].points[-1].metrics['no_such_metric']})()",
        r"test_equal_runs_give_equal_bytes\[measured-options0\]",
        r"E   KeyError: 'no_such_metric'",
    ),
    "the name of a file": (
        "type('Mine', (Good,), {'render': lambda self, runs, options: [Artifact(name='other.txt', content='simulated')]})()",
        r"test_files_are_named_after_the_reporter\[measured-options0\]",
        r"other\.txt does not begin with the reporter's name",
    ),
}


def of_pytest(folder, source):
    (folder / "test_mine.py").write_text(source)
    words = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "-rs", f"--rootdir={folder}", "-c", os.devnull]
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "test_mine.py"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_failure_with_a_sentence(tmp_path, mistake):
    reporter, test, sentence = MISTAKES[mistake]
    out = of_pytest(tmp_path, REPORTER.replace("{mistake}", reporter))
    failures, _, summary = out.partition("short test summary info")
    (head,) = re.findall(r"^_+ (\S+) _+$", failures, re.MULTILINE)
    assert re.fullmatch(rf"TestMine\.{test}", head), out
    assert re.search(rf"^{sentence}$", failures, re.MULTILINE), out
    assert "ixbench/testing/kit" not in failures
    reasons = re.findall(r"^SKIPPED \[\d+\] \S+: (.*)", summary, re.MULTILINE)
    assert reasons
    allowed = (
        rf"(the same mistake makes \S+ fail$|the same test fails as {test}, |{test} fails, which comes first$|the plugin cannot be sent)"
    )
    assert all(re.match(allowed, reason) for reason in reasons), reasons
    assert re.search(r"^1 failed, \d+ passed, \d+ skipped", summary, re.MULTILINE), out


def test_what_an_author_wrote_beside_a_suite_is_told_by_pytest_as_ever(tmp_path):
    source = REPORTER.replace("{mistake}", "Good()") + "\n    def test_mine(self):\n        assert self.reporter.name == 'yours'\n"
    out = of_pytest(tmp_path, source)
    assert "E       AssertionError: assert 'mine' == 'yours'" in out


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": 1}, {"a": 1}, ""),
        (1, 2, "the value: 1 and 2"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1]: 2 and 3"),
        ({"a": 1}, {"b": 1}, "a: 1 and nothing; b: nothing and 1"),
        ([1], (1,), "the value: [1] and (1,)"),
        ([0, 0, 0, 0, 0], [1, 2, 3, 4, 5], "[0]: 0 and 1; [1]: 0 and 2; [2]: 0 and 3; and 2 more"),
        ("x" * 500 + "a", "x" * 500 + "b", f"the value: ...{'x' * 20}a' and ...{'x' * 20}b'"),
    ],
)
def test_differences_say_where_and_how(one, other, told):
    assert differences(one, other) == told
