"""What the console script calls: so small that Ctrl-C while everything else is still being imported has someone to answer it."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from ixbench.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("ixbench: interrupted\n")
        return 130
