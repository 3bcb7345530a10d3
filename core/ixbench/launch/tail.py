"""Following an engine's log while it grows: only what is new is read, a bounded piece at a time, numbered as the whole log is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.launch.log import BREAKS, LINE_BYTES, clean_lines

if TYPE_CHECKING:
    from pathlib import Path

PIECE_BYTES = 2**20
"""Read at most at once; an engine that writes more than this between two looks is read in several."""


@dataclass(slots=True, kw_only=True)
class LogTail:
    """Reads a log from where it was read before. A carriage return ends a line, as progress bars use it."""

    path: Path
    lines: int = 0
    """Lines that have ended so far; the next one has this number plus one."""
    _place: int = 0
    _begun: bytes = b""
    """What there is of a line that has not ended."""
    _after_return: bool = False
    """Whether the last byte was a carriage return: a line feed after it is no second line."""

    def read(self, most: int = PIECE_BYTES) -> list[tuple[int, str]]:
        """Return the lines that have ended since, with their numbers; empty where there is nothing new or no file."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._place)
                piece = file.read(most)
        except OSError:
            return []
        self._place += len(piece)
        return self._take(piece)

    def skip(self) -> None:
        """Go to the end: what stands there by now is not new any more, but counted."""
        place = -1
        while place != self._place:
            place = self._place
            self.read()

    @property
    def begun(self) -> str:
        """The line that has not ended, as a progress bar's is until it moves."""
        return _clean(self._begun)

    def _take(self, piece: bytes) -> list[tuple[int, str]]:
        if not piece:
            return []
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_return = piece.endswith(b"\r")
        *ended, rest = BREAKS.split(self._begun + piece)
        first = self.lines + 1
        self.lines += len(ended)
        # Of an endless line only so much is kept as is ever shown of one.
        self._begun = rest if len(rest) <= 2 * LINE_BYTES else rest[:LINE_BYTES] + rest[-LINE_BYTES:]
        return [(number, _clean(line)) for number, line in enumerate(ended, first)]


def _clean(line: bytes) -> str:
    # Most lines are plain, and then need no search for escapes.
    return next(clean_lines(line)) if b"\x1b" in line or len(line) > LINE_BYTES else line.decode("utf-8", errors="replace")
