"""Whether an engine that is coming up still moves: a soft limit that every line of progress in its log renews."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ixbench.launch.log import SHOWN_CHARACTERS

if TYPE_CHECKING:
    from ixbench.launch.tail import LogTail


@dataclass(slots=True, kw_only=True)
class ProgressWatch:
    """Looks for lines of progress as the log grows, progress bars among them."""

    tail: LogTail
    patterns: tuple[str, ...]
    """Regular expressions; any of them makes a line progress."""
    limit_s: float | None
    """So long without such a line is a stall; None = there is no such limit."""
    _renewed: float = field(default_factory=time.monotonic)
    _last: str = ""
    _searched: tuple[re.Pattern[str], ...] = ()

    def __post_init__(self) -> None:
        """Compile the expressions once."""
        self._searched = tuple(re.compile(pattern) for pattern in self.patterns)

    def renew(self) -> None:
        """Take something else for progress than a line."""
        self._renewed = time.monotonic()

    def skip(self) -> None:
        """Leave out what the log holds by now."""
        self.tail.skip()

    def look(self) -> str:
        """Read what the log took on; return the newest line of progress in it, or nothing where none is new."""
        begun = self.tail.begun
        lines = [line for _, line in self.tail.read()]
        if self.tail.begun != begun:
            lines.append(self.tail.begun)
        newest = next((line for line in reversed(lines) if any(pattern.search(line) for pattern in self._searched)), "")
        if not newest:
            return ""
        self.renew()
        self._last = newest.strip()[:SHOWN_CHARACTERS]
        return self._last

    def stalled(self) -> str | None:
        """Return since when nothing moves, in words, where that is too long."""
        if self.limit_s is None or time.monotonic() - self._renewed < self.limit_s:
            return None
        last = f"last progress line: {self._last}" if self._last else "its log holds no line of progress"
        return f"no progress for {self.limit_s:g} s; {last}"
