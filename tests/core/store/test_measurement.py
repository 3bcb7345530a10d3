"""What a sealed point keeps is enough to compute it again."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from ixbench.measure.definition import Measurement
from ixbench.model.errors import InputError
from ixbench.model.point import Load
from ixbench.model.result import Failure
from ixbench.model.secrets import Redactor
from ixbench.store.measurement import FACTS, facts, rebuild
from ixbench.store.point import PointWriter, read_point_records, read_result
from ixbench.testing.records import sample_measurement, sample_record
from ixbench.testing.runs import sample_point

ELSEWHERE = frozenset(
    {
        *("records", "load", "gpus", "agentic", "lag_p99_s", "client_cpu_s", "client_wait_s", "clock", "read_samples"),
        *("accuracy_gate", "accuracy"),
    }
)
"""Fields of a measurement that requests.jsonl, samples.jsonl, `identity`, `client` and `accuracy` hold."""


def test_every_field_of_a_measurement_is_kept_somewhere():
    kept = set(facts(sample_measurement(()))) | ELSEWHERE
    assert kept == {field.name for field in fields(Measurement)}


def test_a_measurement_comes_back_through_the_disk(tmp_path):
    result = sample_point("a-c8", speed_tok_s_user=50, rate_tok_s_gpu=1000, concurrency=8, agentic=True)
    measurement = sample_measurement(
        [sample_record("r0"), sample_record("r1", send_s=1.0)],
        gpus=result.identity.gpus,
        load=Load(concurrency=8),
        agentic=True,
        on_host=False,
        start_ns=5,
        end_ns=7_000_000_000,
        output_mean=32,
        engine_failure=Failure(code="oom", cause="no memory", fix="", evidence=("line",)),
        lag_p99_s=result.client.lag_s,
        client_cpu_s=result.client.cpu_s,
        client_wait_s=result.client.wait_s,
        clock=result.client.clock,
    )
    with PointWriter(tmp_path / "a-c8", Redactor()) as writer:
        for record in measurement.records:
            writer.record(record)
        writer.seal(result, measurement)
    assert rebuild(read_result(tmp_path / "a-c8"), read_point_records(tmp_path / "a-c8")) == measurement


def test_a_point_without_measurement_says_so():
    point = sample_point("a-c8", speed_tok_s_user=50, rate_tok_s_gpu=1000)
    for provenance in ({}, {FACTS: None}, {FACTS: {"on_host": "yes"}}):
        with pytest.raises(InputError, match="point a-c8: its provenance holds no measurement"):
            rebuild(replace(point, provenance=provenance), ())
