"""What a launch answered, on disk: as it came, without secrets, and read back."""

from __future__ import annotations

import json

import pytest

from ixbench.host.load import load_host
from ixbench.measure.accuracy import JudgedAnswer
from ixbench.model.errors import InputError, IxbenchError
from ixbench.model.secrets import Redactor
from ixbench.report.load import load_run
from ixbench.report.recompute import recompute
from ixbench.store.accuracy import ACCURACY, ANSWERS, KEPT_CHARACTERS, AnswerWriter, read_gate_record
from ixbench.store.folder import RunReader
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_accuracy

LAUNCH = "vllm"
RESULT = sample_accuracy(asked=2, right=1, failed={"transport": 1})
RIGHT = JudgedAnswer(line=1, right=True, expected="42", got="it is 42")
LOST = JudgedAnswer(line=2, right=False, expected="7", got=None, failure="transport", error_text="no connection")


@pytest.fixture
def run(tmp_path):
    folder = write_sample_run(tmp_path, load_host())
    (folder / "launches" / LAUNCH).mkdir(parents=True)
    return RunReader(folder)


def write(run, *answers, result=RESULT, redactor=None):
    with AnswerWriter(run.path / "launches" / LAUNCH, redactor or Redactor()) as writer:
        for answer in answers:
            writer.answer(answer)
        if result is not None:
            writer.seal(result)


def test_answers_and_result_come_back(run):
    write(run, RIGHT, LOST)
    record = read_gate_record(run, LAUNCH)
    assert (record.result, record.answers) == (RESULT, (RIGHT, LOST))
    content = json.loads((run.path / "launches" / LAUNCH / ACCURACY).read_text())
    assert (content["format"], content["share"], content["passed"]) == (1, 0.5, False)


def test_answers_are_on_the_disk_before_the_end_and_no_result_is(run):
    folder = run.path / "launches" / LAUNCH
    write(run, RIGHT)
    with AnswerWriter(folder, Redactor()) as writer:
        assert not (folder / ACCURACY).exists(), "what an earlier gate said is gone"
        writer.answer(LOST)
        assert [json.loads(line)["line"] for line in (folder / ANSWERS).read_text().splitlines()] == [2]
        assert read_gate_record(run, LAUNCH) is None
    assert read_gate_record(run, LAUNCH) is None


def test_texts_are_cut_harmless_and_without_secrets(run):
    secret = "sk-0123456789abcdef"
    got = "x" * (KEPT_CHARACTERS - 5) + secret + " and more"
    write(run, JudgedAnswer(line=1, right=False, expected=f"\x1b[31m{secret}", got=got), redactor=Redactor([secret]))
    (line,) = (run.path / "launches" / LAUNCH / ANSWERS).read_text().splitlines()
    kept = json.loads(line)
    assert kept["expected"] == "\\x1b[31m***"
    assert kept["got"] == "x" * (KEPT_CHARACTERS - 5) + "*** a"
    assert "sk-0" not in line


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 1}', "\x00", "[" * 100_000])
@pytest.mark.parametrize("name", [ACCURACY, ANSWERS])
def test_broken_files_are_told_in_a_sentence(run, name, content):
    write(run, RIGHT, LOST)
    path = run.path / "launches" / LAUNCH / name
    path.write_text(content)
    if name == ANSWERS and not content:
        assert read_gate_record(run, LAUNCH).answers == ()
        return
    with pytest.raises(InputError) as caught:
        read_gate_record(run, LAUNCH)
    assert str(caught.value).startswith(f"{path}: is not what an accuracy gate writes")


def test_a_later_format_is_refused(run):
    write(run, RIGHT, LOST)
    path = run.path / "launches" / LAUNCH / ACCURACY
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(InputError, match="has format 2; allowed: up to 1; use a newer ixbench"):
        read_gate_record(run, LAUNCH)


@pytest.mark.parametrize("launch", ["", "..", "other", "../vllm"])
def test_no_launch_no_record(run, launch):
    assert read_gate_record(run, launch) is None


def test_a_disk_that_refuses_is_told(tmp_path):
    with pytest.raises(IxbenchError, match="cannot be written"):
        AnswerWriter(tmp_path / "missing", Redactor())


@pytest.mark.parametrize(("right", "status"), [(10, "valid"), (5, "invalid")])
def test_a_gate_is_judged_again_from_the_point_alone(tmp_path, right, status):
    host, notes = load_host(), []
    folder = write_sample_run(tmp_path, host, accuracy=sample_accuracy(asked=10, right=right))
    view = load_run(folder)
    again = recompute(view, RunReader(folder), host, notes.append)
    for found in (view.points[0], again.points[0]):
        codes = [reason.code for reason in found.verdict.reasons if reason.severity == "invalid"]
        assert ("accuracy_failed" in codes) == (status == "invalid")
        assert found.accuracy == sample_accuracy(asked=10, right=right)


def test_a_run_of_before_reads_as_not_gated(run):
    for name in run.sealed():
        path = run.path / "points" / name / "point.json"
        content = json.loads(path.read_text())
        del content["accuracy"], content["identity"]["accuracy"]
        path.write_text(json.dumps(content))
    view = load_run(run.path)
    assert {point.identity.accuracy for point in view.points} == {None}
    assert {point.accuracy for point in view.points} == {None}
