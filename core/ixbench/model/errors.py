"""What can go wrong, as values: a fault is one sentence, and every foreseen failure is an `IxbenchError`, printed without traceback."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One mistake in what the user gave: where it is, what was found, what is allowed, what to do."""

    where: str
    """File and key path, or the flag: `benchmarks.toml: deployment[0].concurrency`."""
    problem: str
    """What was found and why it can't be used."""
    allowed: str = ""
    """The values or the form that would be right."""
    advice: str = ""
    """What to do next, for instance a did-you-mean."""

    def __str__(self) -> str:
        """Return the fault as one line."""
        parts = [f"{self.where}: {self.problem}"]
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        if self.advice:
            parts.append(self.advice)
        return "; ".join(parts).replace("\n", " ")


class IxbenchError(Exception):
    """Base of every failure that ixbench foresees; `str()` is one sentence for the user."""


MOST_TOLD = 100
"""Faults that are told in full; a file with more is better read than listed."""


class InputError(IxbenchError):
    """The file, the command line or an input file is wrong: nothing ran, exit code 2."""

    def __init__(self, faults: Fault | Iterable[Fault]) -> None:
        """Keep all faults: the user sees every one of them at once."""
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Fault, ...]]]:
        """Travel from a worker process with the faults, and not with their text."""
        return type(self), (self.faults,)


class PluginError(IxbenchError):
    """A plugin failed; the message names the plugin, its distribution and the hook."""


def first_error(error: BaseException) -> BaseException:
    """Return the exception that brought a task group down, the others being what it tore with it; of no group, the exception itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def describe(error: BaseException) -> str:
    """Return an exception as one line: `ImportError: No module named 'x'`."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the closest allowed name, or an empty text."""
    close = get_close_matches(found, list(allowed), n=1)
    return f"did you mean '{close[0]}'?" if close else ""
