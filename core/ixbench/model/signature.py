"""A failure signature: a log line that tells why an engine failed, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One entry of a signature file."""

    id: str
    pattern: str
    """Regular expression, searched in each cleaned log line."""
    engine: str
    """An engine's name, or "any"."""
    kind: Literal["fatal", "invalidates", "warning"]
    wrapper: bool
    """Whether the line only wraps an earlier root cause."""
    cause: str
    fix: str
    source: str
    trigger: Literal["log", "exit", "sanity"] = "log"
    needs: str | None = None
    """An extra condition that a text match can't express."""
    checked: str = "issue"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFinding:
    """A known line that an engine's log took on while a point ran."""

    id: str
    """Of the signature."""
    kind: Literal["fatal", "invalidates", "warning"]
    line: int
    """From 1."""
    text: str
    """The cleaned line, secrets redacted."""
    cause: str
    fix: str
