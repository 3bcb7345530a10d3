"""A run of AIPerf, from its records, its summary or both, is one point; from records by our own metrics."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.cli.main import main
from ixbench.host.contracts.importer import ImportContext
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.model.imported import import_source
from ixbench.report.foreign import import_report, read_foreign
from ixbench.store.folder import RunReader
from ixbench_plugins.importers.aiperf import AiperfImporter

from .conftest import SKUS

START = 1_790_000_000_000_000_000
"""2026-09-21, in nanoseconds since 1970."""
MS = 1_000_000


def ms(value):
    return {"value": value, "unit": "ms"}


def tokens(value):
    return {"value": value, "unit": "tokens"}


def record(number, **changes):
    """Return a request with four chunks: the first after 200 ms, the others 80 ms apart, 32 tokens in all, sent 200 ms after the last."""
    send = START + number * 200 * MS
    metadata = {
        "session_num": number,
        "x_request_id": f"id-{number}",
        "x_correlation_id": f"session-{number}",
        "turn_index": 0,
        "credit_issued_ns": send - 2 * MS,
        "request_start_ns": send,
        "request_ack_ns": send + 5 * MS,
        "request_end_ns": send + 441 * MS,
        "benchmark_phase": "profiling",
        "was_cancelled": False,
    }
    metrics = {
        "time_to_first_token": ms(200.0),
        "request_latency": ms(440.0),
        "inter_token_latency": ms(240 / 31),
        "inter_chunk_latency": ms([80.0, 80.0, 80.0]),
        "input_sequence_length": tokens(128),
        "output_sequence_length": tokens(30),
        "usage_prompt_tokens": tokens(148),
        "usage_completion_tokens": tokens(32),
        "usage_prompt_cache_read_tokens": tokens(100),
        "http_req_connection_reused": {"value": 1, "unit": "boolean"},
    }
    document = {"metadata": metadata | changes.pop("metadata", {}), "metrics": metrics | changes.pop("metrics", {})} | changes
    document["metrics"] = {name: value for name, value in document["metrics"].items() if value is not None}
    return document


def lines(*documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


def statistics(unit, value, **more):
    parts = dict.fromkeys(("avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max"), value)
    return {"unit": unit, **parts, "std": 0.0, "count": 40, "sum": value * 40} | more


def summary(**changes):
    found = {
        "schema_version": "1.4",
        "aiperf_version": "0.13.0",
        "benchmark_id": "b-1",
        "request_count": {"unit": "requests", "avg": 40.0},
        "error_request_count": {"unit": "requests", "avg": 0.0},
        "benchmark_duration": {"unit": "sec", "avg": 8.24},
        "time_to_first_token": statistics("ms", 200.0),
        "request_latency": statistics("ms", 440.0),
        "inter_token_latency": statistics("ms", 8.0, p90=10.0, min=5.0, max=20.0),
        "input_sequence_length": statistics("tokens", 148),
        "output_sequence_length": statistics("tokens", 32),
        "total_isl": {"unit": "tokens", "avg": 5920},
        "total_osl": {"unit": "tokens", "avg": 1280},
        "theoretical_prefix_cache_hit": {"unit": "ratio", "avg": 0.75, "count": 100, "sum": 75},
        "input_config": {
            "models": {"strategy": "round_robin", "items": [{"name": "moonshotai/Kimi-K3"}]},
            "endpoint": {"urls": ["http://localhost:8000"], "api_key": "sk-secret-1234", "use_server_token_count": False},
            "phases": [
                {"name": "warmup", "kind": "warmup", "type": "concurrency", "concurrency": 1},
                {"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": 4},
            ],
        },
        "run_info": {"cli_command": "aiperf profile -m moonshotai/Kimi-K3", "random_seed": 42, "trial": 0},
        "was_cancelled": False,
        "is_complete": True,
        "start_time": "2026-09-21T13:33:20.000000",
        "end_time": "2026-09-21T13:33:29.000000",
    } | changes
    return {key: value for key, value in found.items() if value is not ...}


HOST = load_host()


@pytest.fixture
def load(foreign, tmp_path):
    """Return a function that writes files, reads the first one and returns what came of it."""

    def load_files(files, **said):
        for name, content in files.items():
            foreign(content, name)
        return read_foreign(tmp_path / next(iter(files)), HOST, ImportContext(skus=SKUS, **said))

    return load_files


RECORDS, SUMMARY = "profile_export.jsonl", "profile_export_aiperf.json"
FORTY = lines(*(record(number) for number in range(40)))


@pytest.mark.parametrize("order", [(RECORDS, SUMMARY), (SUMMARY, RECORDS)])
def test_records_and_summary_of_a_run_are_one_point(load, order):
    files = {RECORDS: FORTY, SUMMARY: summary()}
    result = load({name: files[name] for name in order}, gpus=8, hardware="mi355x", engine="vLLM")
    (point,) = result.found.points
    assert result.found.read_too == (order[1],)
    assert result.found.warnings == (f"{order[1]} was read with it",)
    identity, metrics = point.identity, point.metrics
    assert (point.id, identity.model, identity.engine, identity.concurrency, identity.gpus) == ("vllm-c4", "Kimi K3", "vllm", 4, 8)
    assert metrics["ttft_s"]["p50"] == pytest.approx(0.2)
    assert metrics["e2el_s"]["p90"] == pytest.approx(0.44)
    assert metrics["tpot_s"]["p50"] == pytest.approx(0.24 / 31)
    assert metrics["icl_s"]["p50"] == pytest.approx(0.08)
    assert metrics["dispatch_delay_s"]["max"] == pytest.approx(0.002)
    assert metrics["span_s"] == pytest.approx(39 * 0.2 + 0.44)
    assert metrics["throughput_tok_s"]["total"] == pytest.approx(40 * 180 / 8.24)
    assert metrics["throughput_tok_s_gpu"]["computed"] == pytest.approx(40 * 80 / 8.24 / 8)
    assert metrics["cache_hit_share"]["measured"] == pytest.approx(100 / 148)
    assert metrics["cache_hit_share"]["theoretical"] == 0.75
    assert (point.accounting.requests, point.accounting.ok) == (40, 40)
    source = import_source(point)
    assert (source.token_source, source.date, source.run_id, source.schema) == ("usage", "2026-09-21", "b-1", "aiperf_record")
    assert source.object["input_config"]["models"]["items"][0]["name"] == "moonshotai/Kimi-K3"


def test_records_alone_need_to_be_told_the_model(load):
    result = load({RECORDS: FORTY})
    assert [row.code for row in result.found.refused] == ["unknown_model"]
    (point,) = load({RECORDS: FORTY}, model="Kimi K3", concurrency=4).found.points
    identity = point.identity
    assert (point.id, identity.workload) == ("endpoint-c4", "aiperf")
    told = (identity.spec_method, identity.kv_offload, identity.expert_parallel, identity.disaggregated, identity.multinode)
    assert told == ("unknown", "unknown", None, None, None), "it sees the server from outside"
    (point,) = load({RECORDS: FORTY}, model="Kimi K3", engine="sglang-disagg").found.points
    assert (point.identity.engine, point.identity.disaggregated) == ("mori-sglang", True)


def test_without_usage_lengths_count_and_say_so(load):
    documents = [record(number, metrics={"usage_prompt_tokens": None, "usage_completion_tokens": None}) for number in range(40)]
    result = load({RECORDS: lines(*documents), SUMMARY: summary()})
    (point,) = result.found.points
    assert point.metrics["input_tokens"]["sum"] == 40 * 128
    assert import_source(point).token_source == "local"
    config = summary()["input_config"] | {"endpoint": {"use_server_token_count": True}}
    (point,) = load({RECORDS: lines(*documents), SUMMARY: summary(input_config=config)}).found.points
    assert import_source(point).token_source == "usage"


def test_counts_of_two_kinds_are_not_mixed(load):
    documents = [record(0), record(1, metrics={"usage_prompt_tokens": None})]
    assert [row.code for row in load({RECORDS: lines(*documents), SUMMARY: summary()}).found.refused] == ["mixed_counts"]


def test_warmup_errors_and_cancelled_requests_are_told_apart(load):
    documents = [record(number) for number in range(30)]
    documents += [record(number, metadata={"benchmark_phase": "warmup"}) for number in range(30, 33)]
    failed = dict.fromkeys(record(0)["metrics"]) | {"error_isl": tokens(128)}
    for number, error in enumerate(
        [
            {"type": "HTTPError", "code": 429, "message": "too many requests"},
            {"type": "HTTPError", "code": 400, "message": "maximum context length is 4096 tokens"},
            {"type": "TimeoutError", "message": "TimeoutError()"},
            {"type": "ClientConnectorError", "message": "refused"},
            {"type": "SSEError", "message": "engine exploded"},
        ],
        start=40,
    ):
        documents.append(record(number, metrics=failed, error=error))
    documents += [record(50, metadata={"was_cancelled": True}), record(51, metadata={"context_overflow_skip": True})]
    documents.append(record(52, metrics={"usage_prompt_tokens": None, "input_sequence_length": None}))
    (point,) = load({RECORDS: lines(*documents), SUMMARY: summary()}).found.points
    counts = point.accounting
    assert (counts.requests, counts.ok, counts.cancelled, counts.warmup, counts.context_overflow) == (38, 30, 1, 3, 2)
    assert counts.failed == {"transport": 2, "http_status": 3, "server_error": 1, "no_usage": 1}
    assert point.verdict.status == "invalid"
    assert "errors" in {reason.code for reason in point.verdict.reasons}


def test_thinking_is_no_answer(load):
    documents = [record(number, metrics={"time_to_first_output_token": ms(360.0)}) for number in range(30)]
    (point,) = load({RECORDS: lines(*documents), SUMMARY: summary()}).found.points
    assert point.metrics["ttfa_s"]["p50"] == pytest.approx(0.36)
    assert point.metrics["ttft_s"]["p50"] == pytest.approx(0.2)


def test_a_wall_clock_that_disagrees_is_told(load):
    documents = [record(number) for number in range(30)]
    documents[3]["metadata"]["request_end_ns"] += 17 * MS
    result = load({RECORDS: lines(*documents), SUMMARY: summary()})
    assert result.found.warnings[-1].startswith("its wall clock and its latencies differ by up to 18.0 ms")


def test_a_line_that_nests_is_refused_in_our_words(load):
    result = load({RECORDS: lines(record(0)) + '{"a":' * 100_000, SUMMARY: summary()})
    assert [(row.code, row.text) for row in result.found.refused] == [("broken_json", "the line is JSON that is nested too deeply")]


def test_broken_lines_are_refused_one_by_one(load):
    torn = json.dumps(record(1))[:60]
    units = record(2, metrics={"request_latency": {"value": 0.44, "unit": "s"}})
    content = lines(record(0)) + "\n[1]\n" + lines(units) + torn
    result = load({RECORDS: content, SUMMARY: summary()})
    assert [(row.where, row.code) for row in result.found.refused] == [
        (f"{RECORDS}:3", "unknown_schema"),
        (f"{RECORDS}:4", "unit_suspect"),
        (f"{RECORDS}:5", "broken_json"),
    ]
    assert result.found.points[0].accounting.requests == 1
    assert any(line.endswith("3 refused: 1 unknown_schema, 1 unit_suspect, 1 broken_json") for line in import_report(result))


def test_a_line_with_a_key_twice_is_refused(load):
    twice = json.dumps(record(1)).replace('"request_latency":', '"request_latency": {"value": 1, "unit": "ms"}, "request_latency":', 1)
    result = load({RECORDS: lines(record(0)) + twice, SUMMARY: summary()})
    assert [(row.where, row.code) for row in result.found.refused] == [(f"{RECORDS}:2", "duplicate_key")]
    assert result.found.points[0].accounting.requests == 1


def test_a_summary_with_a_key_twice_is_refused(load):
    result = load({SUMMARY: json.dumps(summary()).replace("{", '{"benchmark_id": "b-2", ', 1)})
    assert ([row.code for row in result.found.refused], result.found.points) == (["duplicate_key"], ())


def test_a_line_without_end_is_not_taken_into_memory(load, monkeypatch):
    monkeypatch.setattr("ixbench_plugins.importers.aiperf_records.LONGEST_LINE", 5000)
    content = lines(record(0)) + "{" + " " * 20_000 + "}\n" + lines(record(1))
    result = load({RECORDS: content, SUMMARY: summary()})
    assert [(row.where, row.code) for row in result.found.refused] == [(f"{RECORDS}:2", "line_too_long")]
    assert result.found.points[0].accounting.requests == 2


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"metrics": {"time_to_first_token": None}}, "no_speed"),
        ({"error": {"message": "x"}}, "no_success"),
    ],
)
def test_records_that_make_no_point_are_refused(load, changes, code):
    documents = [record(number, **json.loads(json.dumps(changes))) for number in range(5)]
    assert [row.code for row in load({RECORDS: lines(*documents), SUMMARY: summary()}).found.refused] == [code]


# --- the summary alone ------------------------------------------------------------------------------------------------------------------


def test_a_summary_alone_has_statistics_and_rates_of_its_own_duration(load):
    (point,) = load({SUMMARY: summary()}, gpus=4, hardware="mi355x").found.points
    metrics = point.metrics
    assert metrics["ttft_s"]["p50"] == pytest.approx(0.2)
    assert metrics["tpot_s"]["p90"] == pytest.approx(0.01)
    assert metrics["speed_tok_s_user"]["p90"] == pytest.approx(100.0)
    assert (metrics["speed_tok_s_user"]["min"], metrics["speed_tok_s_user"]["max"]) == pytest.approx((50.0, 200.0))
    assert "std" not in metrics["speed_tok_s_user"]
    assert metrics["throughput_tok_s"]["total"] == pytest.approx(7200 / 8.24)
    assert metrics["throughput_tok_s_gpu"]["output"] == pytest.approx(1280 / 8.24 / 4)
    assert point.axis.tok_s_user == pytest.approx(125.0)
    assert point.identity.workload == "fixed"
    assert (point.identity.input_tokens, point.identity.output_tokens) == (148, 32)
    assert point.verdict.status == "valid"


def test_a_scenario_is_agentic(load):
    config = summary()["input_config"] | {"scenario": "inferencex-agentx"}
    (point,) = load({SUMMARY: summary(input_config=config, error_request_count={"unit": "requests", "avg": 3.0})}).found.points
    assert (point.identity.agentic, point.identity.workload, point.identity.preset) == (True, "agentx", "inferencex-agentx")
    assert (point.axis.percentile, point.axis.tok_s_user) == ("p90", pytest.approx(100.0))
    assert point.verdict.status == "valid_with_warnings"


@pytest.mark.parametrize(("failed", "status"), [(0, "valid"), (2, "invalid")])
def test_the_counts_decide_and_not_the_exit_status(load, failed, status):
    (point,) = load({SUMMARY: summary(error_request_count={"unit": "requests", "avg": failed})}).found.points
    assert point.verdict.status == status
    assert point.accounting.requests == 40 + failed


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"is_complete": False, "incomplete_reason": "stalled"}, "incomplete"),
        ({"request_count": {"unit": "requests", "avg": 0}}, "no_success"),
        ({"inter_token_latency": ...}, "no_speed"),
        ({"inter_token_latency": statistics("furlongs", 8.0)}, "unit_suspect"),
        ({"request_latency": statistics("ms", 9000.0)}, "unit_suspect"),
        ({"inter_token_latency": statistics("ns", 8.0)}, "unit_suspect"),
        ({"benchmark_duration": ...}, "bad_rate"),
        ({"total_isl": ..., "total_osl": ..., "input_sequence_length": ..., "output_sequence_length": ...}, "bad_rate"),
        ({"input_config": {}}, "unknown_model"),
    ],
)
def test_a_summary_that_makes_no_point_is_refused(load, changes, code):
    result = load({SUMMARY: summary(**changes)})
    assert [row.code for row in result.found.refused] == [code]
    assert result.found.points == ()


@pytest.mark.parametrize(
    ("config", "model", "concurrency", "rate"),
    [
        ({"models": ["a/B"], "phases": {"profiling": {"concurrency": 3}}}, "b", 3, None),
        ({"model": "a/B", "phases": [{"type": "poisson", "rate": 2.5}]}, "b", None, 2.5),
        ({"endpoint": {"model_names": ["a/B", "c"]}, "loadgen": {"request_rate": 4.0}}, "b", None, 4.0),
    ],
)
def test_other_forms_of_its_configuration(load, config, model, concurrency, rate):
    (point,) = load({SUMMARY: summary(input_config=config)}).found.points
    assert (point.identity.model, point.identity.concurrency, point.identity.rate) == (model, concurrency, rate)


def test_what_a_summary_says_against_itself_is_told(load):
    metadata = {"scenario": "s", "submission_valid": False, "submission_invalid_reasons": ["too short"]}
    skipped = {"unit": "requests", "avg": 2}
    result = load({SUMMARY: summary(was_cancelled=True, metadata=metadata, skipped_context_overflow_count=skipped)})
    assert result.found.warnings == (
        "the run was cancelled, so its numbers are of a part of it",
        "it says of itself that it is no valid submission: too short",
        "none of its numbers has those whose prompts were too long: 2 requests",
    )


# --- as run folders ---------------------------------------------------------------------------------------------------------------------


def test_requests_lie_beside_the_point_and_can_be_computed_again(foreign, tmp_path, monkeypatch, capsys):
    foreign(FORTY, RECORDS)
    foreign(summary(), SUMMARY)
    monkeypatch.chdir(tmp_path)
    assert main(["import", RECORDS, SUMMARY, "--out", "run", "--gpus", "8", "--sku", "mi355x", "--engine", "vllm"]) == 0
    reader = RunReader(tmp_path / "run")
    assert reader.sealed() == ("vllm-c4",)
    assert len(reader.records("vllm-c4")) == 40
    assert main(["report", "run", "--use", "table", "--out", "sealed"]) == 0
    assert main(["report", "run", "--use", "table", "--recompute", "--out", "again"]) == 0
    assert (tmp_path / "sealed" / "table.json").read_bytes() == (tmp_path / "again" / "table.json").read_bytes()
    assert "keeps its sealed reading" not in capsys.readouterr().err
    assert "sk-secret" not in (tmp_path / "run" / "points" / "vllm-c4" / "point.json").read_text()


def test_local_counts_never_stand_under_the_servers_name(foreign, tmp_path, monkeypatch, capsys):
    documents = [record(number, metrics={"usage_prompt_tokens": None, "usage_completion_tokens": None}) for number in range(40)]
    foreign(lines(*documents), RECORDS)
    foreign(summary(), SUMMARY)
    monkeypatch.chdir(tmp_path)
    assert main(["import", RECORDS, "--out", "run"]) == 0
    (first, *_) = RunReader(tmp_path / "run").records("endpoint-c4")
    assert (first.usage_input, first.usage_output, first.local_input, first.local_output) == (None, None, 128, 30)
    assert main(["report", "run", "--recompute", "--use", "table", "--out", "out"]) == 0
    assert "keeps its sealed reading" in capsys.readouterr().err


@pytest.mark.parametrize("latency", [[], [440.0, 441.0]])
def test_a_list_where_one_latency_is_asked_for_is_none(load, latency):
    result = load({RECORDS: lines(record(0), record(1, metrics={"request_latency": ms(latency)})), SUMMARY: summary()})
    assert result.found.refused == ()
    assert result.found.points[0].accounting.ok == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "unit", "avg", "x"]), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_stands_in_its_files_they_are_taken_or_refused(foreign, data):
    documents = [record(number) for number in range(3)]
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.sampled_from([documents[1], documents[1]["metadata"], documents[1]["metrics"]]))
        if isinstance(part, dict) and part:
            part[data.draw(st.sampled_from(sorted(part)))] = data.draw(JSON)
            documents[1].setdefault("metadata", {})
        if not isinstance(documents[1].get("metadata"), dict) or not isinstance(documents[1].get("metrics"), dict):
            break
    document = summary()
    for _ in range(data.draw(st.integers(0, 3))):
        document[data.draw(st.sampled_from(sorted(set(document) - {"aiperf_version"})))] = data.draw(JSON)
    file = foreign(lines(*documents), RECORDS)
    foreign(document, SUMMARY)
    found = AiperfImporter().read(file, ImportContext(skus=SKUS))
    assert found.points or found.refused


def test_a_file_of_lines_that_all_are_broken_ends_with_one_sentence(foreign, context):
    lines = foreign('{"metadata": {"request_start_ns": 1}}\n' + "[]\n" * 100_002, "profile_export.jsonl")
    with pytest.raises(InputError, match=r"profile_export.jsonl: has more than 100,000 rows that cannot be taken; the first: line 2: "):
        AiperfImporter().read(lines, context)
