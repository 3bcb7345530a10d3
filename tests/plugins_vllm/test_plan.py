"""`plan()` maps options to `vllm serve`, purely."""

from __future__ import annotations

import builtins
import json
import os
import re
import socket
import subprocess
import time

import pytest

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench.model.errors import InputError
from ixbench.testing.deployments import recipe_deployment
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.environment import ORIGIN
from ixbench_vllm.flags import DETAILS, NAMING, NO_FLAGS, STRICT, TABLE
from ixbench_vllm.options import VllmOptions

ADAPTER = VllmAdapter()


def deployment(*, options=None, **fields):
    given = {
        "name": "v",
        "engine": "vllm",
        "model": ModelSpec(id="acme/model", label="model"),
        "hardware": HardwareSpec(gpus=1),
        "options": VllmOptions.model_validate(options or {}),
    }
    return Deployment(**{**given, **fields})


def argv(**fields):
    """Return the server's command line without the flag that ixbench adds to all of them."""
    return tuple(item for item in ADAPTER.plan(deployment(**fields)).server.argv if item != DETAILS)


def variables(**fields):
    """Return name and value of all variables but the one that every launch gets."""
    env = ADAPTER.plan(deployment(**fields)).server.env
    return {name: item.value for name, item in env.items() if name != "VLLM_SERVER_DEV_MODE"}


def test_nothing_set_gives_the_bare_command():
    assert argv() == ("vllm", "serve", "acme/model", "--host", "127.0.0.1", "--port", "{port:http}")
    plan = ADAPTER.plan(deployment())
    assert plan.server.argv[-1] == DETAILS
    assert {name: (item.value, item.origin) for name, item in plan.server.env.items()} == {"VLLM_SERVER_DEV_MODE": ("1", ORIGIN)}
    assert plan.processes == (plan.server,)
    assert plan.files == {}
    assert plan.notes == ()


def test_a_local_model_is_served_by_its_path_and_needs_no_revision():
    plan = ADAPTER.plan(deployment(model=ModelSpec(id="acme/model", label="m", path="/models/m", revision="abc")))
    assert plan.server.argv[2] == "/models/m"
    assert "--revision" not in plan.server.argv
    assert plan.served_model == "/models/m"


def test_a_hub_model_is_pinned():
    found = argv(model=ModelSpec(id="acme/model", label="m", revision="abc"))
    assert found[found.index("--revision") + 1] == "abc"


def test_no_model_is_refused_with_one_sentence():
    with pytest.raises(InputError, match=r"^v: vLLM needs a model to serve; set \[model\] id or path$"):
        ADAPTER.plan(deployment(model=ModelSpec(id="", label="")))


def test_every_option_stands_in_the_table_once():
    mapped = [rule.option for rule in (*NAMING, *TABLE)]
    assert sorted([*mapped, *NO_FLAGS]) == sorted(VllmOptions.model_fields)


EVERYTHING = [
    ({"served_name": "m"}, ["--served-model-name", "m"]),
    ({"tensor_parallel": 8}, ["--tensor-parallel-size", "8"]),
    ({"pipeline_parallel": 2}, ["--pipeline-parallel-size", "2"]),
    ({"data_parallel": 2}, ["--data-parallel-size", "2"]),
    ({"dp_attention": False}, []),
    ({"dp_attention": True, "tensor_parallel": 8}, ["--tensor-parallel-size", "1", "--data-parallel-size", "8"]),
    ({"dp_attention": True, "tensor_parallel": 4, "data_parallel": 2}, ["--tensor-parallel-size", "1", "--data-parallel-size", "8"]),
    ({"expert_parallel": True}, ["--enable-expert-parallel"]),
    ({"expert_parallel": False}, []),
    ({"prefill_context_parallel": 2}, ["--prefill-context-parallel-size", "2"]),
    ({"decode_context_parallel": 2}, ["--decode-context-parallel-size", "2"]),
    ({"kv_cache_dtype": "fp8"}, ["--kv-cache-dtype", "fp8"]),
    ({"kv_cache_dtype": "auto"}, []),
    ({"block_size": 128}, ["--block-size", "128"]),
    ({"max_num_seqs": 20}, ["--max-num-seqs", "20"]),
    ({"max_batched_tokens": 8192}, ["--max-num-batched-tokens", "8192"]),
    ({"long_prefill_threshold": 0}, ["--long-prefill-token-threshold", "0"]),
    ({"max_model_len": 4096}, ["--max-model-len", "4096"]),
    ({"max_model_len": "32K"}, ["--max-model-len", "32K"]),
    ({"max_model_len": "auto"}, ["--max-model-len", "auto"]),
    ({"max_model_len": -1}, ["--max-model-len", "-1"]),
    ({"gpu_memory_utilization": 0.9}, ["--gpu-memory-utilization", "0.9"]),
    ({"prefix_caching": True}, ["--enable-prefix-caching"]),
    ({"prefix_caching": False}, ["--no-enable-prefix-caching"]),
    ({"state_checkpoints": "align"}, ["--mamba-cache-mode", "align"]),
    ({"quantization": "quark"}, ["--quantization", "quark"]),
    (
        {"online_quant": {"global_quant_config": "ptpc_fp8", "exclude_layer": ["lm_head"]}},
        ["--additional-config", '{"online_quant_config":{"global_quant_config":"ptpc_fp8","exclude_layer":["lm_head"]}}'],
    ),
    ({"attention_backend": "ROCM_AITER_FA"}, ["--attention-backend", "ROCM_AITER_FA"]),
    ({"moe_backend": "aiter"}, ["--moe-backend", "aiter"]),
    ({"linear_backend": "triton"}, ["--linear-backend", "triton"]),
    (
        {"compilation": {"mode": 3, "cudagraph_capture_sizes": [1, 2], "pass_config": {"fuse": True}}},
        ["--compilation-config", '{"mode":3,"cudagraph_capture_sizes":[1,2],"pass_config":{"fuse":true}}'],
    ),
    ({"eager": True}, ["--enforce-eager"]),
    ({"speculative": {"method": "mtp", "tokens": 3}}, ["--speculative-config", '{"num_speculative_tokens":3,"method":"mtp"}']),
    (
        {"speculative": {"method": "mtp", "tokens": 3, "rejection": "block"}},
        ["--speculative-config", '{"num_speculative_tokens":3,"method":"mtp","rejection_sample_method":"block"}'],
    ),
    (
        {"speculative": {"method": "mtp", "tokens": 2, "acceptance_rates": [0.9, 0.6]}},
        [
            "--speculative-config",
            '{"num_speculative_tokens":2,"method":"mtp","rejection_sample_method":"synthetic","synthetic_acceptance_rates":[0.9,0.6]}',
        ],
    ),
    ({"kv_offload": {"backend": "off"}}, []),
    ({"load_format": "safetensors"}, ["--load-format", "safetensors"]),
    ({"tool_parser": "kimi_k3"}, ["--enable-auto-tool-choice", "--tool-call-parser", "kimi_k3"]),
    ({"reasoning_parser": "kimi_k3"}, ["--reasoning-parser", "kimi_k3"]),
    ({"tokenizer_mode": "hf"}, ["--tokenizer-mode", "hf"]),
    ({"language_model_only": True}, ["--language-model-only"]),
    ({"chat_template": "t.jinja"}, ["--chat-template", "t.jinja"]),
    ({"chat_template_kwargs": {"thinking": False}}, ["--default-chat-template-kwargs", '{"thinking":false}']),
    ({"trust_remote_code": True}, ["--trust-remote-code"]),
    ({"hf_overrides": {"use_index_cache": True}}, ["--hf-overrides", '{"use_index_cache":true}']),
    ({"async_scheduling": False}, ["--no-async-scheduling"]),
    ({"stream_interval": 20}, ["--stream-interval", "20"]),
    ({"profiler": True}, ["--profiler-config", '{"profiler":"torch","torch_profiler_dir":"{folder}/profile"}']),
    ({"profiler": False}, []),
]


@pytest.mark.parametrize(("options", "flags"), EVERYTHING, ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_each_option_becomes_its_flags(options, flags):
    found = [item for item in argv(options=options)[3:] if item not in {"--host", "127.0.0.1", "--port", "{port:http}"}]
    assert found == flags


def test_the_cases_above_reach_every_option():
    assert {key for options, _ in EVERYTHING for key in options} == set(VllmOptions.model_fields) - set(NO_FLAGS)


def test_cached_tokens_are_reported_unless_they_are_switched_off():
    for fields in ({"options": {"prompt_tokens_details": False}}, {"args": {DETAILS: False}}):
        assert DETAILS not in ADAPTER.plan(deployment(**fields)).server.argv
    assert DETAILS in ADAPTER.plan(deployment(options={"prompt_tokens_details": True})).server.argv
    assert DETAILS in ADAPTER.plan(deployment()).server.argv


@pytest.mark.parametrize(
    ("build", "strict"), [("0.32.0", True), ("v0.33.1", True), ("v0.27.1", False), ("nightly-abc", False), (None, False)]
)
def test_unknown_variables_are_refused_where_the_build_can(build, strict):
    assert (STRICT in argv(options={"build": build} if build else {})) is strict
    if build:
        assert (STRICT in argv(image=f"vllm/vllm-openai-rocm:{build}")) is strict


def test_simple_offload_takes_total_or_per_rank_memory():
    for memory in ({"host_memory": "1499 GB"}, {"host_memory_per_rank": 187_375_000_000}):
        plan = ADAPTER.plan(deployment(options={"tensor_parallel": 8, "kv_offload": {"backend": "simple", **memory}}))
        config = json.loads(plan.server.argv[-2])
        assert config["kv_connector_extra_config"] == {"cpu_bytes_to_use_per_rank": 187_375_000_000, "lazy_offload": False}
        assert plan.server.env["PYTHONHASHSEED"].origin == ORIGIN


def test_a_connectors_further_keys_are_put_in():
    offload = {"backend": "simple", "host_memory": "8 GB", "connector": {"lazy_offload": True, "new_key": 1}}
    config = json.loads(argv(options={"kv_offload": offload})[-1])
    assert config["kv_connector_extra_config"] == {"cpu_bytes_to_use_per_rank": 8_000_000_000, "lazy_offload": True, "new_key": 1}


def test_native_offload_takes_the_total_over_the_tensor_parallel_ranks():
    offload = {"backend": "native", "host_memory_per_rank": "32 GiB"}
    found = argv(options={"tensor_parallel": 4, "data_parallel": 2, "kv_offload": offload})
    assert found[-4:] == ("--kv-offloading-backend", "native", "--kv-offloading-size", "128.0")
    spread = {"tensor_parallel": 4, "data_parallel": 2, "dp_attention": True, "kv_offload": offload}
    assert argv(options=spread)[-1] == "32.0"
    assert variables(options=spread) == {"VLLM_USE_SIMPLE_KV_OFFLOAD": "0"}


def test_args_replace_options_in_place_and_false_removes():
    found = argv(
        options={"max_num_seqs": 20, "prefix_caching": True, "speculative": {"method": "mtp", "tokens": 2}},
        args={"--max_num_seqs": 64, "--no-enable-prefix-caching": True, "--speculative-config": False, "--new-flag": {"a": 1}},
    )
    assert found[7:] == ("--max_num_seqs", "64", "--no-enable-prefix-caching", "--new-flag", '{"a":1}')


def test_the_identity_follows_the_flags_that_really_start_the_server():
    options = {"tensor_parallel": 8, "speculative": {"method": "dspark", "tokens": 2}}
    args = {
        "-tp": 4,
        "--speculative-config": '{"method":"mtp","num_speculative_tokens":1}',
        "--kv-transfer-config": {"kv_connector": "OffloadingConnector"},
    }
    identity = ADAPTER.plan(deployment(options=options, args=args)).identity
    assert (identity.tensor_parallel, identity.spec_method, identity.kv_offload) == (4, "mtp", "native")
    assert identity.acceptance_length is None
    assert (identity.pipeline_parallel, identity.data_parallel, identity.expert_parallel) == (1, 1, False)
    assert ADAPTER.plan(deployment(options=options, args={"--speculative-config": False})).identity.spec_method is None


@pytest.mark.parametrize(
    ("spec", "length"),
    [
        ({"acceptance_length": 2.51}, 2.51),
        ({"acceptance_rates": [0.75, 0.5]}, 2.25),
        ({"rejection": "block"}, None),
    ],
)
def test_the_identity_knows_the_mean_of_synthetic_acceptance(spec, length):
    options = {"speculative": {"method": "mtp", "tokens": 2, **spec}}
    assert ADAPTER.plan(deployment(options=options)).identity.acceptance_length == length


def test_a_size_that_is_no_number_is_unknown():
    assert ADAPTER.plan(deployment(args={"--tensor-parallel-size": "many"})).identity.tensor_parallel is None


def test_the_deployments_variables_win_over_the_adapters():
    own = EnvVar(value="7", reason="because", origin="benchmarks.toml")
    options = {"kv_offload": {"backend": "simple", "host_memory": "1 GB"}}
    assert ADAPTER.plan(deployment(options=options, env={"PYTHONHASHSEED": own})).server.env["PYTHONHASHSEED"] == own
    off = EnvVar(value="0", reason="because", origin="benchmarks.toml")
    assert ADAPTER.plan(deployment(env={"VLLM_SERVER_DEV_MODE": off})).server.env == {"VLLM_SERVER_DEV_MODE": off}


def test_a_server_that_others_can_reach_gets_no_dev_mode():
    assert ADAPTER.plan(deployment(args={"--host": "0.0.0.0"})).server.env == {}


def test_gpus_by_index_set_exactly_one_variable():
    plan = ADAPTER.plan(deployment(gpu_indices=(4, 5), hardware=HardwareSpec(sku="mi355x", gpus=2), options={"tensor_parallel": 2}))
    assert {name: item.value for name, item in plan.server.env.items() if name.endswith("DEVICES")} == {"HIP_VISIBLE_DEVICES": "4,5"}
    assert plan.server.gpus == (4, 5)
    assert ADAPTER.plan(deployment(hardware=HardwareSpec(gpus=2))).server.gpus == (0, 1)


def test_executable_and_limits_and_names():
    plan = ADAPTER.plan(deployment(executable="/opt/vllm/bin/vllm", options={"served_name": "k3", "ready_limit": "2h"}, api_key_env="KEY"))
    assert plan.server.argv[:2] == ("/opt/vllm/bin/vllm", "serve")
    assert (plan.served_model, plan.ready_limit_s, plan.api_key_env) == ("k3", 7200.0, "KEY")


@pytest.mark.parametrize(
    ("options", "limit", "told"),
    [
        ({}, 1800.0, {}),
        ({"ready_limit": "10m"}, 600.0, {}),
        ({"ready_limit": "2h"}, 7200.0, {"VLLM_ENGINE_READY_TIMEOUT_S": "7200"}),
        ({"weights": "1561 GB"}, 1800.0, {}),
        ({"weights": "1561 GB", "load_rate": "120 MB"}, 27816.666666666668, {"VLLM_ENGINE_READY_TIMEOUT_S": "27817"}),
        ({"ready_limit": "2h", "weights": "1561 GB", "load_rate": "6.06 GB"}, 2315.1815181518, {"VLLM_ENGINE_READY_TIMEOUT_S": "2315"}),
    ],
)
def test_the_limit_for_getting_ready(options, limit, told):
    plan = ADAPTER.plan(deployment(options=options))
    assert plan.ready_limit_s == pytest.approx(limit)
    assert plan.stall_limit_s == 1200.0
    assert variables(options=options) == told


def test_progress_lines_of_a_real_start():
    lines = [
        "Loading safetensors checkpoint shards:  52% Completed | 50/96 [10:11<09:22, 12.24s/it]",
        "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  37%|###7      | 19/51 [00:01<00:02, 13.57it/s]",
        "[aiter] start build [module_moe_ck2stages] under ~/.aiter/jit/build",
        "(EngineCore pid=7) INFO 11-30 07:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 4,194,304 tokens",
    ]
    for line in lines:
        assert any(re.search(pattern, line) for pattern in ADAPTER.plan(deployment()).progress), line
    assert not any(re.search(pattern, "INFO: Waiting for application startup.") for pattern in ADAPTER.plan(deployment()).progress)


def test_whether_the_profiler_is_loaded():
    assert ADAPTER.plan(deployment()).profiler is False
    assert ADAPTER.plan(deployment(options={"profiler": True})).profiler is True
    assert ADAPTER.plan(deployment(args={"--profiler-config.profiler": "torch"})).profiler is True
    assert ADAPTER.plan(deployment(options={"profiler": True}, args={"--profiler-config": False})).profiler is False


def test_what_the_server_reads_of_this_machine():
    options = {"chat_template": "/t/chat.jinja", "speculative": {"method": "eagle3", "draft": "/models/draft", "tokens": 3}}
    assert ADAPTER.plan(deployment(options=options)).reads == ("/t/chat.jinja", "/models/draft")
    options = {"chat_template": "t.jinja", "speculative": {"method": "eagle3", "draft": "acme/draft", "tokens": 3}}
    assert ADAPTER.plan(deployment(options=options)).reads == ()


def test_the_first_of_several_served_names_counts():
    assert ADAPTER.plan(deployment(args={"--served-model-name": ["a", "b"]})).served_model == "a"


def test_a_running_server_is_not_launched_and_unknown_settings_stay_unknown():
    plan = ADAPTER.plan(deployment(url="http://10.0.0.1:8000", options={"tensor_parallel": 8}))
    assert plan.processes == ()
    assert (plan.url, plan.served_model) == ("http://10.0.0.1:8000", "acme/model")
    assert (plan.identity.tensor_parallel, plan.identity.pipeline_parallel, plan.identity.expert_parallel) == (8, None, None)
    (trust,) = plan.notes
    assert "on trust" in trust


@pytest.mark.parametrize(
    ("settings", "method", "offload"),
    [
        ({}, "unknown", "unknown"),
        ({"options": {"kv_offload": {"backend": "off"}}}, "unknown", "off"),
        ({"args": {"--kv-offloading-backend": "native"}}, "unknown", "native"),
        ({"args": {"--speculative-config": {"method": "mtp"}}}, "mtp", "unknown"),
    ],
)
def test_of_a_running_server_nothing_is_off_that_the_file_does_not_say(settings, method, offload):
    plan = ADAPTER.plan(deployment(url="http://10.0.0.1:8000", **settings))
    assert (plan.told.spec_method, plan.told.kv_offload) == (method, offload)
    started = ADAPTER.plan(deployment(**settings)).told
    assert (started.spec_method, started.kv_offload) == tuple(
        {"unknown": default}.get(told, told) for told, default in ((method, None), (offload, "off"))
    )


def test_a_running_server_is_not_asked_whether_its_answers_make_sense_and_that_is_told():
    plan = ADAPTER.plan(deployment(url="http://10.0.0.1:8000", options={"sanity": True}))
    assert any("no sanity prompts were asked" in note for note in plan.notes)


def test_notes_tell_what_changes_the_answers():
    env = {"VLLM_ROCM_QUICK_REDUCE_QUANTIZATION": EnvVar(value="INT4", reason="", origin="")}
    text = " | ".join(ADAPTER.plan(deployment(env=env, args={"--host": "0.0.0.0"}, options={"stream_interval": 20}, image="i:1")).notes)
    for part in ("listens on 0.0.0.0", "lossy", "20 tokens a chunk", "i:1 is only named", "inter-token times are coarse"):
        assert part in text
    assert ADAPTER.plan(deployment(env={"VLLM_ROCM_QUICK_REDUCE_QUANTIZATION": EnvVar(value="NONE", reason="", origin="")})).notes == ()
    assert ADAPTER.plan(deployment(image="i:1", runtime="docker")).notes == ()


def test_plan_is_deterministic_and_reads_nothing_of_the_machine(monkeypatch):
    given = recipe_deployment(ADAPTER, "kimi-k3-mi355x", concurrency=10)
    first = ADAPTER.plan(given)

    def forbidden(*_args, **_kwargs):
        raise AssertionError("plan() asked the machine")

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", forbidden)
        for module, names in {
            os: ("open", "getcwd", "listdir", "scandir", "stat", "getenv", "cpu_count"),
            socket: ("socket", "gethostname"),
            subprocess: ("Popen",),
            time: ("time", "monotonic"),
        }.items():
            for name in names:
                patch.setattr(module, name, forbidden)
        patch.setattr(os, "environ", {})
        second = ADAPTER.plan(given)
    assert second == first
