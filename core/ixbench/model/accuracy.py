"""The accuracy gate: questions with known answers that a launch must answer before its speed counts, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec resolves the annotations when it reads point.json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ixbench.model.short_numbers import short_share

if TYPE_CHECKING:
    from ixbench.model.prompt import Message

Match = Literal["exact", "contains", "last_number"]

NOT_GATED = "not gated"
"""What stands where a point has no gate: runs without the table, runs of an ixbench that knew none, and imported results."""
SIMULATED_NOTE = "no accuracy gate: a simulated engine gives no answers"
"""What the reader of a simulated point must know where the campaign has a gate."""
TIME_LIMIT = "time_limit"
"""Kind of failure of questions that had no answer when the time for all of them was over."""
REFUSED = "adapter"
"""Kind of failure of questions that the engine's adapter could not send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One line of the file."""

    line: int
    """Number of the line, from 1: the question's id."""
    messages: tuple[Message, ...]
    """At least one is the user's."""
    answer: str
    """What the answer is held against."""
    plain: bool
    """Whether it is one text, which the completions API can carry too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyGate:
    """The `[accuracy]` table, with its file read."""

    file: str
    """Name of the file, without its folder."""
    questions: tuple[Question, ...]
    hash: str
    """Of the file's bytes, without a byte order mark."""
    at_least: float
    """Share of right answers that is wanted, above 0 and up to 1."""
    match: Match
    max_tokens: int
    """Limit of an answer, thinking included."""
    concurrency: int
    """Questions in flight."""
    time_limit_s: float
    """For all questions together."""

    @property
    def identity(self) -> str:
        """What two points must have been held to before they stand on one ladder."""
        return gate_identity(self.hash, self.at_least, self.match)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyResult:
    """What a launch's answers came to. `accuracy` of point.json, and the content of accuracy.json."""

    questions: str
    """Hash of the file."""
    match: Match
    asked: int
    """Questions of the file."""
    right: int
    required: float
    """Share of right answers that is wanted."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Questions without an answer by kind; they count as wrong."""
    cut: int = 0
    """Answers that the limit of tokens ended; they are judged as they are."""
    seconds: float = 0.0
    """How long it took."""
    lacking: str = ""
    """Why it did not run, although it was asked for: no question was answered; empty where it ran."""

    @property
    def share(self) -> float | None:
        """Share of right answers among all questions; None where the gate did not run."""
        return None if self.lacking or not self.asked else self.right / self.asked

    @property
    def passed(self) -> bool:
        """Whether enough of them were right."""
        return self.share is not None and self.share >= self.required

    @property
    def identity(self) -> str:
        """The same as the gate's."""
        return gate_identity(self.questions, self.required, self.match)


def gate_identity(questions: str, at_least: float, match: Match) -> str:
    """Return a gate in one line: whose questions, how many of them, and how answers are judged."""
    return f"{questions}, at least {100 * at_least:g} % right ({match})"


def accuracy_words(result: AccuracyResult) -> str:
    """Return what came of a gate in a few words, to follow "accuracy gate: "."""
    if result.lacking:
        return f"did not run: {result.lacking}"
    counts = ", ".join(f"{kind} {count}" for kind, count in result.failed.items())
    parts = [
        f"{result.right} of {result.asked} answers right ({_percent(result.share)}), at least {_percent(result.required)} wanted",
        f"without an answer: {counts}" if counts else "",
        f"{result.cut} cut off by max_tokens" if result.cut else "",
    ]
    return f"{'passed' if result.passed else 'FAILED'}: {'; '.join(filter(None, parts))}"


def _percent(share: float | None) -> str:
    return "-" if share is None else short_share(share)
