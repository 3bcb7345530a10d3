"""`--recompute`: the records say the same again, under the metrics, checks and limits of now."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import ixbench_plugins
from ixbench.host.host import Host
from ixbench.host.load import load_host
from ixbench.host.source import PluginSource, failure
from ixbench.model.run import ReportSettings
from ixbench.report.load import load_run
from ixbench.report.recompute import recompute
from ixbench.store.folder import RunReader
from ixbench.testing.folders import write_sample_run


@pytest.fixture
def run(tmp_path):
    return write_sample_run(tmp_path, load_host())


def again(run, notes=None, **report):
    view = load_run(run)
    view = replace(view, report=replace(view.report, **report))
    return recompute(view, RunReader(run), load_host(), (notes if notes is not None else []).append)


def test_the_same_records_give_the_same_reading(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    notes: list[str] = []
    assert again(run, notes) == load_run(run)
    assert notes == ["point vllm-c64: keeps its sealed reading, there are no records to compute from"]
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_numbers_that_were_changed_by_hand_are_put_right(run):
    path = run / "points" / "vllm-c8" / "point.json"
    content = json.loads(path.read_text())
    honest = load_run(run)
    content["metrics"]["tpot_s"]["p50"] /= 10
    content["verdict"] = {"status": "valid", "reasons": []}
    content["accounting"]["ok"] = 1_000_000
    path.write_text(json.dumps(content))
    assert load_run(run) != honest
    assert again(run) == honest


def test_what_is_missing_now_is_noted_beside_what_was_missing_then(tmp_path):
    class Broken:
        ixbench_api = 0

    source = PluginSource(plugin="heat", distribution="lab", version="1.0")
    run = write_sample_run(tmp_path, load_host(), plugin_failures=(failure(source, None, "gone"),))
    host = Host.of({"builtin": ixbench_plugins, "noise": Broken()})
    then, now = recompute(load_run(run), RunReader(run), host, [].append).notes
    assert then == "plugin heat (lab 1.0) could not be loaded: gone; whatever it gives, verdict rules included, is missing"
    assert now.startswith("plugin noise (inline) could not be loaded: written for plugin interface 0, ")


def test_another_axis_is_read(run):
    assert {point.axis.percentile for point in again(run, axis="p90").points if point.failure is None} == {"p90"}


def test_the_limits_of_the_campaign_hold(tmp_path):
    run = write_sample_run(tmp_path, load_host(), limits={"errors": 0.5})
    sealed, now = ({reason.code for reason in view.points[2].verdict.reasons} for view in (load_run(run), again(run)))
    assert "errors" in sealed
    assert now == sealed - {"errors"}


def test_the_default_settings_are_those_of_the_run(run):
    assert isinstance(again(run).report, ReportSettings)
    assert again(run).report == load_run(run).report
