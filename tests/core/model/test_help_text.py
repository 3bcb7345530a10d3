"""What a help text declares."""

from __future__ import annotations

import argparse

from hypothesis import given
from hypothesis import strategies as st

from ixbench.model.help_text import declared_flags


def test_all_forms_that_argparse_prints():
    parser = argparse.ArgumentParser(prog="server", description="Serve --nothing at all.")
    parser.add_argument("--tensor-parallel-size", "-tp", "--tensor_parallel_size", type=int, help="like --max-model-len, but not it")
    parser.add_argument("--kv_cache_dtype", "--kv-cache-dtype", choices=["bf16", "fp8"])
    parser.add_argument("--enable_prefix_caching", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--load_dummy", nargs="?", choices=["empty", "zero"])
    group = parser.add_argument_group("EPLB options")
    group.add_argument("--eplb-enable", "--enable-eplb", action="store_true", help="a long text that goes on and on " * 9)
    assert declared_flags(parser.format_help()) == {
        "-h",
        "--help",
        "--tensor-parallel-size",
        "-tp",
        "--tensor_parallel_size",
        "--kv_cache_dtype",
        "--kv-cache-dtype",
        "--enable_prefix_caching",
        "--no-enable_prefix_caching",
        "--load_dummy",
        "--eplb-enable",
        "--enable-eplb",
    }


def test_other_texts_declare_nothing():
    assert declared_flags("") == declared_flags("usage: server [--port PORT]\nserver: error: --model\n") == frozenset()


@given(st.text())
def test_any_text_is_read(text):
    assert all(flag.startswith("-") for flag in declared_flags(text))
