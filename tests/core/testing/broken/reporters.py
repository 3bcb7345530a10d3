"""Reporters with one fault each: `breaks` names the tests of the suite that must find it, and no other may."""

from __future__ import annotations

import html
import json
import os
import random
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from ixbench.api.report import Artifact, OptionsModel, Reporter
from ixbench.testing import ReporterSuite

IMPORTED = datetime.now(UTC).date()


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
        "test_no_link_runs_code",
        "test_data_is_well_formed",
        "test_a_simulated_run_says_so",
        "test_a_run_folder_is_rendered",
    )
    reporter = page(lambda _: str(random.random()))


class TestSaysWhichDayItIs(Suite):
    breaks = TestThrowsDice.breaks
    reporter = files(lambda runs: [Artifact(name="good.txt", content=f"{runs[0].evidence} {time.strftime('%Y-%m-%d')}")])


class Dated(Good):
    """Says when it was written, in UTC."""

    def page(self, runs):
        """Return the page with the day below it."""
        return f"{super().page(runs)}<p>{datetime.now(UTC):%Y-%m-%d}</p>"


class TestSaysWhichDayItIsInUtc(Suite):
    breaks = ("test_the_files_are_the_same_in_every_process",)
    reporter = Dated()


class DatedAtImport(Good):
    """Says when its module was imported."""

    def page(self, runs):
        """Return the page with the day below it."""
        return f"{super().page(runs)}<p>{IMPORTED}</p>"


class TestKnowsWhichDayItWasImported(Suite):
    breaks = ("test_the_files_are_the_same_in_every_process",)
    reporter = DatedAtImport()


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


def markdown(function):
    """Return a reporter of one Markdown file, whose names are clean of what a terminal obeys."""
    return files(lambda runs: [Artifact(name="good.md", content=f"simulated\n\n{function(runs)}\n")])


def escaped(text, letters):
    """Return a clean text with a backslash before some letters."""
    return "".join(f"\\{letter}" if letter in letters else letter for letter in Good().clean(text))


NOTHING_HELPS = "\\`*_[]<>|#"


class TestEscapesMarkdown(Suite):
    """Nothing is wrong with it: names stand in a heading, in a table and as text."""

    breaks = ()
    reporter = markdown(
        lambda runs: "\n".join(
            f"# {name}\n\n| name | {name} |\n| --- | ---: |\n| a \\| b | {name} |\n\n{name}\n"
            for name in (escaped(run.title, NOTHING_HELPS) for run in runs)
        )
    )


class TestBarsInATable(Suite):
    breaks = ("test_names_are_escaped", "test_data_is_well_formed")
    reporter = markdown(
        lambda runs: (
            "| name | run |\n| --- | --- |\n" + "".join(f"| {escaped(run.title, NOTHING_HELPS[:-2])} | {run.id} |\n" for run in runs)
        )
    )


class TestBackslashesInATable(Suite):
    """It escapes bars, but not the backslash that stands before one already."""

    breaks = ("test_names_are_escaped", "test_data_is_well_formed")
    reporter = markdown(lambda runs: "| name |\n| --- |\n" + "".join(f"| {escaped(run.title, NOTHING_HELPS[1:])} |\n" for run in runs))


class TestBarsInAHead(Suite):
    breaks = ("test_names_are_escaped", "test_data_is_well_formed")
    reporter = markdown(
        lambda runs: "".join(f"| run | {escaped(run.title, NOTHING_HELPS[:-2])} |\n| --- | --- |\n| a | b |\n\n" for run in runs)
    )


class TestLinesInATable(Suite):
    breaks = ("test_names_are_escaped", "test_data_is_well_formed")
    reporter = markdown(
        lambda runs: (
            "| name | run |\n| --- | --- |\n"
            + "".join(
                f"| {' '.join(escaped(line, NOTHING_HELPS) + chr(10) for line in run.title.splitlines())} | {run.id} |\n" for run in runs
            )
        )
    )


class TestHeadings(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = markdown(lambda runs: "".join(escaped(line, NOTHING_HELPS[:-1]) + "\n" for run in runs for line in run.title.splitlines()))


class TestBackticks(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = markdown(lambda runs: "".join(escaped(run.title, NOTHING_HELPS.replace("`", "")) for run in runs))


class TestCodeThatANameCloses(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = markdown(lambda runs: "".join(f"`{Good().clean(run.title)}`" for run in runs))


class TestLinksInMarkdown(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = markdown(lambda runs: "".join(escaped(run.title, NOTHING_HELPS.replace("[", "").replace("]", "")) for run in runs))


class TestLinksInBrackets(Suite):
    breaks = ("test_names_are_escaped",)
    reporter = markdown(lambda runs: "".join(escaped(run.title, NOTHING_HELPS).replace("\\<java", "<java") for run in runs))


def linked(runs, take, form):
    """Return links to what is taken of each run, in HTML."""
    controls = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160), 0x202E])
    return "".join(form.format(html.escape(address.translate(controls))) for run in runs for address in take(run))


class TestLinksASource(Suite):
    breaks = ("test_no_link_runs_code",)
    reporter = page(lambda runs: linked(runs, lambda run: [quote.source for quote in run.quotes], '<a href="{0}">source</a>'))


class TestLinksTheServer(Suite):
    breaks = ("test_no_link_runs_code",)
    reporter = page(
        lambda runs: linked(
            runs, lambda run: [launch["url"] for launch in run.launches.values() if "url" in launch], '<a href="{0}">it</a>'
        )
    )


class TestLinksAnImageOnAPicture(Suite):
    breaks = ("test_no_link_runs_code",)
    reporter = page(
        lambda runs: linked(
            runs, lambda run: [point.identity.image or "#" for point in run.points], '<svg><a xlink:href="{0}"><text>x</text></a></svg>'
        )
    )


class TestLinksAllButThePlainScheme(Suite):
    """It looks for `javascript:` as it is mostly written."""

    breaks = ("test_no_link_runs_code",)
    reporter = page(
        lambda runs: linked(
            runs,
            lambda run: [run.title if not run.title.startswith(("javascript:", "data:")) else "#"],
            '<a href="{0}">it</a>',
        )
    )


class TestLinksData(Suite):
    breaks = ("test_no_link_runs_code",)
    reporter = page(lambda runs: linked(runs, lambda run: [run.title if "cript:" not in run.title else "#"], '<a href="{0}">it</a>'))


class TestLinksASourceInMarkdown(Suite):
    breaks = ("test_no_link_runs_code",)
    reporter = markdown(
        lambda runs: "".join(f"[source](<{Good().clean(quote.source)}>)\n" for quote in runs[0].quotes if "<" not in quote.source)
    )


class TestLinksAnAddress(Suite):
    """Nothing is wrong with it: it links addresses of the web alone, and holds what is to be saved."""

    breaks = ()
    reporter = page(
        lambda runs: (
            linked(runs, lambda run: [source for source in [run.quotes[0].source] if source.startswith("https://")], '<a href="{0}">')
            + linked(runs, lambda run: [f"data:text/csv,{Good().clean(run.title)}"], '<a download="x.csv" href="{0}">save</a>')
        )
    )


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
