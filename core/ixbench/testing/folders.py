"""Run folders that no engine made, written through the real store: for testing whatever reads them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ixbench.host.notes import metric_notes
from ixbench.measure.interval import intervals_of
from ixbench.measure.point import accounting, axis_of, measure
from ixbench.measure.verdict import judge
from ixbench.model.run import ReportSettings
from ixbench.model.sample import Sample
from ixbench.model.secrets import Redactor
from ixbench.store.folder import RunFolder, iso_utc
from ixbench.store.header import ClientFacts, RunHeader
from ixbench.testing.records import sample_measurement, sample_record
from ixbench.testing.runs import SAMPLE_QUOTES, SAMPLE_SKU, sample_failure, sample_point

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ixbench.host.host import Host
    from ixbench.model.accuracy import AccuracyResult
    from ixbench.model.record import RequestRecord
    from ixbench.model.result import Evidence, PointResult

SAMPLE_NOW = datetime(2026, 11, 30, 6, 45, 1, tzinfo=UTC)
SAMPLE_LOADS = {1: 0.010, 8: 0.020, 16: 0.040}
"""Concurrency -> seconds between output chunks."""
SAMPLE_GPUS = {16: 7}
"""Concurrency -> GPUs whose power was read, where it is not all of them, which makes the energy of that point invalid."""


def write_sample_run(
    results: Path,
    host: Host,
    *,
    requests: int = 40,
    chunks: int = 8,
    evidence: Evidence = "measured",
    accuracy: AccuracyResult | None = None,
    **header: Any,  # noqa: ANN401 - fields of RunHeader
) -> Path:
    """Write a run with three measured points and one whose engine failed, `vllm-c1` to `vllm-c64`, and return its folder.

    :param host: gives the metrics and checks.
    :param requests: least number of each measured point; at 16 users every 20th fails, which makes that point invalid.
    :param evidence: "simulated" marks every point as one that no engine made.
    :param accuracy: what came of the accuracy gate of its launch; None = not gated.
    :param header: fields of run.json that differ.
    """
    planned = (*(f"vllm-c{concurrency}" for concurrency in SAMPLE_LOADS), "vllm-c64")
    values: dict[str, Any] = {
        "title": "Model 7B on MI355X",
        "started": iso_utc(SAMPLE_NOW),
        "planned": planned,
        "campaign_hash": "5d41402abc4b2a76",
        "campaign": {"schema": 1, "title": "Model 7B on MI355X", "workload": {"use": "fixed"}},
        "report": ReportSettings(rungs=(25.0, 50.0, 75.0, 200.0)),
        "quotes": SAMPLE_QUOTES,
        "sku": SAMPLE_SKU,
        "machine": {"system": "Linux", "cpus": 2},
        "versions": {"ixbench": "0.1.0", "python": "3.11.7"},
        "plugins": ({"name": "builtin", "distribution": "ixbench", "version": "0.1.0"},),
        "metrics": metric_notes(host),
        "client": ClientFacts(floor_s=0.0007),
    }
    folder = RunFolder.create(results, slug="model-7b", now=SAMPLE_NOW, header=RunHeader(**values | header), redactor=Redactor())
    with folder:
        for concurrency, gap_s in SAMPLE_LOADS.items():
            count = max(requests, 12 * min(concurrency, 8))  # a point must last ten times its p90 latency
            records = tuple(_record(number, concurrency, gap_s, chunks) for number in range(count))
            sealed = sample_point(
                f"vllm-c{concurrency}",
                speed_tok_s_user=1.0,
                rate_tok_s_gpu=1.0,
                concurrency=concurrency,
                evidence=evidence,
                accuracy=accuracy.identity if accuracy is not None else None,
            )
            _write_measured(folder, host, replace(sealed, accuracy=accuracy), concurrency, records)
        dead: dict[str, Any] = {"concurrency": 64, "failure": sample_failure(), "evidence": evidence}
        with folder.start_point("vllm-c64") as writer:
            writer.seal(sample_point("vllm-c64", speed_tok_s_user=None, rate_tok_s_gpu=None, **dead))
    return folder.path


def _record(number: int, concurrency: int, gap_s: float, chunks: int) -> RequestRecord:
    turn, lane = divmod(number, concurrency)
    record = sample_record(
        f"r{number}", send_s=turn * (0.1 + gap_s * chunks), ttft_s=0.1 + 0.0001 * number, gap_s=gap_s, chunks=chunks, lane=lane
    )
    if number % 20 or concurrency < 16:  # noqa: PLR2004 - as the docstring of `write_sample_run` says
        return record
    return replace(record, failure="http_status", error_class="rate_limited", error_text="429 too many requests", http_status=429)


def _write_measured(folder: RunFolder, host: Host, sealed: PointResult, concurrency: int, records: tuple[RequestRecord, ...]) -> None:
    point_id = sealed.id
    measurement = replace(
        sample_measurement(records, gpus=sealed.identity.gpus),
        load=replace(sample_measurement(()).load, concurrency=concurrency),
        start_ns=0,
        end_ns=max(record.close_ns for record in records),
        lag_p99_s=sealed.client.lag_s if sealed.client else None,
        client_cpu_s=sealed.client.cpu_s if sealed.client else None,
        client_wait_s=sealed.client.wait_s if sealed.client else None,
        clock=sealed.client.clock if sealed.client else None,
        all_in_kw=SAMPLE_SKU.all_in_kw,
        accuracy_gate=sealed.identity.accuracy,
        accuracy=sealed.accuracy,
    )
    with folder.start_point(point_id) as writer:
        for record in records:
            writer.record(record)
        writer.sample(Sample(ns=1_000_000, source="host", name="cpu_share", value=0.25, labels={"cpu": "0"}))
        for sample in _power(measurement.end_ns or 0, SAMPLE_GPUS.get(concurrency, sealed.identity.gpus or 0)):
            writer.sample(sample)
        measurement = replace(measurement, read_samples=writer.samples)
        metrics = measure(measurement, host.metrics())
        writer.seal(
            replace(
                sealed,
                metrics=metrics,
                verdict=judge(measurement, metrics, host.checks(), {}),
                accounting=accounting(measurement),
                axis=axis_of(metrics, "median"),
                energy=measurement.energy,
                intervals=intervals_of(measurement, point_id),
            ),
            measurement,
        )


def _power(end_ns: int, gpus: int) -> Iterator[Sample]:
    """Yield the power of so many GPUs, from a second before the measured phase until a second after it."""
    for second in range(-1, end_ns // 10**9 + 3):
        for gpu in range(gpus):
            yield Sample(ns=second * 10**9, source="amd", name="power_w", value=900.0 + gpu, labels={"gpu": str(gpu)})
