"""Exchanges over real sockets, byte by byte: framing, early answers, large bodies, silence, dead connections, stamps."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest

from ixbench.replay.wire import WireLimits

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = b"7\r\ndata: a\r\n2\r\n\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n"


def saying(*parts, pause_s=0.0, close=False):
    async def talk(server, reader, writer):
        while True:
            await server.request(reader)
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause_s)
            if close:
                return

    return talk


def test_a_response_in_every_split_of_two(exchange):
    data = HEAD + EVENTS

    async def talk(server, reader, writer):
        for at in range(1, len(data)):
            await server.request(reader)
            writer.write(data[:at])
            await writer.drain()
            await asyncio.sleep(0.001)
            writer.write(data[at:])

    captures, server = exchange(talk, bodies=[b"{}"] * (len(data) - 1))
    assert {capture.body for capture in captures} == {b"data: a\n\ndata: b\n\n"}
    assert {(capture.status, capture.complete, capture.error_text) for capture in captures} == {(200, True, None)}
    assert server.connections == 1
    assert [capture.reused for capture in captures] == [False] + [True] * (len(data) - 2)


def test_a_response_byte_by_byte(exchange):
    captures, _ = exchange(saying(*(bytes([byte]) for byte in HEAD + EVENTS), pause_s=0.0002))
    assert captures[0].body == b"data: a\n\ndata: b\n\n"
    assert len(captures[0].stamps) == len(captures[0].pieces)
    assert captures[0].stamps == sorted(captures[0].stamps)


@pytest.mark.parametrize(
    ("parts", "body", "close"),
    [
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"], b"hello", False),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], b"", False),
        ([b"HTTP/1.1 200 OK\r\n\r\n", b"hel", b"lo"], b"hello", True),
        ([b"HTTP/1.0 200 OK\r\n\r\nhello"], b"hello", True),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"], b"hello", False),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b"", False),
    ],
)
def test_other_ends_of_bodies(exchange, parts, body, close):
    captures, server = exchange(saying(*parts, pause_s=0.002, close=close), bodies=[b"{}", b"{}"])
    assert [(capture.body, capture.complete, capture.error_class) for capture in captures] == [(body, True, None)] * 2
    assert server.connections == (2 if close else 1)
    assert not captures[1].resent


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_errors_bring_their_body(exchange, status):
    body = b'{"error": {"message": "no"}}'
    captures, _ = exchange(saying(b"HTTP/1.1 %d No\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body)))
    assert (captures[0].status, captures[0].body, captures[0].complete) == (status, body, True)


def test_a_large_body_goes_out_in_parts(exchange):
    sent = bytes(range(256)) * 40_000
    received = []

    async def talk(server, reader, writer):
        await asyncio.sleep(0.05)
        received.append(await server.request(reader))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()

    captures, _ = exchange(talk, bodies=[sent])
    assert received == [sent]
    capture = captures[0]
    assert capture.complete
    assert capture.send_ns <= capture.conn_ns <= capture.sent_ns <= capture.headers_ns <= capture.close_ns
    assert capture.sent_ns - capture.send_ns > 40_000_000, "the server did not read for 50 ms"


def test_an_answer_before_the_body_is_sent(exchange):
    refusal = b"HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\n\r\nlong"

    async def talk(server, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(refusal)
        await writer.drain()
        await asyncio.sleep(0.05)

    captures, server = exchange(talk, bodies=[b"x" * 30_000_000, b"x" * 30_000_000])
    assert [(capture.status, capture.body, capture.complete) for capture in captures] == [(413, b"long", True)] * 2
    assert server.connections == 2, "a connection whose request was not taken cannot serve again"


@pytest.mark.parametrize(
    ("parts", "error", "status"),
    [
        ([], "reset", None),
        ([HEAD[:30]], "reset", None),
        ([HEAD, b"7\r\ndata: a\r\n"], "reset", 200),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"], "reset", 200),
        ([HEAD, b"nonsense\r\n"], "protocol", 200),
        ([b"nonsense"], "protocol", None),
    ],
)
def test_responses_that_break_off(exchange, parts, error, status):
    captures, server = exchange(saying(*parts, close=True))
    capture = captures[0]
    assert (capture.error_class, capture.status, capture.complete, capture.resent) == (error, status, False, False)
    assert capture.error_text
    assert server.connections == 1


class TestSilence:
    def ask(self, exchange, *parts, **limits):
        async def talk(server, reader, writer):
            await server.request(reader)
            for part in parts:
                writer.write(part)
            await writer.drain()
            await asyncio.sleep(5)

        captures, _ = exchange(talk, limits=WireLimits(**limits))
        return captures[0]

    def test_no_first_byte(self, exchange):
        capture = self.ask(exchange, first_byte_s=0.2)
        assert (capture.error_class, capture.error_text) == ("timeout", "no first byte within 0.2 s after the request was sent")

    def test_no_further_byte(self, exchange):
        capture = self.ask(exchange, HEAD, b"7\r\ndata: a\r\n", idle_s=0.2)
        assert (capture.error_class, capture.error_text, capture.body) == ("timeout", "no further byte for 0.2 s", b"data: a")

    def test_no_end(self, exchange):
        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(HEAD)
            while True:
                writer.write(b"1\r\nx\r\n")
                await asyncio.sleep(0.02)

        captures, _ = exchange(talk, whole_limit_s=0.2)
        assert (captures[0].error_class, captures[0].error_text) == ("timeout", "no end within the request limit of 0.2 s")
        assert captures[0].pieces

    def test_a_request_that_nobody_takes(self, exchange):
        async def talk(server, reader, writer):
            writer.transport.pause_reading()
            await asyncio.sleep(5)

        captures, _ = exchange(talk, bodies=[b"x" * 50_000_000], limits=WireLimits(first_byte_s=0.2))
        assert captures[0].error_text == "the server took no more of the request for 0.2 s"

    def test_no_connection(self, exchange, monkeypatch):
        from ixbench.replay.wire.opening import Opener

        async def never(self, family, address):
            await asyncio.sleep(10)

        monkeypatch.setattr(Opener, "_connect", never)
        captures, _ = exchange(saying(), limits=WireLimits(connect_s=0.1))
        assert (captures[0].error_class, captures[0].error_text) == ("timeout", "no connection within 0.1 s")


class TestDeadConnections:
    def test_one_that_closed_in_idleness_is_not_used(self, exchange):
        answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
        captures, server = exchange(saying(answer, close=True), bodies=[b"", b""], pause_s=0.1)
        assert [(capture.complete, capture.resent, capture.reused) for capture in captures] == [(True, False, False)] * 2
        assert server.connections == 2

    def test_stray_bytes_are_not_the_next_answer(self, exchange):
        stray = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"
        captures, server = exchange(saying(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" + stray), bodies=[b"", b""])
        assert [capture.status for capture in captures] == [200, 200]
        assert server.connections == 2

    def test_one_that_dies_under_the_request_is_replaced_once(self, exchange):
        async def talk(server, reader, writer):
            await server.request(reader)
            if server.connections == 1:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                await server.request(reader)
            # Closes without a word: the second request on the first connection, the first on all others.

        captures, server = exchange(talk, bodies=[b"", b""])
        assert [(capture.status, capture.resent, capture.error_class) for capture in captures] == [
            (200, False, None),
            (None, True, "reset"),
        ]
        assert len(server.requests) == 3

    def test_one_byte_of_an_answer_is_an_answer(self, exchange):
        async def talk(server, reader, writer):
            await server.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            await server.request(reader)
            writer.write(b"H")

        captures, server = exchange(talk, bodies=[b"", b""])
        assert (captures[1].resent, captures[1].error_class) == (False, "reset")
        assert len(server.requests) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives")
def test_stamps_are_of_the_arrival_and_not_of_the_read(exchange):
    sent = []

    async def talk(server, reader, writer):
        await server.request(reader)
        writer.write(HEAD)
        await writer.drain()
        await asyncio.sleep(0.02)
        sent.append(time.monotonic_ns())
        writer.write(b"7\r\ndata: a\r\n")
        # The loop of the reader is this one: nothing is read for 100 ms.
        time.sleep(0.1)  # noqa: ASYNC251 - on purpose
        sent.append(time.monotonic_ns())
        await asyncio.sleep(0.02)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    captures, _ = exchange(talk)
    capture = captures[0]
    assert capture.stamped_on_read == 0
    assert len(capture.stamps) == 1
    assert sent[0] - 1_000_000 <= capture.stamps[0] < sent[1], "the stamp lies before the reader woke up"


def test_a_cancelled_exchange_closes_its_connection(talking):
    from ixbench.replay.wire import ReplayTransport
    from ixbench.replay.wire.opening import Origin
    from ixbench.replay.wire.transport import WireRequest

    async def main():
        closed = asyncio.Event()

        async def talk(reader, writer):
            await reader.read(-1)
            closed.set()

        async with talking(talk) as server, ReplayTransport() as transport:
            head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
            request = WireRequest(origin=Origin(tls=False, host="127.0.0.1", port=server.port), head=head)
            task = asyncio.ensure_future(transport.exchange(request))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(closed.wait(), 5)
            assert (any(transport._idle.values()), len(transport._busy)) == (False, 0)

    asyncio.run(main())


def test_more_connections_than_the_system_allows():
    import resource

    from ixbench.model.errors import InputError
    from ixbench.replay.wire.descriptors import raise_limit, require

    allowed = raise_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == allowed
    if allowed == resource.RLIM_INFINITY:
        pytest.skip("this system sets no limit on open files")
    require(10)
    with pytest.raises(InputError, match=rf"need {allowed + 65} open files, and this process may open {allowed}.*raise the hard limit"):
        require(allowed + 1)
