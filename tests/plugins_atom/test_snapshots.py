"""The shipped recipe's plans, as reviewed JSON, and its published table in full."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ixbench.testing.deployments import recipe_deployment
from ixbench.testing.snapshot import assert_snapshot
from ixbench_atom.adapter import AtomAdapter

SNAPSHOTS = Path(__file__).parent / "snapshots"
ADAPTER = AtomAdapter()
RECIPE = "kimi-k3-mi355x"

# concurrency: sequences, batched tokens, utilization, slots, draft tokens, acceptance length, replay, offload
PUBLISHED = {
    1: ("32", "8192", "0.88", None, "6", "3.75", "0", False),
    4: ("32", "8192", "0.88", None, "2", "2.51", "0", False),
    8: ("16", "8192", "0.88", "16", "2", "2.51", "1", True),
    10: ("16", "4096", "0.9", "16", "2", "2.51", "0", True),
}
OFFLOAD_ENV = {
    "PYTHONHASHSEED": "0",
    "LMCACHE_LOCAL_CPU": "True",
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "32",
    "LMCACHE_CHUNK_SIZE": "256",
    "OFFLOAD_STATE": "1",
    "OFFLOAD_STATE_STAGING_GROUPS": "8",
    "OFFLOAD_STATE_MIN_LOAD_TOKENS": "0",
    "OFFLOAD_GPU_STAGING_CHUNKS": "16",
}


def plan(concurrency):
    return ADAPTER.plan(recipe_deployment(ADAPTER, RECIPE, concurrency=concurrency))


def value(argv, flag):
    return argv[argv.index(flag) + 1] if flag in argv else None


POINTS = [(recipe, int(at)) for recipe, table in ADAPTER.recipes().items() for at in table["at"]]


@pytest.mark.parametrize("recipe", ADAPTER.recipes())
def test_every_point_of_every_recipe(recipe):
    """Points of equal plans, which share one start, share the snapshot of the first."""
    first = {}
    for concurrency in (at for name, at in POINTS if name == recipe):
        deployment = recipe_deployment(ADAPTER, recipe, concurrency=concurrency)
        whole_node = deployment.options.ranks == 8
        assert [found.code for found in ADAPTER.validate(deployment)] == ([] if whole_node else ["idle_gpus"])
        plan = ADAPTER.plan(deployment)
        number = next((number for number, known in first.items() if known == plan), concurrency)
        first.setdefault(number, plan)
        assert_snapshot(plan, SNAPSHOTS / f"{recipe}-c{number}.json")
    assert {path.name for path in SNAPSHOTS.glob(f"{recipe}-c*.json")} == {f"{recipe}-c{number}.json" for number in first}


@pytest.mark.parametrize("concurrency", PUBLISHED)
def test_the_published_table(concurrency):
    sequences, batched, utilization, slots, tokens, length, replay, offload = PUBLISHED[concurrency]
    server = plan(concurrency).server
    assert value(server.argv, "--max-num-seqs") == sequences
    assert value(server.argv, "--max-num-batched-tokens") == batched
    assert value(server.argv, "--gpu-memory-utilization") == utilization
    assert value(server.argv, "--state-checkpoint-interval-tokens") == "-1"
    assert value(server.argv, "--state-checkpoint-slots") == slots
    assert value(server.argv, "--num-speculative-tokens") == tokens
    assert value(server.argv, "--spec-decode-acceptance-length") == length
    assert server.env["ATOM_ENABLE_REPLAYSSM"].value == replay
    connector = '{"kv_connector":"lmcache_offload","kv_role":"offload"}' if offload else None
    assert value(server.argv, "--kv-transfer-config") == connector
    found = {name: server.env[name].value for name in OFFLOAD_ENV if name in server.env}
    assert found == (OFFLOAD_ENV if offload else {})


def test_all_that_the_recipe_has_at_every_point():
    """The common block, in full: what is not here is not set."""
    common = {
        "PYTHONNOUSERSITE": "1",
        "AITER_LOG_LEVEL": "WARNING",
        "AITER_SITUV2_A4W4": "1",
        "AITER_QUICK_REDUCE_QUANTIZATION": "INT4",
        "AITER_FLYDSL_STAGE2_FP8": "1",
        "ATOM_MLA_MAX_SPLIT_PER_BATCH": "256",
        "ATOM_STATE_CHECKPOINT_DEMAND": "0",
    }
    for concurrency, row in PUBLISHED.items():
        server = plan(concurrency).server
        offload = OFFLOAD_ENV if row[-1] else {}
        assert {name: item.value for name, item in server.env.items()} == {**common, "ATOM_ENABLE_REPLAYSSM": row[6], **offload}
        assert server.argv[:9] == (*["python", "-m", "atom.entrypoints.openai_server", "--model"], "moonshotai/Kimi-K3", *server.argv[5:9])
        assert server.argv[5:9] == ("--host", "127.0.0.1", "--server-port", "{port:http}")
        for flag, expected in {
            "--tensor-parallel-size": "8",
            "--kv_cache_dtype": "fp8",
            "--block-size": "128",
            "--method": "dspark",
            "--draft-model": "Inferact/Kimi-K3-DSpark",
        }.items():
            assert value(server.argv, flag) == expected
        assert {"--trust-remote-code", "--enable_prefix_caching"} <= set(server.argv)
        quant = json.loads(value(server.argv, "--online_quant_config"))
        assert quant["global_quant_config"] == "ptpc_fp8"
        assert len(quant["exclude_layer"]) == 7
        assert "--max-model-len" not in server.argv


def test_requests_must_name_the_path_since_the_recipe_sets_no_served_name():
    found = plan(4)
    assert "--served-model-name" not in found.server.argv
    assert found.served_model == "moonshotai/Kimi-K3"


def test_every_variable_has_a_reason_and_an_origin():
    for recipe, concurrency in POINTS:
        for item in ADAPTER.plan(recipe_deployment(ADAPTER, recipe, concurrency=concurrency)).server.env.values():
            assert item.reason
            assert item.origin in {f"recipe {recipe}", "adapter atom"}


def test_what_is_not_verified_is_marked_so_in_every_result():
    assert any("suspect" in note for note in ADAPTER.recipes()["glm-5.2-agentic-offload-mi355x"]["notes"])
    for recipe in ("glm-5.2-agentic-offload-mi355x", "kimi-k2.5-mi355x", "kimi-k2.7-code-mi355x", "minimax-m3-mi355x"):
        (at, *_) = ADAPTER.recipes()[recipe]["at"]
        notes = ADAPTER.plan(recipe_deployment(ADAPTER, recipe, concurrency=int(at))).notes
        assert any("not verified" in note for note in notes), recipe


@pytest.mark.parametrize(("recipe", "concurrency"), POINTS)
def test_recipes_that_never_ran_say_so(recipe, concurrency):
    notes = ADAPTER.plan(recipe_deployment(ADAPTER, recipe, concurrency=concurrency)).notes
    assert notes.count("unverified: ixbench never ran this recipe on MI355X") == 1


@pytest.mark.parametrize("concurrency", [8, 10])
def test_kimi_k3_with_offload_names_the_lmcache_of_its_source(concurrency):
    assert any("LMCache 0.4.5" in note for note in plan(concurrency).notes)


R1 = "--kv_cache_dtype fp8 --max-model-len 10240"
V4 = "--kv_cache_dtype fp8 --trust-remote-code --no-enable_prefix_caching"
GRAPHS = "--gpu-memory-utilization 0.9 --cudagraph-capture-sizes [1,2,4,8,16,32,48,64,128,256,512]"
MTP = "--method mtp --num-speculative-tokens 3"
V4_ENV = "ATOM_DISABLE_MMAP=true AITER_BF16_FP8_MOE_BOUND=0 ATOM_MOE_GU_ITLV=1"
COMMANDS = [
    ("deepseek-r1-0528-mi355x", 4, f"--tensor-parallel-size 4 {R1} --block-size 16", "OMP_NUM_THREADS=1"),
    ("deepseek-r1-0528-mtp-mi355x", 4, f"--tensor-parallel-size 8 {R1} --method mtp", "OMP_NUM_THREADS=1 AMDGCN_USE_BUFFER_OPS=1"),
    ("deepseek-v4-pro-8k1k-mi355x", 8, f"--tensor-parallel-size 8 {V4} {GRAPHS}", V4_ENV),
    (
        "deepseek-v4-pro-8k1k-mi355x",
        128,
        f"--tensor-parallel-size 8 {V4} {GRAPHS} --enable-dp-attention --enable-tbo prefill --max-num-seqs 128",
        f"{V4_ENV} GPU_MAX_HW_QUEUES=5",
    ),
    ("deepseek-v4-pro-8k1k-tp4-mi355x", 8, f"--tensor-parallel-size 4 {V4} {GRAPHS}", V4_ENV),
    (
        "deepseek-v4-pro-8k1k-tp4-mi355x",
        16,
        f"--tensor-parallel-size 4 {V4} {GRAPHS} --enable-dp-attention --max-num-seqs 16",
        V4_ENV,
    ),
    ("deepseek-v4-pro-8k1k-mtp-mi355x", 16, f"--tensor-parallel-size 8 {V4} {MTP}", V4_ENV),
    (
        "deepseek-v4-pro-8k1k-mtp-mi355x",
        256,
        f"--tensor-parallel-size 8 {V4} {MTP} --enable-dp-attention --enable-tbo prefill --max-num-seqs 256",
        f"{V4_ENV} GPU_MAX_HW_QUEUES=5",
    ),
]
"""As the sources run them, after the model and the address: all flags and all variables, in no order. A bare --enable-tbo is "prefill"."""


@pytest.mark.parametrize(("recipe", "concurrency", "command", "env"), COMMANDS)
def test_deepseek_stands_as_its_source_runs_it(recipe, concurrency, command, env):
    server = ADAPTER.plan(recipe_deployment(ADAPTER, recipe, concurrency=concurrency)).server
    assert server.argv[3:5] == ("--model", ADAPTER.recipes()[recipe]["model"])
    assert server.argv[5:9] == ("--host", "127.0.0.1", "--server-port", "{port:http}")
    assert sorted((" " + " ".join(server.argv[9:])).split(" --")) == sorted(f" {command}".split(" --"))
    assert sorted(f"{name}={item.value}" for name, item in server.env.items()) == sorted(env.split())


# concurrency: data-parallel attention, sequences, two-batch overlap
DEEPSEEK_V4 = {
    "deepseek-v4-pro-8k1k-mi355x": {1: (0, None, 0), 32: (0, None, 0), 64: (1, "64", 1), 2048: (1, "2048", 1)},
    "deepseek-v4-pro-8k1k-tp4-mi355x": {8: (0, None, 0), 16: (1, "16", 0), 32: (1, "32", 0), 64: (1, "64", 1), 128: (1, "128", 1)},
    "deepseek-v4-pro-8k1k-mtp-mi355x": {16: (0, None, 0), 32: (1, "32", 0), 128: (1, "128", 0), 256: (1, "256", 1)},
}


@pytest.mark.parametrize(("recipe", "rows"), DEEPSEEK_V4.items())
def test_deepseek_v4_changes_its_attention_with_the_load(recipe, rows):
    for concurrency, (attention, sequences, overlap) in rows.items():
        server = ADAPTER.plan(recipe_deployment(ADAPTER, recipe, concurrency=concurrency)).server
        assert ("--enable-dp-attention" in server.argv) == bool(attention)
        assert value(server.argv, "--max-num-seqs") == sequences
        assert ("--enable-tbo" in server.argv) == bool(overlap) == ("GPU_MAX_HW_QUEUES" in server.env)
