"""Every way in which a run can end says where the results are and how to go on, once."""

from __future__ import annotations

import signal

import pytest

DEPLOYMENT = """
[[deployment]]
engine = "scripted"
concurrency = [1, 2]
"""
PLUGIN = """
import time
from pathlib import Path

from pydantic import model_validator

from ixbench.api.hooks import hookimpl
from ixbench.api.report import OptionsModel, Reporter


class Slow(Reporter[OptionsModel]):
    name = "slow"
    Options = OptionsModel

    def render(self, runs, options):
        Path("rendering").touch()
        while True:
            time.sleep(0.01)


class WrongOptions(OptionsModel):
    @model_validator(mode="after")
    def look(self):
        raise KeyError("a mistake of its author")


class Wrong(Slow):
    name = "wrong"
    Options = WrongOptions


class Broken(Slow):
    name = "broken"

    def render(self, runs, options):
        raise LookupError("the template is not there")


@hookimpl
def ixbench_reporters():
    return [Slow(), Wrong(), Broken()]
"""


@pytest.fixture
def shell(make_shell, install, tmp_path):
    """Return a shell with reporters of a third party: one that never comes to its end, and one whose options nobody can make."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "endings_plugin.py").write_text(PLUGIN)
    install(site, "endings", "1.0", {"endings": "endings_plugin"})
    with make_shell(tmp_path, site) as made:
        made.write_prompts(f"tell me about number {number}" for number in range(12))
        yield made


@pytest.fixture
def reporting(shell, scripted):
    """Return a function that starts a run, may have a signal stop it while its engine starts, and returns it while reports are written."""

    def start(stopped_by=None):
        never = () if stopped_by is None else ("--ready-after", "600")
        shell.write_campaign(DEPLOYMENT + scripted(None, *never), rest='[report]\nuse = ["slow"]')
        running = shell.start("run", "campaign.toml")
        if stopped_by is not None:
            running.wait_for("starting")
            running.send(stopped_by)
        running.wait_for((shell.folder / "rendering").exists)
        return running

    return start


def told_once(shell, done, last):
    """Hold against what is promised of an interruption while reports are written."""
    assert done.code == 130, done.err
    assert done.err.splitlines()[-3:] == ["ixbench: interrupted", f"results: {done.folder.relative_to(shell.folder)}", last]
    for words in ("results: ", "interrupted", last):
        assert done.err.count(words) == 1
    assert shell.processes() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_while_reports_are_written_says_how_to_go_on(shell, reporting, number):
    running = reporting(number)
    running.send(number)
    told_once(shell, running.end(), "2 points not measured; go on with: ixbench run campaign.toml --resume")


def test_where_only_the_reports_are_missing_it_is_said_how_to_write_them(shell, reporting):
    running = reporting()
    running.send(signal.SIGTERM)
    running.send(signal.SIGINT)
    done = running.end()
    folder = str(done.folder.relative_to(shell.folder))
    told_once(shell, done, f"the reports are not written; write them with: ixbench report {folder}")
    written = shell.run("report", folder, "--use", "console")
    assert (written.code, "scripted-c2" in written.out) == (0, True), written.err


def test_an_end_that_nobody_foresaw_says_how_to_go_on(shell, scripted):
    shell.write_campaign(DEPLOYMENT + scripted(), rest='[report]\nuse = ["wrong"]')
    done = shell.run("run", "campaign.toml", "--only", "*-c1")
    assert done.code == 1, done.err
    *_, results, go_on, told = done.err.splitlines()
    assert results == f"results: {done.folder.relative_to(shell.folder)}"
    assert go_on == "1 point not measured; go on with: ixbench run campaign.toml --resume --only '*-c1'"
    assert told.startswith("ixbench: internal error in command 'run': KeyError: 'a mistake of its author'; ")


@pytest.mark.parametrize(("use", "code"), [("table", 0), ("broken", 1)])
def test_a_report_that_cannot_be_made_fails_a_run_of_valid_points(shell, simulated_campaign, use, code):
    shell.write("campaign.toml", f'{simulated_campaign}[report]\nuse = ["{use}"]\n')
    done = shell.run("run", "campaign.toml", "--simulate")
    assert done.code == code, done.err
    assert done.point("vllm-c2")["verdict"]["status"].startswith("valid")
    assert ("reporter broken: LookupError: the template is not there" in done.err) == (use == "broken")
