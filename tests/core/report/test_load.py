"""Paths become views: run folders, foreign files through importers, and everything else a sentence."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from ixbench.host.contracts.importer import ImportedFile, Importer
from ixbench.host.host import Host
from ixbench.host.load import load_host
from ixbench.host.specs import hookimpl
from ixbench.model.errors import Fault, InputError, PluginError
from ixbench.model.imported import ImportSource
from ixbench.report.load import load_run, load_runs
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point


class Rows(Importer):
    name = "rows"

    def recognises(self, file):
        return file.name.endswith(".rows") or file.head.startswith(b"broken")

    def read(self, file, context):
        content = file.read(100)
        if content == b"bad":
            raise InputError(Fault(where=file.name, problem="holds no rows"))
        if content.startswith(b"broken"):
            raise RuntimeError("importer bug")
        point = sample_point("theirs-c8", speed_tok_s_user=50, rate_tok_s_gpu=1000)
        source = ImportSource(importer=self.name, file=file.name, sha256=file.sha256, schema="rows", date="2026-09-10")
        point = replace(point, origin="imported", provenance=source.to_provenance())
        return ImportedFile(title="Theirs", points=(point,))


class Plugin:
    @hookimpl
    def ixbench_importers(self):
        return [Rows()]


HOST = Host.of({"rows": Plugin()})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


def test_a_run_folder_becomes_a_view_in_plan_order(run):
    (view,) = load_runs([run], HOST)
    assert view == load_run(run)
    assert view.id == run.name
    assert [point.id for point in view.points] == list(view.planned) == ["vllm-c1", "vllm-c8", "vllm-c16", "vllm-c64"]
    assert view.evidence == "measured"
    assert view.quotes == SAMPLE_QUOTES
    assert view.sku.sku == "mi355x"
    assert view.missing == ()
    assert view.campaign["workload"] == {"use": "fixed"}


def test_a_view_tells_how_its_engines_were_started(run, tmp_path):
    assert load_run(run).launches == {}
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (launch,) = {point.provenance["launch"] for point in load_run(copy).points}
    path = copy / "launches" / launch / "launch.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"id": "vllm", "processes": []}')
    assert load_run(copy).launches == {launch: {"id": "vllm", "processes": []}}
    path.write_text("{")
    with pytest.raises(InputError, match="no launch"):
        load_run(copy)


def test_what_is_not_finished_is_missing(run, tmp_path):
    half = write_sample_run(tmp_path, load_host())
    (half / "points" / "vllm-c8" / "point.json").unlink()
    assert load_run(half).missing == ("vllm-c8",)


def test_one_simulated_point_makes_the_run_simulated(tmp_path):
    folder = write_sample_run(tmp_path, load_host())
    path = folder / "points" / "vllm-c8" / "point.json"
    path.write_text(path.read_text().replace('"evidence": "measured"', '"evidence": "simulated"'))
    assert load_run(folder).evidence == "simulated"


def test_a_foreign_file_goes_through_its_importer(tmp_path):
    (tmp_path / "feed.rows").write_text("rows")
    (view,) = load_runs([tmp_path / "feed.rows"], HOST)
    assert (view.id, view.title, view.started, view.planned) == ("feed", "Theirs", "2026-09-10", ("theirs-c8",))
    assert view.points[0].origin == "imported"
    assert view.quotes == ()


def test_all_wrong_paths_are_told_at_once(run, tmp_path):
    (tmp_path / "note.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.rows").write_bytes(b"bad")
    paths = [tmp_path / "absent", tmp_path / "note.txt", tmp_path / "empty", run, run, tmp_path / "bad.rows", run.parent]
    with pytest.raises(InputError) as caught:
        load_runs(paths, HOST)
    said = str(caught.value).splitlines()
    assert len(said) == 6
    assert "does not exist" in said[0]
    assert "neither a run folder nor a file that an importer knows (importers: rows)" in said[1]
    assert "no run folder" in said[2]
    assert "given twice" in said[3]
    assert "holds no rows" in said[4]
    assert said[5].startswith(f"{run}: is given twice")  # as one of the runs in its folder


def test_a_folder_of_foreign_files_is_one_run(tmp_path):
    (tmp_path / "job" / "deep").mkdir(parents=True)
    (tmp_path / "job" / "a.rows").write_bytes(b"rows")
    (tmp_path / "job" / "deep" / "b.rows").write_bytes(b"rows")
    (tmp_path / "job" / "c.rows").write_bytes(b"bad")
    (tmp_path / "job" / "log.txt").write_text("x")
    said = []
    (view,) = load_runs([tmp_path / "job"], HOST, said.append)
    assert (view.id, view.title, view.planned) == ("job", "Theirs", ("theirs-c8", "theirs-c8-2"))
    assert {point.origin for point in view.points} == {"imported"}
    assert said[-2:] == ["refused: c.rows: unreadable: holds no rows", f"no importer knows: {tmp_path / 'job' / 'log.txt'}"]


@pytest.mark.parametrize("paths", [("job", "job/a.rows"), ("job/a.rows", "job")])
def test_a_file_is_not_counted_with_its_folder_too(tmp_path, paths):
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "a.rows").write_bytes(b"rows")
    with pytest.raises(InputError, match=r"a\.rows: is given twice"):
        load_runs([tmp_path / path for path in paths], HOST)


def test_an_importer_that_breaks_is_named(tmp_path):
    (tmp_path / "x").write_bytes(b"broken")
    with pytest.raises(PluginError, match=r"plugin rows \(inline\): importer rows: RuntimeError: importer bug"):
        load_runs([tmp_path / "x"], HOST)
