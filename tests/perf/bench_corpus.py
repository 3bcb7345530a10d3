"""CPU seconds for generating, reducing and writing corpora. Prints figures and asserts none: machines differ.

python tests/perf/bench_corpus.py [SESSIONS]
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

from ixbench_plugins.agentx.corpus.encode import encode
from ixbench_plugins.agentx.corpus.generate import generate
from ixbench_plugins.agentx.corpus.profiles import PROFILES
from ixbench_plugins.agentx.corpus.recorded import recorded_trace
from ixbench_plugins.agentx.corpus.statistics import statistics
from ixbench_plugins.agentx.tree import make_tree

if TYPE_CHECKING:
    from collections.abc import Callable

Value = TypeVar("Value")
WRITTEN = 40
"""Traces that are written out; a whole corpus is 1.3 GB."""


def timed(what: str, work: Callable[[], Value]) -> Value:
    """Print the CPU seconds of the work."""
    start = time.process_time()
    value = work()
    print(f"{what:<52} {time.process_time() - start:8.3f} CPU-s")
    return value


def main(sessions: int = 393) -> None:
    """Generate a corpus of each profile."""
    for name, profile in PROFILES.items():
        corpus = timed(f"{name}: generate {sessions} traces", lambda profile=profile: list(generate(profile, sessions, 1)))
        print(f"  {sum(trace.requests for trace in corpus):,} requests")
        timed("  statistics", lambda corpus=corpus: statistics(corpus))
        trees = timed("  trees, without ids", lambda corpus=corpus: [make_tree(recorded_trace(trace, ids=False)) for trace in corpus])
        print(f"  {sum(len(tree.streams) for tree in trees):,} streams")
        few = corpus[:WRITTEN]
        timed(f"  {len(few)} traces with ids", lambda few=few: [recorded_trace(trace, ids=True) for trace in few])
        size = timed(f"  {len(few)} traces as text", lambda few=few: sum(len(part) for trace in few for part in encode(trace)))
        print(f"  {size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
