"""`ixbench report`, as it is typed."""

from __future__ import annotations

import json

import pytest

from ixbench.cli import report
from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run


@pytest.fixture
def run(tmp_path):
    return write_sample_run(tmp_path / "results", load_host())


def test_the_reports_of_the_run_are_written_into_it(run, capsys):
    assert main(["report", str(run)]) == 0
    said = capsys.readouterr()
    names = ["console.txt", "ladder.md", "ladder.json", "cost.md", "cost.json", "table.csv", "table.md", "table.json", "table.tex"]
    names += ["table.parquet"]
    assert said.err.splitlines() == [f"wrote {run / 'reports' / name}" for name in names]
    assert said.out.startswith("Model 7B on MI355X\nAt 50 tok/s/user: ")
    assert said.out == (run / "reports" / "console.txt").read_text()


def test_use_set_and_out(run, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["report", str(run), "--use", "ladder", "--set", "rungs=10,55", "--set", "axis=p90", "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["ladder.json", "ladder.md"]
    ladder = json.loads((out / "ladder.json").read_text())
    assert ([rung["target"] for rung in ladder["rungs"]], ladder["axis"]) == ([10.0, 55.0], "p90")
    assert capsys.readouterr().out == ""


def test_set_can_say_which_reporters(run, capsys):
    assert main(["report", str(run), "--set", "use=console", "--set", "console.width=60"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_two_runs_go_into_the_current_folder(run, tmp_path, monkeypatch, capsys):
    other = write_sample_run(tmp_path / "other", load_host(), title="Other")
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run), str(other), "--use", "table"]) == 0
    assert (tmp_path / "reports" / "table.csv").is_file()
    assert not (run / "reports").exists()
    capsys.readouterr()


def test_a_reporter_of_ones_own(run, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        "from ixbench.api.report import Artifact, OptionsModel, Reporter\n"
        "class Options(OptionsModel):\n    top: int = 1\n"
        "class Mine(Reporter[Options]):\n    name = 'mine'\n    Options = Options\n"
        "    def render(self, runs, options):\n"
        "        return [Artifact(name='mine.txt', content=f'{runs[0].title} {options.top}', show=True)]\n"
    )
    assert main(["report", str(run), "--use", str(path), "--set", "mine.top=4"]) == 0
    assert capsys.readouterr().out == "Model 7B on MI355X 4\n"


def test_where_no_file_can_be_written_another_folder_is_asked_for(run, capsys):
    (run / "reports" / "ladder.md").mkdir(parents=True)
    assert main(["report", str(run), "--use", "ladder"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ixbench: {run / 'reports' / 'ladder.md'}: cannot be written: ")
    assert line.endswith("; give another --out")


def test_a_reporter_that_fails_is_exit_1_and_the_others_are_written(run, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        "from ixbench.api.report import OptionsModel, Reporter\n"
        "class Options(OptionsModel):\n    pass\n"
        "class Mine(Reporter[Options]):\n    name = 'mine'\n    Options = Options\n"
        "    def render(self, runs, options):\n        return 1 / 0\n"
    )
    assert main(["report", str(run), "--use", str(path), "--use", "cost"]) == 1
    said = capsys.readouterr()
    assert f"ixbench: {path}: reporter mine: ZeroDivisionError: division by zero" in said.err
    assert (run / "reports" / "cost.json").is_file()
    assert "Traceback" not in said.err


def test_recompute_notes_points_without_records(run, capsys):
    assert main(["report", str(run), "--recompute", "--use", "cost"]) == 0
    assert "note: point vllm-c64: keeps its sealed reading" in capsys.readouterr().err


def test_what_a_reporter_that_fails_says_is_seen_and_not_obeyed(run, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        "from ixbench.api.report import OptionsModel, Reporter\n"
        "class Options(OptionsModel):\n    pass\n"
        "class Mine(Reporter[Options]):\n    name = 'mine'\n    Options = Options\n"
        "    def render(self, runs, options):\n        raise ValueError('\\x1b[2J\\a')\n"
    )
    assert main(["report", str(run), "--use", str(path)]) == 1
    err = capsys.readouterr().err
    assert r"ValueError: \x1b[2J\x07" in err
    assert not {"\x1b", "\a"} & set(err)


def test_the_id_in_an_edited_point_is_seen_and_not_obeyed(run, capsys):
    point = run / "points" / "vllm-c64" / "point.json"
    point.write_text(json.dumps(json.loads(point.read_text()) | {"id": "\x1b[31mred\a"}))
    assert main(["report", str(run), "--recompute"]) == 2
    err = capsys.readouterr().err
    assert r"\x1b[31mred\x07" in err
    assert not {"\x1b", "\a"} & set(err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent"], "absent: does not exist"),
        (["RUN", "--use", "tabel"], "--use: unknown reporter 'tabel'"),
        (["RUN", "--set", "axis=p42"], "--set axis: found 'p42'"),
        (["RUN", "--set", "rung=4"], "did you mean 'rungs'?"),
        (["RUN", "--set", "console.width=5"], "--set console.width: found 5"),
        (["RUN", "--set", "console.with=50"], "--set console.with: unknown key"),
        (["RUN", "RUN"], "given twice"),
        ([], "required: PATH"),
    ],
)
def test_wrong_input_is_exit_2_and_one_sentence(run, capsys, arguments, said):
    assert main(["report", *(str(run) if word == "RUN" else word for word in arguments)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (run / "reports").exists()


def test_open_takes_the_first_page(run, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    assert main(["report", str(run), "--use", "table", "--open"]) == 0
    assert opened == [(run / "reports" / "table.md").as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda _url: False)
    report.open_file([run / "run.json"])
    assert "no browser was found" in capsys.readouterr().err


def test_a_folder_of_foreign_files(shared, tmp_path, capsys):
    rows = json.loads((shared / "data" / "rows" / "seed_like_rows.json").read_bytes())
    for number, row in enumerate(rows):
        (tmp_path / "job" / str(number)).mkdir(parents=True)
        (tmp_path / "job" / str(number) / "row.json").write_text(json.dumps(row))
    (tmp_path / "job" / "notes.txt").write_text("x")
    assert main(["report", str(tmp_path / "job"), "--use", "ladder", "--out", str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out" / "ladder.json").read_text())["rungs"][1]["tok_s_gpu"] == pytest.approx(5541.699975630712)
    assert f"no importer knows: {tmp_path / 'job' / 'notes.txt'}" in capsys.readouterr().err
