"""The simulated engine follows the deployment's own settings, and refuses those that it would not follow."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench.model.errors import InputError
from ixbench.testing.deployments import recipe_deployment
from ixbench_atom.adapter import AtomAdapter
from ixbench_atom.options import AtomOptions
from ixbench_plugins.engines.simulated.adapter import SimulatedAdapter
from ixbench_plugins.engines.simulated.engine import simulated_engine
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.options import VllmOptions

MODEL = ModelSpec(id="moonshotai/Kimi-K3", label="Kimi K3", precision="fp4")
HARDWARE = HardwareSpec(sku="mi355x", gpus=8)
RECIPE = {
    "tensor_parallel": 8,
    "gpu_memory_utilization": 0.9,
    "max_num_seqs": 20,
    "kv_cache_dtype": "fp8",
    "max_model_len": 1_048_576,
    "speculative": {"method": "dspark", "tokens": 2, "acceptance_length": 2.51},
}


def vllm(*, args=None, **options):
    return Deployment(
        name="vllm", engine="vllm", model=MODEL, hardware=HARDWARE, options=VllmOptions.model_validate(RECIPE | options), args=args or {}
    )


def atom(*, args=None, **options):
    return Deployment(
        name="atom", engine="atom", model=MODEL, hardware=HARDWARE, options=AtomOptions.model_validate(RECIPE | options), args=args or {}
    )


def test_the_published_recipe():
    settings = simulated_engine(vllm()).settings
    assert (settings.max_num_seqs, settings.max_batched_tokens, settings.tensor_parallel) == (20, 8192, 8)
    assert (settings.tokens_per_step, settings.accepted_per_step) == (3, Fraction("2.51"))
    assert settings.gpu_tokens == pytest.approx(3_690_000, rel=0.001)
    assert (settings.host_tokens, settings.hit_granularity, settings.max_model_len) == (0, 1536, 1_048_576)
    assert settings.longest == 1_048_576
    assert settings.prefix_caching


def test_host_memory_of_the_published_recipe():
    settings = simulated_engine(vllm(kv_offload={"backend": "simple", "host_memory": "1499 GB"})).settings
    assert settings.host_tokens == pytest.approx(13_550_000, rel=0.001)
    assert settings.write_through
    assert not simulated_engine(vllm(kv_offload={"backend": "simple", "host_memory": "1 TB", "lazy": True})).settings.write_through
    assert simulated_engine(vllm(kv_offload={"backend": "off"})).settings.host_tokens == 0


def test_atom_has_its_own_defaults_and_offload():
    engine = simulated_engine(atom(max_num_seqs=None, kv_offload={"backend": "lmcache", "host_memory_per_rank": "32 GiB"}))
    assert (engine.settings.max_num_seqs, engine.settings.max_batched_tokens) == (512, 16_384)
    assert engine.settings.host_tokens == 32 * 2**30 // 13_824
    assert not engine.profile.public_figures


def test_drafts_follow_the_deployment():
    six = simulated_engine(atom(speculative={"method": "mtp", "tokens": 6, "acceptance_length": 3.75})).settings
    assert (six.tokens_per_step, six.accepted_per_step) == (7, Fraction("3.75"))
    rate = simulated_engine(atom(speculative={"method": "mtp", "tokens": 4, "acceptance_rate": 0.5})).settings
    assert (rate.tokens_per_step, rate.accepted_per_step) == (5, Fraction(3))
    none = simulated_engine(vllm(speculative=None)).settings
    assert (none.tokens_per_step, none.accepted_per_step) == (1, Fraction(1))


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"max_batched_tokens": 4096}, "max_batched_tokens", 4096),
        ({"long_prefill_threshold": 2048}, "long_prefill_tokens", 2048),
        ({"long_prefill_threshold": 0}, "long_prefill_tokens", None),
        ({"prefix_caching": False}, "prefix_caching", False),
        ({"decode_context_parallel": 4}, "context_shards", 4),
        ({"kv_cache_dtype": None}, "kv_bytes", 2),
        ({"max_model_len": "256K"}, "max_model_len", 262_144),
        ({"max_model_len": "1.5m"}, "max_model_len", 1_500_000),
        ({"max_model_len": "auto"}, "max_model_len", None),
        ({"max_model_len": None}, "max_model_len", 1_048_576),
        ({"args": {"--max-num-seqs": 64}}, "max_num_seqs", 64),
        ({"args": {"--max_num_batched_tokens": "2048"}}, "max_batched_tokens", 2048),
        ({"args": {"--max-model-len": 5000}, "max_model_len": "auto"}, "max_model_len", 5000),
        ({"args": {"--enforce-eager": True}}, "max_num_seqs", 20),
    ],
)
def test_each_setting_is_followed(changed, field, value):
    assert getattr(simulated_engine(vllm(**changed)).settings, field) == value


@pytest.mark.parametrize(
    ("adapter", "recipe", "concurrency"),
    [
        pytest.param(adapter, recipe, int(at), id=f"{adapter.name} {recipe} {at}")
        for adapter in (VllmAdapter(), AtomAdapter())
        for recipe, table in adapter.recipes().items()
        if table["model"] == "moonshotai/Kimi-K3"
        for at in table["at"]
    ],
)
def test_every_shipped_recipe_of_a_known_model_can_be_simulated(adapter, recipe, concurrency):
    deployment = recipe_deployment(adapter, recipe, concurrency=concurrency)
    settings = simulated_engine(deployment).settings
    assert settings.max_num_seqs == deployment.options.max_num_seqs
    assert settings.tokens_per_step == 1 + deployment.options.speculative.tokens
    assert (settings.host_tokens > 0) is (deployment.options.kv_offload is not None)


def test_context_in_16_bits_takes_twice_the_room():
    assert simulated_engine(vllm(kv_cache_dtype="auto")).settings.gpu_tokens == pytest.approx(
        simulated_engine(vllm()).settings.gpu_tokens / 2, abs=1
    )


@pytest.mark.parametrize(
    ("deployment", "texts"),
    [
        (vllm(speculative={"method": "dspark", "tokens": 2}), ["speculative.acceptance_length", "set acceptance_length"]),
        (vllm(tensor_parallel=4), ["tensor_parallel", "the weights alone need 1555 GB"]),
        (vllm(pipeline_parallel=2, data_parallel=2), ["pipeline_parallel", "data_parallel"]),
        (atom(dp_attention=True), ["dp_attention"]),
        (vllm(args={"--kv-cache-dtype": "fp8", "--no-enable-prefix-caching": True}), ["args.--kv-cache-dtype", "prefix_caching instead"]),
        (vllm(args={"--max-num-seqs": "many"}), ["args.--max-num-seqs", "'many'"]),
    ],
)
def test_what_is_not_modelled_is_refused(deployment, texts):
    with pytest.raises(InputError) as caught:
        simulated_engine(deployment)
    assert all(text in str(caught.value) for text in texts)
    assert str(caught.value).startswith("deployment ")


def test_what_no_profile_knows_is_not_simulated():
    assert simulated_engine(replace(vllm(), hardware=HardwareSpec(sku="h200", gpus=8))) is None
    assert simulated_engine(replace(vllm(), engine="endpoint")) is None
    assert SimulatedAdapter().simulate(replace(vllm(), engine="endpoint")) is None


def test_a_simulation_tells_what_it_rests_on():
    simulation = SimulatedAdapter().simulate(vllm())
    assert json.loads(json.dumps(simulation.facts)) == simulation.facts
    assert set(simulation.facts["fitted"]) == {"calibration.step_s", "calibration.compute_efficiency"}
    assert simulation.facts["chosen"]["calibration.memory_efficiency"] == 0.8
    assert "calibrated with 2 numbers" in simulation.notes[0]
    atoms = SimulatedAdapter().simulate(atom())
    assert "no public figures" in atoms.notes[0]
    assert (atoms.facts["fitted"], atoms.facts["public_figures"]) == ({}, False)


def test_simulated_is_no_engine_to_name():
    with pytest.raises(InputError, match="no engine to deploy"):
        SimulatedAdapter().plan(vllm())
