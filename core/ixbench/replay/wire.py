"""One HTTP exchange, captured raw: head facts, then (stamp, bytes) of every read. The only module that knows the HTTP client.

httpx's pool looks at every connection for every request, so each connection gets a transport of its own here, and idle ones wait in a list,
last in first out. Which exchange reused a connection is known that way, and so is when to send once more.
"""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx

from ixbench.model.errors import Fault, InputError
from ixbench.model.secrets import redact_url

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ixbench.model.record import ErrorClass
    from ixbench.replay.clock import Clock

CONNECT_LIMIT_S = 10.0
_URL_FORM = "http://HOST:PORT or https://HOST:PORT"
LARGEST_BODY_BYTES = 256 * 1024 * 1024
"""No answer is longer; reading on would only fill the memory."""


@dataclass(slots=True, kw_only=True)
class Capture:
    """What one exchange gave, filled as it goes on, so that nothing is lost when it breaks off."""

    send_ns: int
    conn_ns: int | None = None
    sent_ns: int | None = None
    headers_ns: int | None = None
    reused: bool = False
    status: int | None = None
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    stamps: list[int] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    close_ns: int = 0
    complete: bool = False
    """Whether the body ended in good order."""
    error_class: ErrorClass | None = None
    error_text: str | None = None
    resent: bool = False

    @property
    def body(self) -> bytes:
        """All bytes of the body, HTTP framing taken off."""
        return b"".join(self.pieces)

    @property
    def died_idle(self) -> bool:
        """Whether a reused connection turned out to be dead: it broke before the response began."""
        return self.reused and self.status is None and self.error_class == "reset"


class Wire:
    """Posts bodies to one URL over keep-alive connections, as many as there are requests in flight."""

    def __init__(self, url: str, *, headers: Mapping[str, str], clock: Clock, ca_file: str | None = None) -> None:
        """Keep the target; nothing is opened before the first request.

        :param ca_file: a PEM file of certificates to trust beside the usual ones.
        :raises InputError: if the URL or the certificates cannot be used.
        """
        self._clock = clock
        self._url = _parse(url)
        self._headers = httpx.Headers(
            {
                **_basic_auth(self._url),
                "accept": "text/event-stream",
                "accept-encoding": "identity",
                "content-type": "application/json",
                "user-agent": "ixbench",
                **headers,
            }
        )
        self._ssl = _ssl_context(ca_file) if self._url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._idle: list[httpx.AsyncHTTPTransport] = []

    async def __aenter__(self) -> Self:
        """Return the wire."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close idle connections."""
        with anyio.CancelScope(shield=True):
            while self._idle:
                await self._idle.pop().aclose()

    async def post(self, body: bytes, *, headers: Mapping[str, str], limit_s: float) -> Capture:
        """Send one request and capture its response; failures of the connection are facts in the capture, not exceptions.

        A request that died on a reused connection before the response began is sent once more on a fresh one: the server has closed an
        idle connection, which says nothing of how it serves. Nothing else is ever sent twice.
        """
        capture = Capture(send_ns=self._clock.now_ns())
        with anyio.move_on_after(limit_s) as scope:
            await self._attempt(capture, body, headers, fresh=False)
            if capture.died_idle:
                capture = Capture(send_ns=capture.send_ns, resent=True)
                await self._attempt(capture, body, headers, fresh=True)
        if scope.cancelled_caught:
            capture.error_class, capture.error_text = "timeout", f"no end within the request limit of {limit_s:g} s"
        capture.close_ns = self._clock.now_ns()
        return capture

    async def _attempt(self, capture: Capture, body: bytes, headers: Mapping[str, str], *, fresh: bool) -> None:
        transport = self._take(fresh=fresh)
        kept = False
        try:
            kept = await self._exchange(transport, capture, body, headers)
        except httpx.HTTPError as error:
            capture.error_class, capture.error_text = _explain(error)
        finally:
            if kept:
                self._idle.append(transport)
            else:
                with anyio.CancelScope(shield=True):
                    await transport.aclose()

    def _take(self, *, fresh: bool) -> httpx.AsyncHTTPTransport:
        if self._idle and not fresh:
            return self._idle.pop()
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)
        return httpx.AsyncHTTPTransport(verify=self._ssl, trust_env=False, http1=True, http2=False, limits=limits, retries=0)

    async def _exchange(self, transport: httpx.AsyncHTTPTransport, capture: Capture, body: bytes, headers: Mapping[str, str]) -> bool:
        """Carry out the exchange; return whether the connection can serve again."""
        now = self._clock.now_ns
        connected = False

        async def trace(event: str, _info: dict[str, Any]) -> None:
            nonlocal connected
            if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
                connected = True
                capture.conn_ns = now()
            elif event == "connection.connect_tcp.started":
                connected = True
            elif event == "http11.send_request_headers.started" and not connected:
                capture.reused = True
                capture.conn_ns = capture.send_ns
            elif event == "http11.send_request_body.complete":
                capture.sent_ns = now()

        merged = self._headers.copy()
        merged.update(headers)
        timeouts = {"connect": CONNECT_LIMIT_S, "read": None, "write": None, "pool": None}
        request = httpx.Request("POST", self._url, headers=merged, content=body, extensions={"trace": trace, "timeout": timeouts})
        response = await transport.handle_async_request(request)
        capture.headers_ns = now()
        capture.status = response.status_code
        capture.headers = response.headers
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)
        try:
            async for piece in stream:
                capture.stamps.append(now())
                capture.pieces.append(piece)
                capture.size += len(piece)
                if capture.size > LARGEST_BODY_BYTES:
                    capture.error_class, capture.error_text = "protocol", f"the body is longer than {LARGEST_BODY_BYTES} bytes"
                    return False
            capture.complete = True
        finally:
            with anyio.CancelScope(shield=True):
                await stream.aclose()
        return True


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(Fault(where="url", problem=f"{redact_url(url)!r} is no URL ({error})", allowed=_URL_FORM)) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InputError(Fault(where="url", problem=f"{redact_url(url)!r} cannot be called", allowed=_URL_FORM))
    return parsed


def _basic_auth(url: httpx.URL) -> dict[str, str]:
    """Return the header that stands for the name and password in a URL."""
    if not url.userinfo:
        return {}
    pair = f"{url.username}:{url.password}".encode()
    return {"authorization": f"Basic {b64encode(pair).decode('ascii')}"}


def _ssl_context(ca_file: str | None) -> ssl.SSLContext:
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            problem = f"{ca_file} cannot be used ({error.strerror or error})"
            raise InputError(Fault(where="ca_file", problem=problem, allowed="a PEM file of certificates")) from None
    return context


def _explain(error: httpx.HTTPError) -> tuple[ErrorClass, str]:
    """Return the class of a failed exchange, and what happened in a few words."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 10:  # noqa: PLR2004 - a chain of causes may be a ring
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    text = next((text for text in map(str, reversed(causes)) if text), type(error).__name__)
    if any(isinstance(found, ssl.SSLError) for found in causes):
        return "tls", text
    if isinstance(error, httpx.TimeoutException):
        return "timeout", f"no connection within {CONNECT_LIMIT_S:g} s" if isinstance(error, httpx.ConnectTimeout) else text
    if isinstance(error, httpx.ConnectError):
        return ("dns" if any(isinstance(found, socket.gaierror) for found in causes) else "connect"), text
    if isinstance(error, httpx.NetworkError):
        return "reset", f"the connection broke ({text})"
    if "disconnected" in text or "peer closed" in text:
        return "reset", "the server closed the connection"
    return "protocol", text
