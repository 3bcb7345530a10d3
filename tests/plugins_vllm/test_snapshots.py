"""The shipped recipes' plans at every published concurrency, as reviewed JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ixbench.host.load import load_host
from ixbench.model.deployment import HardwareSpec, ModelSpec
from ixbench.testing.deployments import recipe_deployment
from ixbench.testing.snapshot import assert_snapshot
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.environment import ORIGIN

SNAPSHOTS = Path(__file__).parent / "snapshots"
ADAPTER = VllmAdapter()
K3 = "kimi-k3-mi355x"
POINTS = [(recipe, int(concurrency)) for recipe, table in sorted(ADAPTER.recipes().items()) for concurrency in table["at"]]

K3_ARGV = """
vllm serve moonshotai/Kimi-K3 --served-model-name moonshotai/Kimi-K3 --host 0.0.0.0 --port PORT --trust-remote-code --moe-backend auto
--tensor-parallel-size 8 --load-format fastsafetensors --gpu-memory-utilization 0.9 --language-model-only --max-num-seqs 20
--enable-auto-tool-choice --tool-call-parser kimi_k3 --reasoning-parser kimi_k3 --max-model-len 1048576 --enable-prefix-caching
--kv-cache-dtype fp8
--compilation-config {"mode":3,"cudagraph_mode":"FULL_AND_PIECEWISE","max_cudagraph_capture_size":60,"custom_ops":["+fused_rms_norm_gated"],
"cudagraph_capture_sizes":[SIZES]}
--speculative-config {"model":"Inferact/Kimi-K3-DSpark","num_speculative_tokens":2,"method":"dspark","attention_backend":"TRITON_MLA",
"kv_cache_dtype":"auto","draft_sample_method":"probabilistic","rejection_sample_method":"synthetic","synthetic_acceptance_length":2.51}
"""
"""As its source runs it; a list's line breaks stand for nothing."""
K3_OFFLOAD = (
    '{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both","kv_connector_extra_config":'
    '{"cpu_bytes_to_use_per_rank":187375000000,"lazy_offload":false}}'
)
K3_ENV = {
    "VLLM_ROCM_AITER_MLA_ASM_PADDING": "asm",
    "VLLM_ROCM_USE_AITER": "1",
    "SAFETENSORS_FAST_GPU": "1",
    "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4": "1",
    "AITER_BF16_FP8_MOE_BOUND": "0",
    "VLLM_USE_BREAKABLE_CUDAGRAPH": "0",
    "VLLM_ENGINE_READY_TIMEOUT_S": "7200",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1200",
    "PYTHONNOUSERSITE": "1",
    "HSA_NO_SCRATCH_RECLAIM": "1",
}


def deployment(recipe, concurrency):
    table = ADAPTER.recipes()[recipe]
    return recipe_deployment(
        ADAPTER,
        recipe,
        concurrency=concurrency,
        model=ModelSpec(id=table["model"], label=table["model"], precision="fp4"),
        hardware=HardwareSpec(sku=table["sku"], gpus=table["tensor_parallel"], native_fp4=True),
    )


def plan(recipe, concurrency):
    return ADAPTER.plan(deployment(recipe, concurrency))


@pytest.mark.parametrize(("recipe", "concurrency"), POINTS)
def test_published_points(recipe, concurrency):
    given = deployment(recipe, concurrency)
    assert list(ADAPTER.validate(given)) == []
    made = ADAPTER.plan(given)
    assert ADAPTER.plan(given) == made
    assert_snapshot(made, SNAPSHOTS / f"{recipe}-c{concurrency}.json")


@pytest.mark.parametrize("concurrency", [1, 4, 8, 10])
def test_kimi_k3_stands_as_its_source_runs_it(concurrency):
    published = (
        "".join(K3_ARGV.replace("\n--", " --").replace("\nv", "v").split("\n")).replace("SIZES", ",".join(map(str, range(1, 61)))).split()
    )
    if concurrency == 10:
        published += ["--kv-transfer-config", K3_OFFLOAD]
    made = plan(K3, concurrency)
    # What differs: the address, and the port that is not chosen yet.
    published[published.index("--host") + 1] = "127.0.0.1"
    published[published.index("--port") + 1] = "{port:http}"
    assert list(made.server.argv) == published
    env = {name: item.value for name, item in made.server.env.items() if item.origin == f"recipe {K3}"}
    assert env == K3_ENV | ({"PYTHONHASHSEED": "42"} if concurrency == 10 else {})
    assert {name: item.value for name, item in made.server.env.items() if item.origin != f"recipe {K3}"} == {"VLLM_SERVER_DEV_MODE": "1"}
    said = " | ".join(made.notes)
    for deviation in (
        "listens on 127.0.0.1",
        "as published, requests report no cached tokens",
        "VLLM_SERVER_DEV_MODE=1 beside the recipe",
    ):
        assert deviation in said


MINIMAX_ARGV = """
vllm serve amd/MiniMax-M3-MXFP4 --served-model-name amd/MiniMax-M3-MXFP4 --host 127.0.0.1 --port {port:http} --tensor-parallel-size TP
--trust-remote-code --block-size 128 --gpu-memory-utilization 0.85 --enable-chunked-prefill --max-num-batched-tokens 32768
--language-model-only --enable-prefix-caching --attention-backend TRITON_ATTN --moe-backend aiter --kv-cache-dtype fp8
--tool-call-parser minimax_m3 --enable-auto-tool-choice --default-chat-template-kwargs {"thinking_mode":"enabled"} --max-num-seqs SEQS
--stream-interval 20 --hf-overrides {"text_config":{"use_index_cache":true,"index_topk_freq":4}}
--speculative-config {"model":"Inferact/MiniMax-M3-EAGLE3-GQA","num_speculative_tokens":3,"method":"eagle3",\\
"attention_backend":"TRITON_ATTN","rejection_sample_method":"synthetic","synthetic_acceptance_length":2.78}
"""
"""As its source runs it, in its order, with ixbench's address."""
MINIMAX_ENV = {
    "PYTHONNOUSERSITE": "1",
    "VLLM_ENGINE_READY_TIMEOUT_S": "3600",
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1800",
    "VLLM_USE_BREAKABLE_CUDAGRAPH": "0",
    "VLLM_ROCM_USE_AITER": "1",
    "VLLM_ROCM_USE_AITER_MOE": "1",
    "VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS": "1",
    "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION": "INT4",
    "VLLM_ROCM_QUICK_REDUCE_CAST_BF16_TO_FP16": "0",
    "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION_MIN_SIZE_KB": "256",
}


def flags_with_values(argv):
    """Return each flag with its values, sorted: the order of flags has no meaning."""
    return sorted(" ".join(argv).split(" --"))


@pytest.mark.parametrize(
    ("recipe", "ranks", "layout"), [("minimax-m3-mi355x", "4", "1"), ("minimax-m3-tp2-mi355x", "2", "0")], ids=["tp4", "tp2"]
)
def test_minimax_m3_stands_as_its_source_runs_it(recipe, ranks, layout):
    for concurrency in (int(number) for number in ADAPTER.recipes()[recipe]["at"]):
        server = plan(recipe, concurrency).server
        published = MINIMAX_ARGV.replace("\\\n", "").replace("TP\n", f"{ranks}\n").replace("SEQS", str(2 * concurrency)).split()
        assert flags_with_values(server.argv) == flags_with_values(published)
        env = {name: item.value for name, item in server.env.items() if item.origin == f"recipe {recipe}"}
        assert env == MINIMAX_ENV | {"VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT": layout}


def test_published_points_without_offload_share_one_launch():
    plans = [plan(K3, concurrency) for concurrency in (1, 4, 8)]
    assert plans[0] == plans[1] == plans[2]


def test_sequences_follow_the_concurrency_where_the_source_says_so():
    for recipe, concurrency in POINTS:
        if "agentic" in recipe or "minimax" in recipe:
            argv = plan(recipe, concurrency).server.argv
            assert argv[argv.index("--max-num-seqs") + 1] == str(2 * concurrency), recipe


def test_every_variable_has_a_reason_and_an_origin():
    for recipe, concurrency in POINTS:
        for process in plan(recipe, concurrency).processes:
            for name, item in process.env.items():
                assert item.reason, name
                assert item.origin in {f"recipe {recipe}", ORIGIN}, name


@pytest.mark.parametrize(("recipe", "concurrency"), POINTS)
def test_recipes_that_never_ran_say_so(recipe, concurrency):
    assert "843c6254" in ADAPTER.recipes()[recipe]["source"]
    assert plan(recipe, concurrency).notes.count("unverified: ixbench never ran this recipe on MI355X") == 1


@pytest.mark.parametrize("recipe", sorted(ADAPTER.recipes()))
def test_a_campaign_takes_them_and_marks_other_concurrencies(recipe):
    from ixbench.campaign.document import Document
    from ixbench.campaign.read import campaign_from_document
    from ixbench.plan.expand import make_plan

    table = ADAPTER.recipes()[recipe]
    published = [int(number) for number in table["at"]]
    host = load_host()
    asked = {
        "schema": 1,
        "model": {"id": table["model"], "precision": "fp4"},
        "hardware": {"sku": "mi355x", "gpus": table["tensor_parallel"], "absent": "simulate"},
        "workload": {"use": "fixed", "requests": 1},
        "deployment": [
            {"engine": "vllm", "recipe": recipe, "concurrency": [published[0], published[0] + 1000]},
        ],
    }
    campaign = campaign_from_document(Document(where="t.toml", table=asked), host)
    made = make_plan(campaign, host)
    assert made.points[0].deployment.notes == ()
    assert f"has no settings for concurrency {published[0] + 1000}" in made.points[1].deployment.notes[0]


def test_offload_stands_in_compact_json():
    value = plan(K3, 10).server.argv[-1]
    assert value == K3_OFFLOAD
    assert json.loads(value)["kv_connector"] == "SimpleCPUOffloadConnector"
