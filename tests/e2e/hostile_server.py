"""A server that wants to harm its client: whatever it sends does not end, or grows a thousandfold when it is read.

    python tests/e2e/hostile_server.py [--completions NAME] [--models NAME] [--metrics NAME] [--health NAME]

prints its URL. Each option names one of `MANNERS` for these requests, and so may the model of a completion; all others are answered well.
Raw sockets and threads: it must be able to send what no library would.
"""

from __future__ import annotations

import argparse
import json
import socket
import threading
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1 << 20
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = STREAM + b"transfer-encoding: chunked\r\n\r\n"
GZIPPED = b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"
WHOLE_S = 0.02
"""Between the pieces of what drips for ever."""


def chunk(data: bytes) -> bytes:
    """Return the data as one chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def forever(start: bytes, piece: bytes, *, pause_s: float = 0.0) -> Iterator[bytes]:
    """Yield the start, and then the piece again and again."""
    yield start
    while True:
        yield piece
        if pause_s:
            time.sleep(pause_s)


def once(*pieces: bytes) -> Iterator[bytes]:
    """Yield pieces, and nothing more."""
    yield from pieces


def event(text: str) -> bytes:
    """Return an event of a stream that says so."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def ending(usage: str) -> bytes:
    """Return the end of a stream with this JSON as its usage."""
    finish = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}\n\n'
    return finish + b'data: {"choices": [], "usage": %b}\n\ndata: [DONE]\n\n' % usage.encode()


def bomb() -> Iterator[bytes]:
    """Yield 8 GiB of zeros, gzipped, as chunks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(64 * MIB)
    for _ in range(128):
        data = packer.compress(zeros) + packer.flush(zlib.Z_SYNC_FLUSH)
        yield chunk(data)
    yield chunk(packer.flush()) + b"0\r\n\r\n"


def gzipped(start: bytes) -> Iterator[bytes]:
    """Yield the head of a response and a bomb."""
    yield start + GZIPPED
    yield from bomb()


def said(data: bytes) -> Iterator[bytes]:
    """Yield a stream that says this and ends well."""
    yield CHUNKED + chunk(data)
    yield b"0\r\n\r\n"


FILL = b"a" * 65536
OK = b"HTTP/1.1 200 OK\r\n"
ANY_JSON = OK + b"content-type: application/json\r\n"
ENTRIES = b"{}," * (MIB // 2)
MANNERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "headers without end": lambda: forever(OK, b"x-more: " + b"a" * 1000 + b"\r\n"),
    "a header without end": lambda: forever(OK + b"x-more: ", FILL),
    "a status line without end": lambda: forever(b"HTTP/1.1 200 ", FILL),
    "interim responses without end": lambda: forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "interim responses that drip": lambda: forever(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", pause_s=WHOLE_S),
    "a chunk extension without end": lambda: forever(CHUNKED + b"5;", FILL),
    "a chunk size without end": lambda: forever(CHUNKED, b"0" * 65536),
    "trailers without end": lambda: forever(CHUNKED + chunk(event("a")) + b"0\r\n", b"x-more: " + b"a" * 1000 + b"\r\n"),
    "a line without end": lambda: forever(CHUNKED + chunk(b"data: "), chunk(FILL)),
    "a body without end": lambda: forever(OK + b"content-type: text/html\r\n\r\n", FILL),
    "events without end": lambda: forever(CHUNKED, chunk(event("a") * 500)),
    "the smallest events without end": lambda: forever(CHUNKED, chunk(b"data:x\n\n" * 8192)),
    "empty lines without end": lambda: forever(CHUNKED, chunk(b"\n" * 65536)),
    "comments without end": lambda: forever(CHUNKED, chunk(b":a\r\n\r\n" * 8192)),
    "chunks of one byte without end": lambda: forever(CHUNKED, b"1\r\na\r\n"),
    "a body that drips": lambda: forever(CHUNKED, chunk(b":"), pause_s=WHOLE_S),
    "a length of a quintillion": lambda: forever(STREAM + b"content-length: 1000000000000000000\r\n\r\n", event("a") * 500),
    "a length of ten thousand digits": lambda: once(STREAM + b"content-length: " + b"9" * 10_000 + b"\r\n\r\n"),
    "a chunk of a quintillion": lambda: forever(CHUNKED + b"de0b6b3a7640000\r\n", event("a") * 500),
    "a bomb": lambda: gzipped(OK + b"content-type: text/event-stream\r\n"),
    "JSON in JSON in JSON": lambda: said(b"data: " + b"[" * (16 * MIB) + b"\n\n"),
    "objects in objects": lambda: said(b"data: " + b'{"error":' * MIB + b"\n\n"),
    "choices by the million": lambda: forever(CHUNKED + chunk(b'data: {"choices":['), chunk(ENTRIES)),
    "events of many choices": lambda: said((b'data: {"choices":[' + b"{}," * 300_000 + b"{}]}\n\n") * 100),
    "token ids by the million": lambda: said(b'data: {"choices":[{"token_ids":[' + b"0," * (60 * MIB) + b"0]}]}\n\n"),
    "errors by the million": lambda: said(b'data: {"error":[' + b"[]," * (60 * MIB) + b"0]}\n\n"),
    "counts that are none": lambda: said(event("a") + ending('{"prompt_tokens": 1e999, "completion_tokens": -5}')),
    "counts without end": lambda: said(event("a") + ending(f'{{"prompt_tokens": {"9" * 100_000}, "completion_tokens": {10**40}}}')),
    "counts of a quintillion": lambda: said(event("a") + ending(f'{{"prompt_tokens": {10**18}, "completion_tokens": {10**18}}}')),
    "an error page of megabytes": lambda: forever(b"HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\n\r\n", b"<p>" * 20_000),
    "names by the million": lambda: once(
        ANY_JSON + b"\r\n", b'{"data": [' + b",".join(b'{"id": "%d"}' % number for number in range(60_000)) + b"]}"
    ),
}


class Server:
    """Listens, and answers each connection in a thread."""

    def __init__(self, manners: dict[str, str]) -> None:
        """Listen.

        :param manners: name of a manner by the kind of request.
        """
        self.manners = manners
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def serve(self) -> None:
        """Answer until the process ends."""
        while True:
            connection, _ = self.listening.accept()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, suppress(OSError):
            reader = connection.makefile("rb")
            while line := reader.readline():
                length = 0
                while (header := reader.readline().strip()) != b"":
                    name, _, value = header.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                body = reader.read(length)
                kind = {b"/v1/models": "models", b"/metrics": "metrics", b"/health": "health"}.get(line.split()[1], "completions")
                manner = self.manners.get(kind)
                if kind == "completions" and (model := json.loads(body)["model"]) in MANNERS:
                    manner = model
                if manner is None:
                    connection.sendall(well(kind))
                    continue
                for piece in MANNERS[manner]():
                    connection.sendall(piece)
                if manner == "a length of ten thousand digits" or kind != "completions":
                    return


def well(kind: str) -> bytes:
    """Return a good answer."""
    if kind == "completions":
        body = event("a") * 4 + ending('{"prompt_tokens": 8, "completion_tokens": 4}')
        return CHUNKED + chunk(body) + b"0\r\n\r\n"
    body = {"models": b'{"data": [{"id": "m"}]}', "metrics": b"# nothing\n", "health": b"{}"}[kind]
    return ANY_JSON + b"content-length: %d\r\n\r\n%b" % (len(body), body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("completions", "models", "metrics", "health"):
        parser.add_argument(f"--{option}", choices=MANNERS)
    server = Server({name: value for name, value in vars(parser.parse_args()).items() if value is not None})
    print(server.url, flush=True)  # noqa: T201 - whoever started it waits for this line
    server.serve()
