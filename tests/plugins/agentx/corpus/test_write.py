from __future__ import annotations

import re

import pytest

from ixbench.cli.main import main
from ixbench_plugins.agentx.corpus.generate import generate
from ixbench_plugins.agentx.corpus.profiles import OPEN, PROFILES
from ixbench_plugins.agentx.sources import iter_traces
from ixbench_plugins.commands.trace_generate import PROFILE_NAMES


def run(*words):
    return main(["trace", "generate", *map(str, words)])


def write(out, *, sessions=3, seed=7, profile="open"):
    return run("--profile", profile, "--sessions", sessions, "--seed", seed, "--out", out)


def content(out):
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def test_a_folder_of_traces_is_written(tmp_path, capsys):
    out = tmp_path / "a" / "corpus"
    assert write(out) == 0
    assert list(content(out)) == ["trace_0000.json", "trace_0001.json", "trace_0002.json"]
    expected = list(generate(OPEN, 3, 7))
    assert [trace.id for trace in iter_traces(str(out))] == [trace.id for trace in expected]
    told = capsys.readouterr()
    size = sum(map(len, content(out).values()))
    assert told.out == f"{out}: 3 traces, {sum(trace.requests for trace in expected):,} requests, {size / 1e6:,.1f} MB\n"
    assert "3 of 3 traces" in told.err


def test_agentx_is_the_default(tmp_path):
    assert run("--sessions", 1, "--seed", 7, "--out", tmp_path / "default") == 0
    assert write(tmp_path / "named", sessions=1, profile="agentx") == 0
    assert content(tmp_path / "default") == content(tmp_path / "named")


def test_equal_arguments_give_equal_bytes(tmp_path):
    assert [write(tmp_path / name) for name in "ab"] == [0, 0]
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_writing_again_changes_nothing(tmp_path, capsys):
    write(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert write(tmp_path) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert "3 of the files were there before" in capsys.readouterr().err


def test_a_part_of_the_corpus_is_completed(tmp_path):
    write(tmp_path / "whole")
    write(tmp_path / "part", sessions=2)
    # As a kill leaves it.
    (tmp_path / "part" / "trace_0002.json.part").write_bytes(b'{"id"')
    assert write(tmp_path / "part") == 0
    assert content(tmp_path / "part") == content(tmp_path / "whole")


@pytest.mark.parametrize(
    ("name", "text"),
    [("notes.txt", b"mine"), ("trace_0003.json", b"{}"), ("trace_0001.json", b"{}"), ("notes.txt.part", b"")],
)
def test_anything_else_is_refused_and_left_alone(tmp_path, capsys, name, text):
    (tmp_path / name).write_bytes(text)
    assert write(tmp_path) == 2
    assert content(tmp_path) == {name: text}
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"holds what is not of this corpus: '{name}'" in told
    assert "choose another folder" in told


def test_another_seed_is_another_corpus(tmp_path, capsys):
    write(tmp_path)
    before = content(tmp_path)
    assert write(tmp_path, seed=8) == 2
    assert content(tmp_path) == before
    assert "'trace_0000.json', 'trace_0001.json', 'trace_0002.json'" in capsys.readouterr().err


def test_many_foreign_files_are_counted(tmp_path, capsys):
    for number in range(8):
        (tmp_path / f"{number}.txt").touch()
    assert write(tmp_path) == 2
    assert "'0.txt', '1.txt', '2.txt', '3.txt', '4.txt' and 3 more" in capsys.readouterr().err


def test_a_file_is_no_folder(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert write(tmp_path / "file") == 2
    assert write(tmp_path / "file" / "below") == 2
    told = capsys.readouterr().err.splitlines()
    assert "is a file" in told[0]
    assert "cannot be used: Not a directory" in told[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sessions", "0", "--seed", "1", "--out", "x"], "argument --sessions: '0' is not allowed; allowed: a whole number from 1 up"),
        (["--sessions", "many", "--seed", "1", "--out", "x"], "argument --sessions: 'many' is not allowed"),
        (["--sessions", "1", "--seed", "-1", "--out", "x"], "argument --seed: '-1' is not allowed; allowed: a whole number from 0 up"),
        (["--sessions", "1", "--seed", "1.5", "--out", "x"], "argument --seed: '1.5' is not allowed"),
        (["--sessions", "10001", "--seed", "1", "--out", "x"], "--sessions: is 10,001; allowed: 1 to 10,000"),
        (["--sessions", "1", "--seed", "1"], "required: --out"),
        (["--profile", "opne", "--sessions", "1", "--seed", "1", "--out", "x"], "invalid choice: 'opne'"),
        (["--session", "1", "--seed", "1", "--out", "x"], "unknown flag '--session'; did you mean '--sessions'?"),
    ],
)
def test_wrong_arguments_are_told(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_profile():
    assert set(PROFILE_NAMES) == set(PROFILES)


def test_each_entry_stands_on_a_line_of_its_own(tmp_path):
    write(tmp_path, sessions=1)
    lines = (tmp_path / "trace_0000.json").read_text().splitlines()
    assert all(re.match(r'\{"t":', line) for line in lines[1:-1])
