"""Run folders of every format so far are still read. data/format-N was written by the first release with format N and never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbench.store.folder import RunReader
from ixbench.store.header import RUN_FORMAT

DATA = Path(__file__).parent / "data"


def test_there_is_a_folder_of_every_format():
    assert sorted(path.name for path in DATA.iterdir()) == [f"format-{number}" for number in range(1, RUN_FORMAT + 1)]


@pytest.mark.parametrize("number", range(1, RUN_FORMAT + 1))
def test_a_folder_of_an_old_format_is_read(number):
    run = RunReader(DATA / f"format-{number}")
    header = run.header()
    assert header.format == number
    assert header.title == "Model 7B on MI355X"
    assert header.report.rungs == (25.0, 50.0, 75.0, 200.0)
    assert [quote.usd_per_gpu_hour for quote in header.quotes] == [1.5, 2.9]
    assert header.sku is not None
    assert header.sku.all_in_kw == 2.09
    assert run.sealed() == header.planned == ("vllm-c1", "vllm-c8", "vllm-c16", "vllm-c64")
    assert run.remaining() == ()


def test_the_points_of_format_1_are_what_they_were():
    run = RunReader(DATA / "format-1")
    results = {name: run.result(name) for name in run.sealed()}
    assert {name: result.verdict.status for name, result in results.items()} == {
        "vllm-c1": "valid_with_warnings",
        "vllm-c8": "valid_with_warnings",
        "vllm-c16": "invalid",
        "vllm-c64": "invalid",
    }
    assert results["vllm-c8"].metrics["tpot_s"]["p50"] == pytest.approx(0.020)
    assert results["vllm-c64"].failure.code == "oom"
    assert results["vllm-c16"].accounting.failed == {"http_status": 5}
    records = run.records("vllm-c16")
    assert len(records) == results["vllm-c16"].accounting.requests == 96
    assert [record.error_text for record in records if not record.ok] == ["429 too many requests"] * 5
    assert [chunk.kind for chunk in records[1].chunks] == ["text"] * 3
    assert records[1].chunks.ns[1] - records[1].chunks.ns[0] == 40_000_000
    assert [sample.name for sample in run.samples("vllm-c16")] == ["cpu_share"]
    assert run.records("vllm-c64") == ()
