"""`plan()` maps options to ATOM's OpenAI server, purely."""

from __future__ import annotations

import builtins
import os
import re
import socket
import subprocess
import time

import pytest

from ixbench.host.contracts.engine import RequestSpec
from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench.model.errors import InputError
from ixbench.model.prompt import Message
from ixbench.testing.deployments import recipe_deployment
from ixbench_atom.adapter import AtomAdapter
from ixbench_atom.flags import HOST_ONLY, TABLE, VARIABLES
from ixbench_atom.options import AtomOptions

ADAPTER = AtomAdapter()


def deployment(*, options=None, **fields):
    given = {
        "name": "a",
        "engine": "atom",
        "model": ModelSpec(id="acme/model", label="model"),
        "hardware": HardwareSpec(gpus=1),
        "options": AtomOptions.model_validate(options or {}),
    }
    return Deployment(**{**given, **fields})


def argv(**fields):
    return ADAPTER.plan(deployment(**fields)).server.argv


COMMAND = ("python", "-m", "atom.entrypoints.openai_server", "--model", "acme/model", "--host", "127.0.0.1", "--server-port", "{port:http}")


def test_nothing_set_gives_the_bare_command():
    assert argv() == COMMAND


def test_a_local_model_is_served_by_its_path():
    plan = ADAPTER.plan(deployment(model=ModelSpec(id="acme/model", label="m", path="/models/m", revision="abc")))
    assert plan.server.argv[4] == "/models/m"
    assert plan.served_model == "/models/m"


def test_no_model_is_refused_with_one_sentence():
    with pytest.raises(InputError, match=r"^a: ATOM needs a model to serve; set \[model\] id or path$"):
        ADAPTER.plan(deployment(model=ModelSpec(id="", label="")))


def test_every_option_stands_in_the_table_once():
    mapped = [rule.option for rule in TABLE]
    assert sorted([*mapped, *VARIABLES, *HOST_ONLY]) == sorted(AtomOptions.model_fields)


EVERYTHING = [
    ({"served_name": "m"}, ["--served-model-name", "m"]),
    ({"tensor_parallel": 8}, ["--tensor-parallel-size", "8"]),
    ({"pipeline_parallel": 2}, ["--pipeline-parallel-size", "2"]),
    ({"data_parallel": 2}, ["--data-parallel-size", "2"]),
    ({"dp_attention": True}, ["--enable-dp-attention"]),
    ({"expert_parallel": True}, ["--enable-expert-parallel"]),
    ({"expert_parallel": False}, []),
    ({"all2all_backend": "low-latency"}, ["--all2all-backend", "low-latency"]),
    ({"tbo": "prefill"}, ["--enable-tbo", "prefill"]),
    ({"eplb": True}, ["--eplb-enable"]),
    ({"prefill_context_parallel": 2}, ["--prefill-context-parallel-size", "2"]),
    ({"decode_context_parallel": 2}, ["--decode-context-parallel-size", "2"]),
    ({"kv_cache_dtype": "fp8"}, ["--kv_cache_dtype", "fp8"]),
    ({"kv_cache_dtype": "auto"}, []),
    ({"index_cache_dtype": "fp4"}, ["--index-cache-dtype", "fp4"]),
    ({"block_size": 128}, ["--block-size", "128"]),
    ({"max_num_seqs": 32}, ["--max-num-seqs", "32"]),
    ({"max_batched_tokens": 8192}, ["--max-num-batched-tokens", "8192"]),
    ({"long_prefill_threshold": 0}, ["--long-prefill-token-threshold", "0"]),
    ({"max_model_len": 10240}, ["--max-model-len", "10240"]),
    ({"gpu_memory_utilization": 0.88}, ["--gpu-memory-utilization", "0.88"]),
    ({"prefix_caching": True}, ["--enable_prefix_caching"]),
    ({"prefix_caching": False}, ["--no-enable_prefix_caching"]),
    ({"state_checkpoints": {"interval_tokens": -1}}, ["--state-checkpoint-interval-tokens", "-1"]),
    ({"state_checkpoints": {"slots": 16}}, ["--state-checkpoint-slots", "16"]),
    ({"online_quant": {"config": "mxfp4"}}, ["--online_quant_config", '{"global_quant_config":"mxfp4"}']),
    (
        {"online_quant": {"config": "ptpc_fp8", "exclude": ["lm_head", "*expert*"]}},
        ["--online_quant_config", '{"global_quant_config":"ptpc_fp8","exclude_layer":["lm_head","*expert*"]}'],
    ),
    (
        {"online_quant": {"layers": {"*.o_proj": "ptpc_fp8"}}},
        ["--online_quant_config", '{"global_quant_config":"","layer_quant_config":{"*.o_proj":"ptpc_fp8"}}'],
    ),
    ({"moe_backend": "mega"}, ["--moe-backend", "mega"]),
    ({"chunked_prefill": True}, ["--enable_chunked_prefill"]),
    ({"chunked_prefill": False}, ["--no-enable_chunked_prefill"]),
    ({"keep_alive": "2m"}, ["--timeout-keep-alive", "120"]),
    ({"profiler": True}, ["--torch-profiler-dir", "{folder}/profile"]),
    ({"profiler": False}, []),
    ({"profiler": {}}, ["--torch-profiler-dir", "{folder}/profile"]),
    ({"profiler": {"folder": "/t", "mark_trace": True}}, ["--torch-profiler-dir", "/t", "--mark-trace"]),
    (
        {"speculative": {"method": "dspark", "dspark": {"confidence_schedule": True, "ragged": True, "ragged_graph_sizes": [1, 3, 8]}}},
        ["--method", "dspark", "--dspark-config", '{"confidence_schedule":true,"ragged":true,"ragged_graph_sizes":"1,3,8"}'],
    ),
    (
        {"speculative": {"method": "dspark", "dspark": {"q_buckets": [8], "disable_sps_calib": True}}},
        ["--method", "dspark", "--dspark-config", '{"q_buckets":"8","disable_sps_calib":true}'],
    ),
    (
        {"compilation": {"level": 3, "cudagraph_mode": "FULL", "cudagraph_capture_sizes": [1, 2]}},
        ["--level", "3", "--cudagraph-mode", "FULL", "--cudagraph-capture-sizes", "[1,2]"],
    ),
    ({"eager": True}, ["--enforce-eager"]),
    (
        {"speculative": {"method": "eagle3", "draft": "d", "tokens": 3, "acceptance_rate": 0.6}},
        ["--method", "eagle3", "--draft-model", "d", "--num-speculative-tokens", "3", "--spec-decode-acceptance-rate", "0.6"],
    ),
    (
        {"speculative": {"method": "mtp", "acceptance_length": 1.8}},
        ["--method", "mtp", "--spec-decode-acceptance-length", "1.8"],
    ),
    ({"kv_offload": {"backend": "off"}}, []),
    (
        {"kv_offload": {"backend": "lmcache", "host_memory_per_rank": "32 GiB"}},
        ["--kv-transfer-config", '{"kv_connector":"lmcache_offload","kv_role":"offload"}'],
    ),
    ({"chat_template": "t.jinja"}, ["--chat-template", "t.jinja"]),
    ({"chat_template_kwargs": {"thinking": False}}, ["--default-chat-template-kwargs", '{"thinking":false}']),
    ({"trust_remote_code": True}, ["--trust-remote-code"]),
    ({"hf_overrides": {"use_index_cache": True}}, ["--hf-overrides", '{"use_index_cache":true}']),
    ({"scheduler_delay_factor": 1}, ["--scheduler-delay-factor", "1.0"]),
    ({"dp_load_balance": "round_robin"}, ["--dp-load-balance", "round_robin"]),
]


@pytest.mark.parametrize(("options", "flags"), EVERYTHING, ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_each_option_becomes_its_flags(options, flags):
    assert argv(options=options) == (*COMMAND, *flags)


def test_the_cases_above_reach_every_option():
    assert {key for options, _ in EVERYTHING for key in options} == set(AtomOptions.model_fields) - {*VARIABLES, *HOST_ONLY}


@pytest.mark.parametrize(
    ("memory", "gib"),
    [
        ({"host_memory_per_rank": "32 GiB"}, "32"),
        ({"host_memory": "256 GiB"}, "32"),
        ({"host_memory": "257 GB"}, "29.919"),
        ({"host_memory_per_rank": "1536 GiB"}, "1536"),
    ],
)
def test_lmcache_takes_gib_for_each_rank(memory, gib):
    env = ADAPTER.plan(deployment(options={"tensor_parallel": 8, "kv_offload": {"backend": "lmcache", **memory}})).server.env
    assert {name: item.value for name, item in env.items()} == {
        "PYTHONHASHSEED": "0",
        "LMCACHE_LOCAL_CPU": "True",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": gib,
        "LMCACHE_CHUNK_SIZE": "256",
    }


def variables(**fields):
    return {name: item.value for name, item in ADAPTER.plan(deployment(**fields)).server.env.items()}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"attention_backend": "triton_mla"}, {"ATOM_USE_TRITON_MLA": "1"}),
        ({"attention_backend": "triton"}, {"ATOM_FORCE_ATTN_TRITON": "1"}),
        ({"attention_backend": "unified"}, {"ATOM_USE_UNIFIED_ATTN": "1"}),
        ({"tbo": "prefill"}, {"GPU_MAX_HW_QUEUES": "5"}),
        ({"load": {"mmap": False, "threads": 8}}, {"ATOM_DISABLE_MMAP": "true", "ATOM_LOADER_NUM_THREADS": "8"}),
        ({"load": {"mmap": True}}, {"ATOM_DISABLE_MMAP": "false"}),
        ({"numa_bind": True}, {"ATOM_NUMA_BIND": "1"}),
        ({"numa_bind": False}, {"ATOM_NUMA_BIND": "0"}),
        ({"profiler": {"detailed": True, "timeout": "20m"}}, {"ATOM_PROFILER_MORE": "1", "ATOM_PROFILER_TIMEOUT": "1200"}),
        ({"mec_firmware": 176}, {"HSA_NO_SCRATCH_RECLAIM": "1"}),
        ({"mec_firmware": 177}, {}),
    ],
)
def test_options_that_are_variables(options, expected):
    assert variables(options=options) == expected
    assert all(item.reason and item.origin == "adapter atom" for item in ADAPTER.plan(deployment(options=options)).server.env.values())


def test_more_of_the_offload_is_typed():
    more = {"chunk_tokens": 512, "min_load_tokens": 0, "copy_workers": 2, "staging_chunks": 16, "statistics": False}
    found = variables(options={"kv_offload": {"backend": "lmcache", "host_memory_per_rank": "1 GiB", **more}})
    assert found == {
        "PYTHONHASHSEED": "0",
        "LMCACHE_LOCAL_CPU": "True",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": "1",
        "LMCACHE_CHUNK_SIZE": "512",
        "OFFLOAD_MIN_LOAD_TOKENS": "0",
        "OFFLOAD_COPY_WORKERS": "2",
        "OFFLOAD_GPU_STAGING_CHUNKS": "16",
        "OFFLOAD_PROFILE": "0",
    }


def test_firmware_that_nobody_told_of_is_taken_for_old_except_under_a_recipe():
    mi355x = HardwareSpec(sku="mi355x", gpus=8)
    assert variables(hardware=mi355x) == {"HSA_NO_SCRATCH_RECLAIM": "1"}
    assert variables(hardware=mi355x, options={"mec_firmware": 178}) == {}
    assert variables(hardware=HardwareSpec(sku="cpu")) == {}
    assert "HSA_NO_SCRATCH_RECLAIM" not in ADAPTER.plan(recipe_deployment(ADAPTER, "kimi-k3-mi355x", concurrency=4)).server.env


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"image": "rocm/atom-dev:nightly_202608161200"}, True),
        ({"image": "rocm/atom-dev:nightly_202608151200"}, False),
        ({"image": "rocm/atom-dev:latest"}, False),
        ({"image": "rocm/atom-dev:nightly_202608161200", "recipe": "kimi-k3-mi355x"}, False),
        ({"image": "rocm/atom-dev:nightly_202608161200", "options": {"keep_alive": 30}}, False),
        ({}, False),
    ],
)
def test_idle_connections_are_kept_where_the_build_can_and_no_recipe_says_how(fields, kept):
    plan = ADAPTER.plan(deployment(**fields))
    assert ("600" in plan.server.argv) is kept
    assert any("pooled clients" in note for note in plan.notes) is kept


def test_the_version_is_that_of_the_image_where_the_image_runs():
    image = "rocm/atom:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.4_202607091539"
    assert ADAPTER.plan(deployment(image=image)).identity.engine_version is None
    assert ADAPTER.plan(deployment(image=image, runtime="docker")).identity.engine_version == "atom 0.1.4"
    assert ADAPTER.plan(deployment(image=image, options={"build": "2026-08-20"})).identity.engine_version == "main of 2026-08-20"


@pytest.mark.parametrize(
    ("options", "args", "length"),
    [
        ({}, {}, None),
        ({"speculative": {"method": "mtp", "tokens": 3}}, {}, None),
        ({"speculative": {"method": "mtp", "tokens": 3, "acceptance_length": 2.49}}, {}, 2.49),
        ({"speculative": {"method": "mtp", "tokens": 3, "acceptance_rate": 0.663333}}, {}, 2.99),
        ({"speculative": {"method": "mtp", "acceptance_rate": 0.5}}, {}, 1.5),
        ({"speculative": {"method": "mtp", "tokens": 3}}, {"--spec_decode_acceptance_length": "2.5"}, 2.5),
        ({"speculative": {"method": "mtp", "tokens": 3, "acceptance_length": 2}}, {"--spec-decode-acceptance-length": False}, None),
        ({}, {"--spec-decode-acceptance-length": 2.5}, None),
    ],
)
def test_synthetic_acceptance_is_read_from_the_flags_and_then_nothing_is_asked(options, args, length):
    model = ModelSpec(id="acme/model", label="m", precision="fp4")
    plan = ADAPTER.plan(deployment(options=options, args=args, model=model, hardware=HardwareSpec(gpus=1, native_fp4=True)))
    assert plan.identity.acceptance_length == length
    assert (len(plan.server.readiness.sanity) == 0) is (length is not None)
    assert any("no sanity prompts" in note for note in plan.notes) is (length is not None)


def test_sanity_prompts_can_be_left_out_and_results_say_so():
    plan = ADAPTER.plan(deployment(options={"sanity": False}))
    assert plan.server.readiness.sanity == ()
    assert "no sanity prompts were asked: sanity = false" in plan.notes
    assert ADAPTER.plan(deployment(options={"sanity": True})).server.readiness.sanity
    assert ADAPTER.plan(deployment()).server.readiness.sanity == ()


def test_the_hard_limit_follows_from_the_size_of_the_weights_and_the_rate_of_the_disk():
    assert ADAPTER.plan(deployment()).ready_limit_s == 1800.0
    assert ADAPTER.plan(deployment(options={"weights": "1561 GB"})).ready_limit_s == 1800.0
    assert ADAPTER.plan(deployment(options={"weights": "1560 GB", "load_rate": "120 MB"})).ready_limit_s == 2 * 13_000 + 1800


def test_the_wait_has_a_soft_limit_that_lines_of_progress_renew():
    plan = ADAPTER.plan(deployment(options={"ready_limit": "2h", "stall_limit": "5m"}))
    assert (plan.ready_limit_s, plan.stall_limit_s, plan.stop_grace_s) == (7200.0, 300.0, 20.0)
    start = [
        "[atom 09:00:01] Loading tokenizer from /models/m...",
        "[atom 09:00:02] Initializing engine with model /models/m...",
        "[atom 09:00:02] Engine kwargs: {'tensor_parallel_size': 8}",
        "Loading safetensors shards[/models/m]:  12%|#2        | 12/96 [03:01<20:11, 14.43s/it]",
        "[aiter] start build [module_moe] under /opt/aiter/jit/build/module_moe",
        "[atom 09:20:02] Model warmup done",
        "[atom 09:20:03] Memory budget: total_gpu=287.98GB, free=91.20GB",
        "[atom 09:22:00] EngineCore fully initialized and ready",
        "[atom 09:22:01] All EngineCores are fully initialized and ready",
        "[atom 09:22:01] Starting server on 127.0.0.1:8000 (loop=uvloop)...",
        "[atom 09:22:02] Server started successfully and ready to accept requests",
    ]
    for line in start:
        assert any(re.search(pattern, line) for pattern in plan.progress), line
    for line in ('INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 503', "[atom 09:00:09] still waiting", ""):
        assert not any(re.search(pattern, line) for pattern in plan.progress), line
    assert all(any(re.search(pattern, line) for line in start) for pattern in plan.progress if "Capturing" not in pattern)


def test_args_replace_options_in_either_spelling_and_false_removes():
    found = argv(
        options={"kv_cache_dtype": "fp8", "prefix_caching": True, "speculative": {"method": "mtp", "tokens": 2}},
        args={"--kv-cache-dtype": "bf16", "--no-enable-prefix-caching": True, "--num_speculative_tokens": False, "--mark-trace": True},
    )
    assert found[len(COMMAND) :] == ("--kv-cache-dtype", "bf16", "--no-enable-prefix-caching", "--method", "mtp", "--mark-trace")


def test_the_identity_follows_the_flags_that_really_start_the_server():
    options = {"tensor_parallel": 8, "speculative": {"method": "dspark", "tokens": 2}}
    args = {"-tp": 4, "--method": "mtp", "--kv-transfer-config": {"kv_connector": "mooncake"}}
    identity = ADAPTER.plan(deployment(options=options, args=args)).identity
    assert (identity.tensor_parallel, identity.spec_method, identity.kv_offload) == (4, "mtp", "mooncake")
    assert (identity.pipeline_parallel, identity.data_parallel, identity.expert_parallel) == (1, 1, False)


def test_a_size_that_is_no_number_is_unknown():
    assert ADAPTER.plan(deployment(args={"--tensor-parallel-size": "many"})).identity.tensor_parallel is None


def test_the_deployments_variables_win_over_the_adapters():
    own = EnvVar(value="512", reason="because", origin="benchmarks.toml")
    options = {"kv_offload": {"backend": "lmcache", "host_memory_per_rank": "1 GiB"}}
    assert ADAPTER.plan(deployment(options=options, env={"LMCACHE_CHUNK_SIZE": own})).server.env["LMCACHE_CHUNK_SIZE"] == own


def test_gpus_by_index_set_exactly_one_variable():
    plan = ADAPTER.plan(deployment(gpu_indices=(4, 5), hardware=HardwareSpec(sku="mi355x", gpus=2), options={"tensor_parallel": 2}))
    assert [name for name in plan.server.env if "DEVICES" in name] == ["HIP_VISIBLE_DEVICES"]
    assert plan.server.env["HIP_VISIBLE_DEVICES"].value == "4,5"
    assert plan.server.gpus == (4, 5)
    assert ADAPTER.plan(deployment(hardware=HardwareSpec(gpus=2))).server.gpus == (0, 1)


def test_executable_and_limits_and_names():
    plan = ADAPTER.plan(
        deployment(executable="/opt/atom/bin/python", options={"served_name": "k3", "ready_limit": "2h"}, api_key_env="KEY")
    )
    assert plan.server.argv[:3] == ("/opt/atom/bin/python", "-m", "atom.entrypoints.openai_server")
    assert (plan.served_model, plan.ready_limit_s, plan.api_key_env) == ("k3", 7200.0, "KEY")


def test_only_a_server_that_is_started_with_a_profiler_has_one():
    assert ADAPTER.plan(deployment()).profiler is False
    assert ADAPTER.plan(deployment(options={"profiler": True})).profiler is True
    assert ADAPTER.plan(deployment(args={"--torch_profiler_dir": "/t"})).profiler is True
    assert ADAPTER.plan(deployment(url="http://h:1")).profiler is None


def test_a_container_gets_the_files_that_options_name():
    options = {"speculative": {"method": "dspark", "draft": "/models/draft"}, "chat_template": "/templates/t.jinja"}
    assert ADAPTER.plan(deployment(options=options)).reads == ("/models/draft", "/templates/t.jinja")
    assert ADAPTER.plan(deployment(options={"speculative": {"method": "dspark", "draft": "acme/draft"}})).reads == ()


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
        ({"args": {"--kv-transfer-config": {"kv_connector": "lmcache_offload"}}}, "unknown", "lmcache"),
        ({"args": {"--method": "mtp"}}, "mtp", "unknown"),
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
    env = {"AITER_QUICK_REDUCE_QUANTIZATION": EnvVar(value="INT4", reason="", origin="")}
    options = {"speculative": {"method": "mtp", "acceptance_rate": 0.5}}
    text = " | ".join(ADAPTER.plan(deployment(env=env, args={"--host": "0.0.0.0"}, options=options, image="i:1")).notes)
    for part in ("listens on 0.0.0.0", "lossy", "mean length 1.5", "i:1 is only named"):
        assert part in text
    assert ADAPTER.plan(deployment()).notes == ()
    env = {"AITER_SITUV2_A4W4": EnvVar(value="1", reason="", origin="")}
    (experts, profiled) = ADAPTER.plan(deployment(env=env, options={"profiler": {}})).notes
    assert "quantized to 4 bits" in experts
    assert "profiler is configured" in profiled


def test_requests_say_every_sampling_value():
    payload = ADAPTER.request(
        RequestSpec(model="m", api="chat", messages=(Message(role="user", content="x"),), max_tokens=5, exact_length=True)
    )
    assert (payload["temperature"], payload["top_p"], payload["max_tokens"], payload["ignore_eos"]) == (0, 1.0, 5, True)
    assert payload["stream_options"] == {"include_usage": True}
    assert "min_tokens" not in payload
    assert ADAPTER.request(RequestSpec(model="m", api="completions", prompt="x"))["max_tokens"] == 8192


def test_token_ids_are_refused_with_one_sentence():
    with pytest.raises(InputError, match=r"^prompt: ATOM takes no token ids; send text, or use the chat API$"):
        ADAPTER.request(RequestSpec(model="m", api="completions", prompt=[1, 2]))


def test_a_finish_reason_of_atom_is_not_relied_on():
    assert not ADAPTER.quirks.finish_reason_reliable


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
