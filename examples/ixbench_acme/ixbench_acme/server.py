"""Acme's server: OpenAI-shaped, with invented words at a fixed pace. It ends with the process that started it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.api.engine import KEEP_VARIABLE, LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = "1.0"
WORDS = "anvil bellows chisel dovetail easel forge gimlet hammer ingot jigsaw kiln lathe"
MOST_TOKENS = 100_000
_PARENT_POLL_S = 0.5


class Acme:
    """What the server knows and counts."""

    def __init__(self, settings: argparse.Namespace, words: Sequence[str]) -> None:
        self.settings = settings
        self.words = words
        self.counts: dict[str, int] = {"acme_prompt_tokens": 0, "acme_generated_tokens": 0, "acme_answers": 0}
        self.gauges: dict[str, int] = {"acme_running": 0, "acme_waiting": 0}
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(settings.slots)

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter or a gauge."""
        with self._lock:
            (self.counts if name in self.counts else self.gauges)[name] += by

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold one of the places for an answer."""
        self.count("acme_waiting")
        with self._slots:
            self.count("acme_waiting", -1)
            self.count("acme_running")
            try:
                yield
            finally:
                self.count("acme_running", -1)

    def page(self) -> str:
        """Return the Prometheus page."""
        kinds = [(self.counts, "counter", "_total"), (self.gauges, "gauge", "")]
        return "".join(
            f"# TYPE {name} {kind}\n{name}{suffix} {value}\n" for values, kind, suffix in kinds for name, value in values.items()
        )

    def word(self, prompt: str, place: int) -> str:
        """Return a word of the answer to a prompt."""
        digest = sha256(f"{place} {prompt}".encode()).digest()
        return self.words[digest[0] % len(self.words)]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Without it a token waits for the client's acknowledgement of the one before."""
    acme: Acme

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing of each request."""

    def do_GET(self) -> None:
        """Answer what ixbench asks beside completions."""
        model = {"id": self.acme.settings.name, "object": "model", "owned_by": "acme"}
        pages = {"/health": {}, "/version": {"version": VERSION}, "/v1/models": {"object": "list", "data": [model]}}
        if self.path == "/metrics":
            self._send(200, self.acme.page().encode(), "text/plain; version=0.0.4")
        elif self.path in pages:
            self._send(200, json.dumps(pages[self.path]).encode())
        else:
            self._refuse(404, f"there is no {self.path}")

    def do_POST(self) -> None:
        """Answer a completion."""
        chat = self.path == "/v1/chat/completions"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not chat and self.path != "/v1/completions":
            self._refuse(404, f"there is no {self.path}")
            return
        try:
            asked = json.loads(body)
            prompt = "\n".join(str(message["content"]) for message in asked["messages"]) if chat else str(asked["prompt"])
            tokens = min(int(asked.get("max_completion_tokens") or asked.get("max_tokens") or 16), MOST_TOKENS)
        except (ValueError, KeyError, TypeError) as error:
            self._refuse(400, f"no completion can be read: {error!r}")
            return
        with self.acme.slot():
            self._answer(asked, prompt, tokens, chat=chat)

    def _answer(self, asked: dict[str, Any], prompt: str, tokens: int, *, chat: bool) -> None:
        settings, start = self.acme.settings, time.monotonic()
        # A word is a token; what a template would add does not exist here.
        count = len(prompt.split())
        self.acme.count("acme_prompt_tokens", count)
        usage = {"prompt_tokens": count, "completion_tokens": tokens, "total_tokens": count + tokens}
        head = {"id": f"acme-{start:.6f}", "object": "chat.completion" if chat else "text_completion", "model": settings.name}
        streamed = bool(asked.get("stream"))
        if streamed:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
        words = []
        for place in range(tokens):
            # Due times are counted from the start, so that a late one does not make all later ones late.
            due = start + settings.first_token_ms / 1000 + place / settings.tokens_per_s
            time.sleep(max(0.0, due - time.monotonic()))
            words.append(f"{self.acme.word(prompt, place)} ")
            self.acme.count("acme_generated_tokens")
            if streamed:
                self._event({**head, "choices": [_choice(words[-1], chat=chat, last=place == tokens - 1)]})
        # Counted before its end is sent: whoever has the whole answer finds it on the page.
        self.acme.count("acme_answers")
        if not streamed:
            text = "".join(words)
            choice = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
            self._send(200, json.dumps({**head, "choices": [{"index": 0, **choice, "finish_reason": "length"}], "usage": usage}).encode())
        else:
            if (asked.get("stream_options") or {}).get("include_usage"):
                self._event({**head, "choices": [], "usage": usage})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

    def _event(self, content: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(content).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _refuse(self, status: int, why: str) -> None:
        self._send(status, json.dumps({"error": {"message": why, "code": status}}).encode())

    def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(ThreadingHTTPServer):
    """Takes as many connections at once as come."""

    daemon_threads = True
    request_queue_size = 1024


def _choice(text: str, *, chat: bool, last: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"delta": {"content": text}} if chat else {"text": text}
    return {"index": 0, **content, "finish_reason": "length" if last else None}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the settings of a command line."""
    parser = argparse.ArgumentParser(prog="acme", description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--name", default="acme", help="the model's served name")
    parser.add_argument("--tokens-per-s", type=float, default=200.0, help="pace of one answer")
    parser.add_argument("--first-token-ms", type=float, default=20.0, help="time that a prompt takes")
    parser.add_argument("--slots", type=int, default=16, help="answers at once")
    parser.add_argument("--vocabulary", type=Path, help="a file with the words of the answers, one a line")
    return parser.parse_args(arguments)


def vocabulary(path: Path | None) -> Sequence[str]:
    """Return the words of the answers; ends the process where there are none."""
    if path is None:
        return WORDS.split()
    if not path.is_file():
        sys.exit(f"acme: there is no vocabulary {path}")
    return path.read_text(encoding="utf-8").split() or sys.exit(f"acme: the vocabulary {path} has no word")


def main() -> None:
    """Serve until the process that started this one is gone, unless it may leave this one running."""
    settings = parse()
    Handler.acme = Acme(settings, vocabulary(settings.vocabulary))
    server = Server((LOOPBACK, settings.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"acme {VERSION}: {settings.name} on http://{LOOPBACK}:{server.server_port}", flush=True)
    parent = os.getppid()
    while os.getppid() == parent or KEEP_VARIABLE in os.environ:
        time.sleep(_PARENT_POLL_S)


if __name__ == "__main__":
    main()
