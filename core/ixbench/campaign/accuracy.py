"""The `[accuracy]` table and its file of questions: every fault of either is told at once, with its line."""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF8
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.campaign.files import absolute
from ixbench.campaign.schema import AccuracyTable
from ixbench.campaign.validate import ValueProblemError, check
from ixbench.measure.accuracy import last_number
from ixbench.model.accuracy import AccuracyGate, Question
from ixbench.model.counts import counted
from ixbench.model.errors import Fault, did_you_mean
from ixbench.model.messages import describe_value, is_sendable, read_messages
from ixbench.model.prompt import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ixbench.campaign.keypath import KeyPath
    from ixbench.model.accuracy import Match

LARGEST_FILE = 32 << 20
"""Bytes; published sets of questions have a tenth of it."""
MOST_QUESTIONS = 20_000
MOST_FAULTS = 20
"""Lines that are told of; a file with more faults is another kind of file."""
FORM = '{"question": "...", "answer": "..."} on each line, or "messages": [{"role": "user", "content": "..."}] in place of question'
_KEYS = ("question", "messages", "answer")


def read_gate(table: Mapping[str, Any], locate: Callable[[KeyPath], str], folder: Path) -> tuple[AccuracyGate | None, list[Fault]]:
    """Return the gate that an `[accuracy]` table asks for, or None and what is wrong with the table or its file.

    :param folder: where a relative path starts.
    """
    parsed, faults = check(AccuracyTable, table, locate)
    if parsed is None:
        return None, list(faults.values())
    path = Path(absolute(parsed.questions, folder))
    content, fault = _content(path, locate(("questions",)))
    if fault is not None:
        return None, [fault]
    questions, wrong = read_questions(content, str(path), parsed.match)
    if wrong:
        return None, wrong
    return AccuracyGate(
        file=path.name,
        questions=questions,
        hash=f"sha256:{hashlib.sha256(content).hexdigest()[:16]}",
        at_least=parsed.at_least,
        match=parsed.match,
        max_tokens=parsed.max_tokens,
        concurrency=parsed.concurrency,
        time_limit_s=parsed.time_limit,
    ), []


def gate_words(gate: AccuracyGate) -> str:
    """Return what a gate asks for, in one sentence."""
    asked = counted(len(gate.questions), "question")
    return (
        f"accuracy gate: each launch is asked {asked} of {gate.file} ({gate.hash}) before its first point, "
        f"and {100 * gate.at_least:g} % of the answers must be right ({gate.match})"
    )


def read_questions(content: bytes, where: str, match: Match) -> tuple[tuple[Question, ...], list[Fault]]:
    """Return the questions of a file's content, empty lines passed over, and what is wrong with it. Pure.

    :param where: what the file is called.
    """
    questions: list[Question] = []
    faults: list[Fault] = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            questions.append(_question(line, number, match))
        except ValueProblemError as error:
            if len(faults) == MOST_FAULTS:
                faults.append(Fault(where=where, problem=f"more than {MOST_FAULTS} lines are wrong, and the others are not told"))
                break
            faults.append(Fault(where=f"{where}: line {number}", problem=error.problem, allowed=error.allowed, advice=error.advice))
        if len(questions) > MOST_QUESTIONS:
            return (), [Fault(where=where, problem=f"holds more than {MOST_QUESTIONS} questions", advice="draw a part of them")]
    if not questions and not faults:
        faults.append(Fault(where=where, problem="holds no question", allowed=FORM))
    return tuple(questions), faults


def _content(path: Path, where: str) -> tuple[bytes, Fault | None]:
    """Return what a file holds, without a byte order mark, or why that cannot be read."""
    allowed = "a file of JSON lines"
    try:
        if not path.exists():
            return b"", Fault(
                where=where, problem=f"there is no file {path}", advice="a relative path starts at the folder of the campaign file"
            )
        if not path.is_file():
            return b"", Fault(where=where, problem=f"{path} is no regular file", allowed=allowed)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return b"", Fault(where=where, problem=f"{path} cannot be read: {reason}", allowed=allowed)
    if len(content) > LARGEST_FILE:
        problem = f"{path} is larger than {LARGEST_FILE >> 20} MiB"
        return b"", Fault(where=where, problem=problem, allowed=allowed, advice="draw a part of its questions")
    return content.removeprefix(BOM_UTF8), None


def _question(line: bytes, number: int, match: Match) -> Question:
    """Return the question of a line.

    :raises ValueProblemError: with what is wrong with it first.
    """
    value = _object(line)
    if unknown := next((key for key in value if key not in _KEYS), None):
        raise ValueProblemError(f"unknown key {describe_value(unknown)}", allowed=", ".join(_KEYS), advice=did_you_mean(unknown, _KEYS))
    if ("question" in value) == ("messages" in value):
        raise ValueProblemError(f"has {'both question and' if 'question' in value else 'neither question nor'} messages", allowed=FORM)
    answer = _text(value, "answer")
    if match == "last_number" and last_number(answer) is None:
        allowed = 'an answer with a number in it, or match = "exact" or "contains" under [accuracy]'
        raise ValueProblemError(f"answer is {describe_value(answer)}, which holds no number", allowed=allowed)
    if "question" in value:
        message = Message(role="user", content=_text(value, "question"))
        return Question(line=number, messages=(message,), answer=answer, plain=True)
    messages, problems = read_messages(value["messages"])
    if problems:
        problem, allowed, advice = problems[0]
        raise ValueProblemError(problem, allowed=allowed, advice=advice)
    if messages[-1].role != "user":
        problem = f"messages end with one of role {messages[-1].role}, so nothing is asked"
        raise ValueProblemError(problem, allowed="a last message with role user")
    return Question(line=number, messages=tuple(messages), answer=answer, plain=False)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueProblemError("is no UTF-8 text", allowed=FORM) from error
    except json.JSONDecodeError as error:
        raise ValueProblemError(f"is no JSON ({error.msg} at character {error.colno})", allowed=FORM) from error
    except (ValueError, RecursionError) as error:
        problem = "cannot be read: it nests too deeply, or holds a number of thousands of digits"
        raise ValueProblemError(problem, allowed=FORM) from error
    if not isinstance(value, dict):
        raise ValueProblemError(f"is {describe_value(value)}, not an object", allowed=FORM)
    return value


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text.strip() or not is_sendable(text):
        raise ValueProblemError(f"{key} is {describe_value(text)}", allowed="a text that is not empty")
    return text
