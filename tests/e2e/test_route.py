"""Servers behind a proxy and at a Unix socket, measured as any other."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ixbench.testing.running import server_process

FAST = ("--concurrency", "2", "--requests", "30", "--set", "input_tokens=40", "--set", "output_tokens=5")
NOWHERE = "http://engine.invalid:8000"
"""A name that no resolver knows: only a proxy can lead there."""


@contextmanager
def http_proxy(server, folder, *password):
    """Run a proxy to a server; yields its address, and a function that returns what it was asked for."""
    parts = urlsplit(server.url)
    words = [sys.executable, Path(__file__).with_name("http_proxy.py"), parts.hostname, str(parts.port), *password]
    log = folder / "proxy.log"
    with log.open("wb") as out, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=out, text=True) as process:
        lines = []
        try:
            port = int(process.stdout.readline())

            def asked():
                process.terminate()
                lines.extend(process.stdout.read().splitlines())
                return lines

            yield f"127.0.0.1:{port}", asked
        finally:
            process.terminate()


def result(done):
    (path,) = done.folder.glob("points/*/point.json")
    return json.loads(path.read_text())


def test_all_requests_go_through_the_proxy(shell, server):
    """With a password that no file, message or log may hold."""
    with http_proxy(server, shell.folder, "ann:hushhush") as (address, asked):
        done = shell.run("bench", NOWHERE, *FAST, HTTP_PROXY=f"http://ann:hushhush@{address}")
        lines = asked()
    assert done.code in {0, 1}, done.err
    found = result(done)
    assert found["accounting"]["ok"] == 30
    assert found["client"]["clock"] == "kernel"
    assert f"requests go through the proxy http://***@{address} of the environment" in " ".join(found["provenance"]["notes"])
    assert lines.count(f"POST {NOWHERE}/v1/chat/completions HTTP/1.1") >= 30
    assert any(line.startswith(f"GET {NOWHERE}/v1/models") for line in lines)
    assert not [path for path in shell.folder.rglob("*") if path.is_file() and b"hushhush" in path.read_bytes()]


def test_tls_goes_through_a_tunnel(shell, tmp_path, certificate):
    both, public = certificate
    with server_process("--certificate", str(both)) as server, http_proxy(server, tmp_path) as (address, asked):
        campaign = shell.write_campaign(
            f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = 2\nca_file = "{public}"\n', workload="requests = 20"
        )
        shell.write_prompts(["one", "two"])
        done = shell.run("run", str(campaign), HTTPS_PROXY=address, HTTP_PROXY="http://127.0.0.1:1")
        lines = asked()
    assert done.code in {0, 1}, done.err
    found = result(done)
    assert found["accounting"]["ok"] == found["accounting"]["requests"] == 20
    assert set(lines) == {f"CONNECT {urlsplit(server.url).netloc} HTTP/1.1"}
    # Those for control and at least one for each request in flight.
    assert len(lines) >= 3


def test_no_proxy_leads_straight_to_the_server(shell, server, tmp_path):
    with http_proxy(server, tmp_path) as (address, asked):
        done = shell.run("bench", server.url, *FAST, HTTP_PROXY=address, NO_PROXY="localhost,127.0.0.0/8")
        assert asked() == []
    found = result(done)
    assert found["accounting"]["ok"] == 30
    assert "proxy" not in " ".join(found["provenance"]["notes"])


def test_a_proxy_that_refuses_us(shell, server, tmp_path):
    with http_proxy(server, tmp_path, "ann:hushhush") as (address, _):
        done = shell.run("bench", NOWHERE, *FAST, HTTP_PROXY=address)
    assert done.code == 3
    assert "407" in done.err


def test_a_proxy_that_cannot_be_used(shell):
    done = shell.run("bench", NOWHERE, *FAST, ALL_PROXY="socks5://ann:hushhush@127.0.0.1:1")
    assert done.code == 3
    assert "The environment names the proxy socks5://***@127.0.0.1:1" in done.err
    assert "Traceback" not in done.err
    assert "hushhush" not in done.err


def test_what_we_started_is_never_reached_through_a_proxy(shell, scripted):
    shell.write_prompts(["one", "two"])
    campaign = shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = 1\n{scripted()}\n', workload="requests = 4")
    done = shell.run("run", str(campaign), HTTP_PROXY="http://127.0.0.1:1", ALL_PROXY="http://127.0.0.1:1")
    assert result(done)["accounting"]["ok"] == 4


@pytest.fixture
def socket_server(tmp_path):
    with server_process("--uds", str(tmp_path / "an engine.sock")) as running:
        yield running


def test_a_unix_socket(shell, socket_server):
    assert socket_server.url.startswith("http+unix:///")
    done = shell.run("bench", socket_server.url, *FAST, ALL_PROXY="http://127.0.0.1:1")
    assert done.code in {0, 1}, done.err
    found = result(done)
    assert found["accounting"]["ok"] == 30
    assert found["client"]["clock"] == "read"
    assert found["metrics"]["input_tokens"]["sum"] == 30 * 40
    sent = [request for request in socket_server.log() if request["body"]["max_tokens"] == 5]
    assert {request["headers"]["host"] for request in sent} == {"localhost"}
    # It runs on this machine, where answers within a millisecond are no wonder.
    assert found["provenance"]["measurement"]["on_host"] is True


def test_a_campaign_attached_to_a_unix_socket(shell, socket_server):
    shell.write_prompts(["one", "two"])
    campaign = shell.write_campaign(
        '[[deployment]]\nengine = "endpoint"\nurl = "http://127.0.0.1:1"\nconcurrency = 1\n', workload="requests = 4"
    )
    done = shell.run("run", str(campaign), "--attach", socket_server.url)
    assert result(done)["accounting"]["ok"] == 4


def test_a_unix_socket_that_is_not_there(shell, tmp_path):
    done = shell.run("bench", f"http+unix://{tmp_path}/none.sock", *FAST)
    assert done.code == 3
    assert "none.sock does not answer" in done.err
