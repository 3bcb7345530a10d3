"""Whether an answer is right, and what the answers of a launch come to. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from ixbench.model.accuracy import AccuracyResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.model.accuracy import AccuracyGate, Match

_NUMBER = re.compile(r"(?:(?<![\w.)%\]])[-+\u2212])?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+)")
"""A sign counts only where nothing stands before it that it could be a minus between."""
_THOUGHT = "</think>"
_THINKS = "<think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """One question as answers.jsonl keeps it."""

    line: int
    """Line of the question in the file."""
    right: bool
    expected: str
    got: str | None
    """The beginning of the answer; None where there was none."""
    failure: str | None = None
    """Why there was none: a kind of failure of requests, "time_limit" or "adapter"."""
    error_text: str | None = None
    cut: bool = False
    """Whether the limit of tokens ended it."""


def is_right(match: Match, expected: str, got: str) -> bool:
    """Say whether an answer is right; what was thought aloud before it does not count."""
    said = without_thinking(got)
    if match == "exact":
        return said == expected.strip()
    if match == "contains":
        return expected.strip() in said
    wanted, found = last_number(expected), last_number(said)
    return wanted is not None and wanted == found


def without_thinking(text: str) -> str:
    """Return an answer without the thinking that a server without a parser for it leaves in: what stands before the last `</think>`."""
    _, mark, after = text.rpartition(_THOUGHT)
    if not mark and text.lstrip().startswith(_THINKS):
        return ""
    return after.strip()


def last_number(text: str) -> Decimal | None:
    """Return the last number in a text, or None: 1,234.50 is one number, and so is -3; of 10-12 it is 12."""
    last = ""
    for found in _NUMBER.finditer(text):
        last = found[0]
    return Decimal(last.replace(",", "").replace("\u2212", "-")) if last else None


def gate_result(gate: AccuracyGate, answers: Sequence[JudgedAnswer], *, seconds: float) -> AccuracyResult:
    """Return what the answers come to; a question without an answer counts as wrong, and without any answer the gate did not run.

    :param answers: at most one a question; the others had none in time.
    """
    failed = Counter(answer.failure for answer in answers if answer.failure is not None)
    lacking = ""
    if sum(failed.values()) == len(gate.questions):
        kinds = ", ".join(f"{kind} {count}" for kind, count in failed.items())
        said = next((answer.error_text for answer in answers if answer.error_text), None)
        lacking = f"no question was answered ({kinds}){f'; the first said: {said}' if said else ''}"
    return AccuracyResult(
        questions=gate.hash,
        match=gate.match,
        asked=len(gate.questions),
        right=sum(answer.right for answer in answers),
        required=gate.at_least,
        failed=dict(failed),
        cut=sum(answer.cut for answer in answers),
        seconds=seconds,
        lacking=lacking,
    )
