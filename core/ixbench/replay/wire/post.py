"""Posts bodies to one URL: everything of the request that stays the same is made into bytes once."""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from typing import TYPE_CHECKING, Self

import httpx

from ixbench.model.errors import Fault, InputError
from ixbench.model.secrets import redact_url
from ixbench.replay.wire.limits import WireLimits
from ixbench.replay.wire.opening import Origin
from ixbench.replay.wire.transport import ReplayTransport, WireRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ixbench.replay.clock import Clock
    from ixbench.replay.wire.capture import Capture

_URL_FORM = "http://HOST:PORT or https://HOST:PORT"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\t\x20-\x7e]*\Z")


class Wire:
    """Posts bodies to one URL over keep-alive connections, as many as there are requests in flight."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        clock: Clock,
        ca_file: str | None = None,
        uds: str | None = None,
        proxy: str | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        """Keep the target; nothing is opened before the first request.

        :param ca_file: a PEM file of certificates to trust instead of the system's.
        :param uds: path of a Unix socket that all connections go to.
        :param proxy: URL of an HTTP proxy that all connections go through.
        :raises InputError: if the URL, a header, the proxy or the certificates cannot be used.
        """
        self._url = _parse(url)
        _check_headers(headers)
        self._headers = httpx.Headers(
            {
                "host": self._url.netloc.decode("ascii"),
                **_basic_auth(self._url),
                "accept": "text/event-stream",
                "accept-encoding": "identity",
                "content-type": "application/json",
                "user-agent": "ixbench",
                **headers,
            }
        )
        self._origin = Origin.of(self._url)
        self._limits = limits or WireLimits()
        self.transport = ReplayTransport(clock=clock, ssl_context=_ssl_context(ca_file) if self._origin.tls else None, uds=uds, proxy=proxy)
        self._start = b"POST %b HTTP/1.1\r\n" % self.transport.target(self._url)
        for name, value in self.transport.proxy_headers(self._url):
            self._headers[name.decode("ascii")] = value.decode("ascii")
        self._heads: dict[tuple[str, ...], bytes] = {}

    async def __aenter__(self) -> Self:
        """Return the wire."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Close all connections."""
        await self.transport.aclose()

    async def post(self, body: bytes, *, headers: Mapping[str, str], limit_s: float) -> Capture:
        """Send one request and capture its response; failures of the connection are facts in the capture, not exceptions."""
        own = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")
        head = b"%b%bcontent-length: %d\r\n\r\n" % (self._common(tuple(headers)), own, len(body))
        return await self.transport.exchange(
            WireRequest(origin=self._origin, head=head, body=body, limits=self._limits, whole_limit_s=limit_s)
        )

    def _common(self, own: tuple[str, ...]) -> bytes:
        """Return the request line and the headers that all requests share, without those that a request sets itself."""
        head = self._heads.get(own)
        if head is None:
            kept = self._headers.copy()
            for name in (*own, "content-length", "transfer-encoding"):
                kept.pop(name, None)
            head = self._heads[own] = self._start + b"".join(b"%b: %b\r\n" % pair for pair in kept.raw)
        return head


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(Fault(where="url", problem=f"{redact_url(url)!r} is no URL ({error})", allowed=_URL_FORM)) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InputError(Fault(where="url", problem=f"{redact_url(url)!r} cannot be called", allowed=_URL_FORM))
    return parsed


def _check_headers(headers: Mapping[str, str]) -> None:
    """Refuse what would break a request; values may be secrets and are not repeated."""
    for name, value in headers.items():
        if not _NAME.match(name) or not _VALUE.match(value):
            raise InputError(Fault(where=f"header {name!r}", problem="cannot be sent", allowed="a name, and a value of printable ASCII"))


def _basic_auth(url: httpx.URL) -> dict[str, str]:
    """Return the header that stands for the name and password in a URL."""
    if not url.userinfo:
        return {}
    pair = f"{url.username}:{url.password}".encode()
    return {"authorization": f"Basic {b64encode(pair).decode('ascii')}"}


def _ssl_context(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is None:
        return httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        problem = f"{ca_file} cannot be used ({error.strerror or error})"
        raise InputError(Fault(where="ca_file", problem=problem, allowed="a PEM file of certificates")) from None
