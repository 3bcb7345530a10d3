"""A plugin that someone else installed takes part in a run; what fails in it harms nobody."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ixbench.store.folder import RunReader

COUNT = 8
POINTS = ("scripted-c1", "scripted-c2")


@pytest.fixture(scope="module")
def there(make_shell, tmp_path_factory, install):
    folder = tmp_path_factory.mktemp("third-party")
    site = folder / "site"
    site.mkdir()
    shutil.copy(Path(__file__).with_name("acme_plugin.py"), site)
    install(site, "acme-bench", "2.5", {"acme": "acme_plugin"})
    shell = make_shell(folder, site)
    shell.write_prompts(f"tell me about number {number}" for number in range(COUNT))
    shell.write(
        "campaign.toml",
        shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1, 2]\nflags = ["--kind", "slow"]\n').read_text()
        + '[report]\nuse = ["faulty", "greeter", "table"]\n[limits]\nacme_many = 7\ntoo_short = 0\n',
    )
    return shell


@pytest.fixture(scope="module")
def done(there):
    return there.run("run", "campaign.toml", ACME_EVENTS=str(there.folder / "events.jsonl"))


def test_its_metric_stands_in_the_points(done):
    for point in POINTS:
        assert done.point(point)["metrics"]["acme_requests"] == COUNT


def test_its_metric_that_fails_is_null_and_named_with_its_author(done):
    result = done.point("scripted-c1")
    assert result["metrics"]["acme_faulty"] is None
    assert result["provenance"]["metric_failures"] == {
        "acme_faulty": "plugin acme (acme-bench 2.5): ZeroDivisionError: no requests to divide by"
    }


def test_its_check_decides_with_the_limit_of_the_campaign(done):
    reasons = {reason["code"]: reason for reason in done.point("scripted-c2")["verdict"]["reasons"]}
    assert reasons["acme_many"] == {
        "code": "acme_many",
        "value": COUNT,
        "limit": 7,
        "text": "8 requests, more than 7",
        "severity": "warning",
    }


def test_its_reporter_writes_and_is_shown(done):
    text = "".join(f"hello {point}: {COUNT} requests\n" for point in POINTS)
    assert (done.folder / "reports" / "greeter.txt").read_text() == text
    assert done.out == text


def test_its_reporter_that_fails_is_named_and_the_others_write(done):
    assert "ixbench: plugin acme (acme-bench 2.5): reporter faulty: LookupError: the template is not there" in done.err.splitlines()
    assert (done.folder / "reports" / "table.csv").is_file()
    assert done.code in {0, 1}


def test_its_collector_is_asked_while_the_point_runs(done):
    for point in POINTS:
        ours = [sample for sample in RunReader(done.folder).samples(point) if sample.source == "acme"]
        assert [sample.value for sample in ours] == list(range(1, len(ours) + 1))
        assert len(ours) >= 2
        assert {(sample.name, sample.labels["engine"]) for sample in ours} == {("asked_count", "scripted")}


def test_its_collector_that_fails_costs_its_series_alone(done):
    failures = done.point("scripted-c1")["provenance"]["collector_failures"]
    assert failures == {"acme_broken": "ConnectionError: the meter is not plugged in"}
    assert "scripted-c1: collector acme_broken failed: ConnectionError: the meter is not plugged in" in done.err


def test_its_observer_sees_everything_in_order_and_its_failure_is_told_once(there, done):
    events = [json.loads(line) for line in (there.folder / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == [
        "RunStarted",
        "LaunchReady",
        *("PointStarted", "PointFinished", "PointStarted", "PointFinished"),
        "RunFinished",
    ]
    assert [event["point_id"] for event in events if "point_id" in event] == [POINTS[0], POINTS[0], POINTS[1], POINTS[1]]
    assert (events[0]["run_id"], events[-1]["run_id"], events[-1]["interrupted"]) == (done.folder.name, done.folder.name, False)
    told = [line for line in done.err.splitlines() if "the pager does not answer" in line]
    assert len(told) == len({event["event"] for event in events})
    assert told[0] == "observer failed: plugin acme (acme-bench 2.5): ixbench_on_event: RunStarted: RuntimeError: the pager does not answer"


def test_its_change_of_the_launch_is_made_and_recorded(done):
    (path,) = done.folder.glob("launches/*/launch.json")
    launch = json.loads(path.read_text())
    variable = launch["processes"][0]["env"]["ACME_DEPLOYMENT"]
    assert variable == {"value": "scripted", "reason": "acme wants to know", "origin": "plugin acme"}
    assert launch["amended_by"] != []
    assert "acme" in launch["amended_by"][0]
    assert "acme was here" in launch["notes"]
    assert done.point("scripted-c1")["provenance"]["amended_by"] == launch["amended_by"]
    assert "acme was here" in done.err


def test_the_run_says_which_plugins_were_there(done):
    plugins = json.loads((done.folder / "run.json").read_text())["plugins"]
    assert {"name": "acme", "distribution": "acme-bench", "version": "2.5"} in plugins


@pytest.mark.parametrize("reporter", ["console", "page", "table"])
def test_its_metric_stands_with_its_definition_in_every_report_of_points(there, done, reporter, tmp_path):
    report = there.run("report", str(done.folder), "--use", reporter, "--out", str(tmp_path))
    assert report.code == 0, report.err
    texts = [path.read_text() for path in tmp_path.iterdir() if path.suffix in {".txt", ".md", ".html"}]
    assert texts
    for text in texts:
        assert "acme_requests" in text
        assert "acme_requests: How many. (plugin acme)" in " ".join(text.split())
