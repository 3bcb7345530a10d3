"""Which build an image's tag tells of, and what that build does not know."""

from __future__ import annotations

import argparse
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench_atom.adapter import AtomAdapter
from ixbench_atom.against_build import against_build
from ixbench_atom.builds import K3_VARIABLES, build_of, known_flags
from ixbench_atom.flags import MINE, TABLE, launch_flags
from ixbench_atom.options import AtomOptions

ADAPTER = AtomAdapter()
K3 = "rocm/atom-dev:ubuntu24.04_py3.12_pytorch_release_2.10.0_kimi_k3_agentic_0820"
GLM = "rocm/atom-dev:ubuntu24.04_py3.12_pytorch_release_2.10.0_glm52_agentic_0813"


@pytest.mark.parametrize(
    ("image", "name", "day", "variant"),
    [
        ("rocm/atom-dev:nightly_202608201032", "nightly_202608201032", date(2026, 8, 20), None),
        (
            "rocm/atom:rocm7.2.3_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom20260511",
            "atom 20260511",
            date(2026, 5, 11),
            None,
        ),
        (
            "rocm/atom:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.4_202607091539",
            "atom 0.1.4",
            date(2026, 7, 9),
            None,
        ),
        ("rocm/atom:rocm7.2.2_ubuntu24.04_py3.12_pytorch_release_2.10.0_atom0.1.2.post", "atom 0.1.2.post", None, None),
        (K3, "kimi_k3_agentic_0820", None, "kimi_k3"),
        (f"registry.example:5000/{K3}@sha256:{'0' * 64}", "kimi_k3_agentic_0820", None, "kimi_k3"),
        (GLM, "glm52_agentic_0813", None, "glm52"),
        ("mine/atom:test", "test", None, None),
        ("rocm/atom-dev:nightly_20269999", "nightly_20269999", None, None),
        (None, None, None, None),
    ],
)
def test_tags(image, name, day, variant):
    build = build_of(image)
    assert (build.name, build.day, build.variant, build.moving) == (name, day, variant, False)
    assert build.known is (day is not None or variant is not None)


@pytest.mark.parametrize("image", ["rocm/atom", "rocm/atom:latest", "rocm/atom-dev:vllm-latest", "registry.example:5000/rocm/atom"])
def test_tags_that_move(image):
    assert build_of(image).moving
    assert not build_of(f"{image}@sha256:{'0' * 64}").moving


@pytest.mark.parametrize(
    ("told", "day", "variant"),
    [
        ("2026-08-20", date(2026, 8, 20), None),
        ("nightly_202608201032", date(2026, 8, 20), None),
        ("kimi_k3_agentic_0820", None, "kimi_k3"),
        ("atom0.1.4_202607091539", date(2026, 7, 9), None),
        ("atom20260511", date(2026, 5, 11), None),
    ],
)
def test_what_the_user_tells_of_a_build_counts_before_the_image(told, day, variant):
    build = build_of("rocm/atom:latest", told)
    assert (build.day, build.variant, build.moving, build.told) == (day, variant, False, True)


@given(st.text())
def test_any_image_has_a_build(image):
    assert build_of(image).known in {True, False}
    assert build_of(None, image).told in {True, False}


def test_every_flag_of_the_table_is_in_the_shipped_list():
    flags = {flag for rule in TABLE for flag in rule.flags} | set(MINE)
    assert all(flag.replace("--no-", "--").replace("_", "-") in known_flags() for flag in flags)


def findings(*, image=None, options=None, args=None, env=()):
    deployment = Deployment(
        name="a",
        engine="atom",
        model=ModelSpec(id="acme/model", label=""),
        hardware=HardwareSpec(),
        options=AtomOptions.model_validate(options or {}),
        image=image,
        args=args or {},
        env={name: EnvVar(value="1", reason="", origin="") for name in env},
    )
    return [(found.level, found.code, found.text) for found in against_build(deployment, launch_flags(deployment))]


@pytest.mark.parametrize(
    ("options", "image", "text"),
    [
        ({"index_cache_dtype": "fp4"}, "rocm/atom-dev:nightly_202607161200", "--index-cache-dtype came into ATOM on 2026-07-17"),
        ({"served_name": "m"}, "rocm/atom:x_atom20260511", "--served-model-name came into ATOM on 2026-07-27, and atom 20260511"),
        ({"keep_alive": 60, "build": "2026-08-15"}, None, "and main of 2026-08-15 is of 2026-08-15"),
    ],
)
def test_flags_that_are_younger_than_the_build(options, image, text):
    ((level, code, said),) = findings(options=options, image=image)
    assert (level, code) == ("error", "flag_too_new")
    assert text in said
    assert "it would end with status 2" in said


def test_a_flag_of_the_same_day_is_known():
    assert findings(options={"index_cache_dtype": "fp4"}, image="rocm/atom-dev:nightly_202607170000") == []


def test_old_builds_know_one_spelling():
    old, new = "rocm/atom-dev:nightly_202607222359", "rocm/atom-dev:nightly_202607230000"
    ((level, code, text),) = findings(args={"--kv-cache-dtype": "fp8"}, image=old)
    assert (level, code) == ("error", "flag_spelling")
    assert text.endswith("write --kv_cache_dtype")
    assert findings(args={"--kv-cache-dtype": "fp8"}, image=new) == []
    assert findings(args={"-tp": 8, "--no-enable_prefix_caching": True, "--kv_cache_dtype": "fp8"}, image=old) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"state_checkpoints": {"slots": 16}}, "--state-checkpoint-slots"),
        ({"state_checkpoints": {"interval_tokens": -1}}, "--state-checkpoint-interval-tokens -1"),
    ],
)
def test_flags_of_the_kimi_k3_image(options, named):
    assert findings(options=options, image=K3) == []
    ((level, code, text),) = findings(options=options, image=GLM)
    assert (level, code) == ("error", "flag_of_other_build")
    assert named in text
    assert "glm52_agentic_0813" in text
    ((level, code, text),) = findings(options=options)
    assert (level, code) == ("warning", "build_unknown")
    assert "not verified" in text
    assert findings(options=options | {"build": "kimi_k3_agentic_0820"}) == []


def test_variables_of_the_kimi_k3_image():
    assert findings(env=K3_VARIABLES, image=K3) == []
    ((level, code, text),) = findings(env=K3_VARIABLES, image="rocm/atom-dev:nightly_202608201032")
    assert (level, code) == ("warning", "variable_of_other_build")
    assert all(name in text for name in K3_VARIABLES)
    ((level, code, _),) = findings(env=K3_VARIABLES)
    assert (level, code) == ("warning", "build_unknown")


def test_flags_that_nobody_knows():
    ((level, code, text),) = findings(args={"--max-num-seq-groups": 3})
    assert (level, code) == ("warning", "unlisted_flag")
    assert "did you mean '--max-num-seqs'?" in text
    ((level, code, text),) = findings(args={"--gpu-mem": 0.9})
    assert (level, code) == ("error", "flag_abbreviated")
    assert "short for --gpu-memory-utilization" in text


def test_a_tag_that_moves_is_a_warning():
    ((level, code, _),) = findings(image="rocm/atom-dev:latest")
    assert (level, code) == ("warning", "moving_image")


def help_text(*, both=True, without=()):
    """Return what argparse prints for the flags of the shipped list."""
    parser = argparse.ArgumentParser(prog="openai_server.py", description="ATOM OpenAI API Server")
    for name, known in known_flags().items():
        if known.variant is None and name not in without:
            forms = dict.fromkeys((known.flag, name, f"--{name[2:].replace('-', '_')}") if both else (known.flag,))
            switch = name in {"--enable-prefix-caching", "--enable-chunked-prefill"}
            short = {"--tensor-parallel-size": ["-tp"]}.get(name, [])
            parser.add_argument(*forms, *short, **({"action": argparse.BooleanOptionalAction} if switch else {"type": str}))
    return parser.format_help()


def checked(text, **fields):
    given = {"name": "a", "engine": "atom", "model": ModelSpec(id="m", label=""), "hardware": HardwareSpec()}
    options = AtomOptions.model_validate(fields.pop("options", {}))
    plan = ADAPTER.plan(Deployment(**given, options=options, **fields))
    return [(found.level, found.code, found.text) for found in ADAPTER.check_help(text, plan)]


def test_the_builds_own_help_decides():
    options = {"kv_cache_dtype": "fp8", "prefix_caching": False, "state_checkpoints": {"interval_tokens": -1}}
    assert checked(help_text(), options=options, args={"-tp": 8}) == []
    ((level, code, text),) = checked(help_text(), options={"state_checkpoints": {"slots": 16}})
    assert (level, code) == ("error", "unknown_flag")
    assert text.startswith("--state-checkpoint-slots: the ATOM to be started does not know this flag; did you mean")
    assert checked(help_text(both=False), args={"--kv_cache_dtype": "fp8"}) == []
    ((_, code, text),) = checked(help_text(both=False), args={"--kv-cache-dtype": "fp8"})
    assert code == "unknown_flag"
    assert "did you mean '--kv_cache_dtype'?" in text
    ((_, code, _),) = checked(help_text(without=("--timeout-keep-alive",)), options={"keep_alive": 60})
    assert code == "unknown_flag"


def test_a_text_that_is_no_help_text_checks_nothing():
    ((level, code, _),) = checked("Traceback (most recent call last):\nModuleNotFoundError: No module named 'atom'\n")
    assert (level, code) == ("note", "help_unread")


def test_how_the_build_is_asked():
    deployment = Deployment(
        name="a", engine="atom", model=ModelSpec(id="m", label=""), hardware=HardwareSpec(), options=AtomOptions(), executable="/opt/python"
    )
    assert ADAPTER.help_command(deployment) == ("/opt/python", "-m", "atom.entrypoints.openai_server", "--help")
