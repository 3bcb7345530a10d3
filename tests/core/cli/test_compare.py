"""`ixbench compare`, as it is typed: outputs, exit codes and wrong inputs."""

from __future__ import annotations

import json
import re
import shutil

import jsonschema
import pytest

from ixbench.cli import report
from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.store.point import RESULT
from ixbench.testing.folders import write_sample_run

HOST = load_host()


@pytest.fixture
def a(tmp_path):
    run = write_sample_run(tmp_path / "results", HOST)
    change(run, lambda content: content.update(verdict={"status": "valid", "reasons": []}))
    return run


@pytest.fixture
def b(a, tmp_path):
    """The same run, under another name."""
    copy = tmp_path / "results" / "later"
    shutil.copytree(a, copy)
    return copy


def change(run, change_metrics=None, **identity):
    """Change every point of a run folder that has metrics."""
    for path in run.glob(f"points/*/{RESULT}"):
        content = json.loads(path.read_text())
        content["identity"] |= identity
        if change_metrics is not None and content["metrics"]:
            change_metrics(content)
        path.write_text(json.dumps(content))


def slower(share):
    def scale(content):
        rates = content["metrics"]["throughput_tok_s_gpu"]
        rates |= {name: value * (1 - share) for name, value in rates.items() if value is not None}
        low_high = content["intervals"]["bootstrap"]["throughput_tok_s_gpu"]
        low_high["total"] = [value * (1 - share) for value in low_high["total"]]

    return scale


def compare(*argv):
    return main(["compare", *map(str, argv)])


def test_equal_runs_cannot_be_told_apart(a, b, capsys):
    assert compare(a, b, "--fail-on", "3%") == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.startswith("Model 7B on MI355X: B compared with A\nAt 50 tok/s/user")
    assert "cannot be told apart" in said.out
    assert "B may be up to 3.0 % slower: nothing counts against it." in said.out
    assert "No setting on record differs." in said.out


def test_past_the_threshold_is_exit_1(a, b, capsys):
    change(b, slower(0.6))
    assert compare(a, b, "--fail-on", "3%") == 1
    said = capsys.readouterr()
    (line, *_) = said.err.splitlines()
    assert re.fullmatch(
        r"ixbench: at 25 tok/s/user: -60\.0 %; allowed: -3\.0 %; 1 run each, more than .*, so the threshold alone decides", line
    )
    assert line.removeprefix("ixbench: ") in " ".join(said.out.split())
    assert compare(a, b, "--fail-on", "70%") == 0
    assert compare(a, b) == 0
    assert compare(b, a, "--fail-on", "0%") == 0
    capsys.readouterr()


def test_json_is_all_that_stdout_carries_and_as_its_schema_says(a, b, capsys):
    change(b, slower(0.6))
    assert compare(a, b, "--json", "--fail-on", "5%") == 1
    found = json.loads(capsys.readouterr().out)
    assert main(["schema", "compare"]) == 0
    jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out)).validate(found)
    rung = next(rung for rung in found["ladder"]["rungs"] if rung["target"] == 50.0)
    assert rung["difference"]["share"] == pytest.approx(-0.6)
    assert (rung["difference"]["verdict"], rung["difference"]["basis"]) == ("cannot be told apart", "within_run")
    assert (found["fail_on"], len(found["failures"])) == (0.05, sum(bool(rung["failure"]) for rung in found["ladder"]["rungs"]))


def test_files_by_suffix(a, b, tmp_path, capsys):
    files = [tmp_path / "new" / f"c{suffix}" for suffix in (".html", ".md", ".json", ".txt")]
    assert compare(a, b, *(word for file in files for word in ("--out", file))) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [f"wrote {file}" for file in files]
    assert files[3].read_text().splitlines()[0] == said.out.splitlines()[0]
    assert json.loads(files[2].read_text())["b"]["id"] == "later"
    assert files[0].read_text().startswith("<!DOCTYPE html>")
    assert files[1].read_text().startswith("# Model 7B on MI355X: B compared with A\n")
    assert compare(a, b, "--json", "--out", files[0]) == 0
    json.loads(capsys.readouterr().out)


def test_what_is_not_comparable_is_exit_2_and_stamped_on_demand(a, b, tmp_path, capsys):
    change(b, model="other", hardware="b200")
    assert compare(a, b, "--fail-on", "3%") == 2
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert lines[0].startswith("ixbench: B: model is 'other', but 'acme/Model-7B' in A")
    assert lines[1].startswith("ixbench: B: hardware is 'b200', but 'mi355x' in A; what differs so cannot be compared; --allow-mismatch")
    files = [tmp_path / f"c{suffix}" for suffix in (".html", ".md", ".json", ".txt")]
    assert compare(a, b, "--allow-mismatch", *(word for file in files for word in ("--out", file))) == 0
    out = capsys.readouterr().out
    for text in (out, *(file.read_text() for file in files)):
        assert "model is 'other', but" in text.replace("&#39;", "'")
        assert "MISMATCH" in text or '"mismatches": [\n' in text


def test_settings_of_both(a, b, capsys):
    assert compare(a, b, "--set", "rungs=40,60", "--set", "axis=p90", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert ([rung["target"] for rung in found["ladder"]["rungs"]], found["axis"]) == ([40.0, 60.0], "p90")


def test_nothing_to_compare_is_exit_3(a, b, capsys):
    assert compare(a, b, "--set", "rungs=5000", "--fail-on", "3%") == 3
    assert "so --fail-on has nothing to judge" in capsys.readouterr().err
    assert compare(a, b, "--set", "rungs=5000") == 0
    assert "At no rung do both sides have a value" in " ".join(capsys.readouterr().out.split())
    assert compare(f"{a}:vllm-c1", f"{b}:vllm-c8") == 3
    assert "no speed is reached by both sides" in capsys.readouterr().err


def test_a_rung_that_is_gone_is_exit_1(a, b, capsys):
    shutil.rmtree(b / "points" / "vllm-c1")
    assert compare(a, b, "--fail-on", "50%") == 1
    assert "at 75 tok/s/user: B has no value (unreachable), and A has one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["{a}"], "the following arguments are required: B"),
        (["{a}", "{a}"], "is given as both A and B; a run cannot be compared with itself"),
        (["{a}", "nowhere", "--json"], "nowhere: there is no such run folder, folder of runs or result file"),
        (["{a}", "{b}", "--fail-on", "3"], "found '3', allowed: a percentage from 0% to below 100%, for instance 3%"),
        (["{a}", "{b}", "--fail-on", "100%"], "found '100%', allowed: a percentage"),
        (["{a}", "{b}", "--fail-on", "nan%"], "found 'nan%', allowed: a percentage"),
        (["{a}", "{b}", "--fail-on=-1%"], "found '-1%', allowed: a percentage"),
        (["{a}", "{b}", "--out", "x.pdf"], "found 'x.pdf', allowed: a file that ends in .html, .md, .json, .txt"),
        (["{a}", "{b}", "--out", "{a}/run.json/x.md"], "x.md: cannot be written"),
        (["{a}", "{b}", "--open"], "--open: there is no file to open"),
        (["{a}", "{b}", "--set", "rung=3"], "--set rung: unknown key; did you mean 'rungs'?"),
        (["{a}", "{b}", "--set", "axis=p42"], "--set axis"),
        (["{a}", "{b}", "--mismatch"], "unknown flag '--mismatch'"),
    ],
)
def test_wrong_command_lines_are_exit_2_and_one_line(a, b, argv, words, capsys):
    assert compare(*(word.format(a=a, b=b) for word in argv)) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
    assert all(line.startswith("ixbench: ") for line in said.splitlines())


def test_foreign_files_are_compared_too(shared, capsys):
    rows = shared / "data" / "rows" / "seed_like_rows.json"
    assert compare(f"{rows}:atom", f"{rows}:vllm", "--json", "--allow-mismatch") in {0, 3}
    said = capsys.readouterr()
    assert json.loads(said.out)["a"]["origins"] == ["imported"]
    assert "importer inferencex" in said.err


def test_open_takes_the_page(a, b, tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(report, "open_file", opened.append)
    assert compare(a, b, "--out", tmp_path / "c.html", "--open") == 0
    assert opened == [[tmp_path / "c.html"]]
    capsys.readouterr()


def test_the_reporter_takes_two_runs_by_report(a, b, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["report", str(a), str(b), "--use", "compare", "--set", "compare.fail_on=0.03", "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["compare.html", "compare.json", "compare.md", "compare.txt"]
    assert main(["report", str(a), "--use", "compare", "--out", str(out)]) == 1
    assert "compare: 1 run given; allowed: two" in capsys.readouterr().err
