"""What is a success and which kind a failure is, against a real server process that fails in every way."""

from __future__ import annotations

import socket

import anyio
import certifi
import pytest

from ixbench.host.contracts.engine import RequestSpec
from ixbench.model.errors import InputError
from ixbench.model.prompt import Message
from ixbench.model.secrets import Redactor
from ixbench.replay.error_text import message_of, shorten
from ixbench.testing.running import server_process
from ixbench.testing.script import KINDS

TOKENS = 6


@pytest.fixture(scope="module")
def server():
    with server_process() as running:
        yield running


@pytest.fixture
def ask(make_channel):
    """Return a function that sends requests one after the other over one channel."""

    def run(url, *models, limit_s=10.0, exact=True, **target):
        async def main():
            async with make_channel(url, **target) as channel:
                found = []
                for number, model in enumerate(models):
                    message = Message(role="user", content=f"request {number}")
                    spec = RequestSpec(
                        model=model, api=channel.target.api, messages=(message,), prompt="x", max_tokens=TOKENS, exact_length=exact
                    )
                    found.append(await channel.exchange(spec, f"id-{number}", limit_s=limit_s, keep_answer=True))
                return found

        return anyio.run(main)

    return run


GOOD = {
    "ok": 10,
    "no_role": 9,
    "reasoning": 10,
    "reasoning_content": 10,
    "tool_call": 10,
    "running_usage": 10,
    "usage_with_finish": 9,
    "two_tokens_an_event": 7,
    "slow": 10,
    "byte_by_byte": 10,
    "unframed": 10,
    "close": 10,
    "drop_idle": 10,
    "comments": 10,
}
"""Kinds that are successes, with their number of events."""

BAD = {
    "no_usage": ("no_usage", None, 200),
    "bad_request": ("http_status", None, 400),
    "unauthorized": ("http_status", None, 401),
    "not_found": ("http_status", None, 404),
    "rate_limited": ("http_status", "rate_limited", 429),
    "server_fault": ("http_status", None, 500),
    "unavailable": ("http_status", None, 503),
    "context_overflow": ("http_status", "context_overflow", 400),
    "redirect": ("http_status", None, 307),
    "error_event": ("server_error", None, 200),
    "malformed": ("malformed", None, 200),
    "gzip": ("malformed", None, 200),
    "plain_json": ("not_a_stream", None, 200),
    "short": ("length_mismatch", None, 200),
    "long": ("length_mismatch", None, 200),
    "empty": ("length_mismatch", None, 200),
    "no_finish": ("truncated", None, 200),
    "no_done": ("truncated", None, 200),
    "cut_before_head": ("transport", "reset", None),
    "cut_in_head": ("transport", "reset", None),
    "cut_after_head": ("truncated", "reset", 200),
    "cut_mid_stream": ("truncated", "reset", 200),
    "cut_in_event": ("truncated", "reset", 200),
    "cut_after_finish": ("truncated", "reset", 200),
    "cut_before_done": ("truncated", "reset", 200),
    "reset_mid_stream": ("truncated", "reset", 200),
    "hang_before_head": ("transport", "timeout", None),
    "hang_after_head": ("truncated", "timeout", 200),
    "hang_mid_stream": ("truncated", "timeout", 200),
    "hang_after_finish": ("truncated", "timeout", 200),
}


def test_every_kind_of_the_server_is_looked_at():
    assert {*GOOD, *BAD, "die"} == set(KINDS)


@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize("kind", GOOD)
def test_successes(server, ask, kind, api):
    exchange = ask(server.url, f"script:{kind}", api=api)[0]
    assert (exchange.failure, exchange.error_class, exchange.error_text) == (None, None, None)
    assert (exchange.http_status, exchange.usage_output, exchange.done_seen) == (200, TOKENS, True)
    if api == "chat":
        assert len(exchange.chunks) == GOOD[kind]
    assert list(exchange.chunks.ns) == sorted(exchange.chunks.ns)
    assert exchange.send_ns <= exchange.conn_ns <= exchange.sent_ns <= exchange.headers_ns <= exchange.chunks.ns[0]
    assert exchange.chunks.ns[-1] <= exchange.close_ns


@pytest.mark.parametrize("kind", BAD)
def test_failures(server, ask, kind):
    exchange = ask(server.url, f"script:{kind}", limit_s=0.7 if kind.startswith("hang") else 10.0)[0]
    assert (exchange.failure, exchange.error_class, exchange.http_status) == BAD[kind]
    assert exchange.error_text
    assert exchange.answer is None


def test_an_answer_without_text_is_a_success(server, ask):
    exchange = ask(server.url, "script:empty", exact=False)[0]
    assert (exchange.failure, exchange.usage_output, exchange.answer) == (None, 1, "")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("bad_request", "status 400: the request is not valid"),
        ("redirect", "status 307: the server redirects to /elsewhere; give the final URL"),
        ("error_event", "engine core died"),
        ("gzip", "the body is gzip-encoded, although identity was asked for"),
        ("short", "exactly 6 tokens had to come, 5 came"),
        ("no_done", "the stream ended without [DONE]"),
        ("cut_mid_stream", "the server closed the connection"),
    ],
)
def test_texts_say_what_happened(server, ask, kind, text):
    assert ask(server.url, f"script:{kind}")[0].error_text == text


def test_a_redirect_is_not_followed(ask):
    with server_process("--kind", "redirect") as running:
        ask(running.url, "m")
        assert len(running.log()) == 1


def test_an_engine_that_sends_no_end_mark(server, ask, make_channel):
    from ixbench.host.contracts.engine import StreamQuirks

    quirks = StreamQuirks(sends_done=False)
    whole, cut = ask(server.url, "script:no_done", "script:cut_before_done", quirks=quirks)
    assert (whole.failure, whole.done_seen) == (None, True)
    assert (cut.failure, cut.done_seen) == ("truncated", False)


class TestConnections:
    def test_a_connection_is_used_again(self, server, ask):
        first, second = ask(server.url, "script:ok", "script:ok")
        assert (first.conn_reused, second.conn_reused) == (False, True)
        assert first.conn_ns > first.send_ns
        assert second.conn_ns == second.send_ns

    def test_a_dead_idle_connection_is_replaced_and_the_request_sent_once_more(self, ask, tmp_path):
        script = tmp_path / "script.json"
        script.write_text('{"sequence": ["ok", "cut_before_head", "ok"]}')
        with server_process("--script", str(script)) as running:
            first, second = ask(running.url, "m", "m")
            log = running.log()
        assert (first.resent, second.resent) == (False, True)
        assert (second.failure, second.conn_reused) == (None, False)
        assert [entry["headers"]["x-request-id"] for entry in log] == ["id-0", "id-1", "id-1"]
        assert [entry["connection"] for entry in log][:2] == [log[0]["connection"]] * 2

    def test_it_is_sent_once_more_and_not_twice(self, ask, tmp_path):
        script = tmp_path / "script.json"
        script.write_text('{"sequence": ["ok", "cut_before_head", "cut_before_head", "ok"]}')
        with server_process("--script", str(script)) as running:
            exchange = ask(running.url, "m", "m")[1]
            assert len(running.log()) == 3
        assert (exchange.failure, exchange.error_class, exchange.resent) == ("transport", "reset", True)

    @pytest.mark.parametrize("kind", ["cut_after_head", "server_fault", "rate_limited", "hang_before_head"])
    def test_nothing_else_is_sent_twice(self, ask, tmp_path, kind):
        script = tmp_path / "script.json"
        script.write_text(f'{{"sequence": ["ok", "{kind}", "ok"]}}')
        with server_process("--script", str(script)) as running:
            exchange = ask(running.url, "m", "m", limit_s=0.7)[1]
            assert len(running.log()) == 2
        assert not exchange.resent
        assert exchange.failure is not None

    def test_a_fresh_connection_that_dies_is_not_tried_again(self, ask):
        with server_process("--kind", "cut_before_head") as running:
            exchange = ask(running.url, "m")[0]
            assert len(running.log()) == 1
        assert (exchange.failure, exchange.error_class, exchange.resent) == ("transport", "reset", False)

    def test_a_server_that_dies_in_mid_stream(self, ask):
        with server_process() as running:
            dying, gone = ask(running.url, "script:die", "script:ok")
        assert (dying.failure, dying.error_class, len(dying.chunks)) == ("truncated", "reset", 3)
        assert gone.failure == "transport"
        assert gone.error_class in {"connect", "reset"}  # the dying process may still have taken the connection

    def test_nobody_listens(self, ask):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            exchange = ask(f"http://127.0.0.1:{free.getsockname()[1]}", "m")[0]
        assert (exchange.failure, exchange.error_class, exchange.headers_ns) == ("transport", "connect", None)

    def test_no_such_host(self, ask):
        exchange = ask("http://nowhere.invalid:1", "m")[0]
        assert (exchange.failure, exchange.error_class) == ("transport", "dns")

    def test_no_http_at_all(self, ask):
        async def main():
            async def talk(stream):
                async with stream:
                    await stream.receive()
                    await stream.send(b"SSH-2.0-server\r\n\r\n")

            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, talk)
                exchange = await anyio.to_thread.run_sync(ask, f"http://127.0.0.1:{port}", "m")
                tasks.cancel_scope.cancel()
            await listener.aclose()
            return exchange[0]

        exchange = anyio.run(main)
        assert (exchange.failure, exchange.error_class) == ("transport", "protocol")

    def test_many_at_once(self, server, make_channel):
        found = []

        async def one(channel, number):
            spec = RequestSpec(model="script:slow", api="chat", messages=(Message(role="user", content="x"),), max_tokens=3)
            found.append(await channel.exchange(spec, f"many-{number}", limit_s=30))

        async def main():
            async with make_channel(server.url) as channel, anyio.create_task_group() as tasks:
                for number in range(200):
                    tasks.start_soon(one, channel, number)

        anyio.run(main)
        assert [exchange.failure for exchange in found] == [None] * 200


class TestTls:
    def test_a_certificate_of_ones_own(self, ask, certificate):
        both, public = certificate
        with server_process("--certificate", str(both)) as running:
            first, second = ask(running.url, "m", "m", ca_file=str(public))
            assert (first.failure, second.failure, second.conn_reused) == (None, None, True)
            refused = ask(running.url, "m")[0]
        assert (refused.failure, refused.error_class) == ("transport", "tls")

    def test_certificates_that_are_given_take_the_place_of_the_systems(self, ask, certificate, monkeypatch):
        both, public = certificate
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        with server_process("--certificate", str(both)) as running:
            usual, given = ask(running.url, "m")[0], ask(running.url, "m", ca_file=certifi.where())[0]
        assert usual.failure is None
        assert (given.failure, given.error_class) == ("transport", "tls")

    def test_plain_http_where_tls_is_spoken(self, server, ask):
        exchange = ask(server.url.replace("http:", "https:"), "m")[0]
        assert (exchange.failure, exchange.error_class) == ("transport", "tls")

    def test_certificates_that_cannot_be_used(self, make_channel, tmp_path):
        (tmp_path / "bad.pem").write_text("nothing")
        for name in ("absent.pem", "bad.pem"):
            with pytest.raises(InputError, match=f"{name} cannot be used .*; allowed: a PEM file of certificates"):
                make_channel("https://127.0.0.1:1", ca_file=str(tmp_path / name))


class TestSecrets:
    def test_a_key_that_the_server_repeats_is_hidden(self, ask):
        key = "sk-very-secret-1234"
        with server_process("--kind", "unauthorized") as running:
            reply = f'{{"status": 401, "message": "Incorrect API key provided: {key}"}}'
            headers = {"authorization": f"Bearer {key}", "x-script": reply}
            exchange = ask(running.url, "m", headers=headers)[0]
        assert exchange.error_text == "status 401: Incorrect API key provided: ***"

    def test_the_key_is_sent(self, ask):
        with server_process("--api-key", "k-12345678") as running:
            assert ask(running.url, "m", headers={"authorization": "Bearer k-12345678"})[0].failure is None
            assert ask(running.url, "m")[0].http_status == 401

    def test_a_name_and_password_in_the_url_become_a_header(self, server, ask):
        ask(server.url.replace("http://", "http://ann:s3cret-pass@"), "script:ok")
        assert server.log()[-1]["headers"]["authorization"] == "Basic YW5uOnMzY3JldC1wYXNz"

    @pytest.mark.parametrize("url", ["ftp://ann:s3cret-pass@host", "http://", "http://ann:s3cret-pass@host:port", "nonsense"])
    def test_urls_that_cannot_be_used(self, make_channel, url):
        with pytest.raises(InputError, match="allowed: http://HOST:PORT") as caught:
            make_channel(url)
        assert "s3cret-pass" not in str(caught.value)


def test_headers_of_a_request(server, ask):
    ask(server.url, "script:ok", headers={"x-tenant": "blue"})
    headers = server.log()[-1]["headers"]
    assert headers["accept-encoding"] == "identity"
    assert headers["x-request-id"] == "id-0"
    assert headers["x-tenant"] == "blue"
    assert headers["content-type"] == "application/json"


def test_error_texts_are_one_short_line():
    assert shorten("a\n  b\tc", Redactor()) == "a b c"
    assert len(shorten("x" * 1000, Redactor())) == 200
    assert message_of(b'{"error": {"message": "m"}}') == "m"
    assert message_of(b"<html>") == "<html>"
    assert message_of(b"[" * 100_000) == "[" * 100_000
    for depth in (600, 900):
        deep = b"[" * depth + b"1" + b"]" * depth
        assert message_of(deep) == deep.decode(), "nested too deep for a message, not for JSON"
