"""`plan()` maps options to ATOM's OpenAI server, purely."""

from __future__ import annotations

import builtins
import os
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
from ixbench_atom.flags import TABLE
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
    assert sorted([*mapped, "ready_limit"]) == sorted(AtomOptions.model_fields)


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
    ({"moe_backend": "mega"}, ["--moe-backend", "mega"]),
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
    assert {key for options, _ in EVERYTHING for key in options} == set(AtomOptions.model_fields) - {"ready_limit"}


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
    assert {name: item.value for name, item in plan.server.env.items()} == {"HIP_VISIBLE_DEVICES": "4,5"}
    assert plan.server.gpus == (4, 5)
    assert ADAPTER.plan(deployment(hardware=HardwareSpec(gpus=2))).server.gpus == (0, 1)


def test_executable_and_limits_and_names():
    plan = ADAPTER.plan(
        deployment(executable="/opt/atom/bin/python", options={"served_name": "k3", "ready_limit": "2h"}, api_key_env="KEY")
    )
    assert plan.server.argv[:3] == ("/opt/atom/bin/python", "-m", "atom.entrypoints.openai_server")
    assert (plan.served_model, plan.ready_limit_s, plan.api_key_env) == ("k3", 7200.0, "KEY")


def test_a_running_server_is_not_launched_and_unknown_settings_stay_unknown():
    plan = ADAPTER.plan(deployment(url="http://10.0.0.1:8000", options={"tensor_parallel": 8}))
    assert plan.processes == ()
    assert (plan.url, plan.served_model) == ("http://10.0.0.1:8000", "acme/model")
    assert (plan.identity.tensor_parallel, plan.identity.pipeline_parallel, plan.identity.expert_parallel) == (8, None, None)
    assert "on trust" in plan.notes[0]


def test_notes_tell_what_changes_the_answers():
    env = {"AITER_QUICK_REDUCE_QUANTIZATION": EnvVar(value="INT4", reason="", origin="")}
    options = {"speculative": {"method": "mtp", "acceptance_rate": 0.5}}
    text = " | ".join(ADAPTER.plan(deployment(env=env, args={"--host": "0.0.0.0"}, options=options, image="i:1")).notes)
    for part in ("listens on 0.0.0.0", "lossy", "rate 0.5", "i:1 is only named"):
        assert part in text
    assert ADAPTER.plan(deployment()).notes == ()


def test_requests_say_every_sampling_value():
    payload = ADAPTER.request(
        RequestSpec(model="m", api="chat", messages=(Message(role="user", content="x"),), max_tokens=5, exact_length=True)
    )
    assert (payload["temperature"], payload["top_p"], payload["max_tokens"], payload["ignore_eos"]) == (0, 1.0, 5, True)


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
