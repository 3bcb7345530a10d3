"""CPU seconds and memory for reducing one point of a run folder: reading its records, every metric, every verdict rule.

Prints figures and asserts none: machines differ.

python tests/perf/bench_measure.py [REQUESTS] [CHUNKS]    (100000 requests of 1000 chunks take 2 GB of disk for a minute)
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from array import array
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ixbench.measure.definition import in_order_of_send
from ixbench.measure.interval import intervals_of
from ixbench.measure.point import accounting, axis_of, measure
from ixbench.measure.tools import TOOLS, read_as
from ixbench.measure.verdict import judge
from ixbench.model.point import Load
from ixbench.model.record import CHUNK_KINDS, Chunks
from ixbench.model.secrets import Redactor
from ixbench.store.point import PointWriter, read_point_records
from ixbench.testing.records import sample_measurement, sample_record
from ixbench_plugins.checks import CHECKS
from ixbench_plugins.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
REDUCE = "--reduce"
IN_FLIGHT = 256


def write_folder(folder: Path, requests: int, chunks: int) -> None:
    """Write the records of a point: IN_FLIGHT requests at once, tokens every 20 ms with some noise, now and then a stall."""
    generator = np.random.default_rng(0)
    kinds = bytearray([CHUNK_KINDS.index("text")]) * chunks
    kinds[0] = CHUNK_KINDS.index("role")
    kinds[-1] = CHUNK_KINDS.index("usage")
    ones = array("i", [1]) * chunks
    with PointWriter(folder, Redactor()) as writer:
        for number in range(requests):
            gaps = generator.normal(20e6, 2e6, chunks).clip(0)
            if number % 100 == 0:
                gaps[chunks // 2] = 5e9
            send = int(number / IN_FLIGHT * 20e6 * chunks)
            stamps = array("q", (send + 200_000_000 + np.cumsum(gaps.astype(np.int64))).tobytes())
            record = sample_record(
                f"request-{number}",
                chunks=0,
                send_s=send / 1e9,
                usage_output=chunks - 2,
                output_asked=chunks - 2,
                close_ns=stamps[-1] + 1000,
            )
            object.__setattr__(record, "chunks", Chunks(stamps, kinds, ones, ones))
            writer.record(record)
        writer.flush()


def timed(what: str, work: Callable[[], T]) -> T:
    """Print the CPU and wall seconds of the work, and the most memory so far."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = work()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<44} {time.process_time() - cpu:8.2f} CPU-s {time.perf_counter() - wall:8.2f} s   peak {most:7.0f} MiB", flush=True)
    return found


def reduce_folder(folder: Path) -> None:
    """Do with a point's folder what a run does when the load has ended."""

    def everything() -> None:
        records = timed("read the records", lambda: in_order_of_send(read_point_records(folder)))
        load = Load(concurrency=IN_FLIGHT)
        measurement = sample_measurement(records, gpus=8, load=load, goodput={"ttft": 0.5, "tpot": 0.025})
        metrics = timed(f"measure ({len(METRICS)} metrics)", lambda: measure(measurement, METRICS))
        timed(f"judge ({len(CHECKS)} checks)", lambda: judge(measurement, metrics, CHECKS, {}))
        timed("intervals", lambda: intervals_of(measurement, "point"))
        timed("accounting and axis", lambda: (accounting(measurement), axis_of(metrics, "p90")))

    timed("all of it", everything)


def main(requests: int = 100_000, chunks: int = 1_000) -> None:
    """Reduce one point of this size in a process of its own, then read some requests as each tool does."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "point"
        write_folder(folder, requests, chunks)
        print(f"{requests} requests x {chunks} chunks, chunks.bin {(folder / 'chunks.bin').stat().st_size / 2**30:.2f} GiB", flush=True)
        subprocess.run([sys.executable, __file__, REDUCE, str(folder)], check=True)
    rows = [sample_record(f"r{number}", chunks=128) for number in range(1000)]
    for tool in TOOLS:
        timed(f"as {tool}, 1000 requests x 128 chunks", partial(list, map(partial(read_as, tool), rows)))


if __name__ == "__main__":
    if sys.argv[1:2] == [REDUCE]:
        reduce_folder(Path(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:]))
