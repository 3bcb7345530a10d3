"""The transport inside httpx, and the other ways to a server: Unix sockets, proxies, TLS, names of several addresses."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import sys

import httpx
import pytest

from ixbench.api.engine import ReplayTransport
from ixbench.model.errors import InputError
from ixbench.replay.wire.readers import EpollReaders, LoopReaders


def plain(body, *lines, status=200):
    head = [b"HTTP/1.1 %d OK" % status, b"content-length: %d" % len(body), *lines]
    return b"\r\n".join([*head, b"", body])


def answering(answer):
    async def talk(server, reader, writer):
        while True:
            body = await server.request(reader)
            writer.write(answer(body) if callable(answer) else answer)
            await writer.drain()

    return talk


@pytest.fixture
def client(talking):
    """Return a function that runs an async function with a client, the base URL and the server."""

    def run(talk, use, *, path=None, tls=None, timeout=5.0, **options):
        async def main():
            server = talking(lambda *streams: talk(server, *streams), path=path, ssl=tls)
            async with server:
                scheme = "https" if tls else "http"
                transport = ReplayTransport(**options)
                async with httpx.AsyncClient(
                    transport=transport, base_url=f"{scheme}://127.0.0.1:{server.port or 1}", timeout=timeout
                ) as used:
                    return await use(used, server)

        return asyncio.run(main())

    return run


class TestInHttpx:
    def test_a_request(self, client):
        async def use(used, server):
            response = await used.post("/v1/x?a=b", json={"k": "ü"}, headers={"x-own": "1"})
            again = await used.get("/other")
            return response, again, server

        response, again, server = client(answering(lambda body: plain(b"got " + body)), use)
        assert response.text == 'got {"k":"ü"}'
        assert again.text == "got "
        assert server.connections == 1
        assert server.requests[0].startswith(b"POST /v1/x?a=b HTTP/1.1\r\n")
        assert b"x-own: 1\r\n" in server.requests[0].lower()
        assert b"content-length" not in server.requests[1].lower()
        capture = response.extensions["capture"]
        assert capture.complete
        assert len(capture.stamps) == 1

    def test_gzip_is_decoded(self, client):
        body = gzip.compress(b"hello " * 100)

        async def use(used, server):
            return (await used.get("/")).text

        assert client(answering(plain(body, b"content-encoding: gzip")), use) == "hello " * 100

    def test_a_body_is_read_as_it_arrives(self, client):
        go = asyncio.Event

        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            await server.go.wait()
            writer.write(b"6\r\nsecond\r\n0\r\n\r\n")
            await writer.drain()
            await reader.read(1)

        async def use(used, server):
            server.go = go()
            found = []
            async with used.stream("GET", "/") as response:
                async for piece in response.aiter_raw():
                    found.append(piece)
                    server.go.set()
            return found, sum(map(len, used._transport._idle.values()))

        assert client(talk, use) == ([b"first", b"second"], 1)

    def test_a_body_that_nobody_reads_to_its_end(self, client):
        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")
            await reader.read(-1)

        async def use(used, server):
            async with used.stream("GET", "/"):
                pass
            return sum(map(len, used._transport._idle.values())), len(used._transport._busy)

        assert client(talk, use) == (0, 0)

    def test_a_body_that_is_made_on_the_way(self, client):
        async def parts():
            yield b"one "
            yield b"two"

        async def use(used, server):
            return (await used.post("/", content=parts())).text, server.requests[0]

        text, head = client(answering(plain), use)
        assert text == "one two"
        assert b"content-length: 7" in head
        assert b"transfer-encoding" not in head.lower()

    @pytest.mark.parametrize(
        ("answer", "error"),
        [
            (b"", httpx.RemoteProtocolError),
            (b"nonsense", httpx.RemoteProtocolError),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", httpx.RemoteProtocolError),
        ],
    )
    def test_errors_are_those_of_httpx(self, client, answer, error):
        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(answer)
            await writer.drain()

        async def use(used, server):
            with pytest.raises(error):
                await used.get("/")

        client(talk, use)

    def test_silence(self, client):
        async def talk(server, reader, writer):
            await reader.read(-1)

        async def use(used, server):
            with pytest.raises(httpx.ReadTimeout, match=r"no first byte within 0\.1 s"):
                await used.get("/")

        client(talk, use, timeout=0.1)

    def test_nobody_listens(self, client):
        async def use(used, server):
            with pytest.raises(httpx.ConnectError, match="refused"):
                await used.get("http://127.0.0.1:1/")

        client(answering(b""), use)

    def test_redirects_are_left_to_the_client(self, client):
        async def use(used, server):
            return (await used.get("/")).status_code

        assert client(answering(plain(b"", b"location: /there", status=307)), use) == 307


def test_a_unix_socket(client, tmp_path):
    path = str(tmp_path / "s")

    async def use(used, server):
        response = await used.get("/")
        return response.text, response.extensions["capture"].stamped_on_read, used._transport.stamps_by_kernel

    text, on_read, by_kernel = client(answering(plain(b"hello")), use, path=path, uds=path)
    assert (text, by_kernel) == ("hello", False)
    assert on_read >= 1


class TestProxy:
    def test_http_goes_whole_to_the_proxy(self, talking):
        async def main():
            async def talk(reader, writer):
                await server.request(reader)
                writer.write(plain(b"by proxy"))
                await writer.drain()

            async with talking(talk) as server:
                transport = ReplayTransport(proxy=f"http://ann:pw@127.0.0.1:{server.port}")
                async with httpx.AsyncClient(transport=transport) as used:
                    return (await used.get("http://far.invalid:8000/x")).text, server.requests[0]

        text, head = asyncio.run(main())
        assert text == "by proxy"
        assert head.startswith(b"GET http://far.invalid:8000/x HTTP/1.1\r\n")
        assert b"proxy-authorization: Basic YW5uOnB3\r\n" in head

    def test_tls_goes_through_a_tunnel(self, talking, certificate):
        both, public = certificate

        async def main():
            async def relay(reader, writer):
                try:
                    while data := await reader.read(65536):
                        writer.write(data)
                        await writer.drain()
                finally:
                    writer.close()

            async def tunnel(reader, writer):
                await proxy.request(reader)
                to, out = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(relay(reader, out), relay(to, writer))

            async def talk(reader, writer):
                await server.request(reader)
                writer.write(plain(b"secret"))
                await writer.drain()
                await reader.read(1)

            async with talking(tunnel) as proxy, talking(talk, ssl=server_context(both)) as server:
                transport = ReplayTransport(proxy=f"http://127.0.0.1:{proxy.port}", ssl_context=client_context(public))
                async with httpx.AsyncClient(transport=transport) as used:
                    return (await used.get(f"https://127.0.0.1:{server.port}/")).text, proxy.requests[0], server.port

        text, head, port = asyncio.run(main())
        assert text == "secret"
        assert head.startswith(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n" % port)

    def test_a_tunnel_that_is_refused(self, talking):
        async def main():
            async def talk(reader, writer):
                await server.request(reader)
                writer.write(plain(b"", status=407))
                await writer.drain()

            async with talking(talk) as server:
                used = httpx.AsyncClient(transport=ReplayTransport(proxy=f"http://127.0.0.1:{server.port}"))
                with pytest.raises(httpx.ConnectError, match="the proxy opens no tunnel: status 407"):
                    await used.get("https://far.invalid/")
                await used.aclose()

        asyncio.run(main())

    @pytest.mark.parametrize("url", ["socks5://127.0.0.1:1", "https://127.0.0.1:1"])
    def test_proxies_that_cannot_be_used(self, url):
        with pytest.raises(InputError, match="cannot be used as a proxy; allowed: http://HOST:PORT"):
            ReplayTransport(proxy=url)


def server_context(file):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context


def client_context(file):
    return ssl.create_default_context(cafile=str(file))


class TestTls:
    def test_large_bodies_both_ways_and_a_kept_connection(self, client, certificate):
        both, public = certificate
        sent = bytes(range(256)) * 20_000

        async def use(used, server):
            responses = [await used.post("/", content=sent) for _ in range(2)]
            return [response.content for response in responses], responses[0].extensions["capture"], server.connections

        bodies, capture, connections = client(answering(plain), use, tls=server_context(both), ssl_context=client_context(public))
        assert bodies == [sent, sent]
        assert connections == 1
        assert capture.sent_ns is not None
        if sys.platform == "linux":
            assert capture.stamped_on_read == 0, "TLS is undone after the kernel stamped"

    def test_the_end_of_a_body_that_ends_with_the_connection(self, client, certificate):
        both, public = certificate

        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
            await writer.drain()

        async def use(used, server):
            return (await used.get("/")).text

        assert client(talk, use, tls=server_context(both), ssl_context=client_context(public)) == "hello"

    def test_a_connection_that_is_cut_without_a_word(self, client, certificate):
        both, public = certificate

        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nhel")
            await writer.drain()
            writer.transport.abort()

        async def use(used, server):
            with pytest.raises(httpx.TransportError):
                await used.get("/")

        client(talk, use, tls=server_context(both), ssl_context=client_context(public))


@pytest.mark.parametrize("kind", [EpollReaders, LoopReaders])
def test_both_kinds_of_readers(client, monkeypatch, kind):
    from ixbench.replay.wire import transport

    if kind is EpollReaders and sys.platform != "linux":
        pytest.skip("epoll is of Linux")

    def make(loop, *, may_nap):
        return EpollReaders(loop, may_nap=may_nap) if kind is EpollReaders else LoopReaders(loop)

    monkeypatch.setattr(transport, "make_readers", make)

    async def use(used, server):
        return [response.text for response in await asyncio.gather(*(used.post("/", content=b"%d" % n) for n in range(300)))]

    assert client(answering(plain), use) == [str(n) for n in range(300)]


def test_systems_that_do_not_stamp(exchange, monkeypatch):
    from ixbench.replay.wire.stamps import KernelStamps

    monkeypatch.setattr(KernelStamps, "enable", staticmethod(lambda sock: False))
    captures, _ = exchange(answering(plain(b"hello")))
    assert captures[0].stamped_on_read >= 1
    assert captures[0].headers_ns <= captures[0].stamps[0] <= captures[0].close_ns


def test_a_wall_clock_that_is_set_back(monkeypatch):
    import time

    from ixbench.replay.clock import MonotonicClock
    from ixbench.replay.wire.stamps import KernelStamps

    stamps = KernelStamps(MonotonicClock())
    real = time.time_ns
    now = time.monotonic_ns()
    found = stamps.moment(real(), now + 1_000_000)
    assert abs(found - now) < 50_000_000
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    now = time.monotonic_ns()
    found = stamps.moment(time.time_ns(), now + 1_000_000)
    assert abs(found - now) < 50_000_000
    assert stamps.moment(real(), now) is None, "a stamp an hour after the read is none"
