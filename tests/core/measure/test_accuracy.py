"""Which answers are right, and what the answers of a launch come to."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.measure.accuracy import JudgedAnswer, gate_result, is_right, last_number, without_thinking
from ixbench.model.accuracy import AccuracyGate, Question, accuracy_words
from ixbench.model.prompt import Message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so there are 3 and 4, which makes 7.", "7"),
        ("#### 1,234.50", "1234.5"),
        ("$1,000,000 in all", "1000000"),
        ("the change is -3", "-3"),
        ("\u22127 degrees", "-7"),
        ("x=-2.5", "-2.5"),
        ("10-12", "12"),
        ("(4)-3", "3"),
        ("half of it, .5", "0.5"),
        ("1,2345", "2345"),
        ("3.14.15", "15"),
        ("72\n\n", "72"),
        ("7 is it, not seventy", "7"),
    ],
)
def test_the_last_number_of_a_text_is_read_as_people_write_numbers(text, expected):
    assert last_number(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["", "no number", "-", ".", "1e" * 0, "\u0663"])
def test_a_text_may_have_no_number(text):
    assert last_number(text) is None


@given(st.text())
def test_any_text_can_be_judged(text):
    number = last_number(text)
    assert number is None or number == number  # noqa: PLR0124 - no NaN
    for match in ("exact", "contains", "last_number"):
        assert is_right(match, "42", text) in {True, False}


def test_a_number_of_a_million_digits_is_one():
    text = "9" * 1_000_000
    assert is_right("last_number", text, f"it is {text}.")
    assert not is_right("last_number", text, f"it is {text[1:]}")


@pytest.mark.parametrize(
    ("match", "expected", "got", "right"),
    [
        ("exact", " Paris\n", "\n Paris ", True),
        ("exact", "Paris", "paris", False),
        ("exact", "Paris", "Paris.", False),
        ("contains", "Paris", "It is Paris, of course.", True),
        ("contains", "Paris", "It is Rome.", False),
        ("last_number", "6 * 7 = 42\n#### 42", "That makes 42.0 apples", True),
        ("last_number", "42", "42 or 43", False),
        ("last_number", "42", "forty-two", False),
        ("last_number", "42", "", False),
    ],
)
def test_an_answer_is_judged_as_the_campaign_says(match, expected, got, right):
    assert is_right(match, expected, got) is right


@pytest.mark.parametrize("match", ["exact", "contains", "last_number"])
def test_what_was_thought_aloud_is_no_answer(match):
    assert is_right(match, "42", "<think>perhaps 41</think>\n\n42")
    assert is_right(match, "42", "perhaps 41</think>42"), "the template may have opened it"
    assert not is_right(match, "41", "<think>perhaps 41</think>\n\n42")
    assert not is_right(match, "41", "<think>it is 41"), "cut off before it said anything"
    assert without_thinking("no thinking here ") == "no thinking here"


def gate(count=4, at_least=0.75):
    questions = tuple(Question(line=line, messages=(Message(role="user", content="?"),), answer="1", plain=True) for line in range(count))
    return AccuracyGate(
        file="q.jsonl",
        questions=questions,
        hash="sha256:0",
        at_least=at_least,
        match="exact",
        max_tokens=8,
        concurrency=2,
        time_limit_s=9,
    )


def answer(line, right=True, **changes):
    return JudgedAnswer(**{"line": line, "right": right, "expected": "1", "got": "1"} | changes)


def failed(line, kind="transport", text=None):
    return answer(line, right=False, got=None, failure=kind, error_text=text)


def test_just_enough_right_answers_pass():
    found = gate_result(gate(), [answer(0), answer(1), answer(2), answer(3, right=False)], seconds=1.5)
    assert (found.asked, found.right, found.share, found.required, found.seconds) == (4, 3, 0.75, 0.75, 1.5)
    assert found.passed
    assert found.identity == gate().identity == "sha256:0, at least 75 % right (exact)"
    assert accuracy_words(found) == "passed: 3 of 4 answers right (75 %), at least 75 % wanted"


def test_questions_without_an_answer_are_wrong_and_told_by_kind():
    found = gate_result(gate(), [answer(0), answer(1), failed(2), failed(3, "http_status")], seconds=1.0)
    assert (found.right, found.failed, found.lacking, found.passed) == (2, {"transport": 1, "http_status": 1}, "", False)
    assert "without an answer: transport 1, http_status 1" in accuracy_words(found)


def test_without_any_answer_the_gate_did_not_run():
    found = gate_result(gate(), [failed(line, "http_status", "status 503: busy") for line in range(4)], seconds=1.0)
    assert (found.share, found.passed) == (None, False)
    assert found.lacking == "no question was answered (http_status 4); the first said: status 503: busy"
    assert accuracy_words(found) == f"did not run: {found.lacking}"


def test_one_answer_that_is_wrong_is_a_gate_that_ran():
    found = gate_result(gate(), [answer(0, right=False), *(failed(line) for line in (1, 2, 3))], seconds=1.0)
    assert (found.share, found.lacking) == (0.0, "")


def test_answers_that_were_cut_are_counted():
    found = gate_result(gate(), [answer(line, cut=line < 3) for line in range(4)], seconds=1.0)
    assert (found.cut, found.passed) == (3, True)
    assert accuracy_words(found).endswith("; 3 cut off by max_tokens")
