"""A server that says exactly the bytes it is told, and a transport that is closed with its test."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from ixbench.replay.wire import ReplayTransport, WireLimits
from ixbench.replay.wire.opening import Origin
from ixbench.replay.wire.transport import WireRequest


class Talk:
    """A server on loopback or a Unix socket; `talk(reader, writer)` is called for each connection."""

    def __init__(self, talk, *, path=None, ssl=None):
        self.talk = talk
        self.path = path
        self.ssl = ssl
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []

    async def __aenter__(self):
        if self.path is not None:
            self._server = await asyncio.start_unix_server(self._accept, self.path)
        else:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.ssl)
            self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _accept(self, reader, writer):
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self.talk(reader, writer)
        writer.close()

    async def request(self, reader):
        """Read a whole request and return its body."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
        return await reader.readexactly(length)


@pytest.fixture
def exchange():
    """Return a function that sends requests one after the other and returns their captures."""

    def run(talk, *, bodies=(b"{}",), limits=None, whole_limit_s=10.0, pause_s=0.0, **options: Any):
        async def main():
            async with Talk(lambda *streams: talk(server, *streams)) as server, ReplayTransport(**options) as transport:
                found = []
                for body in bodies:
                    head = b"POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
                    request = WireRequest(
                        origin=Origin(tls=False, host="127.0.0.1", port=server.port),
                        head=head,
                        body=body,
                        limits=limits or WireLimits(),
                        whole_limit_s=whole_limit_s,
                    )
                    found.append(await transport.exchange(request))
                    await asyncio.sleep(pause_s)
                return found, server

        return asyncio.run(main())

    return run


@pytest.fixture
def talking():
    return Talk
