"""Starts the scripted server for a test, as a process of its own or in a thread, and ends it afterwards."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx

from ixbench.launch.ports import is_listening
from ixbench.testing.scripted_server import ScriptedServer, ServerOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A scripted server that answers."""

    url: str
    pid: int | None = None
    """None for one in a thread."""

    def log(self) -> list[dict[str, Any]]:
        """Return every completion request so far."""
        requests: list[dict[str, Any]] = json.loads(self.get("/log"))
        return requests

    def totals(self) -> dict[str, float]:
        """Return the counters of /metrics by their full names."""
        lines = self.get("/metrics").splitlines()
        return {name: float(value) for name, _, value in (line.partition(" ") for line in lines if not line.startswith("#"))}

    def get(self, path: str) -> str:
        """Return the body of a GET."""
        socket_path = self.url.removeprefix("http+unix://")
        if socket_path != self.url:
            with httpx.Client(transport=httpx.HTTPTransport(uds=unquote(socket_path)), timeout=_STOP_LIMIT_S) as client:
                return client.get(f"http://localhost{path}").text
        with urllib.request.urlopen(self.url + path, timeout=_STOP_LIMIT_S) as response:  # noqa: S310 - always http on loopback
            body: bytes = response.read()
        return body.decode()


@contextmanager
def server_process(*arguments: str) -> Iterator[RunningServer]:
    """Run the server as a process with these command-line arguments; it is ended with the block.

    :raises RuntimeError: if it does not come up.
    """
    command: Sequence[str] = (sys.executable, "-m", "ixbench.testing.scripted_server", *arguments)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
        watchdog = threading.Timer(_START_LIMIT_S, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            watchdog.cancel()
            if not url:
                raise RuntimeError(f"the scripted server did not start (exit code {process.wait(_STOP_LIMIT_S)})")
            yield RunningServer(url=url, pid=process.pid)
        finally:
            watchdog.cancel()
            process.terminate()
            try:
                process.wait(_STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def server_thread(options: ServerOptions | None = None) -> Iterator[RunningServer]:
    """Run the server in a thread of this process; it is ended with the block."""
    server = ScriptedServer(options)
    loop = asyncio.new_event_loop()
    started = threading.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(server.start())
        started.set()
        loop.run_forever()
        loop.run_until_complete(server.close())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=run, name="scripted server", daemon=True)
    thread.start()
    if not started.wait(_START_LIMIT_S):
        raise RuntimeError("the scripted server did not start")
    try:
        yield RunningServer(url=server.url)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_STOP_LIMIT_S)


def port_gets_free(port: int, limit_s: float = 30.0) -> bool:
    """Whether nothing listens on the port at some moment within the limit: the engine of another test may have been given it meanwhile."""
    deadline = time.monotonic() + limit_s
    while is_listening(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
