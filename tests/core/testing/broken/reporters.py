"""Reporters with one fault each: `breaks` names the tests of the suite that must find it, and no other may."""

from __future__ import annotations

import html
import json
import os
import random
import time
import urllib.request
from pathlib import Path

from pydantic import BaseModel

from ixbench.api.report import Artifact, OptionsModel, Reporter
from ixbench.testing import ReporterSuite


class Options(OptionsModel):
    """None."""


class Good(Reporter[Options]):
    """Nothing is wrong with it."""

    name = "good"
    summary = "a good report"
    Options = Options

    def page(self, runs):
        """Return the page."""
        rows = "".join(f"<p>{html.escape(self.clean(run.title))} {run.evidence}</p>" for run in runs)
        return f'<html><a href="https://example.org/">more</a>{rows}</html>'

    def clean(self, text):
        """Return a text without what a terminal obeys."""
        return "".join(letter if letter.isprintable() else " " for letter in text)

    def render(self, runs, options):
        """Return the files."""
        yield Artifact(name="good.html", content=self.page(runs))
        yield Artifact(name="good.txt", content="".join(f"{self.clean(run.title)} {run.evidence}\n" for run in runs) or "nothing\n")


class Suite(ReporterSuite):
    """Tries three runs instead of all."""

    def runs(self):
        """Return the plain one, the simulated one and the one of hostile names."""
        found = super().runs()
        return {name: found[name] for name in ("measured", "simulated", "hostile")}


class TestGood(ReporterSuite):
    breaks = ()
    reporter = Good()


def page(function):
    return type("Page", (Good,), {"page": lambda self, runs: Good.page(self, runs) + function(runs)})()


def files(function):
    return type("Files", (Good,), {"render": lambda self, runs, options: function(runs)})()


class TestSilent(Suite):
    breaks = ("test_the_host_takes_it",)
    reporter = type("Silent", (Good,), {"summary": " "})()


class Loose(BaseModel):
    width: int = 80


class TestLoose(Suite):
    breaks = ("test_unknown_options_are_refused",)
    reporter = type("LooseReporter", (Good,), {"Options": Loose})()


class TestThrowsDice(Suite):
    breaks = (
        "test_equal_runs_give_equal_bytes",
        "test_files_are_named_after_the_reporter",
        "test_nothing_is_fetched",
        "test_names_are_escaped",
        "test_data_is_well_formed",
        "test_a_simulated_run_says_so",
        "test_a_run_folder_is_rendered",
    )
    reporter = page(lambda _: str(random.random()))


class TestSaysWhichDayItIs(Suite):
    breaks = TestThrowsDice.breaks
    reporter = files(lambda runs: [Artifact(name="good.txt", content=f"{runs[0].evidence} {time.strftime('%Y-%m-%d')}")])


class TestReadsTheEnvironment(Suite):
    breaks = TestThrowsDice.breaks
    reporter = page(lambda _: os.environ.get("COLUMNS", ""))


class TestAsksTheNetwork(Suite):
    breaks = TestThrowsDice.breaks
    reporter = page(lambda _: urllib.request.urlopen("http://127.0.0.1:9/").read().decode())


class TestReadsAFile(Suite):
    breaks = tuple(test for test in TestThrowsDice.breaks if test != "test_a_run_folder_is_rendered")
    reporter = page(lambda _: Path("/proc/loadavg").read_text()[:0])


class TestAnotherName(Suite):
    breaks = ("test_files_are_named_after_the_reporter",)
    reporter = files(lambda runs: [Artifact(name="goodness.txt", content="simulated")])


class TestFolder(Suite):
    breaks = ("test_files_are_named_after_the_reporter",)
    reporter = files(lambda runs: [Artifact(name="good./../x.txt", content="simulated")])


class TestFetchesAScript(Suite):
    breaks = ("test_nothing_is_fetched",)
    reporter = page(lambda _: '<script src="https://cdn.example.org/x.js"></script>')


class TestFetchesAFont(Suite):
    breaks = ("test_nothing_is_fetched",)
    reporter = page(lambda _: "<style>@import 'https://fonts.example.org/x.css'; p { background: url(//example.org/x.png) }</style>")


class TestFetchesAStyle(Suite):
    breaks = ("test_nothing_is_fetched",)
    reporter = page(lambda _: '<link rel="stylesheet" href="https://example.org/x.css">')


class TestRawTitle(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = page(lambda runs: "".join(run.title.translate(dict.fromkeys([*range(32), *range(127, 160), 0x202E])) for run in runs))


class TestRawAttribute(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = page(lambda runs: "".join(f'<p title="{Good().clean(run.title).replace("<", "").replace(">", "")}"></p>' for run in runs))


class TestSingleQuotes(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = page(lambda runs: f"<p title='{html.escape(Good().clean(runs[0].title), quote=False)}'>x</p>" if runs else "")


class TestScriptBreaksOut(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = page(lambda runs: f"<script>{json.dumps([run.title for run in runs])}</script>")


class TestTerminalCodes(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = files(lambda runs: [Artifact(name="good.txt", content="simulated" + "".join(run.title for run in runs))])


class TestMarkdown(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = files(lambda runs: [Artifact(name="good.md", content="simulated" + "".join(Good().clean(run.title) for run in runs))])


class TestNotANumber(Suite):
    breaks = ("test_data_is_well_formed", "test_names_are_escaped")
    reporter = files(lambda runs: [Artifact(name="good.json", content=json.dumps({"simulated": float("nan")}))])


class TestRaggedRows(Suite):
    breaks = ("test_data_is_well_formed", "test_names_are_escaped")
    reporter = files(lambda runs: [Artifact(name="good.csv", content="a,b\r\nsimulated\r\n")])


class TestForgetsTheEvidence(Suite):
    breaks = ("test_a_simulated_run_says_so",)
    reporter = files(lambda runs: [Artifact(name="good.txt", content="fast")])


class TestNoRecordsOnDisk(Suite):
    breaks = ("test_a_run_folder_is_rendered",)
    reporter = files(lambda runs: [Artifact(name="good.txt", content="simulated" if not any(run.read_records for run in runs) else 1)])


class InAnyOrder(Good):
    """Lists a set as it comes."""

    def render(self, runs, options):
        """Return the file."""
        yield Artifact(name="good.txt", content=f"{runs[0].evidence} {' '.join({'a', 'b', 'c', 'd', 'e', 'f'})}")


class TestInAnyOrder(Suite):
    breaks = ("test_the_files_are_the_same_in_every_process",)
    reporter = InAnyOrder()
