"""What `compare` is told on its command line: runs, engines of one, and days."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import pytest

from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.report.load import load_run
from ixbench.report.sides import load_sides, read_side_choice
from ixbench.store.point import RESULT
from ixbench.testing.folders import write_sample_run

HOST = load_host()


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def run(results):
    return write_sample_run(results, HOST)


def rename(run, engine, point):
    """Let one point of a run folder be of another engine and deployment."""
    path = run / "points" / point / RESULT
    content = json.loads(path.read_text())
    content["identity"] |= {"engine": engine, "deployment": f"my-{engine}"}
    path.write_text(json.dumps(content))


def chosen(*texts):
    return [(view.id, [point.id for point in view.points]) for view in load_sides(texts, HOST)]


def test_a_run_an_engine_a_deployment_and_a_glob(run):
    rename(run, "atom", "vllm-c8")
    every = ["vllm-c1", "vllm-c8", "vllm-c16", "vllm-c64"]
    assert chosen(str(run)) == [(run.name, every)]
    assert chosen(f"{run}:vllm", f"{run}:atom") == [
        (f"{run.name}:vllm", ["vllm-c1", "vllm-c16", "vllm-c64"]),
        (f"{run.name}:atom", ["vllm-c8"]),
    ]
    assert chosen(f"{run}:my-atom") == [(f"{run.name}:my-atom", ["vllm-c8"])]
    assert chosen(f"{run}:*-c1*") == [(f"{run.name}:*-c1*", ["vllm-c1", "vllm-c16"])]
    (view,) = load_sides([f"{run}:atom"], HOST)
    assert view.planned == ("vllm-c8",)
    assert list(view.launches) == []


def test_what_is_not_finished_stays_with_its_deployment(run):
    shutil.rmtree(run / "points" / "vllm-c16")
    rename(run, "atom", "vllm-c8")
    atom, vllm = load_sides([f"{run}:atom", f"{run}:vllm"], HOST)
    assert (atom.missing, vllm.missing) == ((), ("vllm-c16",))


def test_a_day_of_a_folder_of_runs(run, results):
    later = write_sample_run(results, HOST, started="2026-12-07T01:00:00Z", title="Later")
    assert [name for name, _ in chosen(f"{results}@2026-11-30", f"{results}@2026-12-07")] == [run.name, f"{later.name}"]
    assert chosen(f"{results}@2026-12-07:vllm")[0][0] == f"{later.name}:vllm"
    assert chosen(f"{run}@2026-11-30") == chosen(str(run))


def test_the_only_run_of_a_folder_needs_no_day(run, results):
    assert chosen(str(results)) == chosen(str(run))


def test_days_of_imported_points(shared):
    rows = shared / "data" / "rows" / "seed_like_rows.json"
    (view,) = load_sides([f"{rows}@2026-09-10"], HOST)
    assert view.points
    with pytest.raises(InputError, match="no point of 2020-01-01; allowed: 2026"):
        load_sides([f"{rows}@2020-01-01"], HOST)


def test_a_folder_of_foreign_files_is_a_side(shared, tmp_path):
    rows = json.loads((shared / "data" / "rows" / "seed_like_rows.json").read_bytes())
    for name, part in (("one", rows[:8]), ("two", rows[8:])):
        (tmp_path / "job" / name).mkdir(parents=True)
        (tmp_path / "job" / name / "rows.json").write_text(json.dumps(part))
    (view,) = load_sides([f"{tmp_path / 'job'}:vllm"], HOST)
    assert (view.id, len(view.points)) == ("job:vllm", 11)


def test_two_folders_of_one_name_are_told_apart(run, tmp_path):
    other = tmp_path / "old" / run.name
    shutil.copytree(run, other)
    assert [name for name, _ in chosen(str(run), str(other))] == [f"{run.name} (A)", f"{run.name} (B)"]


def test_a_path_that_exists_is_taken_as_it_stands(run, tmp_path, monkeypatch):
    odd = tmp_path / "a@2026-11-30:vllm"
    shutil.copytree(run, odd)
    assert read_side_choice(str(odd)).path == odd
    monkeypatch.chdir(tmp_path)
    assert read_side_choice(f"a@2026-11-30:vllm{os.sep}").name is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{run}x",
            "there is no such run folder, folder of runs or result file; allowed: PATH, PATH:NAME, PATH@DATE or PATH@DATE:NAME, where",
        ),
        ("{run}:", "nothing follows the colon; allowed: an engine, a deployment or a glob of points"),
        ("{run}:vlm", "no point matches 'vlm'; allowed: vllm; did you mean 'vllm'?"),
        ("{run}@yesterday", "'yesterday' is no date; allowed: a date such as 2026-09-10"),
        ("{run}@2026-02-30", "'2026-02-30' is no date"),
        ("{run}@2020-01-01", "no point of 2020-01-01; allowed: 2026-11-30"),
        ("{results}@2020-01-01", "no run was started on 2020-01-01; allowed: 2026-11-30"),
        ("{results}/run.json", "there is no such run folder"),
        ("", "there is no such run folder"),
    ],
)
def test_what_cannot_be_chosen_is_said(run, results, text, words):
    text = text.format(run=run, results=results)
    with pytest.raises(InputError) as caught:
        load_sides([text], HOST)
    assert str(caught.value).startswith(f"{text}: {words}")


def test_several_runs_of_a_day_are_named(run, results):
    other = write_sample_run(results, HOST, title="Other")
    with pytest.raises(InputError) as caught:
        load_sides([f"{results}@2026-11-30", str(results)], HOST)
    assert [fault.problem for fault in caught.value.faults] == ["2 runs were started on 2026-11-30", "holds 2 runs"]
    assert caught.value.faults[0].allowed == f"one of them: {min(run, other)}, {max(run, other)}"


def test_a_run_without_a_finished_point_is_refused(run):
    shutil.rmtree(run / "points")
    with pytest.raises(InputError, match="no point of it is finished"):
        load_sides([str(run)], HOST)


def test_the_id_alone_is_new(run):
    (view,) = load_sides([str(run)], HOST)
    assert view == replace(load_run(run), id=run.name)
