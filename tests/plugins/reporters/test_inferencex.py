"""What is exported as rows of InferenceX comes back by the importer with all that those rows can hold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.cli.main import main
from ixbench.host.contracts.importer import ForeignFile, ImportContext
from ixbench.host.load import load_host
from ixbench.model.result import Accounting, EnergyReading, Reason, Verdict
from ixbench.report.load import load_run
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_point, sample_run, too_short
from ixbench_plugins.hardware import HARDWARE
from ixbench_plugins.importers.inferencex import InferencexImporter
from ixbench_plugins.reporters.inferencex import InferencexReporter
from ixbench_plugins.reporters.inferencex_rows import rounded

REPORTER = InferencexReporter()
SKUS = {sku.sku: sku for sku in HARDWARE[0].skus()}


def export(*points, run=None, **options):
    files = {item.name: item.content for item in REPORTER.render([run or sample_run(*points)], REPORTER.Options(**options))}
    return json.loads(files["inferencex.json"])


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")

    def load_rows(rows):
        (folder / "rows.json").write_text(json.dumps(rows))
        return InferencexImporter().read(ForeignFile(folder / "rows.json"), ImportContext(skus=SKUS))

    return load_rows


def point(point_id="vllm-c8", speed=50.0, rate=1000.0, **fields):
    return sample_point(point_id, speed_tok_s_user=speed, rate_tok_s_gpu=rate, **fields)


AGENTIC = {"agentic": True, "workload": "agentx", "input_tokens": None, "output_tokens": None}


# --- what a row holds ---------------------------------------------------------------------------------------------------------------------


def test_a_fixed_point_is_a_row_of_a_single_node():
    (row,) = export(point(tensor_parallel=8, image="rocm/vllm:1"))
    metrics = point().metrics
    assert {
        key: row[key] for key in ("hw", "conc", "image", "model", "infmax_model_prefix", "framework", "precision", "spec_decoding")
    } == {
        "hw": "mi355x",
        "conc": 8,
        "image": "rocm/vllm:1",
        "model": "acme/Model-7B",
        "infmax_model_prefix": "model7b",
        "framework": "vllm",
        "precision": "fp4",
        "spec_decoding": "none",
    }
    assert {key: row[key] for key in ("disagg", "isl", "osl", "is_multinode", "recipe_fingerprint")} == {
        "disagg": False,
        "isl": 1024,
        "osl": 128,
        "is_multinode": False,
        "recipe_fingerprint": "",
    }
    sizes = {key: row[key] for key in ("tp", "pp", "dcp_size", "pcp_size", "ep", "dp_attention")}
    assert sizes == {"tp": 8, "pp": 1, "dcp_size": 1, "pcp_size": 1, "ep": 1, "dp_attention": "false"}
    assert row["tput_per_gpu"] == 1000.0
    assert row["input_tput_per_gpu"] + row["output_tput_per_gpu"] == pytest.approx(1000.0)
    assert row["median_tpot"] == metrics["tpot_s"]["p50"]
    assert row["p99_intvty"] == metrics["speed_tok_s_user"]["p99"] == pytest.approx(1 / row["p99_tpot"])
    assert not any(key.startswith("std_intvty") for key in row)
    assert row["ixbench"] == {
        "version": "0.1.0",
        "run": "20261130T064501Z-model-on-mi355x",
        "point": "vllm-c8",
        "origin": "run",
        "evidence": "measured",
        "verdict": "valid",
        "verdict_reasons": [],
        "price_book": "2026-09",
        "client": {"floor_s": 0.0007, "lag_s": 0.0011, "clock": "read"},
        "window_rule": "span",
        "gpus_reserved": 8,
        "token_source": "usage",
        "model": "acme/Model-7B",
        "engine_version": "0.22.0",
        "workload": "fixed",
        "preset": None,
        "corpus": None,
        "spec_method": None,
        "kv_offload": "off",
        "tensor_parallel": 8,
        "pipeline_parallel": None,
        "expert_parallel": None,
        "disaggregated": False,
        "multinode": False,
        "requests": 200,
        "ok": 200,
        "started": "2026-11-30T06:45:01Z",
    }


@pytest.mark.parametrize(
    ("identity", "sizes"),
    [
        ({"gpus": 8, "tensor_parallel": 4, "pipeline_parallel": 2}, (4, 2, 1, "false")),
        ({"gpus": 8, "tensor_parallel": 1, "data_parallel": 8, "expert_parallel": True}, (8, 1, 8, "true")),
        ({"gpus": 6}, (6, 1, 1, "false")),
    ],
)
def test_the_sizes_of_a_row_multiply_to_its_gpus(identity, sizes):
    (row,) = export(point(**identity))
    assert (row["tp"], row["pp"], row["ep"], row["dp_attention"]) == sizes
    assert row["tp"] * row["pp"] * row["pcp_size"] == identity["gpus"]


@pytest.mark.parametrize("shape", [{}, AGENTIC])
def test_what_nobody_told_is_told_beside_the_rows_own_keys(shape, load):
    untold = dict.fromkeys(("tensor_parallel", "pipeline_parallel", "expert_parallel", "disaggregated", "multinode"))
    (row,) = export(point(**shape, engine="endpoint", spec_method="unknown", kv_offload="unknown", **untold))
    (back,) = load(json.loads(json.dumps([row]))).points
    assert {name: getattr(back.identity, name) for name in untold} == untold
    assert (back.identity.spec_method, back.identity.kv_offload) == ("unknown", "unknown")
    assert (row["disagg"], row["is_multinode"]) == (False, False)
    assert row["spec_decoding"] == "none"
    assert (row.get("kv_offloading", "none"), row.get("kv_offload_backend")) == ("none", None)
    assert (row["ixbench"]["spec_method"], row["ixbench"]["kv_offload"]) == ("unknown", "unknown")


def test_an_agentic_point_is_a_nested_row():
    found = replace(
        point("atom-c2", **AGENTIC, engine="atom", spec_method="mtp", kv_offload="lmcache", concurrency=2),
        accounting=Accounting(requests=7, ok=6, failed={"transport": 1}, warmup=2),
    )
    (row,) = export(found)
    metrics = row["request_metrics"]
    assert "isl" not in row
    assert (row["scenario_type"], row["num_gpus"], row["tp"], row["spec_decoding"]) == ("agentic-coding", 8, 8, "mtp")
    assert (row["kv_offloading"], row["kv_offload_backend"]) == ("dram", {"name": "lmcache", "version": None})
    assert (row["num_requests_total"], row["num_requests_successful"]) == (9, 6)
    assert row["request_accounting"]["error_categories"] == {"transport": 1}
    assert metrics["latency"]["tpot"] == metrics["latency"]["itl"]
    assert metrics["latency"]["intvty"]["p90"] == 1 / metrics["latency"]["itl"]["p90"]
    assert metrics["throughput"]["per_gpu"]["total_tput_tps"] == 1000.0
    assert metrics["throughput"]["total"]["tokens_per_second"] == 8000.0
    assert "p99" not in metrics["latency"]["ttft"]
    assert row["server_metrics"] == {"present": False, "adapter": "atom", "metric_count": 0}


def test_parity_rounds_agentic_rows_as_their_producer_does():
    found = point("atom-c2", speed=64.123456789, **AGENTIC)
    (exact,), (row,) = export(found), export(found, parity=True)
    assert exact["request_metrics"]["latency"]["itl"]["p50"] == 1 / 64.123456789
    assert row["request_metrics"]["latency"]["itl"]["p50"] == 0.01559
    assert row["request_metrics"]["throughput"]["per_gpu"]["total_tput_tps"] == 1000
    assert export(point(speed=64.123456789), parity=True) == export(point(speed=64.123456789))
    values = {"a": [7.0, 7.000001, -3.0, 0.0, 0.123456789, True, "x", 8]}
    assert repr(rounded(values)) == "{'a': [7, 7, -3, 0.0, 0.12346, True, 'x', 8]}"


def test_energy_goes_with_its_verdict():
    reading = EnergyReading(valid=True, joules=4000.0, gpus=8)
    metrics = point().metrics | {"power_w_gpu": 900.0, "joules_per_token": {"total": 0.5, "input": 0.6, "output": 5.0, "computed": None}}
    (row,) = export(replace(point(), energy=reading, metrics=metrics))
    assert {key: value for key, value in row.items() if "joules" in key or "power" in key or "energy" in key} == {
        "power_metric_schema_version": 2,
        "power_valid": 1,
        "avg_power_w": 900.0,
        "avg_total_gpu_power_w": 7200.0,
        "total_gpu_energy_j": 4000.0,
        "joules_per_successful_query": 20.0,
        "joules_per_input_token": 0.6,
        "joules_per_output_token": 5.0,
        "joules_per_total_token": 0.5,
    }
    reasons = (Reason(code="power_gap", value=9.0, limit=3.0, text="a gap of 9 s"),)
    (row,) = export(replace(point(), energy=replace(reading, valid=False, reasons=reasons), metrics=metrics))
    assert (row["power_valid"], row["power_invalid_reasons"]) == (0, ["a gap of 9 s"])
    assert "avg_power_w" not in row


# --- what is left out ---------------------------------------------------------------------------------------------------------------------


def test_what_is_left_out_is_told():
    points = (
        point(),
        point("a-c1", gpus=None, rate=None, rate_tok_s=10.0),
        point("b-c1", verdict=too_short(3)),
        replace(point("c-r2"), identity=replace(point().identity, concurrency=None)),
        point("d-c1", input_tokens=None),
        point("e-c1", evidence="simulated"),
        point("f-c1", hardware=None),
    )
    artifacts = {item.name: item for item in REPORTER.render([sample_run(*points)], REPORTER.Options())}
    assert artifacts["inferencex.txt"].show
    assert artifacts["inferencex.txt"].content.splitlines() == [
        "1 of 7 points as rows of InferenceX.",
        "Left out: a-c1: no number of GPUs, so no rate per GPU, no rate per GPU.",
        "Left out: b-c1: it is not valid: too_short (inferencex.invalid=true takes it).",
        "Left out: c-r2: no concurrency: it was an open loop.",
        "Left out: d-c1: no input and output length.",
        "Left out: e-c1: it is simulated (inferencex.simulated=true takes it).",
        "Left out: f-c1: no hardware.",
    ]
    assert len(json.loads(artifacts["inferencex.json"].content)) == 1
    assert export(points[-1]) == []


def test_points_that_are_not_valid_go_only_on_demand_and_say_that_they_failed(load):
    found = replace(point(verdict=too_short(3)), accounting=Accounting(requests=5, ok=3, failed={"transport": 2}))
    (row,) = export(found, invalid=True)
    assert row["benchmark_outcome"] == {"status": "failed", "requested": 5, "completed": 3, "failed": 2, "max_failure_rate": 0.01}
    assert [refused.code for refused in load([row]).refused] == ["benchmark_failed"]
    (row,) = export(point(evidence="simulated"), simulated=True)
    (back,) = load([row]).points
    assert back.evidence == "simulated"


# --- there and back -----------------------------------------------------------------------------------------------------------------------

NUMBER = st.floats(1e-3, 1e4)
PARTS = ("mean", "p50", "p75", "p90", "p95", "p99", "std")


def spread(low, high, parts=PARTS):
    return st.fixed_dictionaries({part: st.floats(low, high) for part in parts})


@st.composite
def points(draw, *, agentic):
    times, gpus = draw(spread(1e-3, 0.9)), draw(st.integers(1, 16))
    rates = draw(st.tuples(NUMBER, NUMBER))
    ok, failed = draw(st.integers(1, 1000)), draw(st.integers(0, 5))
    identity = {
        "model": draw(st.sampled_from(["Kimi K3", "acme/Model-7B", "MiniMax M2.5"])),
        "precision": draw(st.sampled_from(["fp4", "fp8", "bf16"])),
        "hardware": draw(st.sampled_from(["mi355x", "h100", "b200"])),
        "engine": draw(st.sampled_from(["vllm", "atom", "sglang"])),
        "spec_method": draw(st.sampled_from([None, "mtp", "unknown"])),
        "disaggregated": draw(st.sampled_from([False, None])),
        "multinode": draw(st.sampled_from([False, None])),
        "concurrency": draw(st.integers(1, 512)),
        "gpus": gpus,
        "tensor_parallel": gpus,
        "kv_offload": draw(st.sampled_from(["off", "simple", "unknown"])),
        "image": draw(st.sampled_from([None, "rocm/vllm:v1"])),
        "preset": draw(st.sampled_from([None, "agentx-v1"])),
        "corpus": draw(st.sampled_from([None, "abc"])),
    }
    identity |= AGENTIC if agentic else {"input_tokens": draw(st.integers(1, 10**6)), "output_tokens": draw(st.integers(1, 10**5))}
    warned = Verdict(status="valid_with_warnings", reasons=(Reason(code="thin", value=3.0, limit=4.0, text="few", severity="warning"),))
    made = sample_point("x-c1", speed_tok_s_user=1.0, rate_tok_s_gpu=1.0, verdict=draw(st.sampled_from([None, warned])), **identity)
    latency = draw(spread(1.0, 50.0))
    kinds = {"total": sum(rates), "input": rates[0], "output": rates[1], "computed": None}
    metrics = {
        "ttft_s": draw(spread(0.01, 0.99)),
        "tpot_s": times,
        "e2el_s": latency,
        "icl_s": draw(spread(0.0, 0.5)),
        "speed_tok_s_user": {part: 1 / value for part, value in times.items() if part != "std"},
        "e2e_norm_tok_s_user": draw(spread(1.0, 100.0, PARTS[:-1])),
        "throughput_tok_s_gpu": kinds,
        "throughput_tok_s": {kind: None if rate is None else rate * gpus for kind, rate in kinds.items()},
        "requests_per_s": draw(NUMBER),
        "span_s": draw(st.floats(100.0, 1e4)),
        "input_tokens": draw(spread(1.0, 1e6, PARTS[:-1])),
        "output_tokens": draw(spread(1.0, 1e5, PARTS[:-1])),
        "cache_hit_share": {"measured": None, "theoretical": draw(st.floats(0, 1)), "server": draw(st.floats(0, 1))},
    }
    counts = Accounting(requests=ok + failed, ok=ok, failed={"transport": failed} if failed else {}, warmup=draw(st.integers(0, 9)))
    return replace(made, metrics=metrics, accounting=counts)


NESTED = ("mean", "p50", "p75", "p90", "p95", "std")
FLAT = (*NESTED, "p99")


def held(found, names, parts):
    """Return what a row can hold of a point's metrics, without counts of values."""
    return {
        name: {
            part: value
            for part, value in found.metrics[name].items()
            if part in parts and (part != "std" or not name.startswith(("speed", "e2e_n")))
        }
        for name in names
    }


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points(agentic=False))
def test_a_fixed_point_comes_back_as_it_was(load, made):
    found = load(json.loads(json.dumps(export(made))))
    assert (found.refused, found.warnings) == ((), ())
    (back,) = found.points
    names = ("ttft_s", "tpot_s", "e2el_s", "icl_s", "speed_tok_s_user")
    assert held(back, names, FLAT) == held(made, names, FLAT)
    assert back.metrics["throughput_tok_s_gpu"] == made.metrics["throughput_tok_s_gpu"]
    same = ("model", "precision", "hardware", "gpus", "engine", "image", "concurrency", "tensor_parallel", "spec_method")
    same += ("input_tokens", "output_tokens", "workload", "preset", "corpus", "engine_version", "agentic", "disaggregated", "multinode")
    for name in same:
        assert getattr(back.identity, name) == getattr(made.identity, name), name
    assert back.identity.kv_offload == {"off": "off", "unknown": "unknown"}.get(made.identity.kv_offload, "on")
    assert (back.accounting.requests, back.accounting.ok) == (made.accounting.requests, made.accounting.ok)
    assert {reason.code for reason in back.verdict.reasons} >= {reason.code for reason in made.verdict.reasons}
    assert back.axis.tok_s_user == made.metrics["speed_tok_s_user"]["p50"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points(agentic=True))
def test_an_agentic_point_comes_back_as_it_was(load, made):
    found = load(json.loads(json.dumps(export(made))))
    assert (found.refused, found.warnings) == ((), ())
    (back,) = found.points
    names = ("ttft_s", "tpot_s", "e2el_s", "speed_tok_s_user", "e2e_norm_tok_s_user", "input_tokens", "output_tokens")
    assert held(back, names, NESTED) == held(made, names, NESTED)
    for name in ("throughput_tok_s_gpu", "throughput_tok_s", "requests_per_s", "span_s", "cache_hit_share"):
        assert back.metrics[name] == made.metrics[name], name
    for name in ("model", "precision", "hardware", "gpus", "engine", "image", "concurrency", "tensor_parallel", "spec_method", "agentic"):
        assert getattr(back.identity, name) == getattr(made.identity, name), name
    assert back.accounting == made.accounting
    assert back.identity.kv_offload == {"off": "off", "unknown": "unknown"}.get(made.identity.kv_offload, "on")


def lost(row, back, path=""):
    """Return where a row that went there and back lacks something, or differs; keys that only ixbench adds do not count."""
    if isinstance(row, dict) and isinstance(back, dict):
        return [line for key in row for line in (lost(row[key], back[key], f"{path}.{key}") if key in back else [f"{path}.{key} missing"])]
    same = row == back or (isinstance(row, float) and back == pytest.approx(row, rel=1e-12))
    return [] if same else [f"{path}: {row} became {back}"]


DROPPED = (
    ".request_metrics.latency.intvty.std",
    ".request_metrics.latency.full_response_intvty.std",
    ".request_metrics.latency.e2e_norm_intvty.std",
)
"""A deviation of speeds is never exported."""
RECOMPUTED = (".request_metrics.latency.intvty", ".request_metrics.latency.full_response_intvty")


@pytest.mark.parametrize("name", ["agg_fixed_v1_single_node", "agg_fixed_v2_multinode_disagg", "agg_agentic_v3"])
def test_a_row_goes_there_and_back_without_loss(load, shared, name):
    row = json.loads((shared / "data" / "rows" / f"{name}.json").read_text())
    found = load([row])
    (back,) = export(run=sample_run(*found.points, versions={}))
    renamed = {"framework": "mori-sglang"} if name.endswith("disagg") else {}
    lines = lost(row | renamed, back)
    assert [line for line in lines if not line.startswith((*DROPPED, *RECOMPUTED))] == []
    for line in lines:
        if line.startswith(RECOMPUTED) and "missing" not in line:
            before, after = line.partition(": ")[2].split(" became ")
            assert float(after) == pytest.approx(float(before), rel=1e-3)


@pytest.mark.parametrize(
    "name", ["agg_fixed_v1_single_node", "agg_fixed_v2_multinode_disagg", "agg_agentic_v3", "api_rows_fixed_sequence", "seed_like_rows"]
)
def test_every_imported_row_can_be_imported_again(load, shared, name):
    rows = json.loads((shared / "data" / "rows" / f"{name}.json").read_text())
    found = load(rows if isinstance(rows, list) else [rows])
    again = load(json.loads(json.dumps(export(run=sample_run(*found.points, versions={})))))
    assert again.refused == ()
    same = ("model", "precision", "hardware", "gpus", "engine", "image", "concurrency", "tensor_parallel", "spec_method", "kv_offload")
    same += ("input_tokens", "output_tokens", "agentic", "disaggregated", "multinode")
    for before, after in zip(found.points, again.points, strict=True):
        assert [getattr(after.identity, field) for field in same] == [getattr(before.identity, field) for field in same]
    assert [point.counted for point in again.points] == [point.counted for point in found.points]
    assert [point.axis.tok_s_user for point in again.points] == pytest.approx([point.axis.tok_s_user for point in found.points])


def test_counts_that_no_file_tells_are_not_zero(load, shared):
    rows = json.loads((shared / "data" / "rows" / "seed_like_rows.json").read_text())[:1]
    for name in ("num_requests_total", "num_requests_successful"):
        del rows[0]["metrics"][name]
    (point,) = load(rows).points
    (row,) = export(run=sample_run(point, versions={}))
    assert (row["num_requests_total"], row["num_requests_successful"], row["request_accounting"]) == (None, None, None)
    assert (row["ixbench"]["requests"], row["ixbench"]["ok"]) == (None, None)
    assert load([row]).points[0].counted is None


@pytest.mark.parametrize("position", [0, 8, 18])
def test_rows_of_the_api_become_aggregated_rows(load, shared, position):
    rows = json.loads((shared / "data" / "rows" / "seed_like_rows.json").read_text())
    (before,) = load([rows[position]]).points
    (after,) = load(export(run=sample_run(before, versions={}))).points
    assert after.metrics["tpot_s"] == before.metrics["tpot_s"]
    assert after.metrics["throughput_tok_s_gpu"] == before.metrics["throughput_tok_s_gpu"]
    assert after.identity.model == before.identity.model == "Kimi K3"
    fixed = json.loads((shared / "data" / "rows" / "api_rows_fixed_sequence.json").read_text())[:1]
    (row,) = export(run=sample_run(*load(fixed).points, versions={}))
    assert (row["tp"], row["median_intvty"], row["median_tpot"]) == (8, 110.0, 0.0090909)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 64),
    st.integers(1, 64),
    st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e3)),
    st.sampled_from(["true", "false"]),
)
def test_rates_of_roles_come_back_to_the_last_digit(load, prefill, decode, rates, attention):
    into, out = rates
    total = (into * prefill + out * decode) / (prefill + decode)
    sizes = {
        f"{role}_{name}": value
        for role, tp in (("prefill", prefill), ("decode", decode))
        for name, value in {"tp": tp, "pp": 1, "dcp_size": 1, "pcp_size": 1, "ep": 1, "dp_attention": attention, "num_workers": 1}.items()
    }
    row = {
        "hw": "h100",
        "conc": 4,
        "image": "i",
        "model": "m",
        "infmax_model_prefix": "m",
        "framework": "vllm",
        "precision": "fp8",
        "spec_decoding": "none",
        "disagg": True,
        "isl": 1,
        "osl": 1,
        "is_multinode": True,
        "recipe_fingerprint": "",
        "num_prefill_gpu": prefill,
        "num_decode_gpu": decode,
        "prefill_hw": "h100",
        "decode_hw": "h200",
        "tput_per_gpu": total,
        "input_tput_per_gpu": into,
        "output_tput_per_gpu": out,
        "median_tpot": 0.02,
        "median_intvty": 50.0,
        **sizes,
    }
    (made,) = load([row]).points
    assert made.metrics["throughput_tok_s_gpu"]["input"] == pytest.approx(into * prefill / (prefill + decode))
    (back,) = export(run=sample_run(made, versions={}))
    assert {key: back[key] for key in row} == row


def test_it_is_a_reporter_like_any_other(tmp_path, capsys):
    run = write_sample_run(tmp_path / "results", load_host())
    assert main(["report", str(run), "--use", "inferencex", "--out", str(tmp_path / "out")]) == 0
    usable = [point.id for point in load_run(run).points if point.usable]
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{len(usable)} of 4 points as rows of InferenceX."
    assert said[-1] == "Left out: vllm-c64: it is not valid: oom (inferencex.invalid=true takes it)."
    assert main(["import", str(tmp_path / "out" / "inferencex.json"), "--out", str(tmp_path / "back")]) == 0
    assert [point.identity.concurrency for point in load_run(tmp_path / "back").points] == [int(name.split("c")[-1]) for name in usable]
    assert main(["report", str(run), "--use", "inferencex", "--set", "inferencex.invalid=true", "--out", str(tmp_path / "all")]) == 0
    rows = json.loads((tmp_path / "all" / "inferencex.json").read_text())
    assert len(rows) == 3
    assert sum(row.get("benchmark_outcome", {}).get("status") == "failed" for row in rows) == 3 - len(usable)
    capsys.readouterr()
