"""Many folders at once: whole ones as views, all others as a name with the reason; nothing of what they hold is believed."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.report import survey
from ixbench.report.load import load_run
from ixbench.report.survey import PROVENANCE, survey_runs
from ixbench.store import index
from ixbench.testing.folders import write_sample_run

MINE = """
from ixbench.api.report import Artifact, OptionsModel, Reporter
class Options(OptionsModel):
    pass
class Mine(Reporter[Options]):
    name = 'mine'
    surveys = SURVEYS
    Options = Options
    def render(self, runs, options):
        return [Artifact(name='mine.txt', content='\\n'.join(f'{run.id} {len(run.points)} {run.unreadable}' for run in runs), show=True)]
"""


@pytest.fixture(autouse=True)
def _index(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "_SETTLED_NS", 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


@pytest.fixture
def results(made, tmp_path):
    """Return a folder with two whole runs and everything else that can lie there."""
    folder = tmp_path / "results"
    for name in ("20261101T000000Z-a", "20261102T000000Z-b", "broken", "lying", "newer", "torn"):
        shutil.copytree(made, folder / name)
    (folder / "broken" / "run.json").write_bytes(b"\xff\xfe")
    point = folder / "torn" / "points" / "vllm-c8" / "point.json"
    point.write_bytes(point.read_bytes()[:100])
    header = json.loads((folder / "newer" / "run.json").read_text())
    (folder / "newer" / "run.json").write_text(json.dumps(header | {"format": 99}))
    point = folder / "lying" / "points" / "vllm-c8" / "point.json"
    point.write_text(point.read_text().replace('"id": "vllm-c8"', '"id": "../../../etc"'))
    (folder / "notes").mkdir()
    (folder / ".hidden").mkdir()
    (folder / "readme.txt").write_text("x")
    return folder


def test_whole_folders_are_views_and_the_others_say_why(results):
    views = survey_runs([results], load_host())
    assert {view.id: view.unreadable for view in views} == {
        "20261101T000000Z-a": "",
        "20261102T000000Z-b": "",
        "broken": "run.json: is no run.json of format 1: JSON is malformed: invalid character (byte 0)",
        "lying": "points/vllm-c8/point.json: is the result of '../../../etc', but its folder is 'vllm-c8'",
        "newer": "run.json: has format 99",
        "notes": "is no run folder: it has no run.json",
        "torn": "points/vllm-c8/point.json: is no point of format 1: Input data was truncated",
    }
    assert all(not view.points and not view.title for view in views if view.unreadable)


def test_a_view_is_the_same_from_the_index(results, monkeypatch):
    first = survey_runs([results], load_host())
    monkeypatch.setattr(survey, "read_run", lambda _reader: pytest.fail("read again"))
    whole = sorted(results.glob("2026*"))
    again = survey_runs(whole, load_host())
    assert again == first[:2]
    assert again[0].read_records("vllm-c1") == first[0].read_records("vllm-c1")


def test_a_view_is_that_of_the_folder_without_what_takes_room(results):
    folder = results / "20261101T000000Z-a"
    view, whole = survey_runs([folder], load_host())[0], load_run(folder)
    slim = [
        replace(point, intervals=None, provenance={name: value for name, value in point.provenance.items() if name in PROVENANCE})
        for point in whole.points
    ]
    assert view == replace(whole, metrics=(), points=tuple(slim))


def test_launches_by_which_a_point_would_leave_its_folder_are_not_read(results, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "launch.json").write_text('{"secret": 1}')
    folder = results / "20261101T000000Z-a"
    point = folder / "points" / "vllm-c8" / "point.json"
    outside = os.path.relpath(tmp_path / "outside", folder / "launches")
    point.write_text(point.read_text().replace('"launch": "vllm"', f'"launch": "{outside}"'))
    (view,) = survey_runs([folder], load_host())
    assert view.launches == {}


def test_files_of_other_tools_and_files_of_nobody(results, shared):
    rows = shared / "data/rows/agg_agentic_v3.json"
    views = survey_runs([rows, results / "20261101T000000Z-a", results / "readme.txt"], load_host())
    assert [view.id for view in views] == ["agg_agentic_v3", "20261101T000000Z-a", "readme.txt"]
    assert views[2].unreadable.startswith("is neither a run folder nor a file that an importer knows")


def test_folders_of_one_name_get_names_of_their_own(results, tmp_path):
    other = tmp_path / "other" / "20261101T000000Z-a"
    shutil.copytree(results / "20261101T000000Z-a", other)
    assert [view.id for view in survey_runs([results / other.name, other], load_host())] == [other.name, f"{other.name}-2"]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["absent"], "absent: does not exist"),
        (["20261101T000000Z-a", "absent"], "absent: does not exist"),
        (["20261101T000000Z-a", "."], "is given twice"),
        (["notes"], "notes: is no run folder, holds none, and no file that an importer knows"),
        (["torn", "newer", "notes"], "use a newer ixbench"),
    ],
)
def test_wrong_paths(results, paths, said):
    with pytest.raises(InputError, match=said):
        survey_runs([results / path for path in paths], load_host())


def test_the_command_tells_what_it_left_out(results, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text(MINE.replace("SURVEYS", "True"))
    monkeypatch.chdir(tmp_path)
    assert main(["report", "results", "--use", "mine.py"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[:3] == [
        "20261101T000000Z-a 4 ",
        "20261102T000000Z-b 4 ",
        "broken 0 run.json: is no run.json of format 1: JSON is malformed: invalid character (byte 0)",
    ]
    assert "note: newer is left out: run.json: has format 99\n" in said.err
    assert "wrote reports/mine.txt" in said.err


def test_other_reporters_refuse_what_they_cannot_read(results, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text(MINE.replace("SURVEYS", "False"))
    monkeypatch.chdir(tmp_path)
    assert main(["report", "results", "--use", "mine.py"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4  # notes/ is no run, and was not asked for by name
    for name in ("broken", "lying", "newer", "torn"):
        shutil.rmtree(results / name)
    assert main(["report", "results", "--use", "mine.py"]) == 0
    assert capsys.readouterr().out.splitlines() == ["20261101T000000Z-a 4 ", "20261102T000000Z-b 4 "]
    assert main(["report", "results", "--use", "mine.py", "--recompute"]) == 0


def test_control_characters_in_names_are_seen_and_not_obeyed(results, tmp_path, monkeypatch, capsys):
    (results / "notes").rename(results / "no\x1b[31mtes")
    (tmp_path / "mine.py").write_text(MINE.replace("SURVEYS", "True"))
    monkeypatch.chdir(tmp_path)
    assert main(["report", "results", "--use", "mine.py"]) == 0
    said = capsys.readouterr()
    assert r"note: no\x1b[31mtes is left out" in said.err
    assert "\x1b" not in said.err + said.out
