"""What ends of the command line mean to whoever started it. 141 is a shell's word for a program whose reader has gone."""

from __future__ import annotations

EXIT_OK = 0
EXIT_FAILED = 1
"""Something failed: a point, a comparison that is held to a limit, a stdout that takes nothing, or ixbench itself."""
EXIT_WRONG_INPUT = 2
"""The file or the command line is wrong; nothing ran."""
EXIT_NOTHING = 3
"""There is nothing to tell: no point finished, or none could be read."""
EXIT_INTERRUPTED = 130
EXIT_READER_GONE = 141
