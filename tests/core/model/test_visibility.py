"""Exactly one variable chooses the GPUs."""

from __future__ import annotations

import pytest

from ixbench.model.deployment import EnvVar
from ixbench.model.visibility import VARIABLES, visibility_env, visibility_findings


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
