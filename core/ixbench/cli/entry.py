"""What the console script calls: so small that Ctrl-C while everything else is still being imported has someone to answer it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from ixbench.model.exit_codes import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from types import FrameType

SAYS = "ixbench: interrupted\n"
COLLECT_EVERY = 100_000
"""New objects between two garbage collections; Python's 700 cost a fifth of the start, which makes objects that stay."""


def main() -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(COLLECT_EVERY)
    before = signal.getsignal(signal.SIGINT)
    try:
        # Not by an exception: one that is raised while modules are imported may come up where Python only prints and forgets it.
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
        from ixbench.cli.main import main as run

        signal.signal(signal.SIGINT, before)
        return run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write(SAYS)
        return EXIT_INTERRUPTED


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process, which has begun nothing yet."""
    del number, frame
    try:
        os.write(2, SAYS.encode())
    finally:
        os._exit(EXIT_INTERRUPTED)
