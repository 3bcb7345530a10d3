"""Speed and memory of reading traces: MB of file for each second of CPU, and the peak of memory against the file's size.

python tests/perf/bench_traces.py [PATH]      without a path: 100 generated traces, in a folder that is removed again

Each figure is taken in a process of its own, as the peak of a process never falls. Prints figures and asserts none: machines differ.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

SESSIONS = 100
BYTES_PER_MB = 1e6
BYTES_PER_MAXRSS = 1024
KEPT, ONE_BY_ONE, TREES = "all traces kept", "one after another", "one after another, with trees and figures"


def size_bytes(path: Path) -> int:
    """Return the size of a file, or of the files in a folder."""
    return sum(file.stat().st_size for file in path.glob("*.json")) if path.is_dir() else path.stat().st_size


def peak_bytes() -> int:
    """Return the largest memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES_PER_MAXRSS


def read(path: str, how: str) -> int:
    """Read traces in one way, and return how many there are."""
    from ixbench_plugins.agentx.sources import iter_traces, read_corpus
    from ixbench_plugins.agentx.stats import tree_figures
    from ixbench_plugins.agentx.tree import make_tree

    if how == KEPT:
        return len(read_corpus(path).traces)
    return sum(tree_figures(make_tree(trace)).requests > 0 if how == TREES else 1 for trace in iter_traces(path))


def measure(path: str, how: str) -> None:
    """Print the figures of one way, measured in this process."""
    for module in ("numpy", "ixbench_plugins.agentx.hub", "ixbench_plugins.agentx.tree"):
        # Loaded before, so that only reading is measured.
        import_module(module)

    before, start = peak_bytes(), time.process_time()
    traces = read(path, how)
    spent, size = time.process_time() - start, size_bytes(Path(path))
    share = (peak_bytes() - before) / size
    speed = size / BYTES_PER_MB / spent
    print(f"{how:<42} {traces} traces, {size / BYTES_PER_MB:.1f} MB, {speed:.0f} MB/s of CPU, peak {share:.2f} x file")


def main(path: str | None = None) -> None:
    """Measure a path, and the largest file in it."""
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            words = ("trace", "generate", "--sessions", str(SESSIONS), "--seed", "1", "--out", folder)
            script = "import sys; from ixbench.cli.main import main; sys.exit(main(sys.argv[1:]))"
            subprocess.run([sys.executable, "-c", script, *words], check=True, capture_output=True, timeout=600)
            main(folder)
        return
    paths = [path]
    if Path(path).is_dir():
        paths.append(str(max(Path(path).glob("*.json"), key=size_bytes)))
    for one in paths:
        print(Path(one).name)
        for how in (KEPT, ONE_BY_ONE, TREES):
            subprocess.run([sys.executable, __file__, one, how], check=True, timeout=3600)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        # A path and a way: this is the process that measures.
        measure(*sys.argv[1:])
    else:
        main(*sys.argv[1:])
