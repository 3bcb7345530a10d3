"""Ctrl-C while the command line is still being imported."""

from __future__ import annotations

import subprocess
import sys

SWALLOWED = """
import os, signal, sys

class Finder:
    # As in a callback of a weak reference, where Python prints an exception and goes on.
    def find_spec(self, name, path=None, target=None):
        if name == "ixbench.cli.main":
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000):
                    pass
            except KeyboardInterrupt:
                print("swallowed")

sys.meta_path.insert(0, Finder())
sys.argv = ["ixbench", "--version"]
from ixbench.cli.entry import main
sys.exit(main())
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_an_interruption_of_the_imports_is_never_lost():
    done = run(SWALLOWED)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ixbench: interrupted\n")


def test_a_caller_that_ignores_it_is_heeded():
    done = run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + SWALLOWED)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ixbench ")
