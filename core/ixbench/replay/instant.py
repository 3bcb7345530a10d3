"""A server that answers at once, for measuring what the client itself takes. It runs as a process of its own and ends with its stdin.

    python -m ixbench.replay.instant

prints its port. It must be up in a moment, so it imports little: asyncio alone would take longer than all the rest. It speaks just enough
for one purpose: each POST gets as many events as it asks for in `max_tokens`, each sent by itself, then usage and the end mark.
"""

from __future__ import annotations

import os
import re
import selectors
import socket
import sys
import threading
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


def _answer(sock: socket.socket, received: bytes) -> bytes:
    """Answer a request if all of it is there, and return the bytes that wait for more."""
    head, found, body = received.partition(b"\r\n\r\n")
    length = _LENGTH.search(head + b"\r\n")
    if not found or length is None or len(body) < int(length[1]):
        return received
    asked = _ASKED.search(body)
    tokens = int(asked[1]) if asked else 1
    token = _chunk(_TOKEN)
    sock.sendall(_HEAD + token)
    for _ in range(tokens - 1):
        sock.sendall(token)
    sock.sendall(_end(tokens))
    return b""


def _serve() -> None:
    """Print the port and answer, one request after the other."""
    selector = selectors.DefaultSelector()
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        selector.register(listener, selectors.EVENT_READ)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        received: dict[socket.socket, bytes] = {}
        while True:
            for key, _ in selector.select():
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is listener:
                    sock, _ = listener.accept()
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    selector.register(sock, selectors.EVENT_READ)
                    received[sock] = b""
                    continue
                try:
                    data = sock.recv(65536)
                    received[sock] = _answer(sock, received[sock] + data)
                except OSError:
                    data = b""
                if not data:
                    selector.unregister(sock)
                    del received[sock]
                    sock.close()


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    _serve()
