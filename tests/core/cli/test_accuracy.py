"""An accuracy gate in what is typed and printed: `report`, `show`."""

from __future__ import annotations

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.measure.accuracy import JudgedAnswer
from ixbench.model.secrets import Redactor
from ixbench.store.accuracy import AnswerWriter
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_accuracy

RESULT = sample_accuracy(asked=10, right=9)


@pytest.fixture
def sample(tmp_path):
    """Return a function that writes a run under a name of its own."""

    def write(name, accuracy=None, **options):
        folder = write_sample_run(tmp_path / f"of-{name}", load_host(), accuracy=accuracy, **options)
        return str(folder.rename(tmp_path / name))

    return write


def test_gated_runs_and_others_share_no_report_unless_the_user_insists(sample, tmp_path, monkeypatch, capsys):
    gated, plain = sample("gated", RESULT), sample("plain")
    monkeypatch.chdir(tmp_path)
    assert main(["report", gated, plain, "--use", "ladder"]) == 1
    assert capsys.readouterr().err == (
        "ixbench: plain: accuracy gate is 'not gated', but 'sha256:0123456789abcdef, at least 90 % right (last_number)' in gated; "
        "points of different work cannot share a ladder; report these runs apart\n"
    )
    assert main(["compare", gated, plain]) == 2
    assert "accuracy gate is 'not gated'" in capsys.readouterr().err
    main(["compare", gated, plain, "--allow-mismatch"])
    assert "Let pass on demand: B: accuracy gate is 'not gated'" in capsys.readouterr().out
    assert main(["report", gated, sample("again", sample_accuracy(asked=10, right=10)), "--use", "ladder"]) == 0


@pytest.mark.parametrize("use", [["history", "leaderboard"]])
def test_reports_over_many_runs_part_them(sample, tmp_path, monkeypatch, capsys, use):
    gated, plain = sample("gated", RESULT), sample("plain")
    monkeypatch.chdir(tmp_path)
    assert main(["report", gated, plain, *(word for name in use for word in ("--use", name))]) == 0
    capsys.readouterr()


def test_the_terminal_has_a_column_where_there_is_a_gate_and_only_there(sample, capsys):
    assert main(["report", sample("gated", RESULT), "--use", "console"]) == 0
    gated = capsys.readouterr().out
    (header,) = [line for line in gated.splitlines() if line.startswith("point ")]
    assert header.split()[-2:] == ["right", "verdict"]
    (row,) = [line for line in gated.splitlines() if line.startswith("vllm-c8 ")]
    assert "  90.0 %  " in row
    assert "Accuracy gate: questions sha256:0123456789abcdef, at least 90 % right (last_number)" in gated.replace("\n", " ")
    assert main(["report", sample("plain"), "--use", "console"]) == 0
    plain = capsys.readouterr().out
    assert "right" not in plain
    assert "ccuracy" not in plain


def test_points_whose_gate_failed_say_so_and_stand_on_no_ladder(sample, capsys):
    assert main(["report", sample("failed", sample_accuracy(asked=10, right=1)), "--use", "console"]) == 0
    said = capsys.readouterr().out
    assert "No point can be used" in said
    assert "accuracy_failed: 1 of 10 answers are right (10 %), wanted: 90 %" in said.replace("\n", " ")


@pytest.mark.parametrize(
    ("accuracy", "sentences"),
    [
        (RESULT, ["Accuracy gate: questions sha256:0123456789abcdef, at least 90 % right (last_number); each launch was asked",
                  "passed: 9 of 10 answers right (90 %), at least 90 % wanted"]),
        (None, ["Accuracy gate: not gated; nobody asked whether the answers are right."]),
    ],
)  # fmt: skip
def test_the_page_tells_it_in_its_method(sample, tmp_path, capsys, accuracy, sentences):
    run = sample("run", accuracy)
    assert main(["report", run, "--use", "page", "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "page.html").read_text()
    assert all(sentence in page for sentence in sentences)
    capsys.readouterr()


def test_a_page_of_simulated_points_says_that_they_give_no_answers(sample, tmp_path, capsys):
    assert main(["report", sample("run", evidence="simulated"), "--use", "page", "--out", str(tmp_path / "out")]) == 0
    assert "since a simulated engine gives no answers" in (tmp_path / "out" / "page.html").read_text()
    capsys.readouterr()


def test_show_lists_wrong_answers_and_only_those_of_this_gate(sample, tmp_path, capsys):
    failed = sample_accuracy(asked=8, right=1, failed={"transport": 1})
    run = sample("run", failed)
    folder = tmp_path / "run" / "launches" / "vllm"
    folder.mkdir(parents=True)
    with AnswerWriter(folder, Redactor()) as writer:
        writer.answer(JudgedAnswer(line=8, right=False, expected="4", got=None, failure="transport", error_text="no\x1b[2J connection"))
        for line in range(7, 0, -1):
            writer.answer(JudgedAnswer(line=line, right=line == 2, expected="42", got="x" * 100 if line == 3 else "7\u202e"))
        writer.seal(failed)
    assert main(["show", run, "vllm-c8"]) == 0
    said = capsys.readouterr().out
    assert "accuracy gate: FAILED: 1 of 8 answers right (12.5 %), at least 90 % wanted; without an answer: transport 1 (last_number" in said
    assert [line.strip() for line in said.splitlines() if line.strip().startswith("line ")] == [
        "line 1: expected '42', got '7\\u202e'",
        f"line 3: expected '42', got '{'x' * 60}...'",
        *(f"line {line}: expected '42', got '7\\u202e'" for line in (4, 5, 6)),
    ]
    assert "2 more in answers.jsonl of the launch" in said
    with AnswerWriter(folder, Redactor()) as writer:
        writer.seal(sample_accuracy(asked=8, right=8))
    assert main(["show", run, "vllm-c8"]) == 0
    said = capsys.readouterr().out
    assert "accuracy gate: FAILED" in said
    assert "line 1" not in said, "the launch was asked again after this point"


def test_show_says_nothing_of_a_gate_that_nobody_asked_for(sample, capsys):
    assert main(["show", sample("plain"), "vllm-c8"]) == 0
    assert "accuracy" not in capsys.readouterr().out
