"""The way to a server: what the environment says of proxies, as httpx reads it, and Unix sockets."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.launch.control import control_client
from ixbench.launch.errors import EngineError
from ixbench.launch.route import Route, environment_proxy, route_to
from ixbench.model.launch import LaunchPlan

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture
def environment(monkeypatch):
    """Return a function that sets these variables and no others of their kind."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("REQUEST_METHOD", raising=False)

    def put(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return put


def running(url):
    return LaunchPlan(engine="endpoint", processes=(), served_model=None, url=url)


@pytest.mark.parametrize(
    ("url", "bypass", "direct"),
    [
        ("http://gpu.example.com:8000", "", False),
        ("http://gpu.example.com:8000", "example.com", True),
        ("http://gpu.example.com:8000", "other.com, .example.com", True),
        ("http://gpu.example.com:8000", "*.example.com", True),
        ("http://gpu.example.com:8000", "GPU.Example.com", True),
        ("http://gpu.example.com:8000", "ample.com", False),
        ("http://example.com", ".example.com", False),
        ("http://gpu.example.com:8000", "*", True),
        ("http://gpu.example.com:8000", "http://gpu.example.com:8000", True),
        ("http://gpu.example.com:8000", "http://gpu.example.com:9000", False),
        ("http://gpu.example.com:8000", "https://gpu.example.com", False),
        ("http://gpu.example.com:8000", "http://[", False),
        ("http://10.1.2.3:8000", "10.0.0.0/8", True),
        ("http://11.1.2.3:8000", "10.0.0.0/8", False),
        ("http://10.1.2.3:8000", "10.1.2.3", True),
        ("http://10.1.2.3:8000", "example.com", False),
        ("http://[::1]:8000", "::1", True),
        ("http://127.0.0.1:8000", "localhost", False),
        ("http://localhost:8000", "localhost", True),
        ("http://my.localhost:8000", "localhost", False),
    ],
)
def test_whom_no_proxy_names(url, bypass, direct):
    found = environment_proxy(url, {"http": "http://proxy:3128", "no": bypass})
    assert found == (None if direct else "http://proxy:3128")


def test_which_proxy_is_taken():
    proxies = {"http": "one:1", "https": "http://two:2", "all": "http://three:3"}
    assert environment_proxy("http://a", proxies) == "http://one:1"
    assert environment_proxy("https://a", proxies) == "http://two:2"
    assert environment_proxy("https://a", {"all": "http://three:3"}) == "http://three:3"
    assert environment_proxy("https://a", {"http": "one:1", "https": ""}) is None
    assert environment_proxy("http://a", {}) is None


HOSTS = ["gpu.example.com", "example.com", "example.org", "localhost", "127.0.0.1", "10.1.2.3", "[::1]"]
ENTRIES = [*(host.strip("[]") for host in HOSTS), ".example.com", "http://example.com", "https://example.com:8443", "", " ", "*"]


@given(
    scheme=st.sampled_from(["http", "https"]),
    host=st.sampled_from(HOSTS),
    port=st.sampled_from(["", ":8443"]),
    proxies=st.dictionaries(st.sampled_from(["http", "https", "all"]), st.sampled_from(["p:1", "http://q:2"])),
    entries=st.lists(st.sampled_from(ENTRIES), max_size=3),
)
def test_httpx_would_go_the_same_way(scheme, host, port, proxies, entries):
    """Its own client is asked; a proxy is known there by the transport that stands for it."""
    url = f"{scheme}://{host}{port}"
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
            patch.delenv(name.lower(), raising=False)
        for name, value in proxies.items():
            patch.setenv(f"{name}_proxy", value)
        patch.setenv("no_proxy", ",".join(entries))
        client = httpx.Client(verify=False)
    used = client._transport_for_url(httpx.URL(url))
    there = None if used is client._transport else used._pool._proxy_url
    ours = environment_proxy(url, proxies | {"no": ",".join(entries)})
    assert ours == (None if there is None else f"http://{there.host.decode()}:{there.port}")


def test_only_servers_of_others_are_reached_through_a_proxy(environment):
    environment(HTTP_PROXY="http://ann:pw@proxy:3128")
    url = "http://127.0.0.1:8000"
    assert route_to(running(url), url) == Route(url=url, proxy="http://ann:pw@proxy:3128")
    assert route_to(running(url), url).notes == (
        "requests go through the proxy http://***@proxy:3128 of the environment, whose time is part of all latencies",
    )
    started = LaunchPlan(engine="x", processes=(), served_model=None)
    assert route_to(started, url) == Route(url=url)
    assert route_to(started, url).notes == ()


@pytest.mark.parametrize("proxy", ["socks5://ann:pw@proxy:1080", "https://proxy:3128", "http://", "http://a:99999"])
def test_a_proxy_that_cannot_be_used(environment, proxy):
    environment(ALL_PROXY=proxy)
    with pytest.raises(EngineError, match=r"only http://HOST:PORT can be used") as caught:
        control_client(running("http://there:1"), "http://there:1")
    assert caught.value.failure.code == "bad_proxy"
    assert "ann" not in str(caught.value.failure)


def test_a_unix_socket(environment):
    environment(ALL_PROXY="socks5://proxy:1")
    url = "http+unix:///run/an%20engine.sock"
    assert route_to(running(url), url) == Route(url="http://localhost", uds="/run/an engine.sock")
