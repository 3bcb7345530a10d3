"""An engine's log as numbered, clean lines, whatever its bytes are and however long it is."""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ_BYTES = 16 * 2**20
"""Of a longer log only the first and the last half of this are searched: causes stand at either end."""
LINE_BYTES = 4096
"""Of a longer line only its first and its last half of this are kept."""
SHOWN_CHARACTERS = 500
"""Of a line that is shown."""
_BLOCK_BYTES = 2**20
# Colours and cursor movements, and titles or links, which end with BEL or ESC \.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
BREAKS = re.compile(rb"\r\n|\r|\n")
"""What ends a line; progress bars end theirs with a carriage return."""


@dataclass(slots=True)
class SkippedText:
    """What was left out of the lines of a log."""

    skipped_bytes: int = 0


def clean_lines(log: bytes, unread: SkippedText | None = None) -> Iterator[str]:
    """Yield a log's lines: bad bytes replaced, terminal colours removed, carriage returns taken as line breaks.

    :param unread: gets the bytes that are left out of very long lines.
    """
    unread = SkippedText() if unread is None else unread
    begin = 0
    for found in BREAKS.finditer(log):
        yield _clean(log, begin, found.start(), unread)
        begin = found.end()
    yield _clean(log, begin, len(log), unread)


def numbered_lines(file: BinaryIO, unread: SkippedText | None = None) -> Iterator[tuple[int, str]]:
    """Yield a log's lines as `clean_lines` does, with their numbers from 1; the middle of a very long log is left out, but counted.

    :param unread: gets the bytes that are left out.
    """
    unread = SkippedText() if unread is None else unread
    head = file.read(READ_BYTES // 2)
    if len(head) < READ_BYTES // 2:
        yield from enumerate(clean_lines(head, unread), 1)
        return
    # Parted at a line's end where there is one, so that no line of a log that is read whole falls apart.
    cut = max(head.rfind(b"\n"), head.rfind(b"\r")) + 1
    yield from enumerate(clean_lines(head[:cut], unread), 1)
    breaks = _Breaks()
    breaks.count(head[:cut])
    window = deque([head[cut:]])
    kept = len(window[0])
    endless = not cut
    while block := file.read(_BLOCK_BYTES):
        window.append(block)
        kept += len(block)
        while kept - len(window[0]) > READ_BYTES // 2:
            left = window.popleft()
            kept -= len(left)
            if endless:
                # One line from the log's beginning on, of which the beginning counts.
                yield from enumerate(clean_lines(left, unread), 1)
                endless = False
            else:
                unread.skipped_bytes += len(left)
            breaks.count(left)
    tail = b"".join(window)
    if breaks.open and tail.startswith(b"\n"):
        tail = tail[1:]
    yield from enumerate(clean_lines(tail, unread), breaks.total + 1)


def log_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a log file; none where there is no file, or it can't be read to its end."""
    with suppress(OSError), path.open("rb") as file:
        yield from numbered_lines(file)


def last_line(path: Path) -> str:
    """Return the last line of a log that is not empty, cheaply, for a progress display."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LINE_BYTES))
            lines = [line.strip() for line in clean_lines(file.read())]
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line), "")[:SHOWN_CHARACTERS]


class _Breaks:
    """Counts line breaks over blocks that may part a carriage return from its line feed."""

    def __init__(self) -> None:
        self.total = 0
        self.open = False
        """Whether the last byte was a carriage return."""

    def count(self, block: bytes) -> None:
        returns = block.count(b"\r")
        # Looking for two bytes takes three times as long as for one, and most logs have no carriage return.
        self.total += block.count(b"\n") + returns - (block.count(b"\r\n") if returns else 0)
        self.total -= self.open and block.startswith(b"\n")
        self.open = block.endswith(b"\r") or (self.open and not block)


def _clean(log: bytes, begin: int, end: int, unread: SkippedText) -> str:
    unread.skipped_bytes += max(0, end - begin - LINE_BYTES)
    half = LINE_BYTES // 2
    line = log[begin:end] if end - begin <= LINE_BYTES else log[begin : begin + half] + b" ... " + log[end - half : end]
    return _ESCAPES.sub("", line.decode("utf-8", errors="replace"))
