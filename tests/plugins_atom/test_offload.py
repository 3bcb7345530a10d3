"""Host memory is given for each rank; the sum in its place hangs a launch, and a small buffer switches a tier off."""

from __future__ import annotations

import pytest

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench.testing.deployments import recipe_deployment
from ixbench_atom.adapter import AtomAdapter
from ixbench_atom.offload import offload_findings
from ixbench_atom.options import AtomOptions

CONNECTOR = {"--kv-transfer-config": {"kv_connector": "lmcache_offload", "kv_role": "offload"}}


def findings(*, memory=None, env=None, tensor=8, args=None, model="acme/model", **offload):
    options = {"tensor_parallel": tensor}
    if memory is not None:
        options["kv_offload"] = {"backend": "lmcache", **memory, **offload}
    deployment = Deployment(
        name="a",
        engine="atom",
        model=ModelSpec(id=model, label=""),
        hardware=HardwareSpec(),
        options=AtomOptions.model_validate(options),
        args=args or {},
        env={name: EnvVar(value=value, reason="", origin="") for name, value in (env or {}).items()},
    )
    return [(found.level, found.code, found.text) for found in offload_findings(deployment)]


@pytest.mark.parametrize(
    "memory",
    [{"host_memory_per_rank": "32 GiB"}, {"host_memory": "257 GB"}, {"host_memory": "1499 GB"}, {"host_memory_per_rank": "187 GB"}],
)
def test_sizes_that_are_plausible(memory):
    assert findings(memory=memory) == []


def test_the_sum_for_each_rank_is_an_error_with_the_right_number():
    ((level, code, text),) = findings(memory={"host_memory_per_rank": "257 GiB"})
    assert (level, code) == ("error", "lmcache_aggregate")
    assert "8 ranks would pin 2056 GiB" in text
    assert "for 257 GiB in all give each rank 32.125 GiB" in text


def test_a_larger_machine_may_pin_more():
    assert findings(memory={"host_memory_per_rank": "257 GiB"}, machine_memory="6 TB") == []


@pytest.mark.parametrize(
    ("tensor", "value", "share"),
    [(8, "257", "32.125"), (4, "210", "52.5"), (1, "2800", "2800"), (8, "1499.5", "187.437")],
)
def test_the_sum_in_the_variable_is_an_error_too(tensor, value, share):
    env = {"LMCACHE_MAX_LOCAL_CPU_SIZE": value, "PYTHONHASHSEED": "0"}
    ((level, code, text),) = findings(env=env, tensor=tensor, args=CONNECTOR)
    assert (level, code) == ("error", "lmcache_aggregate")
    assert text.startswith("env LMCACHE_MAX_LOCAL_CPU_SIZE: ")
    assert f"give each rank {share} GiB" in text


def test_a_variable_that_equals_the_sum_of_the_option_is_recognized_below_the_limit_too():
    ((_, code, text),) = findings(memory={"host_memory_per_rank": "8 GiB"}, env={"LMCACHE_MAX_LOCAL_CPU_SIZE": "64"})
    assert code == "lmcache_aggregate"
    assert "give each rank 8 GiB" in text
    assert findings(memory={"host_memory_per_rank": "8 GiB"}, env={"LMCACHE_MAX_LOCAL_CPU_SIZE": "16"}) == []


@pytest.mark.parametrize("value", ["many", "0", "-1", "nan", "inf", ""])
def test_sizes_that_are_none(value):
    ((level, code, text),) = findings(env={"LMCACHE_MAX_LOCAL_CPU_SIZE": value})
    assert (level, code) == ("error", "lmcache_size")
    assert "allowed: a number above 0" in text


def test_all_ranks_hash_alike():
    ((level, code, _),) = findings(args=CONNECTOR)
    assert (level, code) == ("error", "hash_seed")
    assert findings(args=CONNECTOR, env={"PYTHONHASHSEED": "42"}) == []
    ((_, code, text),) = findings(memory={"host_memory_per_rank": "8 GiB"}, env={"PYTHONHASHSEED": "random"})
    assert code == "hash_seed"
    assert "'random'" in text
    assert findings() == []


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "with the default of 2 for OFFLOAD_GPU_STAGING_CHUNKS: a staging buffer of 8 MiB"),
        ({"OFFLOAD_GPU_STAGING_CHUNKS": "13"}, "OFFLOAD_GPU_STAGING_CHUNKS = 13: a staging buffer of 52 MiB"),
        ({"OFFLOAD_GPU_STAGING_CHUNKS": "all"}, "OFFLOAD_GPU_STAGING_CHUNKS = all: a staging buffer of 0 MiB"),
    ],
)
def test_a_staging_buffer_that_holds_no_state_switches_the_tier_off(env, said):
    k3 = {"memory": {"host_memory_per_rank": "32 GiB"}, "model": "moonshotai/Kimi-K3"}
    ((level, code, text),) = findings(env={"OFFLOAD_STATE": "1", **env}, **k3)
    assert (level, code) == ("error", "state_tier_off")
    assert said in text
    assert "set at least 14" in text


def test_a_staging_buffer_that_holds_it():
    k3 = {"memory": {"host_memory_per_rank": "32 GiB"}, "model": "moonshotai/Kimi-K3"}
    assert findings(env={"OFFLOAD_STATE": "1"}, staging_chunks=14, **k3) == []
    assert findings(env={"OFFLOAD_STATE": "1"}, staging_chunks=7, chunk_tokens=512, **k3) == []
    assert findings(env={"OFFLOAD_STATE": "0"}, **k3) == []
    assert findings(**k3) == []
    # Sizes of other models are not known.
    assert findings(env={"OFFLOAD_STATE": "1"}, memory={"host_memory_per_rank": "32 GiB"}) == []


def test_state_needs_the_tier_that_it_goes_to():
    ((level, code, _),) = findings(env={"OFFLOAD_STATE": "1"})
    assert (level, code) == ("error", "state_without_offload")


def test_the_budget_that_the_glm_recipe_publishes_would_be_refused():
    adapter = AtomAdapter()
    published = {"kv_offload": {"host_memory_per_rank": "210 GiB"}}
    deployment = recipe_deployment(adapter, "glm-5.2-agentic-offload-mi355x", concurrency=8, options=published)
    assert "lmcache_aggregate" in [found.code for found in adapter.validate(deployment) if found.level == "error"]
