"""Exactly one variable chooses the GPUs."""

from __future__ import annotations

import pytest

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench.model.visibility import VARIABLES, assigned_gpus, gpu_findings, visibility_env, visibility_findings


def env(*names):
    return {name: EnvVar(value="0", reason="", origin="benchmarks.toml") for name in names}


def test_no_indices_no_variable():
    assert visibility_env(None, sku="mi355x", origin="adapter") == {}


@pytest.mark.parametrize(
    ("sku", "name"), [("mi355x", "HIP_VISIBLE_DEVICES"), ("h100", "CUDA_VISIBLE_DEVICES"), (None, "CUDA_VISIBLE_DEVICES")]
)
def test_indices_give_exactly_one_variable(sku, name):
    variables = visibility_env((4, 5), sku=sku, origin="adapter vllm")
    assert list(variables) == [name]
    assert variables[name].value == "4,5"
    assert variables[name].origin == "adapter vllm"


def test_one_variable_or_indices_alone_are_fine():
    assert visibility_findings({}, (0, 1)) == []
    for name in VARIABLES:
        assert visibility_findings(env(name), None) == []


@pytest.mark.parametrize(("names", "gpus"), [(VARIABLES[:2], None), (VARIABLES[1:], None), (VARIABLES[:1], (0,))])
def test_two_ways_of_choosing_are_refused(names, gpus):
    (finding,) = visibility_findings(env(*names), gpus)
    assert finding.level == "error"
    assert all(name in finding.text for name in names)


def deployment(**fields):
    given = {"name": "d", "engine": "e", "model": ModelSpec(id="m", label="m"), "hardware": HardwareSpec(gpus=8), "options": None}
    return Deployment(**{**given, **fields})


def test_assigned_gpus_are_the_named_ones_else_the_first():
    assert assigned_gpus(deployment()) == tuple(range(8))
    assert assigned_gpus(deployment(gpu_indices=(4, 5))) == (4, 5)
    assert assigned_gpus(deployment(hardware=HardwareSpec())) == ()


def test_the_number_of_gpus_must_do_for_the_ranks():
    assert gpu_findings(deployment(), 8) == []
    (more,) = gpu_findings(deployment(), 16)
    assert more.level == "error"
    assert more.text == "the parallel sizes need 16 GPUs, [hardware] gpus gives 8; lower one or raise the other"
    (fewer,) = gpu_findings(deployment(gpu_indices=(0, 1, 2)), 2)
    assert fewer.level == "warning"
    assert "2 of the 3 GPUs of the deployment's gpus" in fewer.text


@pytest.mark.parametrize(
    "fields", [{"hardware": HardwareSpec()}, {"hardware": HardwareSpec(sku="cpu", gpus=1)}, {"url": "http://127.0.0.1:1"}]
)
def test_the_number_does_not_matter_where_none_is_said_or_meant(fields):
    assert gpu_findings(deployment(**fields), 4) == []
