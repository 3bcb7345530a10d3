"""Wrote data/format-1, once, with the first release; kept to tell how. A change of the format gets a folder of its own beside it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run

if __name__ == "__main__":
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        made = write_sample_run(Path(scratch), load_host(), requests=31, chunks=3)
        (made / "run.lock").unlink()
        shutil.copytree(made, target)
