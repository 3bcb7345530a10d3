"""A long point takes no more memory while it runs than a short one, and its numbers are those of the records as they were."""

from __future__ import annotations

import tracemalloc
from array import array
from dataclasses import replace

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.measure.definition import in_order_of_send
from ixbench.measure.point import accounting, measure
from ixbench.store.chunks import StoredChunks
from ixbench.store.point import PointWriter
from ixbench.testing.running import server_process

OUTPUT_TOKENS = 300
"""So many that the events of an answer outweigh all else that is kept of it."""
CHUNK_BYTES = 17


@pytest.fixture(scope="module")
def server():
    with server_process() as running:
        yield running


@pytest.fixture
def bench(server, tmp_path, monkeypatch):
    """Return a function that measures a point in this process, and calls back with each record that was kept."""

    def run(requests, kept):
        write = PointWriter.record

        def record(self, record):
            write(self, record)
            kept(record)

        monkeypatch.setattr(PointWriter, "record", record)
        words = ["--set", "input_tokens=40", "--set", f"output_tokens={OUTPUT_TOKENS}", "--results", str(tmp_path)]
        return main(["bench", server.url, "--concurrency", "8", "--requests", str(requests), *words])

    return run


def test_memory_does_not_grow_with_the_requests(bench):
    quarter = 60
    taken = array("q")
    tracemalloc.start()
    try:
        bench(4 * quarter, lambda _: taken.append(tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    assert len(taken) >= 4 * quarter
    # What waits to be written comes and goes, so the least of each stretch counts; what is kept by the second grows on a busy machine.
    grown = min(taken[-quarter:]) - min(taken[:quarter])
    events_alone = 3 * quarter * OUTPUT_TOKENS * CHUNK_BYTES
    assert grown < events_alone / 4


def test_no_number_changes_on_the_way_through_the_disk(bench, monkeypatch):
    kept, sealed = [], []
    seal = PointWriter.seal

    def look(self, result, measurement=None):
        sealed.append((result, measurement))
        return seal(self, result, measurement)

    monkeypatch.setattr(PointWriter, "seal", look)
    bench(60, kept.append)
    ((result, measurement),) = sealed
    assert all(isinstance(record.chunks, StoredChunks) for record in measurement.records)
    assert sum(len(record.chunks) for record in kept) > 60 * OUTPUT_TOKENS
    in_memory = replace(measurement, records=in_order_of_send(kept))
    assert measurement.records == in_memory.records
    assert measure(in_memory, load_host().metrics()) == result.metrics
    assert accounting(in_memory) == result.accounting
