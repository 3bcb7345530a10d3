"""The top-level campaign's 19 points, flag by flag and variable by variable, against the published command lines, typed out here anew."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ixbench.campaign.read import read_campaign
from ixbench.host.load import load_host
from ixbench.plan.expand import make_plan

CAMPAIGN = Path(__file__).resolve().parents[2] / "benchmarks.toml"

SIZES = ",".join(str(size) for size in range(1, 61))
VLLM = f"""
    vllm serve moonshotai/Kimi-K3 --served-model-name moonshotai/Kimi-K3 --host 127.0.0.1 --port {{port:http}} --trust-remote-code
      --moe-backend auto --tensor-parallel-size 8 --load-format fastsafetensors --gpu-memory-utilization 0.9 --language-model-only
      --max-num-seqs 20 --enable-auto-tool-choice --tool-call-parser kimi_k3 --reasoning-parser kimi_k3 --max-model-len 1048576
      --enable-prefix-caching --kv-cache-dtype fp8
      --compilation-config '{{"mode":3,"cudagraph_mode":"FULL_AND_PIECEWISE","max_cudagraph_capture_size":60,
                            "custom_ops":["+fused_rms_norm_gated"],"cudagraph_capture_sizes":[{SIZES}]}}'
      --speculative-config '{{"model":"Inferact/Kimi-K3-DSpark","num_speculative_tokens":2,"method":"dspark",
                            "attention_backend":"TRITON_MLA","kv_cache_dtype":"auto","draft_sample_method":"probabilistic","rejection_sample_method":"synthetic",
                            "synthetic_acceptance_length":2.51}}'
"""
VLLM_OFFLOAD = """
      --kv-transfer-config '{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both",
                             "kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":187375000000,"lazy_offload":false}}'
"""
VLLM_ENV = """
    VLLM_ROCM_AITER_MLA_ASM_PADDING=asm VLLM_ROCM_USE_AITER=1 SAFETENSORS_FAST_GPU=1 VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4=1
    AITER_BF16_FP8_MOE_BOUND=0 VLLM_USE_BREAKABLE_CUDAGRAPH=0 VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1200
    PYTHONNOUSERSITE=1 HSA_NO_SCRATCH_RECLAIM=1
"""
ATOM = """
    python -m atom.entrypoints.openai_server --model moonshotai/Kimi-K3 --host 127.0.0.1 --server-port {{port:http}} --trust-remote-code
      --tensor-parallel-size 8 --kv_cache_dtype fp8 --block-size 128 --max-num-seqs {S} --max-num-batched-tokens {B}
      --gpu-memory-utilization {U} --enable_prefix_caching --state-checkpoint-interval-tokens -1 {SLOTS}
      --online_quant_config '{{"global_quant_config":"ptpc_fp8","exclude_layer":["lm_head","model.embed_tokens","*self_attn.[qkv]_conv1d*",
        "*block_sparse_moe.experts*","*block_sparse_moe.routed_expert_*","*vision_tower*","*mm_projector*"]}}'
      --method dspark --draft-model Inferact/Kimi-K3-DSpark --num-speculative-tokens {N} --spec-decode-acceptance-length {AL} {OFFLOAD}
"""
ATOM_ENV = """
    PYTHONNOUSERSITE=1 AITER_LOG_LEVEL=WARNING AITER_SITUV2_A4W4=1 AITER_QUICK_REDUCE_QUANTIZATION=INT4 AITER_FLYDSL_STAGE2_FP8=1
    ATOM_MLA_MAX_SPLIT_PER_BATCH=256 ATOM_STATE_CHECKPOINT_DEMAND=0 ATOM_ENABLE_REPLAYSSM={REPLAY}
"""
OFFLOAD = """--kv-transfer-config '{"kv_connector":"lmcache_offload","kv_role":"offload"}'"""
OFFLOAD_ENV = """
    PYTHONHASHSEED=0 LMCACHE_LOCAL_CPU=True LMCACHE_MAX_LOCAL_CPU_SIZE=32 LMCACHE_CHUNK_SIZE=256 OFFLOAD_STATE=1
    OFFLOAD_STATE_STAGING_GROUPS=8 OFFLOAD_STATE_MIN_LOAD_TOKENS=0 OFFLOAD_GPU_STAGING_CHUNKS=16
"""
ROWS = {
    1: {"S": 32, "B": 8192, "U": 0.88, "SLOTS": "", "N": 6, "AL": 3.75, "REPLAY": 0, "OFFLOAD": ""},
    4: {"S": 32, "B": 8192, "U": 0.88, "SLOTS": "", "N": 2, "AL": 2.51, "REPLAY": 0, "OFFLOAD": ""},
    8: {"S": 16, "B": 8192, "U": 0.88, "SLOTS": "--state-checkpoint-slots 16", "N": 2, "AL": 2.51, "REPLAY": 1, "OFFLOAD": OFFLOAD},
    10: {"S": 16, "B": 4096, "U": 0.9, "SLOTS": "--state-checkpoint-slots 16", "N": 2, "AL": 2.51, "REPLAY": 0, "OFFLOAD": OFFLOAD},
}

# Each point with the published concurrency whose settings it has.
POINTS = {
    **{f"vllm-c{number}": ("vllm", number) for number in (1, 2, 4, 6, 8, 10)},
    **{f"vllm-offload-c{number}": ("vllm-offload", number) for number in (8, 10, 12, 16, 20)},
    **{f"atom-c{number}": ("atom", published) for number, published in ((1, 1), (2, 4), (4, 4), (6, 4))},
    **{f"atom-offload-c{number}": ("atom", published) for number, published in ((6, 8), (8, 8), (10, 10), (12, 10))},
}


def words(text):
    return tuple(compact(word) for word in shlex.split(text.replace("\n", " ")))


def compact(word):
    return json.dumps(json.loads(word), separators=(",", ":")) if word.startswith('{"') else word


def variables(text):
    return dict(word.split("=", 1) for word in text.split())


def published(kind, concurrency):
    if kind.startswith("vllm"):
        offload = kind == "vllm-offload"
        return words(VLLM + (VLLM_OFFLOAD if offload else "")), variables(VLLM_ENV + (" PYTHONHASHSEED=42" if offload else ""))
    row = ROWS[concurrency]
    return words(ATOM.format(**row)), variables(ATOM_ENV.format(**row) + (OFFLOAD_ENV if row["OFFLOAD"] else ""))


@pytest.fixture(scope="module")
def plan():
    host = load_host()
    return make_plan(read_campaign(CAMPAIGN, host), host)


def test_the_points_are_these_19_in_this_order(plan):
    assert [point.id for point in plan.points] == list(POINTS)


@pytest.mark.parametrize("name", POINTS)
def test_argv_and_env_are_the_published_ones(name, plan):
    launches = {launch.id: launch.plan for launch in plan.launches}
    point = next(point for point in plan.points if point.id == name)
    server = launches[point.launch].server
    argv, env = published(*POINTS[name])
    assert server.argv == argv
    # The one variable that no recipe has: without it the prefix cache cannot be emptied between points.
    added = {"VLLM_SERVER_DEV_MODE": "1"} if point.deployment.engine == "vllm" else {}
    assert {key: item.value for key, item in server.env.items()} == env | added
    assert all(item.reason and item.origin for item in server.env.values())
    assert server.gpus == tuple(range(8))


def test_what_differs_from_the_published_command_lines_is_said(plan):
    for launch in plan.launches:
        notes = " | ".join(launch.plan.notes)
        assert "listens on 127.0.0.1 where the recipe has 0.0.0.0" in notes
        assert "speculative acceptance is synthetic" in notes
        assert ("patches its container" in notes) == (launch.plan.engine == "vllm")
        assert ("lossy" in notes) == (launch.plan.engine == "atom")
