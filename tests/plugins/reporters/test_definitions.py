"""`definitions`: what is printed of a run under other tools' rules; the arithmetic is tested where it stands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.measure.tool_points import read_point
from ixbench.measure.tools import TOOLS
from ixbench.report.load import load_run
from ixbench.store.measurement import measurement_of
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_point, sample_run
from ixbench.testing.snapshot import assert_text_snapshot
from ixbench_plugins.reporters.definitions import DefinitionsReporter

SNAPSHOTS = Path(__file__).parent / "snapshots" / "definitions"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


def render(*views, **options):
    reporter = DefinitionsReporter()
    return {artifact.name: artifact for artifact in reporter.render(views, reporter.Options(**options))}


@pytest.mark.parametrize("file", ["definitions.txt", "definitions.md"])
def test_the_text_is_as_it_was(run, file):
    assert_text_snapshot(render(load_run(run))[file].content, SNAPSHOTS / file)


def test_json_holds_what_each_tool_makes_of_each_point(run):
    view = load_run(run)
    content = json.loads(render(view)["definitions.json"].content)
    points = {point["point"]: point for point in content["points"]}
    assert list(points) == ["vllm-c1", "vllm-c8", "vllm-c16", "vllm-c64"]
    assert list(content["rules"]) == list(TOOLS)
    expected = read_point(measurement_of(view, view.points[1]))
    for found, tool in zip(points["vllm-c8"]["tools"], expected, strict=True):
        assert found == {name: getattr(tool, name) for name in found}
    assert (points["vllm-c64"]["records"], points["vllm-c64"]["tools"]) == (False, [])


def test_a_point_without_records_says_so():
    text = render(sample_run(sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000)))
    for name in ("definitions.txt", "definitions.md"):
        assert "vllm-c8" in text[name].content
        assert "no records are kept of it" in text[name].content


def test_a_simulated_point_says_whose_records_these_are(run):
    view = load_run(run)
    simulated = replace(view, points=(replace(view.points[0], evidence="simulated"),))
    for name in ("definitions.txt", "definitions.md"):
        assert "the records are those of one replica" in " ".join(render(simulated)[name].content.split())
        assert "replica" not in render(view)[name].content


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_asked(run, width):
    lines = render(load_run(run), width=width)["definitions.txt"].content.splitlines()
    assert max(map(len, lines)) <= width


def test_several_runs_name_their_points_by_run(run):
    view = load_run(run)
    other = replace(view, id="another")
    content = render(view, other)["definitions.md"].content
    assert "## another/vllm-c8" in content
    assert f"## {view.id}/vllm-c8" in content


def test_names_change_nothing_around_them(run):
    view = load_run(run)
    hostile = replace(view, id="*b*\x1b[31m|", points=view.points[:1])
    content = render(hostile, replace(view, points=view.points[:1]))
    assert "\x1b" not in content["definitions.txt"].content + content["definitions.md"].content
    assert "## \\*b\\*\\|/vllm-c1" in content["definitions.md"].content


def test_the_command_shows_it_and_writes_the_files(run, tmp_path, capsys):
    assert main(["report", str(run), "--use", "definitions", "--out", str(tmp_path / "out")]) == 0
    assert "MLPerf Endpoints" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"definitions.txt", "definitions.md", "definitions.json"}
