"""URLs of running servers: hosts and Unix sockets."""

from __future__ import annotations

import pytest

from ixbench.campaign.address import base_url, check_url, is_local, socket_path
from ixbench.campaign.validate import ValueProblemError


def test_a_unix_socket_is_a_path_and_nothing_else():
    url = "http+unix:///run/an%20engine/v1"
    check_url(url)
    assert base_url(url) == url
    assert socket_path(url) == "/run/an engine/v1"
    assert socket_path("http://run/engine.sock") is None


@pytest.mark.parametrize(
    "url",
    [
        "http+unix://run/engine.sock",
        "http+unix:run/engine.sock",
        "http+unix://",
        "http+unix:///",
        "http+unix:///run/",
        "http+unix:///run/engine.sock?key=x",
        "http+unix:///run/engine.sock#x",
        "http+unix:///run/%00",
    ],
)
def test_what_names_no_socket(url):
    with pytest.raises(ValueProblemError, match="is no URL of a Unix socket") as caught:
        check_url(url)
    assert caught.value.allowed == "http+unix:// and the absolute path of a Unix socket, such as http+unix:///run/engine.sock"


def test_a_path_that_no_socket_can_have():
    check_url(f"http+unix:///{'x' * 106}")
    with pytest.raises(ValueProblemError, match="a path of 108 bytes, too long"):
        check_url(f"http+unix:///{'x' * 107}")
    with pytest.raises(ValueProblemError, match="a path of 108 bytes, too long"):
        check_url(f"http+unix:///x{'%C3%BC' * 53}")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http+unix:///run/engine.sock", True),
        ("http://127.0.0.1:8000", True),
        ("https://localhost", True),
        ("http://[::1]:8000", True),
        ("http://10.0.0.1:8000", False),
        ("http://gpu.example.com", False),
    ],
)
def test_where_a_server_runs(url, local):
    assert is_local(url) is local


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:8000/v1/chat/completions", "http://h:8000"),
        ("http://h:8000/v1/completions/", "http://h:8000"),
        ("https://u:secret@h/openai/v1/models", "https://***@h/openai"),
    ],
)
def test_one_endpoint_is_no_base_url(url, base):
    with pytest.raises(ValueProblemError, match="is one endpoint of a server") as caught:
        check_url(url)
    assert caught.value.allowed == f"its base URL, {base}"
    assert "secret" not in str(caught.value)


def test_other_paths_are_base_urls():
    for url in ("http://h/v1", "http://h/models", "http://h/deployments/a/"):
        check_url(url)
