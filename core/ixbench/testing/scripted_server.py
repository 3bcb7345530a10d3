"""One OpenAI-shaped server for all tests, with no model behind it: it answers as it is told, well or badly, and remembers requests.

    python -m ixbench.testing.scripted_server --port 0 --kind slow

prints its URL as the first line. Replies come from the request itself (header `x-script: NAME` or JSON, or model `script:NAME`), else from
`--script FILE`, else from `--kind NAME`. Standard library only, so that nothing of what it tests can hide in it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import os
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ixbench.testing.answer import Completion, events, plain_body
from ixbench.testing.pseudo_tokenizer import PseudoTokenizer
from ixbench.testing.script import KINDS, Reply, Script, read_script_file, reply_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.testing.atom_shape import AtomShape

_BLOCK = 16
"""Tokens of a cached prefix block."""
_HEAD_LIMIT = 64 * 1024
_LOG_LIMIT = 100_000
_HANG_S = 3600.0
_THAW_S = 0.02
"""Between two looks whether a server that stands still goes on."""
_REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How the server as a whole behaves."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 = any free one."""
    uds: str | None = None
    """Path of a Unix socket to listen at instead."""
    model: str = "scripted"
    script: Script = field(default_factory=Script)
    tokenizer: PseudoTokenizer = field(default_factory=PseudoTokenizer)
    ready_after_s: float = 0.0
    """Until then /health and completions answer 503."""
    refuse_s: float = 0.0
    """Until then nobody listens."""
    api_key: str | None = None
    """Whether requests must carry this bearer token."""
    context: int | None = None
    """Longest prompt in tokens; a longer one is refused as an overflow."""
    cached: bool = False
    """Whether prefix blocks of earlier prompts count as cached."""
    certificate: str | None = None
    """PEM file with key and certificate: the server speaks TLS."""
    frozen: bool = False
    """Whether completions stand still, as with an engine that died behind its API: connections stay open, other paths answer."""
    atom: AtomShape | None = None
    """ATOM's manners, in place of the server's own."""


@dataclass(slots=True)
class _Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class _HangUpError(Exception):
    """The connection is to be closed now."""


class ScriptedServer:
    """The server itself; `start` and `close` it inside a running loop."""

    def __init__(self, options: ServerOptions | None = None) -> None:
        """Keep the options; nothing listens yet."""
        self.options = options or ServerOptions()
        self.url = ""
        self.log: list[dict[str, Any]] = []
        """Every completion request: number, connection, path, headers, body, received_ns, prompt_tokens."""
        self.totals = {"requests": 0, "prompt_tokens": 0, "generation_tokens": 0, "connections": 0, "profiled": 0, "running": 0}
        self.frozen = self.options.frozen
        self._server: asyncio.Server | None = None
        self._ready_at = 0.0
        self._blocks: set[int] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen; `url` is known afterwards."""
        options = self.options
        if options.refuse_s:
            await asyncio.sleep(options.refuse_s)
        context = None
        if options.certificate is not None:
            import ssl

            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(options.certificate)
        self._ready_at = time.monotonic() + options.ready_after_s
        if options.atom is not None:
            self._tasks.add(asyncio.create_task(options.atom.renew_forever()))
        if options.uds is not None:
            self._server = await asyncio.start_unix_server(self._accept, options.uds, backlog=4096, ssl=context)
            self.url = f"http+unix://{quote(options.uds)}"
            return
        self._server = await asyncio.start_server(self._accept, options.host, options.port, backlog=4096, ssl=context)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"http{'s' if context else ''}://{host}:{port}"

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.totals["connections"] += 1
        number = self.totals["connections"]
        try:
            while (request := await _read(reader)) is not None:
                await self._answer(request, writer, number)
                await writer.drain()
        except (_HangUpError, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, asyncio.LimitOverrunError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, request: _Request, writer: asyncio.StreamWriter, connection: int) -> None:
        path = request.path.partition("?")[0]
        if request.method == "POST" and path in {"/v1/chat/completions", "/v1/completions"}:
            self._run(1)
            try:
                await self._complete(request, path, writer, connection)
            finally:
                self._run(-1)
            return
        if self.options.atom is not None and path != "/log":
            status, kind, body = self.options.atom.answer(request.method, path)
            await _send_plain(writer, status, body, {"content-type": kind})
            return
        ready = time.monotonic() >= self._ready_at
        status, kind, body = 404, "application/json", b'{"error":{"message":"no such path"}}'
        if path == "/health":
            status, body = (200, b"{}") if ready else (503, b'{"error":{"message":"starting"}}')
        elif path == "/v1/models":
            status, body = 200, json.dumps({"object": "list", "data": [{"id": self.options.model, "object": "model"}]}).encode()
        elif path == "/metrics":
            status, kind, body = 200, "text/plain; version=0.0.4", self._metrics()
        elif request.method == "POST" and path == "/reset_prefix_cache":
            self._blocks.clear()
            status, body = 200, b'{"success": true}'
        elif request.method == "POST" and path in {"/start_profile", "/stop_profile"}:
            self.totals["profiled"] += path == "/start_profile"
            status, body = 200, b"{}"
        elif path == "/log":
            status, body = 200, json.dumps(self.log).encode()
        await _send_plain(writer, status, body, {"content-type": kind})

    def _run(self, change: int) -> None:
        self.totals["running"] += change
        if self.options.atom is not None:
            self.options.atom.running = self.totals["running"]

    def _metrics(self) -> bytes:
        lines = []
        for name, value in self.totals.items():
            counter = name != "running"
            full = f"scripted:{name}_total" if counter else f"scripted:{name}"
            lines += [f"# TYPE {full.removesuffix('_total')} {'counter' if counter else 'gauge'}", f"{full} {value}"]
        return ("\n".join(lines) + "\n").encode()

    async def _complete(self, request: _Request, path: str, writer: asyncio.StreamWriter, connection: int) -> None:
        options = self.options
        self.totals["requests"] += 1
        number = self.totals["requests"]
        received_ns = time.monotonic_ns()
        try:
            payload: dict[str, Any] = json.loads(request.body)
            prompt = self._prompt(path, payload)
            reply = self._pick(request, payload, number)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            await _send_error(writer, Reply(status=400, message=f"the request cannot be read: {error!r}"))
            return
        entry = {"number": number, "connection": connection, "path": path, "headers": request.headers, "body": payload}
        if len(self.log) < _LOG_LIMIT:
            self.log.append({**entry, "received_ns": received_ns, "prompt_tokens": len(prompt)})
        if time.monotonic() < self._ready_at:
            reply = KINDS["unavailable"]
        elif options.api_key is not None and request.headers.get("authorization") != f"Bearer {options.api_key}":
            reply = KINDS["unauthorized"]
        elif options.context is not None and len(prompt) > options.context:
            message = f"This model's maximum context length is {options.context} tokens. However, your prompt has {len(prompt)}."
            reply = Reply(status=400, message=message)
        if options.atom is not None:
            refusal = options.atom.refusal(payload, len(prompt), options.context)
            reply = Reply(status=400, message=refusal) if refusal is not None else options.atom.reply(reply)
        asked = payload.get("max_tokens", payload.get("max_completion_tokens"))
        completion = Completion(
            number=number,
            chat=path.endswith("/chat/completions"),
            model=payload.get("model", options.model),
            prompt=prompt,
            cached=self._cached(prompt),
            max_tokens=asked,
            usage_asked=bool((payload.get("stream_options") or {}).get("include_usage")),
            reply=reply,
        )
        await _Responder(self, writer, completion).respond(stream=bool(payload.get("stream")))

    def _prompt(self, path: str, payload: dict[str, Any]) -> list[str]:
        tokenizer = self.options.tokenizer
        if path.endswith("/chat/completions"):
            return tokenizer.chat([(message["role"], message["content"] or "") for message in payload["messages"]])
        return tokenizer.completion(payload["prompt"])

    def _pick(self, request: _Request, payload: dict[str, Any], number: int) -> Reply:
        script = self.options.script
        asked = request.headers.get("x-script")
        if asked is not None:
            return reply_of(json.loads(asked) if asked.startswith("{") else asked)
        model = str(payload.get("model", ""))
        if model.startswith("script:"):
            return reply_of(model.removeprefix("script:"))
        if number <= len(script.sequence):
            return script.sequence[number - 1]
        text = request.body.decode("utf-8", "replace")
        for rule in script.rules:
            fits = rule.model in {None, model} and (rule.header is None or request.headers.get(rule.header[0]) == rule.header[1])
            if fits and (rule.contains is None or rule.contains in text) and (rule.every is None or number % rule.every == 0):
                return rule.reply
        return script.default

    def _cached(self, prompt: list[str]) -> int:
        """Return how many tokens of the prompt lie in prefix blocks seen before, and remember its own."""
        if not self.options.cached:
            return 0
        cached = 0
        key = 0
        hit = True
        for end in range(_BLOCK, len(prompt) + 1, _BLOCK):
            key = hash((key, *prompt[end - _BLOCK : end]))
            hit = hit and key in self._blocks
            cached += _BLOCK if hit else 0
            self._blocks.add(key)
        return cached


class _Responder:
    """Writes one answer."""

    def __init__(self, server: ScriptedServer, writer: asyncio.StreamWriter, completion: Completion) -> None:
        self._server = server
        self._writer = writer
        self._completion = completion
        self._reply = completion.reply
        self._position = 0

    async def respond(self, *, stream: bool) -> None:
        reply, atom = self._reply, self._server.options.atom
        if reply.first_s:
            await asyncio.sleep(reply.first_s)
        await self._break("before_head")
        await self._stand_still()
        if reply.status != 200 and reply.body is None:  # noqa: PLR2004 - all other statuses are errors
            await _send_error(self._writer, reply)
            return
        totals = self._server.totals
        totals["prompt_tokens"] += len(self._completion.prompt)
        if atom is not None:
            atom.prefilled(len(self._completion.prompt), self._completion.cached)
        if reply.body is not None:
            await self._verbatim(_content(reply.body))
        elif not stream or not reply.stream:
            totals["generation_tokens"] += self._completion.output_tokens
            if atom is not None:
                atom.finished(len(self._completion.prompt), self._completion.output_tokens)
            await _send_plain(self._writer, 200, plain_body(self._completion), {"content-type": "application/json", **reply.headers})
        else:
            await self._stream()
        if reply.close or reply.drop_idle or not reply.chunked:
            raise _HangUpError

    async def _head(self) -> None:
        reply = self._reply
        headers = {"content-type": reply.content_type or "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        if reply.chunked:
            headers["transfer-encoding"] = "chunked"
        if reply.close or not reply.chunked:
            headers["connection"] = "close"
        if reply.gzip:
            headers["content-encoding"] = "gzip"
        head = _head_bytes(reply.status, {**headers, **reply.headers})
        if reply.cut == "in_head":
            self._writer.write(head[: len(head) // 2])
            await self._writer.drain()
            self._hang_up()
        self._writer.write(head)
        await self._break("after_head")

    async def _verbatim(self, body: bytes) -> None:
        await self._head()
        await self._write(body)
        self._end()

    async def _stream(self) -> None:
        reply, atom = self._reply, self._server.options.atom
        await self._head()
        before = 0
        pieces, final = [], []
        for stage, output, event in events(self._completion):
            if stage == "token":
                await self._before_token(before, output, event)
                before = output
            if stage == "done":
                await self._break("before_done")
            if reply.gzip:
                pieces.append(event)
            elif reply.one_final_write and stage not in {"role", "token"}:
                final.append(event)
            else:
                await self._write(event)
            if stage == "finish":
                await self._break("after_finish")
        if atom is not None:
            atom.finished(len(self._completion.prompt), before)
        if rest := gzip.compress(b"".join(pieces)) if reply.gzip else b"".join(final):
            await self._write(rest)
        self._end()

    async def _before_token(self, before: int, output: int, event: bytes) -> None:
        """Wait as long as the script wants and count the tokens of the next event, unless the stream is to break here."""
        reply, server = self._reply, self._server
        if output > reply.cut_after:
            await self._mid_stream(event)
        if before == 0 and reply.prefill_s:
            await asyncio.sleep(reply.prefill_s)
        elif before and reply.gap_s:
            await asyncio.sleep(reply.gap_s)
        await self._stand_still()
        server.totals["generation_tokens"] += output - before
        if server.options.atom is not None:
            server.options.atom.stepped(output - before)

    async def _mid_stream(self, event: bytes) -> None:
        if self._reply.die:
            await self._writer.drain()
            os._exit(137)
        if self._reply.cut == "in_event":
            await self._write(event[: len(event) // 2])
            await self._writer.drain()
            self._hang_up()
        await self._break("mid_stream")

    async def _stand_still(self) -> None:
        if self._server.frozen:
            await self._writer.drain()
        while self._server.frozen:  # noqa: ASYNC110 - whoever sets it tells nobody
            await asyncio.sleep(_THAW_S)

    async def _break(self, place: str) -> None:
        """Cut or fall silent, if that is to happen here."""
        if self._reply.hang == place:
            await self._writer.drain()
            await asyncio.sleep(_HANG_S)
        if self._reply.cut == place:
            with contextlib.suppress(ConnectionError):
                await self._writer.drain()
            self._hang_up()

    def _hang_up(self) -> None:
        if self._reply.reset:
            raw: socket.socket = self._writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        raise _HangUpError

    async def _write(self, data: bytes) -> None:
        """Write a part of the body, in as many pieces as the script wants."""
        for piece in self._pieces(data):
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._reply.chunked else piece)
            await self._writer.drain()
            if self._reply.split:
                await asyncio.sleep(self._reply.split_pause_s)

    def _pieces(self, data: bytes) -> list[bytes]:
        split = self._reply.split
        start = self._position
        self._position += len(data)
        if isinstance(split, int):
            return [data[at : at + split] for at in range(0, len(data), split)] if split else [data]
        edges = [0, *(offset - start for offset in split if start < offset < self._position), len(data)]
        return [data[low:high] for low, high in pairwise(edges) if high > low]

    def _end(self) -> None:
        if self._reply.chunked:
            self._writer.write(b"0\r\n\r\n")


async def _read(reader: asyncio.StreamReader) -> _Request | None:
    """Return the next request of a connection, or None at its end."""
    try:
        start = await reader.readexactly(1)
        if not start.isalpha():
            return None
        head = start + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    if len(head) > _HEAD_LIMIT:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return _Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def _content(path: str) -> bytes:
    return Path(path).read_bytes()


def _head_bytes(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send_plain(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str]) -> None:
    writer.write(_head_bytes(status, {**headers, "content-length": str(len(body))}) + body)
    await writer.drain()


async def _send_error(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = json.dumps({"error": {"message": reply.message, "type": "ScriptedError", "code": reply.status}}).encode()
    await _send_plain(writer, reply.status, body, {"content-type": "application/json", **reply.headers})


def _arguments(argv: Sequence[str]) -> ServerOptions:
    parser = argparse.ArgumentParser(prog="ixbench.testing.scripted_server", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 = any free one")
    parser.add_argument("--uds", metavar="PATH", help="a Unix socket to listen at instead")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--kind", choices=sorted(KINDS), default="ok", help="how requests are answered")
    parser.add_argument("--script", help="JSON file with default, sequence and rules")
    parser.add_argument("--ready-after", type=float, default=0.0, help="seconds of 503 before it is ready")
    parser.add_argument("--refuse", type=float, default=0.0, help="seconds before it listens at all")
    parser.add_argument("--api-key", help="the bearer token that requests must carry")
    parser.add_argument("--context", type=int, help="longest prompt in tokens")
    parser.add_argument("--cached", action="store_true", help="report cached tokens of prefixes seen before")
    parser.add_argument("--certificate", help="PEM file with key and certificate")
    parser.add_argument("--letters", type=int, default=PseudoTokenizer().letters, help="letters a token")
    parser.add_argument("--per-message", type=int, default=PseudoTokenizer().per_message, help="template tokens a message")
    parser.add_argument("--start-token", type=int, default=0, choices=(0, 1))
    parser.add_argument("--joined", action="append", default=[], metavar="'WORD WORD'", help="a pair of words that is one token")
    given = parser.parse_args(argv)
    script = read_script_file(given.script) if given.script else Script(default=KINDS[given.kind])
    tokenizer = PseudoTokenizer(
        letters=given.letters, per_message=given.per_message, start_token=given.start_token, joined=frozenset(given.joined)
    )
    return ServerOptions(
        host=given.host,
        port=given.port,
        uds=given.uds,
        model=given.model,
        script=script,
        tokenizer=tokenizer,
        ready_after_s=given.ready_after,
        refuse_s=given.refuse,
        api_key=given.api_key,
        context=given.context,
        cached=given.cached,
        certificate=given.certificate,
    )


async def _serve(options: ServerOptions) -> None:
    server = ScriptedServer(options)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await server.start()
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    await ended.wait()
    await server.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until TERM or INT."""
    asyncio.run(_serve(_arguments(sys.argv[1:] if argv is None else argv)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
