"""Whatever the types allow comes back from disk as it went in."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pickle
import shutil

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.model.errors import InputError, IxbenchError
from ixbench.model.record import CHUNK_KINDS, FAILURE_KINDS, Chunks, RequestRecord
from ixbench.model.result import Accounting, Axis, ClientReport, Failure, PointIdentity, PointResult, Reason, Verdict
from ixbench.model.sample import Sample
from ixbench.model.secrets import Redactor
from ixbench.store import chunks
from ixbench.store.chunks import StoredChunks
from ixbench.store.point import RESULT_KEYS, PointWriter, read_point_records, read_point_samples, read_result
from ixbench.testing.runs import sample_point

# Secrets also show by their form (URLs with userinfo, bearer tokens): these texts have no such form.
plain = st.text(alphabet=st.characters(exclude_characters="@:?&;=", exclude_categories=("Cs",)), max_size=30).filter(
    lambda text: "bearer" not in text.lower() and "basic" not in text.lower()
)
ns = st.integers(0, 2**62)
maybe_ns = st.none() | ns
count = st.none() | st.integers(0, 2**31 - 1)
number = st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
event = st.tuples(
    st.integers(-(2**63), 2**63 - 1), st.sampled_from(CHUNK_KINDS), st.none() | st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)
)
records = st.builds(
    RequestRecord,
    req_id=plain,
    phase=st.sampled_from(["warmup", "profile", "drain"]),
    session_id=plain,
    tree_id=plain,
    lane=count,
    trace_id=st.none() | plain,
    due_ns=maybe_ns,
    send_ns=ns,
    conn_ns=maybe_ns,
    sent_ns=maybe_ns,
    headers_ns=maybe_ns,
    conn_reused=st.booleans(),
    chunks=st.lists(event, max_size=12).map(Chunks.of),
    close_ns=ns,
    input_asked=count,
    output_asked=count,
    usage_input=count,
    usage_cached=count,
    usage_output=count,
    http_status=count,
    finish_reason=st.none() | plain,
    done_seen=st.none() | st.booleans(),
    failure=st.none() | st.sampled_from(FAILURE_KINDS),
    error_class=st.none() | st.sampled_from(["connect", "reset", "timeout", "rate_limited"]),
    error_text=st.none() | plain,
    cancelled=st.booleans(),
    resent=st.booleans(),
    bundled=st.integers(0, 2**31),
    ttft_upper_bound=st.booleans(),
    lag_ns=ns,
)
samples = st.builds(
    Sample,
    ns=ns,
    source=plain,
    name=plain,
    value=st.floats(allow_nan=False, allow_infinity=False),
    labels=st.dictionaries(plain, plain, max_size=3),
)
identities = st.builds(
    PointIdentity,
    model=plain,
    precision=st.none() | plain,
    hardware=st.none() | plain,
    gpus=count,
    engine=plain,
    engine_version=st.none() | plain,
    image=st.none() | plain,
    deployment=plain,
    workload=plain,
    concurrency=count,
    rate=st.none() | st.floats(0.01, 100),
    settings=st.dictionaries(plain, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | plain, max_size=3),
)
amount = st.none() | st.floats(-1e9, 1e9)
results = st.builds(
    PointResult,
    id=st.just("vllm-c8"),
    evidence=st.sampled_from(["measured", "simulated"]),
    origin=st.sampled_from(["run", "imported"]),
    identity=identities,
    verdict=st.builds(
        Verdict,
        status=st.sampled_from(["valid", "valid_with_warnings", "invalid"]),
        reasons=st.lists(st.builds(Reason, code=plain, value=amount, limit=amount, text=plain), max_size=2).map(tuple),
    ),
    failure=st.none() | st.builds(Failure, code=plain, cause=plain, fix=plain, evidence=st.lists(plain, max_size=2).map(tuple)),
    metrics=st.dictionaries(plain, number | st.dictionaries(plain, number, max_size=3), max_size=5),
    accounting=st.builds(
        Accounting, requests=st.integers(0, 10**6), failed=st.dictionaries(st.sampled_from(FAILURE_KINDS), st.integers(0, 99))
    ),
    axis=st.builds(Axis, name=plain, percentile=plain, tok_s_user=st.none() | st.floats(0.001, 1e6)),
    client=st.none()
    | st.builds(
        ClientReport,
        floor_s=st.none() | st.floats(0, 1),
        lag_s=st.none() | st.floats(0, 1),
        cpu_s=st.none() | st.floats(0, 1e4),
        clock=st.sampled_from(["kernel", "read", "virtual"]),
    ),
    provenance=st.dictionaries(st.sampled_from(["launch", "date", "deviations"]), st.lists(plain, max_size=3), max_size=3),
)
many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@many
@given(kept=st.lists(records, max_size=6), read=st.lists(samples, max_size=4), result=results)
def test_a_point_comes_back_as_it_went_in(tmp_path_factory, kept, read, result):
    folder = tmp_path_factory.mktemp("points") / "vllm-c8"
    with PointWriter(folder, Redactor()) as writer:
        for record in kept:
            writer.record(record)
        for sample in read:
            writer.sample(sample)
        writer.seal(result)
    assert read_point_records(folder) == tuple(kept)
    assert read_point_samples(folder) == tuple(read)
    assert read_result(folder) == result


def test_events_stay_in_their_file_until_they_are_asked_for(tmp_path):
    """They come out as they went in, wherever their span begins, and leave the file when their record goes to another process."""
    sent = [Chunks.of([(at * 10 + n, "text", n, 5) for n in range(at)]) for at in (3, 0, 5)]
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        for at, chunks in enumerate(sent):
            writer.record(RequestRecord(req_id=f"r{at}", phase="profile", session_id="s", tree_id="t", lane=0, chunks=chunks))
        found = writer.records()
    shutil.rmtree(tmp_path / "a-c1")
    for record, chunks in zip(found, sent, strict=True):
        assert type(record.chunks) is StoredChunks
        assert record.chunks == chunks
        assert chunks == record.chunks
        assert list(record.chunks) == list(chunks)
        copied = pickle.loads(pickle.dumps(record))
        assert type(copied.chunks) is Chunks
        assert copied == record
    assert found[0].chunks != sent[2]


def test_what_cannot_be_read_back_is_no_result(tmp_path):
    one = Chunks.of([(1, "text", 1, 1)])
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.record(RequestRecord(req_id="r", phase="profile", session_id="s", tree_id="t", lane=0, chunks=one))
        writer.flush()
        os.truncate(tmp_path / "a-c1" / "chunks.bin", 5)
        with pytest.raises(IxbenchError, match=r"cannot be read back: .*requests\.jsonl:1: events 0 to 17"):
            writer.records()


def test_every_field_of_a_record_is_on_its_line(tmp_path):
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.record(RequestRecord(req_id="r0", phase="profile", session_id="s", tree_id="t", lane=0))
    line = json.loads((tmp_path / "a-c1" / "requests.jsonl").read_text())
    assert list(line) == [field.name for field in dataclasses.fields(RequestRecord)]
    assert line["chunks"] == {"offset": 0, "count": 0}


def test_a_line_without_a_younger_field_reads_as_its_default(tmp_path):
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.record(RequestRecord(req_id="r0", phase="profile", session_id="s", tree_id="t", lane=0, lag_ns=5))
    path = tmp_path / "a-c1" / "requests.jsonl"
    line = json.loads(path.read_text())
    del line["lag_ns"]
    line["of_a_later_version"] = 1
    path.write_text(json.dumps(line) + "\n")
    assert read_point_records(tmp_path / "a-c1")[0].lag_ns == 0


def test_missing_and_impossible_numbers_are_null_and_numpy_numbers_are_numbers(tmp_path):
    result = dataclasses.replace(
        sample_point("a-c1", speed_tok_s_user=50, rate_tok_s_gpu=100),
        metrics={
            "nan": math.nan,
            "infinite": math.inf,
            "none": None,
            "parts": {"p50": np.float64(0.25), "p90": np.float64("nan"), "n": np.int64(3)},
            "zero": 0,
        },
    )
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.seal(result)
    text = (tmp_path / "a-c1" / "point.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["metrics"] == {
        "nan": None,
        "infinite": None,
        "none": None,
        "parts": {"p50": 0.25, "p90": None, "n": 3},
        "zero": 0,
    }
    assert tuple(json.loads(text)) == RESULT_KEYS


def test_point_json_has_the_keys_of_its_format(tmp_path):
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.seal(sample_point("a-c1", speed_tok_s_user=None, rate_tok_s_gpu=None))
    content = json.loads((tmp_path / "a-c1" / "point.json").read_text())
    assert list(content) == [
        "format", "id", "evidence", "origin", "identity", "verdict", "failure", "metrics", "accounting", "axis", "client", "energy",
        "intervals", "accuracy", "provenance",
    ]  # fmt: skip
    assert content["failure"] is None
    assert list(content["axis"]) == ["name", "percentile", "tok_s_user"]
    assert list(content["client"]) == ["floor_s", "lag_s", "cpu_s", "wait_s", "clock"]
    assert {"requests", "ok", "failed", "cancelled", "warmup", "resent"} <= set(content["accounting"])


@pytest.mark.parametrize(
    ("argv", "said", "read"),
    [
        (None, {}, ("unknown", "unknown", None, None)),
        (None, {"spec_method": "mtp", "kv_offload": "lmcache"}, ("mtp", "lmcache", None, None)),
        (["vllm", "serve"], {}, (None, "off", False, False)),
    ],
)
def test_early_points_guess_nothing_of_a_server_that_was_running(tmp_path, argv, said, read):
    sealed = sample_point("vllm-c8", speed_tok_s_user=1.0, rate_tok_s_gpu=1.0, provenance={"argv": argv}, **said)
    with PointWriter(tmp_path / "vllm-c8", Redactor()) as writer:
        writer.seal(sealed)
    found = read_result(tmp_path / "vllm-c8").identity
    assert (found.spec_method, found.kv_offload, found.disaggregated, found.multinode) == read


def test_half_characters_that_a_server_sent_are_kept_as_replacement_characters(tmp_path):
    """JSON can escape them alone, and UTF-8 has no form for them."""
    result = dataclasses.replace(
        sample_point("a-c1", speed_tok_s_user=50, rate_tok_s_gpu=100), provenance={"engine": {"engine_version": "1\ud800", "\udc00": "x"}}
    )
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        for name in ("error_text", "finish_reason"):
            text = {name: "a\ud83d \ud83d\ude00"}
            writer.record(RequestRecord(req_id=name, phase="profile", session_id="s", tree_id="t", lane=0, **text))
        writer.sample(Sample(ns=1, source="amd", name="\udfff", value=1.0))
        writer.seal(result)
    first, second = read_point_records(tmp_path / "a-c1")
    assert first.error_text == second.finish_reason == "a\ufffd \U0001f600"
    assert [sample.name for sample in read_point_samples(tmp_path / "a-c1")] == ["\ufffd"]
    assert read_result(tmp_path / "a-c1").provenance["engine"] == {"engine_version": "1\ufffd", "\ufffd": "x"}


def test_records_are_small_on_disk(tmp_path):
    events = Chunks.of((1_000 * index, "text", 1, 220) for index in range(128))
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.record(RequestRecord(req_id="r0", phase="profile", session_id="s", tree_id="t", lane=0, chunks=events))
    assert (tmp_path / "a-c1" / "chunks.bin").stat().st_size == 128 * 17
    assert msgspec.json.decode((tmp_path / "a-c1" / "requests.jsonl").read_bytes())["chunks"]["count"] == 128


@pytest.fixture
def spans(tmp_path):
    """Return twenty responses of 50 events, and the file that holds them."""
    events = [Chunks.of((ns, "text", ns % 7, 3) for ns in range(start, start + 50)) for start in range(0, 1000, 50)]
    path = tmp_path / "chunks.bin"
    path.write_bytes(b"".join(map(chunks.pack, events)))
    return events, path


def test_spans_are_read_from_their_file(spans):
    events, path = spans
    content = chunks.EventsFile(path)
    read = [chunks.unpack(content, 17 * 50 * number, 50) for number in range(20)]
    assert read == events
    assert [bytes(one.packed("ns")) for one in read] == [one.ns.tobytes() for one in events]
    assert [bytes(one.packed("kind")) for one in events] == [bytes(one.packed("kind")) for one in read]


@pytest.mark.parametrize("column", ["ns", "tokens", "size", "kind"])
def test_a_file_that_is_cut_while_it_is_read_costs_a_sentence(spans, column):
    """A mapped file would end the process by a signal."""
    _, path = spans
    content = chunks.EventsFile(path)
    one = chunks.unpack(content, 0, 50)
    os.truncate(path, 0)
    with pytest.raises(InputError, match=r"chunks\.bin: was changed while it was read: it ends before byte \d+ of 17000; wait until"):
        getattr(one, column)


def test_a_file_whose_kinds_change_while_it_is_read_costs_a_sentence(spans):
    _, path = spans
    one = chunks.unpack(chunks.EventsFile(path), 0, 50)
    path.write_bytes(b"\xff" * path.stat().st_size)
    for read in (lambda: one.kind, lambda: one.packed("kind")):
        with pytest.raises(InputError, match=r"was changed while it was read: unknown kind 255"):
            read()
