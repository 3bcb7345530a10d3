"""CPU seconds for measuring and judging a point: 10,000 records of 128 chunks. Prints figures and asserts none: machines differ.

python tests/perf/bench_measure.py [RECORDS] [CHUNKS]
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from ixbench.measure.point import accounting, axis_of, measure
from ixbench.measure.tools import TOOLS, read_as
from ixbench.measure.verdict import judge
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks import CHECKS
from ixbench_plugins.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable


def timed(what: str, work: Callable[[], object]) -> None:
    """Print the CPU seconds of the work."""
    start = time.process_time()
    work()
    print(f"{what:<44} {time.process_time() - start:8.3f} CPU-s")


def main(records: int = 10_000, chunks: int = 128) -> None:
    """Measure one point of this size."""
    rows = [sample_record(f"r{i}", send_s=i / 100, ttft_s=0.2 + i % 97 / 1000, chunks=chunks) for i in range(records)]
    measurement = sample_measurement(rows, gpus=8)
    print(f"{records} records x {chunks} chunks")
    timed("request table (all times of all records)", lambda: measurement.times)
    fresh = sample_measurement(rows, gpus=8)
    timed(f"measure ({len(METRICS)} metrics, table included)", lambda: measure(fresh, METRICS))
    metrics = measure(fresh, METRICS)
    timed(f"judge ({len(CHECKS)} checks)", lambda: judge(fresh, metrics, CHECKS, {}))
    timed("accounting and axis", lambda: (accounting(fresh), axis_of(metrics, "p90")))
    for tool in TOOLS:
        timed(f"as {tool}, {records // 10} records", lambda tool=tool: [read_as(tool, row) for row in rows[: records // 10]])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
