"""A metric of a third party's plugin: from the hook to point.json, and from there to every form of the table, with nothing else changed."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

import ixbench_plugins
from ixbench.api import measure
from ixbench.api.hooks import hookimpl
from ixbench.api.measure import Metric
from ixbench.host.host import Host
from ixbench.report.load import load_run
from ixbench.testing.folders import write_sample_run
from ixbench_plugins.reporters.table import TableReporter


class Lab:
    """A third party's plugin: a number, and a summary."""

    @hookimpl
    def ixbench_metrics(self):
        def words(measurement):
            return sum(record.usage_output for record in measurement.successes) * 0.75

        def head(measurement):
            return measure.summarise(record.close_ns / 1e9 - record.send_ns / 1e9 for record in measurement.successes)

        return [
            Metric(name="lab_words", unit="words", better="higher", definition="Words by the lab's count.", compute=words),
            Metric(name="lab_open_s", unit="s", better="lower", definition="How long a body was | open.", compute=head, source="the lab"),
        ]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), Host.of({"builtin": ixbench_plugins, "lab": Lab()}))


@pytest.fixture(scope="module")
def table(run):
    reporter = TableReporter()
    return {artifact.name: artifact.content for artifact in reporter.render([load_run(run)], reporter.Options())}


def test_it_stands_in_point_json_and_its_meaning_in_run_json(run):
    point = json.loads((run / "points" / "vllm-c8" / "point.json").read_text())
    assert point["metrics"]["lab_words"] == 96 * 8 * 0.75
    assert point["metrics"]["lab_open_s"]["n"] == 96
    notes = {note["name"]: note for note in json.loads((run / "run.json").read_text())["metrics"]}
    assert notes["lab_open_s"]["plugin"] == "lab"
    assert notes["lab_open_s"]["source"] == "the lab"


def test_it_stands_in_every_form_of_the_table(table):
    row = next(row for row in csv.DictReader(io.StringIO(table["table.csv"])) if row["point"] == "vllm-c8")
    assert row["lab_words"] == "576.0"
    assert float(row["lab_open_s.p50"]) == pytest.approx(0.24475)
    assert "lab_open_s.min" not in row
    found = {point["point"]: point["metrics"] for point in json.loads(table["table.json"])["points"]}
    assert found["vllm-c8"]["lab_words"] == 576.0
    assert found["vllm-c64"] == {}
    assert "| lab_words | words |" in table["table.md"]
    line = next(line for line in table["table.md"].splitlines() if line.startswith("| lab_open_s.p50 "))
    assert line.split(" | ")[1] == "s"
    assert "245 ms" in line
    assert line.rstrip(" |").endswith("-"), "the point whose engine failed has none"
    assert "- lab_open_s: How long a body was \\| open. (plugin lab)" in table["table.md"]


def test_a_run_that_says_nothing_of_its_metrics_still_shows_them(run):
    reporter = TableReporter()
    silent = replace(load_run(run), metrics=())
    text = {artifact.name: artifact.content for artifact in reporter.render([silent], reporter.Options())}
    assert "| lab_words |  | " in text["table.md"]
    assert "lab_words:" not in text["table.md"]


def test_built_in_metrics_are_shown_where_a_point_has_them(table):
    assert "| tasks_completed | tasks |" in table["table.md"]
    assert "goodput_req_s" not in table["table.md"], "nobody said what is good"
    assert "ttft_root_s" not in table["table.md"]
    header = table["table.csv"].splitlines()[0].split(",")
    assert len(header) == len(set(header))
