"""The shipped recipe's plans, as reviewed JSON, and its published table in full."""

from __future__ import annotations

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


@pytest.mark.parametrize("concurrency", PUBLISHED)
def test_kimi_k3_on_mi355x(concurrency):
    deployment = recipe_deployment(ADAPTER, RECIPE, concurrency=concurrency)
    assert list(ADAPTER.validate(deployment)) == []
    assert_snapshot(ADAPTER.plan(deployment), SNAPSHOTS / f"{RECIPE}-c{concurrency}.json")


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


def test_requests_must_name_the_path_since_the_recipe_sets_no_served_name():
    found = plan(4)
    assert "--served-model-name" not in found.server.argv
    assert found.served_model == "moonshotai/Kimi-K3"


def test_every_variable_has_a_reason_and_an_origin():
    for item in plan(10).server.env.values():
        assert item.reason
        assert item.origin in {f"recipe {RECIPE}", "adapter atom"}
