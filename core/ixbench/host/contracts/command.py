"""What a command plugin returns: one more `ixbench` subcommand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One subcommand; cheap to make, its work is imported inside `run`."""

    name: str
    summary: str
    """One line for `ixbench --help`."""
    configure: Callable[[argparse.ArgumentParser], None]
    """Adds the arguments."""
    run: Callable[[argparse.Namespace], int]
    """Does the work and returns the exit code; may raise `InputError`."""
    description: str = ""
    """A sentence or two for the command's own help; the summary where it is empty."""
    examples: tuple[str, ...] = ()
    """Command lines to learn from, shown at the end of the command's help."""
