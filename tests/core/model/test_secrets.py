"""Secrets are known by name and by form, and nothing else is hidden."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.model import secrets
from ixbench.model.secrets import HIDDEN, Redactor, is_secret_name, redact_argv, redact_table, redact_text, redact_url


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "KEY",
        "HF_TOKEN",
        "HF_TOKEN_2",
        "hf-token",
        "--api-key",
        "X-Api-Key",
        "apiKey",
        "AWS_SECRET_ACCESS_KEY",
        "CLIENT_SECRETS",
        "DB_PASSWORD",
        "PASSWD",
        "SSH_AUTH_SOCK",
        "Authorization",
        "AUTH",
        "BASIC_AUTH_HEADER",
        "Set-Cookie",
        "GITHUBTOKEN",
    ],
)
def test_names_that_hold_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *[
            "MAX_TOKENS",
            "input_tokens",
            "joules_per_token",
            "prefill_joules_per_input_token",
            "tokenizer",
            "--tokenizer-mode",
            "--max-num-batched-tokens",
            "--long-prefill-token-threshold",
        ],
        *[
            "OFFLOAD_STATE_MIN_LOAD_TOKENS",
            "api_key_env",
            "--api-key-env",
            "AUTHOR",
            "PWD",
            "KEYBOARD",
            "monkeys",
            "PYTHONHASHSEED",
            "VLLM_ROCM_USE_AITER",
        ],
        "",
    ],
)
def test_names_that_hold_none(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://ann:pw@host:8000/v1", "http://***@host:8000/v1"),
        ("https://ann@host", "https://***@host"),
        ("http://ann:p@ss@host/x@y", "http://***@host/x@y"),
        ("get http://a:b@h and https://c:d@i now", "get http://***@h and https://***@i now"),
        ("http://host/path?api_key=abc&n=3", "http://host/path?api_key=***&n=3"),
        ("http://host/a@b", "http://host/a@b"),
        ("mail ann@host", "mail ann@host"),
        ("", ""),
    ],
)
def test_urls_lose_their_userinfo(text, shown):
    assert redact_url(text) == shown


def test_auth_headers_in_a_text_are_hidden():
    assert redact_text("Authorization: Bearer sk-1234567890 sent") == "Authorization: Bearer *** sent"
    assert redact_text("a basic rule") == "a basic rule"


def test_a_table_keeps_its_shape_and_loses_its_secrets():
    table = {
        "api_key_env": "MY_KEY",
        "url": "http://u:p@h:1",
        "env": {"HF_TOKEN": {"value": "hf_abc", "reason": "gated weights"}, "VLLM_USE": "1", "EMPTY_KEY": ""},
        "args": {"--api-key": "sk-1", "--max-tokens": 5},
        "headers": {"X-Org": "acme"},
        "list": [{"password": "x"}, "http://u:p@h"],
        "auth": {"user": "ann"},
    }
    assert redact_table(table) == {
        "api_key_env": "MY_KEY",
        "url": "http://***@h:1",
        "env": {"HF_TOKEN": {"value": HIDDEN, "reason": "gated weights"}, "VLLM_USE": "1", "EMPTY_KEY": ""},
        "args": {"--api-key": HIDDEN, "--max-tokens": 5},
        "headers": {"X-Org": HIDDEN},
        "list": [{"password": HIDDEN}, "http://***@h"],
        "auth": HIDDEN,
    }
    assert table["args"]["--api-key"] == "sk-1", "the table given is left alone"


def test_command_lines():
    argv = ["vllm", "serve", "--api-key", "sk-1", "--hf-token=x", "--max-num-seqs", "20", "NAME_TOKEN=y", "--enable-auth", "--port", "1"]
    assert redact_argv(argv) == (
        "vllm", "serve", "--api-key", HIDDEN, "--hf-token=***", "--max-num-seqs", "20", "NAME_TOKEN=***", "--enable-auth", "--port", "1",
    )  # fmt: skip
    assert redact_argv(['{"key": "a=b"}']) == ('{"key": "a=b"}',)


def test_known_values_are_hidden_wherever_they_stand():
    redactor = Redactor.of_environment(
        {"MY_KEY": "sk-abc/def", "PLAIN": "visible", "PROXY": "http://ann:hunter2@proxy", "X_AUTH": "true", "CHOSEN": "chosen-value"},
        names=["CHOSEN"],
    )
    assert (
        redactor.text("got sk-abc/def and sk-abc%2Fdef, visible, hunter2, true, chosen-value") == "got *** and ***, visible, ***, true, ***"
    )
    assert redactor.value({"log": ["x hunter2"], "token": "other", "n": 1, "none": None}) == {
        "log": ["x ***"],
        "token": HIDDEN,
        "n": 1,
        "none": None,
    }
    assert redactor.extended(["further"]).text("further hunter2") == "*** ***"


def test_without_values_only_the_form_tells():
    assert Redactor(["", "a", "1"]).text("a 1 http://u:p@h") == "a 1 http://***@h"


@given(st.text(alphabet="a1:/@=?&; \n\tBearerbasickey"))
def test_texts_that_are_passed_over_quickly_hold_nothing_to_hide(text):
    slowly = secrets._AUTH_HEADER.sub(lambda match: f"{match['lead']}{HIDDEN}", redact_url(text))
    assert redact_text(text) == slowly


@given(
    st.text(alphabet=st.characters(codec="ascii", exclude_characters="*"), min_size=8).filter(lambda text: len(text.strip()) > 7), st.text()
)
def test_a_known_value_never_survives(secret, around):
    text = Redactor([secret]).text(f"{around}{secret}{around}")
    assert secret.strip() not in text or secret.strip().lower() in {"default", "disabled"}


def test_secrets_in_a_list_of_arguments_are_hidden():
    table = {"extra_args": ["--env", "HF_TOKEN=abcdef", "--env", "HF_HOME=/m", "--api-key", "k"], "inherit_env": ["HF_TOKEN", "HF_HOME"]}
    assert redact_table(table) == {
        "extra_args": ["--env", f"HF_TOKEN={HIDDEN}", "--env", "HF_HOME=/m", "--api-key", HIDDEN],
        "inherit_env": ["HF_TOKEN", "HF_HOME"],
    }


def test_a_long_text_takes_its_length_and_not_the_square_of_it():
    parts = ("a.", "a://", "basic ", "?a=", "@=", "a+a-a.")
    for part in parts:
        text = part * 500_000 + "@ "
        assert len(redact_text(text)) > 500_000
    assert redact_text("a." * 500_000 + "http://ann:pw@host").endswith("http://***@host")


def test_a_value_that_is_no_utf_8_is_hidden_in_every_form_that_it_takes():
    redactor = Redactor.of_environment({"A_TOKEN": "ab\udcffcd", "B": "http://u:p\udcffwd@h"}, urls=["http://u:q\udcffwd@h"])
    assert (
        redactor.text("ab\udcffcd, ab\ufffdcd, ab%FFcd, p\udcffwd, p\ufffdwd, q\ufffdwd, dTpx/3dk") == "***, ***, ***, ***, ***, ***, ***"
    )
