"""What is surely wrong is said before anything starts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.options import VllmOptions

ADAPTER = VllmAdapter()


def find(*, options=None, **fields):
    given = {
        "name": "v",
        "engine": "vllm",
        "model": ModelSpec(id="acme/model", label="model"),
        "hardware": HardwareSpec(),
        "options": VllmOptions.model_validate(options or {}),
    }
    return [(finding.level, finding.code, finding.text) for finding in ADAPTER.validate(Deployment(**{**given, **fields}))]


def spec(**fields):
    return {"speculative": {"method": "dspark", **fields}}


def variable(name):
    return {name: EnvVar(value="1", reason="", origin="benchmarks.toml")}


def test_nothing_is_wrong_with_nothing_set():
    assert find() == []


@pytest.mark.parametrize("length", [1, 2.51, 3])
def test_acceptance_within_its_range(length):
    assert find(options=spec(tokens=2, acceptance_length=length)) == []


@pytest.mark.parametrize("length", [0.99, 3.01, 9])
def test_acceptance_outside_its_range(length):
    ((level, code, text),) = find(options=spec(tokens=2, acceptance_length=length))
    assert (level, code) == ("error", "acceptance_range")
    assert text == f"speculative.acceptance_length = {length:g} is impossible with tokens = 2; allowed: 1 to 3"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"options": spec(acceptance_length=2)}, "acceptance_tokens"),
        ({"options": spec(tokens=2, acceptance_length=2, rejection="block")}, "acceptance_conflict"),
        ({"options": spec(tokens=2, rejection="synthetic")}, "acceptance_missing"),
        ({"options": spec(tokens=2, acceptance_length=2, acceptance_rates=[1, 0.5])}, "acceptance_conflict"),
        ({"options": spec(tokens=2, acceptance_rates=[1, 0.5], rejection="standard")}, "acceptance_conflict"),
        ({"options": spec(acceptance_rates=[1, 0.5])}, "acceptance_tokens"),
        ({"options": spec(tokens=3, acceptance_rates=[1, 0.5])}, "acceptance_range"),
        ({"options": spec(tokens=2, acceptance_rates=[1.1, 0.5])}, "acceptance_range"),
        ({"options": spec(tokens=2, acceptance_rates=[0.5, 0.6])}, "acceptance_range"),
        ({"options": spec(tokens=2, acceptance_length=2) | {"sanity": True}}, "sanity_synthetic"),
        ({"options": {"dp_attention": True}}, "dp_attention"),
        ({"options": {"dp_attention": True, "tensor_parallel": 8, "decode_context_parallel": 2}}, "context_parallel"),
        ({"options": {"load_rate": "1 GB"}}, "load_rate"),
        (
            {"options": {"kv_offload": {"backend": "lmcache", "host_memory": 5, "server_args": {"--port": 1}}}},
            ["reserved_flag", "kv_offload_small"],
        ),
        ({"options": {"kv_offload": {"backend": "mooncake", "host_memory": 5, "server_args": {"--metrics_port": 1}}}}, "reserved_flag"),
        ({"options": {"tensor_parallel": 8, "decode_context_parallel": 3}}, "context_parallel"),
        ({"options": {"load_format": "dummy"}}, "dummy_weights"),
        ({"options": {"tensor_parallel": 8, "pipeline_parallel": 2}, "hardware": HardwareSpec(gpus=8)}, "too_few_gpus"),
        ({"options": {"tensor_parallel": 4}, "hardware": HardwareSpec(gpus=8), "gpu_indices": (0, 1)}, "too_few_gpus"),
        ({"model": ModelSpec(id="", label="")}, "no_model"),
        ({"args": {"--port": 80}}, "reserved_flag"),
        ({"args": {"--model": "x"}}, "reserved_flag"),
        ({"args": {"max-num-seqs": 1}}, "not_a_flag"),
        ({"args": {"-tp": 1, "--tensor_parallel_size": 2}}, "flag_twice"),
        ({"gpu_indices": (0,), "env": variable("ROCR_VISIBLE_DEVICES")}, "visibility_conflict"),
        (
            {
                "options": {"kv_offload": {"backend": "native", "host_memory": "1 GB"}},
                "env": variable("VLLM_USE_SIMPLE_KV_OFFLOAD"),
            },
            "kv_offload_swapped",
        ),
    ],
)
def test_errors(fields, code):
    codes = [code] if isinstance(code, str) else code
    assert [(level, found) for level, found, _ in find(**fields)] == [("error", code) for code in codes]


def test_a_variable_that_swaps_connectors_is_fine_when_it_is_off():
    off = {"VLLM_USE_SIMPLE_KV_OFFLOAD": EnvVar(value="0", reason="", origin="benchmarks.toml")}
    assert find(options={"kv_offload": {"backend": "native", "host_memory": "1 GB"}}, env=off) == []


def test_acceptance_by_position_within_its_range():
    assert find(options=spec(tokens=3, acceptance_rates=[1, 0.5, 0])) == []


def test_lmcache_with_data_parallel_ranks_is_marked():
    options = {"data_parallel": 2, "kv_offload": {"backend": "lmcache", "host_memory": "64 GB"}}
    ((level, code, text),) = find(options=options)
    assert (level, code) == ("warning", "kv_offload_ranks")
    assert "unverified" in text


@pytest.mark.parametrize(
    ("build", "flag", "level", "code", "advice"),
    [
        ("0.32.0", "--max-num-seq", "error", "unknown_flag", "did you mean '--max-num-seqs'?"),
        ("v0.27.1", "--max-num-seq", "warning", "unlisted_flag", "did you mean '--max-num-seqs'?"),
        (None, "--zzz", "warning", "unlisted_flag", "remove it"),
    ],
)
def test_a_flag_that_no_list_has(build, flag, level, code, advice):
    ((found, name, text),) = find(options={"build": build} if build else {}, args={flag: 1})
    assert (found, name) == (level, code)
    assert flag in text
    assert advice in text


@pytest.mark.parametrize(
    "flag",
    [
        "--max_num_seqs",
        "--no-async-scheduling",
        "-tp",
        "-cc.pass_config.fuse_rope_kvcache",
        "--profiler-config.profiler",
        "--cudagraph-metrics",
    ],
)
def test_flags_that_the_list_has_in_any_spelling(flag):
    assert find(options={"build": "0.32.0"}, args={flag: 1}) == []


def test_idle_gpus_are_a_warning_except_on_a_host_without_gpus():
    ((level, code, text),) = find(options={"tensor_parallel": 4}, hardware=HardwareSpec(gpus=8))
    assert (level, code) == ("warning", "idle_gpus")
    assert "4 of the 8" in text
    assert find(hardware=HardwareSpec(sku="cpu", gpus=4)) == []


def test_graphs_that_end_below_a_full_batch_are_a_warning():
    options = spec(tokens=6) | {"max_num_seqs": 20, "compilation": {"cudagraph_capture_sizes": [1, 60]}}
    ((level, code, text),) = find(options=options)
    assert (level, code) == ("warning", "capture_too_small")
    assert "140" in text
    assert find(options=options | {"eager": True}) == []
    assert find(options=options | {"max_num_seqs": 8}) == []


def test_an_arg_that_replaces_an_option_is_noted():
    ((level, code, text),) = find(options={"max_num_seqs": 20}, args={"--max_num_seqs": 64})
    assert (level, code) == ("note", "args_replace_option")
    assert "max_num_seqs" in text
    assert find(args={"--max-num-seqs": 64}) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv_offload": {"host_memory": "1 GB"}}, "Field required"),
        ({"kv_offload": {"backend": "simple"}}, "not neither"),
        ({"kv_offload": {"backend": "simple", "host_memory": "1 GB", "host_memory_per_rank": "1 GB"}}, "not both"),
        ({"kv_offload": {"backend": "off", "host_memory": "1 GB"}}, "host_memory needs a backend"),
        ({"kv_offload": {"backend": "off", "lazy": True}}, "lazy needs a backend"),
        ({"kv_offload": {"backend": "native", "host_memory": "1 GB", "lazy": True}}, "lazy belongs to"),
        ({"kv_offload": {"backend": "cloud", "host_memory": "1 GB"}}, "'off', 'simple', 'native', 'lmcache' or 'mooncake'"),
        ({"kv_offload": {"backend": "off", "protocol": "tcp"}}, "protocol needs a backend"),
        ({"kv_offload": {"backend": "lmcache", "host_memory": "1 GB", "protocol": "rdma"}}, "protocol belongs to backend 'mooncake'"),
        (
            {"kv_offload": {"backend": "simple", "host_memory": "1 GB", "server_args": {"--x": 1}}},
            "server_args belongs to backend 'lmcache' or",
        ),
        ({"kv_offload": {"backend": "native", "host_memory": "1 GB", "connector": {"a": 1}}}, "connector belongs to backend"),
        ({"kv_offload": {"backend": "lmcache", "host_memory": "1 GB", "server_args": {"chunk-size": 1}}}, "write it with its dashes"),
        ({"max_model_len": -2}, "Input should be"),
        ({"speculative": {"method": "mtp", "acceptance_rates": []}}, "at least 1"),
        ({"kv_offload": {"backend": "simple", "host_memory": 0}}, "greater than 0"),
        ({"speculative": {"tokens": 2}}, "Field required"),
        ({"speculative": {"method": "mtp", "tokens": 0}}, "greater than 0"),
        ({"ready_limit": 0}, "greater than 0"),
        ({"stall_limit": "0s"}, "greater than 0"),
        ({"gpu_memory_utilization": 1.1}, "less than or equal to 1"),
        ({"max_model_len": "long"}, "pattern"),
        ({"compilation": {"mode": 4}}, "less than or equal to 3"),
        ({"compilation": {"cudagraph_capture_sizes": []}}, "at least 1"),
        ({"tensor_paralel": 8}, "Extra inputs"),
    ],
)
def test_values_that_can_not_be_are_refused_on_reading(options, message):
    with pytest.raises(ValidationError, match=message):
        VllmOptions.model_validate(options)


def test_vllms_own_default_of_sequences_is_not_known():
    assert find(concurrency=5000) == []
