"""Names and units of foreign rows."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench_plugins.importers.detect import schema_name
from ixbench_plugins.importers.errors import RowError
from ixbench_plugins.importers.names import engine_of, image_of, model_key, model_of, sku_of_runner, spec_method_of
from ixbench_plugins.importers.units import latencies_in_seconds, speeds_of
from ixbench_plugins.importers.values import number, short_slug, text, truth, whole

KNOWN = {"mi355x", "h100", "b200", "gb300", "mi300x", "h200"}


def refusal(call, *arguments):
    with pytest.raises(RowError) as caught:
        call(*arguments)
    return caught.value.code


@pytest.mark.parametrize(
    ("name", "sku"),
    [
        ("mi355x-amds_2", "mi355x"),
        ("cluster:h100-dgxc", "h100"),
        ("B200-DGXC-slurm", "b200"),
        ("gb300-nv", "gb300"),
        ("mi300x_1", "mi300x"),
        ("a:b:h200-multinode-slurm", "h200"),
        (" mi355x ", "mi355x"),
        *((f"h100-{suffix}", "h100") for suffix in ("trt", "nvs", "nvd", "nb", "amd", "disagg", "cw", "lat", "dsv4")),
    ],
)
def test_a_runner_is_cut_to_its_sku(name, sku):
    assert sku_of_runner(name, KNOWN) == sku


@pytest.mark.parametrize("name", ["a100-nv", "", ":", "mi355", "xmi355x", "mi355x.nv", "../../h100"])
def test_hardware_that_no_book_has_is_refused(name):
    assert refusal(sku_of_runner, name, KNOWN) == "unknown_hardware"


@pytest.mark.parametrize(
    ("name", "engine", "disaggregated"),
    [
        ("TRTLLM", "trt", False),
        ("dynamo-trtllm", "dynamo-trt", False),
        ("sglang-disagg", "mori-sglang", True),
        ("atom-disagg", "mooncake-atom", True),
        ("vLLM", "vllm", False),
        ("brand-new", "brand-new", False),
    ],
)
def test_engines_have_one_name(name, engine, disaggregated):
    found = engine_of(name)
    assert (found.engine, found.disaggregated) == (engine, disaggregated)


def test_methods_and_images_have_one_form():
    assert [spec_method_of(name) for name in ("", "MTP", "None")] == ["none", "mtp", "none"]
    assert image_of("rocm#vllm:1#2") == "rocm/vllm:1/2"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("kimik3", "kimik3"),
        ("moonshotai/Kimi-K3", "kimik3"),
        ("amd/Kimi-K3-MXFP4", "kimik3"),
        ("MiniMaxAI/MiniMax-M2.5", "minimaxm2.5"),
        ("MiniMaxAI/MiniMax-M2.6-FP8", "minimaxm2.6"),
        ("deepseek-ai/DeepSeek-R1-0528", "dsr1"),
        ("org/Model-FP8-dynamic", "modeldynamic"),
    ],
)
def test_a_model_is_compared_by_its_name_without_precision(name, key):
    assert model_key(name) == key


def test_the_best_name_of_a_model_counts_and_none_is_refused():
    assert model_of("kimik3", "some/Other") == "Kimi K3"
    assert model_of("", "example-org/Example-120B") == "example120b"
    assert refusal(model_of, "", " / ") == "unknown_model"


def test_the_suffix_decides_the_unit():
    seconds = latencies_in_seconds(
        {"median_tpot_ms": 25.0, "p99.9_ttft_ms": 150.5, "median_e2el": 4.0, "duration": 60.0, "goodput": 3.0}, 60.0
    )
    assert seconds == {"median_tpot": 0.025, "p99.9_ttft": 0.1505, "median_e2el": 4.0}
    assert speeds_of(latencies_in_seconds({"mean_tpot_ms": 20.0, "std_tpot_ms": 4.0})) == {"mean_intvty": 50.0}


@pytest.mark.parametrize(
    ("raw", "duration", "code"),
    [
        ({"median_tpot": 0.02, "median_tpot_ms": 20.0}, 60.0, "duplicate_unit"),
        ({"median_tpot": 20.785798, "median_e2el": 4371.7}, 54.77, "unit_suspect"),
        ({"median_tpot": 0.00002}, None, "unit_suspect"),
        ({"median_tpot_ms": 0.0}, None, "unit_suspect"),
        ({"median_tpot": 61.0}, None, "unit_suspect"),
        ({"p99_ttft_ms": 61_000.0}, 60.0, "unit_suspect"),
    ],
)
def test_numbers_that_make_no_sense_in_their_unit_are_refused(raw, duration, code):
    assert refusal(latencies_in_seconds, raw, duration) == code


@given(st.dictionaries(st.text(max_size=20), st.floats(allow_nan=True)))
def test_any_keys_are_read_or_refused(raw):
    with suppress(RowError):
        assert all(stem.split("_")[1] in ("ttft", "tpot", "itl", "e2el") for stem in latencies_in_seconds(raw, 10.0))


@pytest.mark.parametrize("document", [[], 3, "text", None, {}, {"hw": "h100"}, {"hardware": "h100", "metrics": []}, {"metadata": {}}])
def test_what_has_no_known_shape_is_refused(document):
    assert refusal(schema_name, document) == "unknown_schema"


def test_the_other_schemas():
    assert schema_name({"aiperf_version": "0.13.0"}) == "aiperf_summary"
    assert schema_name({"metadata": {"request_start_ns": 1}, "metrics": {}}) == "aiperf_record"


def test_values_are_taken_for_what_they_are():
    assert [number(value) for value in (1, 2.5, True, "3", None, float("nan"), float("inf"), 10**400)] == [1, 2.5, *[None] * 6]
    assert [whole(value) for value in (8, 8.0, 8.5, -1, "8", 2**63 - 1, 2**63)] == [8, 8, None, None, None, 2**63 - 1, None]
    assert [truth(value) for value in (True, "true", "False", 1, None)] == [True, True, False, None, None]
    assert text("a\x1b[31mb\u202ec\n d" + "x" * 1000).startswith("a [31mb c d")
    assert len(text("x" * 1000)) == 300
    assert short_slug("../Aé b<script>") == "a-b-script"
