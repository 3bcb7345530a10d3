"""What a report over many runs leaves out because it cannot be read, and which versions made the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.report import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A folder or file that could not be read."""

    name: str
    """Name of the folder or file."""
    reason: str
    """Why it could not be read."""


def unread_of(runs: Sequence[RunView]) -> tuple[Unread, ...]:
    """Return what was left out."""
    return tuple(Unread(name=run.id, reason=run.unreadable) for run in runs if run.unreadable)


def versions_of(runs: Sequence[RunView]) -> tuple[str, ...]:
    """Return the versions of ixbench that made runs."""
    return tuple(dict.fromkeys(run.versions["ixbench"] for run in runs if "ixbench" in run.versions))


def made_with(runs: Sequence[RunView]) -> str:
    """Return who made the runs, for a page's foot."""
    versions = versions_of(runs)
    return f"ixbench {', '.join(versions)}" if versions else "ixbench"
