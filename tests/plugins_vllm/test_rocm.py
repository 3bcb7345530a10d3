"""The environment of FP4 launches on AMD GPUs: what a build does not read, or reads differently, is said before it starts."""

from __future__ import annotations

import pytest

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.options import VllmOptions

ADAPTER = VllmAdapter()
GOOD = {"VLLM_ROCM_USE_AITER": "1", "VLLM_USE_BREAKABLE_CUDAGRAPH": "0"}
AITER_A8W4, AITER_A4W4 = "AITER_SITUV2_A8W4", "AITER_SITUV2_A4W4"
OLD, NEW, BOUND = "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4", "VLLM_ROCM_USE_AITER_MOE_SITUV2", "AITER_BF16_FP8_MOE_BOUND"


def find(build, env, *, model="moonshotai/Kimi-K3", sku="mi355x", native_fp4=None, good=True, image=None, recipe=None, **more):
    variables = (GOOD if good else {}) | env
    deployment = Deployment(
        name="v",
        engine="vllm",
        model=ModelSpec(id=model, label=model, precision="fp4"),
        hardware=HardwareSpec(sku=sku, gpus=8, native_fp4=native_fp4),
        options=VllmOptions.model_validate({"tensor_parallel": 8, **({"build": build} if build else {}), **more}),
        image=image,
        recipe=recipe,
        env={name: EnvVar(value=value, reason="", origin="benchmarks.toml") for name, value in variables.items()},
    )
    return [(finding.level, finding.code, finding.text) for finding in ADAPTER.validate(deployment)]


def codes(found):
    return [(level, code) for level, code, _ in found]


CASES = [
    # the kimi-k3 image of 27 July reads AITER's own variable, and no other
    ("kimi-k3", {AITER_A8W4: "1", BOUND: "0"}, []),
    ("kimi-k3", {AITER_A8W4: "1"}, [("error", "moe_bound_missing")]),
    ("kimi-k3", {AITER_A8W4: "1", BOUND: "1"}, [("error", "moe_bound_missing")]),
    ("kimi-k3", {OLD: "1", BOUND: "0"}, [("error", "moe_variable_unread"), ("warning", "moe_not_chosen")]),
    ("kimi-k3", {NEW: "a8w4", AITER_A8W4: "1", BOUND: "0"}, [("error", "moe_variable_unread")]),
    ("kimi-k3", {}, [("warning", "moe_not_chosen")]),
    # after vllm#50582 vLLM has a variable of its own, and AITER's alone gives garbage
    ("vllm#50582", {OLD: "1", BOUND: "0"}, []),
    ("nightly-cb8104839c141609d99f1254459ef3a4f1bd4263", {OLD: "1", BOUND: "0"}, []),
    ("vllm#50582", {OLD: "1"}, [("error", "moe_bound_missing")]),
    ("vllm#50582", {AITER_A8W4: "1", BOUND: "0"}, [("error", "moe_aiter_alone")]),
    ("vllm#50582", {AITER_A4W4: "1"}, [("error", "moe_aiter_alone")]),
    ("vllm#50582", {OLD: "1", AITER_A8W4: "1", BOUND: "0"}, [("warning", "moe_aiter_beside")]),
    ("vllm#50582", {NEW: "a8w4", BOUND: "0"}, [("error", "moe_variable_unread"), ("warning", "moe_not_chosen")]),
    ("vllm#50582", {}, [("warning", "moe_not_chosen")]),
    # after vllm#53940 the same variable means something else
    ("vllm#53940", {OLD: "1"}, [("warning", "moe_a4w4"), ("note", "moe_untuned")]),
    ("vllm#53940", {AITER_A8W4: "1"}, [("error", "moe_aiter_alone")]),
    ("vllm#53940", {NEW: "1"}, [("error", "moe_variable_unread"), ("warning", "moe_not_chosen")]),
    # recipes#954: a new name, the old one still works, AITER's and the bound are not wanted
    ("recipes#954", {NEW: "1"}, []),
    ("recipes#954", {OLD: "1"}, [("warning", "moe_variable_deprecated")]),
    ("recipes#954", {NEW: "1", BOUND: "0"}, [("warning", "moe_bound_unwanted")]),
    ("recipes#954", {NEW: "1", AITER_A4W4: "1"}, [("warning", "moe_aiter_beside")]),
    ("recipes#954", {AITER_A8W4: "1"}, [("error", "moe_aiter_alone")]),
    ("recipes#954", {}, [("warning", "moe_not_chosen")]),
    # 0.32.0: the new name takes values, and the old one is gone
    ("0.32.0", {NEW: "a8w4"}, []),
    ("0.32.0", {NEW: "A16W4"}, []),
    ("0.32.0", {NEW: "0"}, []),
    ("0.32.0", {NEW: "a4w4"}, [("note", "moe_untuned")]),
    ("0.32.0", {NEW: "auto"}, [("note", "moe_untuned")]),
    ("0.32.0", {NEW: "a2w4"}, [("error", "moe_value")]),
    ("0.32.0", {OLD: "1"}, [("error", "unknown_variable"), ("warning", "moe_not_chosen")]),
    ("0.32.0", {AITER_A8W4: "1"}, [("error", "moe_aiter_alone")]),
    ("0.32.0", {NEW: "a8w4", AITER_A8W4: "1"}, [("warning", "moe_aiter_beside")]),
    ("v0.33.0", {OLD: "1"}, [("error", "moe_variable_unread"), ("warning", "moe_not_chosen")]),
    ("0.32.0", {}, [("warning", "moe_not_chosen")]),
    # nobody knows
    (None, {OLD: "1", BOUND: "0"}, [("note", "build_unknown")]),
    ("nightly-0123", {AITER_A8W4: "1", BOUND: "0"}, [("note", "build_unknown"), ("warning", "moe_aiter_alone")]),
]


@pytest.mark.parametrize(("build", "env", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else None)
def test_what_selects_the_activations_of_kimi_k3s_experts(build, env, expected):
    assert codes(find(build, env)) == expected


K3_IMAGE = "vllm/vllm-openai-rocm:nightly-cb8104839c141609d99f1254459ef3a4f1bd4263"
UNDER_RECIPE = {"image": K3_IMAGE, "recipe": "kimi-k3-mi355x"}


@pytest.mark.parametrize("sku", ["mi355x", None])
@pytest.mark.parametrize(
    "given",
    [
        {"build": "vllm#50582"},
        {"image": K3_IMAGE},
        {"image": K3_IMAGE, "model": "/models/k"},
        {"build": "vllm#53940", "recipe": "kimi-k3-mi355x", "model": "/models/k"},
    ],
)
@pytest.mark.parametrize("env", [{AITER_A8W4: "1"}, {OLD: "0", AITER_A8W4: "1"}, {OLD: "false", AITER_A8W4: "1"}])
def test_the_aiter_variable_alone_is_an_error_whoever_names_the_gpus(given, env, sku):
    found = find(**({"build": None} | given), env=env | {BOUND: "0"}, sku=sku)
    assert ("error", "moe_aiter_alone") in codes(found)
    (text,) = [text for _, code, text in found if code == "moe_aiter_alone"]
    assert "gives garbage text without an error" in text
    assert text.endswith(f"; set {OLD} instead")
    assert (f"{OLD}={env[OLD]} leaves it alone" in text) if OLD in env else ("leaves" not in text)


def test_the_trap_under_the_recipe_is_seen_without_a_sku():
    env = {OLD: "1", NEW: "a8w4", AITER_A8W4: "1", BOUND: "0"}
    expected = [("error", "moe_variable_unread"), ("warning", "moe_aiter_beside")]
    assert codes(find(None, env, sku=None, **UNDER_RECIPE)) == expected
    assert codes(find(None, env, sku="mi355x", **UNDER_RECIPE)) == expected


def test_an_aiter_variable_that_is_off_is_no_trap():
    assert codes(find("vllm#50582", {AITER_A8W4: "0"})) == [("warning", "moe_not_chosen")]
    assert find("vllm#50582", {OLD: "1", AITER_A8W4: "0", BOUND: "0"}) == []
    assert codes(find(None, {OLD: "0", AITER_A8W4: "1"})) == [("note", "build_unknown"), ("warning", "moe_aiter_alone")]


def test_the_image_of_kimi_k3_with_another_model_says_nothing():
    assert find(None, {}, model="acme/model", image=K3_IMAGE) == []


def test_texts_say_what_to_set():
    ((_, _, alone),) = find("vllm#50582", {AITER_A8W4: "1", BOUND: "0"})
    assert alone == (
        f"env {AITER_A8W4} alone gives garbage text without an error in a build after vllm#50582 (31 July 2026); set {OLD} instead"
    )
    ((_, _, bound),) = find("vllm#50582", {OLD: "1"})
    assert bound == f'env {BOUND} is not set: 8-bit activations (a8w4) then give garbage at small batches; set it to "0"'
    ((_, _, value),) = find("0.32.0", {NEW: "a2w4"})
    assert value == f"env {NEW}=a2w4: allowed in vLLM 0.32.0: 1, 0, auto, a4w4, a8w4, a16w4"


def test_other_models_and_other_gpus_have_no_such_switch():
    assert find("vllm#50582", {AITER_A8W4: "1"}, model="deepseek-ai/DeepSeek-V4-Pro") == []
    assert find("vllm#50582", {AITER_A8W4: "1"}, sku="b200") == []


@pytest.mark.parametrize(
    ("sku", "native", "warned"),
    [("mi355x", True, True), ("MI350X", True, True), ("mi300x", False, False), ("b200", True, False), (None, None, False)],
)
@pytest.mark.parametrize("env", [{}, {"VLLM_ROCM_USE_AITER": "0"}])
def test_the_master_switch_on_gpus_with_fp4(sku, native, warned, env):
    found = find("v0.27.1", env, model="acme/model", sku=sku, native_fp4=native, good=False)
    assert codes(found) == ([("warning", "aiter_off")] if warned else [])
    assert "1.7 to 3.7" in found[0][2] if warned else True
    assert find("v0.27.1", {"VLLM_ROCM_USE_AITER": "True"}, model="acme/model", sku=sku, native_fp4=native, good=False) == []


@pytest.mark.parametrize(
    ("env", "expected"),
    [({}, [("warning", "breakable_graphs")]), ({"VLLM_USE_BREAKABLE_CUDAGRAPH": "1"}, [("error", "breakable_graphs")])],
)
@pytest.mark.parametrize("model", ["amd/MiniMax-M3-MXFP4", "minimax-m3"])
def test_models_that_need_breakable_graphs_off(model, env, expected):
    assert codes(find("v0.27.1", {"VLLM_ROCM_USE_AITER": "1"} | env, model=model, good=False)) == expected
    assert find("v0.27.1", {}, model=model) == []


def test_a_variable_that_this_very_version_does_not_know():
    ((level, code, text),) = find("0.32.0", {"VLLM_ROCM_USE_AITR": "1"}, model="acme/model")
    assert (level, code) == ("error", "unknown_variable")
    assert text == "env VLLM_ROCM_USE_AITR: vLLM 0.32.0 does not read it; did you mean 'VLLM_ROCM_USE_AITER'?"
    assert find("0.32.0", {"AITER_ANYTHING": "1"}, model="acme/model") == []


@pytest.mark.parametrize("given", [{"build": "v0.27.1"}, {"build": None}, {"build": None, "image": "vllm/vllm-openai-rocm:nightly-0123"}])
@pytest.mark.parametrize("sku", ["mi355x", "b200", None])
def test_a_variable_that_the_listed_version_does_not_know_is_suspect_in_other_builds(given, sku):
    ((level, code, text),) = find(env={"VLLM_ROCM_USE_ATIER": "1"}, model="acme/model", sku=sku, **given)
    assert (level, code) == ("warning", "unlisted_variable")
    assert text == (
        "env VLLM_ROCM_USE_ATIER is no variable of vLLM 0.32.0, whose list ixbench has: unless another build reads it, it changes nothing; "
        "did you mean 'VLLM_ROCM_USE_AITER'?"
    )
    ((_, _, far),) = find(env={"VLLM_QQQQ": "1"}, model="acme/model", sku=sku, **given)
    assert far.endswith("; remove it")


def test_variables_that_a_published_recipe_sets_are_taken_as_read():
    assert find("v0.27.1", {"VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "1"}, model="acme/model") == []
    assert codes(find("0.32.0", {"VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "1"}, model="acme/model")) == [("error", "unknown_variable")]


def test_vllms_own_limit_below_ours_is_a_warning():
    env = {"VLLM_ENGINE_READY_TIMEOUT_S": "600"}
    ((level, code, text),) = find("v0.27.1", env, model="acme/model", ready_limit="2h")
    assert (level, code) == ("warning", "ready_timeout")
    assert text.endswith("raise it to 7200")
    assert find("v0.27.1", {"VLLM_ENGINE_READY_TIMEOUT_S": "7200"}, model="acme/model", ready_limit="2h") == []


def test_online_quantization_without_its_plugin_is_an_error():
    quant = {"online_quant": {"global_quant_config": "ptpc_fp8"}}
    assert codes(find("v0.27.1", {"ATOM_DISABLE_VLLM_PLUGIN": "1"}, model="acme/model", **quant)) == [("error", "online_quant_off")]
    assert find("v0.27.1", {}, model="acme/model", **quant) == []
