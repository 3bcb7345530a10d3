"""Rows of every schema of InferenceX become points, or are refused with a reason."""

from __future__ import annotations

import json

import pytest
import tomli
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.api.report import build_cost_table
from ixbench.frontier.format import Seconds, format_hourly, format_latency, format_rate, format_usd
from ixbench.frontier.ladder import build_ladder
from ixbench.host.contracts.importer import ImportContext
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.model.imported import import_source
from ixbench.model.run import ReportSettings
from ixbench.report.load import load_runs
from ixbench.store.names import is_plain_name
from ixbench_plugins.importers.inferencex import InferencexImporter

from .conftest import SKUS, api, raw, v1

IMPORTER = InferencexImporter()


def read(foreign, documents, **said):
    return IMPORTER.read(foreign(documents), ImportContext(skus=SKUS, **said))


def one(foreign, document, **said):
    found = read(foreign, document, **said)
    assert found.refused == ()
    (point,) = found.points
    return point


def codes(found):
    return [row.code for row in found.refused]


# --- each schema --------------------------------------------------------------------------------------------------------------------------


def test_raw_client_output_in_milliseconds(foreign, shared):
    content = (shared / "data" / "rows" / "raw_client_ms.json").read_bytes()
    point = one(foreign, content)
    identity, metrics = point.identity, point.metrics
    assert (identity.engine, identity.model, identity.hardware, identity.gpus) == ("vllm", "example120b", None, None)
    assert (identity.input_tokens, identity.output_tokens, identity.concurrency, identity.workload) == (8192, 1024, 16, "fixed")
    assert metrics["ttft_s"]["p50"] == pytest.approx(0.5881)
    assert metrics["tpot_s"]["p99.9"] == pytest.approx(0.0449)
    assert metrics["speed_tok_s_user"]["p50"] == pytest.approx(1 / 0.0382)
    assert "std" in metrics["tpot_s"]
    assert "std" not in metrics["speed_tok_s_user"]
    assert metrics["throughput_tok_s"] == pytest.approx(
        {"total": 3572.093023, "output": 396.899225, "input": 3175.193798, "computed": None}
    )
    assert metrics["throughput_tok_s_gpu"]["total"] is None
    assert (point.accounting.requests, point.accounting.ok) == (160, 160)
    assert import_source(point).date == "2026-09-01"
    assert import_source(point).started == "2026-09-01T10:15:00"


@pytest.mark.parametrize(
    ("name", "ttft_s", "speed"),
    [("isl10240_osl128_conc8", 1.834, 48.11), ("isl4096_osl128_conc16", 1.340, 45.83), ("isl4096_osl128_conc64", 4.779, 60.71)],
)
def test_raw_client_output_in_seconds(foreign, shared, name, ttft_s, speed):
    content = (shared / "data" / "rows" / "raw_bench_serving" / f"minimax_m25_vllm_tep8_{name}.json").read_bytes()
    point = one(foreign, content, gpus=8, hardware="b200", precision="fp8", engine="vllm")
    assert point.metrics["ttft_s"]["p50"] == pytest.approx(ttft_s, rel=1e-3)
    assert point.metrics["speed_tok_s_user"]["p50"] == pytest.approx(speed, rel=1e-3)
    rates = point.metrics["throughput_tok_s"]
    assert rates["total"] == rates["input"] + rates["output"]
    assert point.metrics["throughput_tok_s_gpu"]["total"] == pytest.approx(rates["total"] / 8)
    assert (point.identity.model, point.identity.hardware, point.identity.precision) == ("MiniMax M2.5", "b200", "fp8")


def test_an_open_loop_has_a_rate_instead_of_users(foreign):
    point = one(foreign, raw(max_concurrency=None, request_rate=2.5))
    assert (point.id, point.identity.concurrency, point.identity.rate) == ("vllm-r2.5", None, 2.5)
    assert codes(read(foreign, raw(max_concurrency=None, request_rate="inf"))) == ["missing_conc"]


def how(point):
    """Return what a point says of how its engine ran."""
    return (point.identity.spec_method, point.identity.kv_offload, point.identity.disaggregated, point.identity.multinode)


def test_a_client_knows_nothing_of_how_the_server_was_started(foreign):
    assert how(one(foreign, raw())) == ("unknown", "unknown", None, None)
    assert how(one(foreign, raw(backend="sglang-disagg"))) == ("unknown", "unknown", True, None), "the name says it"


def test_what_a_row_does_not_tell_is_unknown(foreign):
    assert how(one(foreign, v1())) == (None, "unknown", False, False), "such rows have no key for KV offload"
    assert how(one(foreign, v1(spec_decoding=..., disagg=..., is_multinode=...))) == ("unknown", "unknown", False, False), (
        "one pool, one node"
    )
    assert how(one(foreign, v1(spec_decoding=""))) == (None, "unknown", False, False)
    assert how(one(foreign, api(spec_method=..., disagg=..., is_multinode=..., offload_mode=...))) == ("unknown", "unknown", None, None)
    assert how(one(foreign, api(spec_method="none", disagg=False, is_multinode=False))) == (None, "off", False, False)


def test_lengths_that_vary_are_told(foreign):
    found = read(foreign, raw(total_input_tokens=1310721))
    assert found.points[0].identity.input_tokens == 8192
    assert found.warnings == ("vllm-c16: input lengths vary around 8192.0 tokens; say --input-tokens to put several files on one curve",)
    assert read(foreign, raw(total_input_tokens=1310721), input_tokens=9000).points[0].identity.input_tokens == 9000


def test_an_aggregated_row_of_a_single_node(foreign, shared):
    document = json.loads((shared / "data" / "rows" / "agg_fixed_v1_single_node.json").read_text())
    point = one(foreign, document)
    identity = point.identity
    assert (identity.gpus, identity.tensor_parallel, identity.expert_parallel, identity.spec_method) == (4, 4, False, None)
    assert (identity.input_tokens, identity.output_tokens, identity.hardware, identity.precision) == (8192, 1024, "mi355x", "fp8")
    assert point.metrics["throughput_tok_s_gpu"]["total"] == 893.02325575
    assert point.metrics["throughput_tok_s"]["total"] == 4 * 893.02325575
    assert point.metrics["icl_s"]["p50"] == 0.0376
    assert point.axis.percentile == "median"
    source = import_source(point)
    assert source.object == document
    assert source.extra == {"num_gpus_site": 4}
    assert (source.schema, source.file, source.position) == ("agg_v1", "rows.json", None)


def test_gpus_of_a_single_pool_are_not_multiplied_by_experts(foreign):
    point = one(foreign, v1(tp=8, ep=8, pp=2, pcp_size=2, dcp_size=4, dp_attention="true"))
    assert point.identity.gpus == 32
    assert import_source(point).extra["num_gpus_site"] == 64
    assert point.identity.expert_parallel is True
    assert import_source(point).parallel["all"]["dp_attention"] is True


def test_an_aggregated_row_with_roles(foreign, shared):
    document = json.loads((shared / "data" / "rows" / "agg_fixed_v2_multinode_disagg.json").read_text())
    point = one(foreign, document)
    identity, rates = point.identity, point.metrics["throughput_tok_s_gpu"]
    assert (identity.engine, identity.hardware, identity.gpus) == ("mori-sglang", "mi355x", 24)
    assert (identity.disaggregated, identity.multinode) == (True, True)
    assert rates["total"] == document["tput_per_gpu"]
    assert rates["input"] + rates["output"] == pytest.approx(rates["total"])
    assert point.metrics["throughput_tok_s_gpu_role"] == {
        "input": document["input_tput_per_gpu"],
        "output": document["output_tput_per_gpu"],
    }
    source = import_source(point)
    assert source.runner == "mi355x-amds_2"
    assert source.parallel["decode"] == {
        "tp": 8,
        "pp": 1,
        "dcp_size": 1,
        "pcp_size": 1,
        "ep": 8,
        "dp_attention": True,
        "num_workers": 2,
        "gpus": 16,
    }
    assert source.facts["router"] == {"name": "example-router", "version": "0.0.1"}


def test_an_agentic_row(foreign, shared):
    document = json.loads((shared / "data" / "rows" / "agg_agentic_v3.json").read_text())
    point = one(foreign, document)
    identity, metrics = point.identity, point.metrics
    assert (identity.workload, identity.agentic, identity.concurrency, identity.gpus) == ("agentx", True, 2, 8)
    assert point.axis == point.axis.__class__(name="tpot", percentile="p90", tok_s_user=1 / 0.0215)
    assert metrics["tpot_s"]["p50"] == 0.013
    assert metrics["input_tokens"]["p90"] == 104000.0
    assert metrics["cache_hit_share"] == {"measured": None, "theoretical": 0.6865, "server": 0.61}
    assert metrics["joules_per_token"] == {"total": 0.907821, "input": 0.913181, "output": 154.674419, "computed": None}
    assert (point.energy.valid, point.energy.joules) == (True, 399060.0)
    assert (point.accounting.requests, point.accounting.ok, point.accounting.warmup) == (7, 6, 2)
    assert point.accounting.failed == {"timeout": 1}
    assert [reason.code for reason in point.verdict.reasons] == ["errors"]
    assert point.usable
    source = import_source(point)
    assert source.facts["qps"] == {"window_seconds": 1, "samples": 55, "mean": 0.10825}
    assert source.extra["total_prompt_tokens"] == 437000


def test_full_responses_replace_the_plain_times(foreign, shared):
    document = json.loads((shared / "data" / "rows" / "agg_agentic_v3.json").read_text())
    document["request_metrics"]["latency"]["full_response_itl"]["p90"] = 0.03
    point = one(foreign, document)
    assert point.axis.tok_s_user == 1 / 0.03
    assert import_source(point).extra["p90_itl"] == 0.0215
    del document["request_metrics"]["latency"]["full_response_itl"]
    assert one(foreign, document).axis.tok_s_user == 1 / 0.0215
    del document["request_metrics"]["latency"]["itl"]
    assert codes(read(foreign, document)) == ["no_speed"]


def test_a_row_of_the_api(foreign):
    point = one(foreign, api())
    assert point.identity.model == "Kimi K3"
    assert point.identity.gpus == 8
    source = import_source(point)
    assert (source.date, source.started, source.run_id) == ("2026-09-10", "2026-09-10T04:00:00Z", "9001")


def test_the_gpus_of_a_row_of_the_api(foreign):
    apart = api(disagg=True, num_prefill_gpu=4, num_decode_gpu=16, metrics={"input_tput_per_gpu": 6000.0, "output_tput_per_gpu": 235.515})
    assert one(foreign, apart).identity.gpus == 20
    site = one(foreign, api(prefill_ep=8, decode_ep=8, num_prefill_gpu=64, num_decode_gpu=64))
    assert site.identity.gpus == 8
    assert import_source(site).extra == {"num_gpus_site": 64}


def test_an_old_row_of_the_api_is_single_turn_and_an_old_name_is_known(foreign):
    old = api(benchmark_type=..., isl=1024, osl=128, metrics={"median_tpot": 0.02, "median_itl": 0.03})
    point = one(foreign, old)
    assert (point.identity.agentic, point.identity.input_tokens, point.axis.tok_s_user) == (False, 1024, 50.0)
    assert one(foreign, api(metrics={"p90_e2el": ..., "p90_ttlt": 17.0})).metrics["e2el_s"]["p90"] == 17.0


def test_the_speed_of_a_fixed_row_is_its_own_word_or_one_over_the_gap(foreign):
    fixed = {"benchmark_type": "single_turn", "isl": 8192, "osl": 1024}
    assert one(foreign, api(**fixed, metrics={"median_tpot": 0.0090909, "median_intvty": 110.0})).axis.tok_s_user == 110.0
    assert one(foreign, api(**fixed, metrics={"median_itl": 0.02})).axis.tok_s_user == 50.0
    found = read(foreign, api(**fixed, metrics={"median_tpot": 0.020785798, "median_intvty": 48110.0}))
    assert found.points[0].axis.tok_s_user == pytest.approx(48.11, rel=1e-4)
    assert found.warnings == ("atom-c1: intvty is not 1 / tpot and was computed anew (p50 48110, computed 48.1098)",)
    assert codes(read(foreign, api(**fixed, metrics={"median_tpot": 20.785798, "median_intvty": 48.11}))) == ["unit_suspect"]


@pytest.mark.parametrize(
    ("keys", "mode"),
    [
        ({"offload_mode": "on"}, "on"),
        ({"offload_mode": "off", "kv_offloading": "dram"}, "off"),
        ({"offload_mode": ..., "kv_offloading": "dram"}, "on"),
        ({"offload_mode": ..., "kv_offloading": "none"}, "off"),
        ({"offload_mode": ..., "offloading": "dram"}, "on"),
        ({"offload_mode": ...}, "unknown"),
    ],
)
def test_offload_has_three_names(foreign, keys, mode):
    assert one(foreign, api(**keys)).identity.kv_offload == mode


def test_users_come_before_conc_where_work_is_agentic(foreign):
    assert one(foreign, api(users=12, conc=3)).identity.concurrency == 12
    assert one(foreign, v1(users=12, conc=3)).identity.concurrency == 3


# --- refusals and doubts ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (api(hardware="a100-nv"), "unknown_hardware"),
        (api(model=""), "unknown_model"),
        (api(metrics={"num_requests_successful": 0}), "no_success"),
        (v1(benchmark_outcome={"status": "failed"}), "benchmark_failed"),
        (v1(isl=None), "missing_isl"),
        (v1(osl=0), "missing_osl"),
        (v1(conc=...), "missing_conc"),
        (api(conc=None), "missing_conc"),
        (v1(median_tpot=..., median_intvty=...), "no_speed"),
        (v1(tput_per_gpu=0.0), "bad_rate"),
        (v1(tput_per_gpu=-5.0), "bad_rate"),
        (v1(median_intvty=-3.0, median_tpot=...), "bad_speed"),
        (v1(median_tpot=-0.03), "bad_speed"),
        (api(metrics={"p90_e2el": ...}), "no_latency"),
        (api(metrics={"p90_itl": ...}), "no_speed"),
        (raw(median_tpot=0.0382), "duplicate_unit"),
        (v1(median_ttft_ms=588.1), "duplicate_unit"),
        (api(metrics={"p90_itl_ms": 12.0}), "duplicate_unit"),
        (raw(median_tpot_ms=..., median_tpot=38.2, median_e2el_ms=..., median_e2el=39667.0), "unit_suspect"),
        (raw(duration=0), "bad_rate"),
        (raw(output_throughput=9999.0), "bad_rate"),
        ({"hw": "mi355x"}, "unknown_schema"),
        ({"aiperf_version": "0.13.0"}, "unknown_schema"),
        (17, "unknown_schema"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_reason(foreign, document, code):
    found = read(foreign, [api(), document])
    assert len(found.points) == 1
    assert [(row.where, row.code) for row in found.refused] == [("rows.json[1]", code)]
    assert found.refused[0].text


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_rate_that_is_no_number_is_refused_and_no_other_row_with_it(foreign, value):
    text = json.dumps([api(), api(conc=2)]).replace("1388.412", value, 1)
    found = IMPORTER.read(foreign(text), ImportContext(skus=SKUS))
    assert (len(found.points), codes(found)) == (1, ["bad_rate"])


def test_a_ttft_of_seven_tenths_of_a_millisecond_is_asked_about(foreign):
    point = one(foreign, api(metrics={"median_ttft": 0.0007}))
    assert point.verdict.status == "invalid"
    (reason,) = point.verdict.reasons
    assert reason.code == "implausible"
    assert "TTFT of 0.7 ms is not credible over a network: are these 0.7 s?" in reason.text
    assert point.metrics["ttft_s"]["p50"] == 0.0007


def test_rates_that_do_not_add_up_leave_the_total_alone(foreign):
    found = read(foreign, v1(input_tput_per_gpu=100.0))
    assert found.points[0].metrics["throughput_tok_s_gpu"] == {"total": 893.0, "input": None, "output": None, "computed": None}
    assert "do not add up to the total of 893" in found.warnings[0]


def test_unknown_numbers_are_kept_and_other_unknown_keys_are_told_once(foreign):
    found = read(foreign, [api(brand_new=3, note="x", metrics={"server_new_rate": 0.5}), api(conc=2, note="y", other=[1])])
    assert import_source(found.points[0]).extra == {"brand_new": 3, "server_new_rate": 0.5}
    assert found.warnings == (
        "note: unknown key whose value is no number, dropped in 2 rows",
        "other: unknown key whose value is no number, dropped in 1 row",
    )
    assert one(foreign, raw(**{"request_goodput:": 1.5})).id == "vllm-c16"


def test_what_is_no_date_is_told(foreign):
    found = read(foreign, [v1(date="yesterday"), v1(date="2026-09-01", conc=32), v1(date=None, conc=64)])
    assert [import_source(point).date for point in found.points] == ["", "2026-09-01", ""]
    (said,) = found.warnings
    assert said.endswith(": 'yesterday' is no date, so it is not known when it was measured")


def test_sizes_that_nothing_has_are_not_known(foreign):
    point = one(foreign, v1(tp=1e308))
    assert (point.identity.gpus, point.identity.tensor_parallel) == (None, None)


def test_joules_of_an_old_power_schema_are_not_read(foreign, shared):
    document = json.loads((shared / "data" / "rows" / "agg_agentic_v3.json").read_text()) | {"power_metric_schema_version": 1}
    point = one(foreign, document)
    assert "joules_per_token" not in point.metrics
    assert not point.energy.valid
    invalid = one(foreign, document | {"power_metric_schema_version": 2, "power_valid": 0, "power_invalid_reasons": ["gap of 9 s"]})
    assert [reason.text for reason in invalid.energy.reasons] == ["gap of 9 s"]
    assert "power_w_gpu" not in invalid.metrics


def test_a_later_row_replaces_an_equal_one(foreign):
    rows = [
        api(metrics={"tput_per_gpu": 1.0, "input_tput_per_gpu": ..., "output_tput_per_gpu": ...}),
        api(id=2),
        api(conc=2),
        api(workflow_run_id=None),
    ]
    found = read(foreign, rows)
    assert [(point.id, point.metrics["throughput_tok_s_gpu"]["total"]) for point in found.points] == [
        ("atom-c1", 1388.412),
        ("atom-c2", 1388.412),
        ("atom-c1-2", 1388.412),
    ]
    assert found.warnings == ("1 row replaced by later ones of the same configuration, load and run",)


@pytest.mark.parametrize("key", ["conc", "tput_per_gpu"])
def test_a_row_with_a_key_twice_is_refused_and_no_other_with_it(foreign, key):
    row = json.dumps(api())
    assert row.count(f'"{key}":') == 1
    found = read(foreign, "[" + row.replace(f'"{key}":', f'"{key}": 1, "{key}":') + f", {row}]")
    assert [(refused.where, refused.code) for refused in found.refused] == [("rows.json[0]", "duplicate_key")]
    assert f"the key '{key}' stands twice" in found.refused[0].text
    assert len(found.points) == 1


# --- files --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (b'{"request_metrics": {}}', True),
        (b'\xef\xbb\xbf [{"tput_per_gpu": 1}]', True),
        (b'{"max_concurrency": 3, ', True),
        (b'{"other": 1}', False),
        (b'tput_per_gpu "tput_per_gpu": 1', False),
        (b"\x00\x01", False),
    ],
)
def test_files_are_recognised_by_keys_alone(foreign, content, known):
    assert IMPORTER.recognises(foreign(content)) is known


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"max_concurrency": 3,\n "duration"', "rows.json: is broken JSON at line 2, column"),
        (b'{"max_concurrency": "\xff"}', "rows.json: is no UTF-8 text: byte 21"),
        (b"[" * 100_000 + b'"tput_per_gpu":', "rows.json: is JSON that is nested too deeply"),
        (b'{"tput_per_gpu": ' + b"[" * 70 + b"]" * 70 + b"}", "rows.json: is JSON that is nested too deeply"),
        (b'{"tput_per_gpu": ' + b"9" * 5000 + b"}", "rows.json: holds a number with thousands of digits"),
        (b"[]", "rows.json: is an empty list"),
    ],
)
def test_a_broken_file_is_told_in_a_sentence(foreign, content, said):
    with pytest.raises(InputError) as caught:
        IMPORTER.read(foreign(content), ImportContext(skus=SKUS))
    assert str(caught.value).startswith(said)


def test_a_file_that_is_too_large_is_not_read(foreign, monkeypatch):
    monkeypatch.setattr("ixbench_plugins.importers.document.MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"rows.json: is larger than the 1 MiB that are read into memory; split the file"):
        IMPORTER.read(foreign(b" " * (1 << 20) + b"[1]"), ImportContext(skus=SKUS))


def test_hostile_names_become_plain_ids_and_visible_text(foreign):
    evil = "../../etc/<script>\x1b[31m\u202e\n'\"|"
    rows = [api(framework=evil, model=evil, precision=evil, spec_method=evil, image=evil, run_url=evil, conc=n) for n in (1, 2)]
    found = read(foreign, [*rows, api()], engine=None)
    for point in found.points:
        assert is_plain_name(point.id)
        for value in (point.identity.engine, point.identity.model, point.identity.image, point.identity.deployment):
            assert not any(ord(character) < 32 or character == "\u202e" for character in value or "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([raw, v1, api]), st.data())
def test_whatever_stands_in_a_row_it_is_taken_or_refused(foreign, make, data):
    document = make()
    inner = document.get("metrics", document)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.sampled_from([document, inner]))
        where[data.draw(st.sampled_from(sorted(where)))] = data.draw(JSON)
    found = IMPORTER.read(foreign([document]), ImportContext(skus=SKUS))
    assert len(found.points) + len(found.refused) == 1
    for point in found.points:
        assert is_plain_name(point.id)
        assert point.origin == "imported"
        assert point.axis.tok_s_user > 0


# --- the ladder of published rows ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seed(shared):
    host = load_host()
    expected = tomli.loads((shared / "data" / "rows" / "seed_like_expected.toml").read_text())
    (view,) = load_runs([shared / "data" / "rows" / "seed_like_rows.json"], host)
    return view, expected


def with_settings(view, variant):
    from dataclasses import replace

    report = ReportSettings(
        axis=view.report.axis,
        scope=variant["scope"],
        policy=variant["policy"],
        interpolation=variant["mode"],
        range=variant["range_policy"],
    )
    return replace(view, report=report)


@pytest.mark.parametrize("name", ["parity", "default", "linear", "step"])
def test_the_ladder_and_costs_of_published_rows(seed, name):
    view, expected = seed
    (variant,) = [variant for variant in expected["variant"] if variant["name"] == name]
    run = with_settings(view, variant)
    ladder = build_ladder([run])
    names = {label: engine for engine, label in expected["display_names"].items()}
    rows = [
        [
            f"{rung.target:g} tok/s",
            format_rate(rung.tok_s_gpu),
            format_usd(rung.usd_per_mtok),
            rung.engine or "-",
            rung.precision or "-",
            rung.status,
        ]
        for rung in ladder.rungs
    ]
    assert rows == [[*row[:3], names.get(row[3], "-"), *row[4:]] for row in variant["ladder"]]
    costs = build_cost_table([run], ladder)
    assert [[tier.tier, format_hourly(tier.usd_per_gpu_hour), format_usd(tier.usd_per_mtok)] for tier in costs.tiers] == variant["cost"]
    if name == "parity":
        unrounded = expected["unrounded"]
        reads = {rung.target: rung.tok_s_gpu for rung in ladder.rungs}
        assert [reads[30], reads[50], reads[75]] == pytest.approx([unrounded[f"tps_per_gpu_at_{rung}"] for rung in (30, 50, 75)], rel=1e-9)
        assert [tier.usd_per_mtok for tier in costs.tiers] == pytest.approx(
            [unrounded[f"usd_per_mtok_at_50_{tier}"] for tier in ("hyperscaler", "retail")], rel=1e-9
        )


def test_what_else_the_page_of_published_rows_says(seed):
    view, expected = seed
    ladder = build_ladder([view])
    stats = expected["stats"]
    assert view.title == "Kimi K3 on MI355X"
    assert (ladder.configs, list(ladder.engines), list(ladder.precisions)) == (stats["configs"], ["atom", "vllm"], stats["precisions"])
    assert ladder.dates == ("2026-09-10",)
    assert (format_rate(ladder.peak.tok_s_gpu), ladder.peak.engine) == (stats["peak_tps_per_gpu"], "atom")
    assert format_latency(Seconds(ladder.best_ttft.s)) == stats["best_ttft"]
    assert format_latency(Seconds(ladder.best_tpot.s)) == stats["best_tpot"]
    assert (ladder.best_ttft.point, ladder.best_tpot.point) == ("atom-c1", "vllm-c1")
    assert {curve.origin for curve in ladder.curves} == {"imported"}


def test_superseded_rows_and_rows_without_latency_stay_out(shared):
    (view,) = load_runs([shared / "data" / "rows" / "api_rows_fixed_sequence.json"], load_host())
    ladder = build_ladder([view])
    assert ladder.left_out.superseded == 1
    on_curves = {point.id: point.x for curve in ladder.curves for point in curve.points}
    assert len(on_curves) == 7
    assert "sglang-fp4-mtp-c64" not in on_curves
    assert on_curves["sglang-fp4-mtp-c8"] == 110.0
    assert len(ladder.curves) == 3


def test_of_agentic_rows_only_the_newest_run_counts(foreign, tmp_path):
    early = {"run_started_at": "2026-09-10T04:00:00Z", "workflow_run_id": 99}
    rows = [
        api(conc=1, date="2026-09-09", workflow_run_id=500, run_started_at="2026-09-10T23:00:00Z"),
        api(conc=2, **early),
        api(conc=4, run_started_at="2026-09-10T05:00:00Z", workflow_run_id=7),
        api(conc=8, run_started_at="2026-09-10T05:00:00Z", workflow_run_id=100),
        api(conc=16, run_started_at="2026-09-10T05:00:00Z", workflow_run_id=100),
    ]
    foreign(rows, "newest.json")
    (view,) = load_runs([tmp_path / "newest.json"], load_host())
    (curve,) = build_ladder([view]).curves
    assert [point.id for point in curve.points] == ["atom-c8", "atom-c16"]


def test_rows_of_several_skus_are_priced_each_by_its_own(foreign, tmp_path):
    fixed = {"benchmark_type": "single_turn", "isl": 8192, "osl": 1024}
    fast = {"median_tpot": 0.01, "tput_per_gpu": 2000.0, "input_tput_per_gpu": 1900.0, "output_tput_per_gpu": 100.0}
    foreign([api(**fixed, hardware="mi355x"), api(**fixed, hardware="h100", metrics=fast)], "two.json")
    (view,) = load_runs([tmp_path / "two.json"], load_host())
    ladder = build_ladder([view])
    assert {curve.key.split(" | ")[1]: curve.usd_per_gpu_hour for curve in ladder.curves} == {"mi355x": 1.5, "h100": 1.17}
    assert view.sku is None


def test_a_file_of_rows_that_all_are_none_ends_with_one_sentence(foreign):
    """Each refusal is kept with its reason: those of a list of millions of empty objects would take gigabytes."""
    rows = foreign('[{"tput_per_gpu": 1}' + ",{}" * 100_001 + "]")
    with pytest.raises(InputError, match=r"rows.json: has more than 100,000 rows that cannot be taken; the first: rows.json\[0\]: "):
        IMPORTER.read(rows, ImportContext(skus=SKUS))
