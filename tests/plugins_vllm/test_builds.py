"""Which vLLM a deployment starts, and what is known of it."""

from __future__ import annotations

import pytest

from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench_vllm.builds import SWITCHES, build_of, image_tag, names
from ixbench_vllm.options import VllmOptions


def build(*, image=None, **options):
    return build_of(
        Deployment(
            name="v",
            engine="vllm",
            model=ModelSpec(id="m", label="m"),
            hardware=HardwareSpec(),
            options=VllmOptions.model_validate(options),
            image=image,
        )
    )


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("vllm/vllm-openai-rocm:v0.27.1", "v0.27.1"),
        ("registry:5000/vllm:v1.0.0", "v1.0.0"),
        ("registry:5000/vllm", None),
        ("vllm/vllm-openai-rocm:v0.27.1@sha256:0123", "v0.27.1"),
        ("vllm@sha256:0123", None),
        (None, None),
    ],
)
def test_tags(image, tag):
    assert image_tag(image) == tag


@pytest.mark.parametrize(
    ("name", "version", "exact"),
    [
        ("0.32.0", (0, 32, 0), True),
        ("v0.32.0", (0, 32, 0), True),
        ("v0.32.0-rocm720", (0, 32, 0), True),
        ("v0.32.1", (0, 32, 1), False),
        ("0.32.0rc1", None, False),
        ("v0.27.1", (0, 27, 1), False),
        ("nightly-cb8104839c141609d99f1254459ef3a4f1bd4263", None, False),
        ("latest", None, False),
    ],
)
def test_versions(name, version, exact):
    for found in (build(build=name), build(image=f"vllm/vllm-openai-rocm:{name}")):
        assert (found.version, found.exact) == (version, exact)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kimi-k3", "kimi-k3"),
        ("kimi-k3-0727", "kimi-k3"),
        ("nightly-cb8104839c141609d99f1254459ef3a4f1bd4263", "vllm#50582"),
        ("vllm#50582", "vllm#50582"),
        ("vllm#53940", "vllm#53940"),
        ("recipes#954", "recipes#954"),
        ("v0.32.0", "0.32.0"),
        ("0.33.0", "0.32.0"),
        ("v0.27.1", None),
        ("nightly-311b3513af33bc29b4acb2fde2e9313e5e9966a0", None),
    ],
)
def test_kinds_of_expert_switch(name, kind):
    found = build(build=name).experts
    assert (None if found is None else found.build) == kind


def test_the_option_wins_over_the_image():
    assert build(image="vllm:v0.27.1", build="0.32.0").version == (0, 32, 0)
    assert build().name is None


def test_every_kind_of_switch_can_be_named():
    assert [build(build=switch.build).experts for switch in SWITCHES] == list(SWITCHES)


def test_the_lists_are_those_of_the_version():
    flags, variables = names("flags"), names("variables")
    assert {"--tensor-parallel-size", "-tp", "--fail-on-environ-validation", "--no-enable-prefix-caching"} <= flags
    assert {"VLLM_ROCM_USE_AITER", "VLLM_ROCM_USE_AITER_MOE_SITUV2", "VLLM_SERVER_DEV_MODE"} <= variables
    assert "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4" not in variables
    assert all(flag.startswith("-") for flag in flags)
    assert all(name.startswith("VLLM_") for name in variables)
