"""A server that answers at once, for measuring what the client itself takes. It runs as a process of its own and ends with its stdin.

    python -m ixbench.replay.instant

prints its port. Standard library only: it must be up in a moment. It speaks just enough for one purpose: each POST gets as many events as
it asks for in `max_tokens`, each sent by itself, then usage and the end mark.
"""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from functools import lru_cache

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_ASKED = re.compile(rb'"max_tokens":\s*(\d+)')
_TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
_FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@lru_cache(maxsize=16)
def _end(tokens: int) -> bytes:
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":%d}}\n\n' % tokens
    return b"".join(map(_chunk, (_FINISH, usage, b"data: [DONE]\n\n"))) + b"0\r\n\r\n"


class _Answer(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        sock: socket.socket = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head + b"\r\n")
        if not found or length is None or len(body) < int(length[1]):
            return
        self._received = b""
        asked = _ASKED.search(body)
        tokens = int(asked[1]) if asked else 1
        assert self._transport is not None
        token = _chunk(_TOKEN)
        self._transport.write(_HEAD + token)
        for _ in range(tokens - 1):
            self._transport.write(token)
        self._transport.write(_end(tokens))


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answer, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve())
