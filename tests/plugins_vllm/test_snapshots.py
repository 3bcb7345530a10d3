"""The shipped recipe's plans, as reviewed JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ixbench.testing.deployments import recipe_deployment
from ixbench.testing.snapshot import assert_snapshot
from ixbench_vllm.adapter import VllmAdapter

SNAPSHOTS = Path(__file__).parent / "snapshots"
ADAPTER = VllmAdapter()
RECIPE = "kimi-k3-mi355x"


@pytest.mark.parametrize("concurrency", [1, 4, 8, 10])
def test_kimi_k3_on_mi355x(concurrency):
    deployment = recipe_deployment(ADAPTER, RECIPE, concurrency=concurrency)
    assert list(ADAPTER.validate(deployment)) == []
    assert_snapshot(ADAPTER.plan(deployment), SNAPSHOTS / f"{RECIPE}-c{concurrency}.json")


def test_published_points_without_offload_share_one_launch():
    plans = [ADAPTER.plan(recipe_deployment(ADAPTER, RECIPE, concurrency=concurrency)) for concurrency in (1, 4, 8)]
    assert plans[0] == plans[1] == plans[2]


def test_offload_point_adds_one_flag_and_one_variable():
    base = ADAPTER.plan(recipe_deployment(ADAPTER, RECIPE, concurrency=8)).server
    offload = ADAPTER.plan(recipe_deployment(ADAPTER, RECIPE, concurrency=10)).server
    assert offload.argv[: len(base.argv)] == base.argv
    flag, value = offload.argv[len(base.argv) :]
    assert flag == "--kv-transfer-config"
    assert json.loads(value) == {
        "kv_connector": "SimpleCPUOffloadConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 187_375_000_000, "lazy_offload": False},
    }
    assert " " not in value
    assert {name: item.value for name, item in offload.env.items() if name not in base.env} == {"PYTHONHASHSEED": "42"}


def test_every_variable_has_a_reason_and_an_origin():
    for item in ADAPTER.plan(recipe_deployment(ADAPTER, RECIPE, concurrency=10)).server.env.values():
        assert item.reason
        assert item.origin == f"recipe {RECIPE}"
