"""Variables that ATOM does not read, that contradict each other, or that hide errors."""

from __future__ import annotations

import pytest

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench_atom.options import AtomOptions
from ixbench_atom.variables import variable_findings


def findings(env, **options):
    deployment = Deployment(
        name="a",
        engine="atom",
        model=ModelSpec(id="m", label=""),
        hardware=HardwareSpec(),
        options=AtomOptions.model_validate(options),
        env={name: EnvVar(value=value, reason="", origin="") for name, value in env.items()},
    )
    return [(found.level, found.code, found.text) for found in variable_findings(deployment)]


@pytest.mark.parametrize(
    ("env", "level", "code"),
    [
        ({"VLLM_ROCM_QUICK_REDUCE_QUANTIZATION": "INT4"}, "warning", "variable_of_other_engine"),
        ({"ROCM_QUICK_REDUCE_QUANTIZATION": "INT4"}, "warning", "variable_of_other_engine"),
        ({"ATOM_LOG_MORE": "1"}, "warning", "log_shape"),
        ({"USE_ATOMESH_ENTRYPOINTS": "1"}, "warning", "other_server"),
        ({"AITER_SITUV2_A4W4": "1", "AITER_SITUV2_A8W4": "1"}, "error", "experts_conflict"),
        ({"AITER_SITUV2_A8W4": "1"}, "warning", "experts_small_batch"),
        ({"AITER_SITUV2_A8W4": "1", "AITER_BF16_FP8_MOE_BOUND": "64"}, "warning", "experts_small_batch"),
    ],
)
def test_what_is_wrong(env, level, code):
    assert [(found, name) for found, name, _ in findings(env)] == [(level, code)]


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"AITER_QUICK_REDUCE_QUANTIZATION": "INT4", "ATOM_LOG_MORE": "0", "USE_ATOMESH_ENTRYPOINTS": "0", "MY_OWN": "1"},
        {"AITER_SITUV2_A4W4": "1"},
        {"AITER_SITUV2_A8W4": "1", "AITER_BF16_FP8_MOE_BOUND": "0"},
    ],
)
def test_what_is_not(env):
    assert findings(env) == []


def test_a_variable_that_replaces_an_option_is_noted():
    ((level, code, text),) = findings({"GPU_MAX_HW_QUEUES": "4"}, tbo="prefill")
    assert (level, code) == ("note", "env_replaces_option")
    assert "GPU_MAX_HW_QUEUES=4 replaces 5" in text
    assert findings({"GPU_MAX_HW_QUEUES": "5"}, tbo="prefill") == []
