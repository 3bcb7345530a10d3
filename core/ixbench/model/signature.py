"""A failure signature: a log line that tells why an engine failed, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

IN_WINDOW = "raise to invalidates when the line lies inside the measured window"
"""The one `needs` that ixbench itself decides: harmless while the engine starts, fatal for numbers that are being measured."""


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
    trigger: Literal["log", "exit", "sanity", "window"] = "log"
    """What decides: a line of the log; a kill without any fatal line; a prompt with a known answer; a line inside the measured window,
    where it invalidates the point, and which elsewhere means nothing."""
    needs: str | None = None
    """An extra condition that a text match can't express."""
    checked: str = "issue"
    """How it is known: "observed" here, read in the engine's "source" or in an "issue", or "unverified"."""

    @property
    def spoils_window(self) -> bool:
        """Whether a line that is harmless elsewhere invalidates a point while it is measured."""
        return self.trigger == "window" or self.needs == IN_WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFinding:
    """A known line of an engine's log that bears on a point."""

    id: str
    """Of the signature."""
    kind: Literal["fatal", "invalidates", "warning"]
    """What it means for the point: "invalidates" also where only the measured window makes it so."""
    line: int
    """From 1."""
    text: str
    """The cleaned line, secrets redacted."""
    cause: str
    fix: str
    in_window: bool = True
    """Whether it was written while the point was measured; False: before, since the engine's start."""
