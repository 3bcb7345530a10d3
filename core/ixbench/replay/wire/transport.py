"""`ReplayTransport`: exchanges over keep-alive connections of its own, as many as there are requests in flight.

Idle connections wait in a list per origin, last in first out, so taking one costs the same however many there are. It is an
`httpx.AsyncBaseTransport`, so it works in `httpx.AsyncClient(transport=ReplayTransport())`; a replay hands it prepared bytes instead
(`exchange`), which costs a fraction of a request of httpx.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import httpx

from ixbench.model.units import NS_PER_S
from ixbench.replay.clock import MonotonicClock
from ixbench.replay.wire.capture import Capture
from ixbench.replay.wire.connection import Connection
from ixbench.replay.wire.errors import WireError
from ixbench.replay.wire.limits import WireLimits
from ixbench.replay.wire.opening import Opener, Origin, Proxy
from ixbench.replay.wire.readers import make_readers
from ixbench.replay.wire.stamps import KernelStamps

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import TracebackType

    from ixbench.replay.clock import Clock
    from ixbench.replay.wire.readers import Readers

_SWEEPS_A_LIMIT = 4
_LONGEST_SWEEP_S = 1.0
_SHORTEST_SWEEP_S = 0.02
_FRAMING_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request as bytes."""

    origin: Origin
    method: bytes = b"POST"
    head: bytes
    """Request line and headers with their empty line."""
    body: bytes = b""
    limits: WireLimits = field(default_factory=WireLimits)
    whole_limit_s: float | None = None
    """From the start to the last byte of the response."""


class ReplayTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 whose responses are stamped by the kernel where the system can (Linux, TCP, with and without TLS).

    Every response carries its `Capture` in `extensions["capture"]`: stamps of all reads in ns of the clock, filled as the body is read. A
    request that died on a reused connection before any byte of the response is sent once more on a fresh one (`capture.resent`); nothing
    else is sent twice, no redirect is followed.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        ssl_context: ssl.SSLContext | None = None,
        proxy: str | None = None,
        uds: str | None = None,
        limits: WireLimits | None = None,
    ) -> None:
        """Keep the settings; nothing is opened before the first request.

        :param clock: what stamps are told in; None = the monotonic clock.
        :param ssl_context: certificates to trust; None = those of the system.
        :param proxy: URL of an HTTP proxy that all connections go through.
        :param uds: path of a Unix socket that all connections go to.
        :param limits: time limits of requests that bring none of their own.
        :raises InputError: if the proxy cannot be used.
        """
        self._clock: Clock = clock or MonotonicClock()
        self._limits = limits or WireLimits()
        self._stamps = KernelStamps(self._clock)
        self._proxy = Proxy.of(httpx.URL(proxy)) if proxy is not None else None
        self._opener = Opener(stamps=self._stamps, ssl_context=ssl_context, proxy=self._proxy, uds=uds)
        self._idle: dict[Origin, list[Connection]] = {}
        self._busy: dict[Connection, None] = {}
        self._readers: Readers | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._interval_s = _LONGEST_SWEEP_S
        self._closed = False
        self._arrived_ns = 0
        """Of exchanges that are over."""
        self.stamps_by_kernel = self._stamps.available and uds is None
        """Whether responses are stamped by the kernel; a read that was not all the same is counted in its capture."""

    async def __aenter__(self) -> Self:
        """Return the transport."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None = None, error: BaseException | None = None, traceback: TracebackType | None = None
    ) -> None:
        """Close all connections."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections, busy ones too."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for connection in [*self._busy, *(connection for idle in self._idle.values() for connection in idle)]:
            connection.close()
        self._busy.clear()
        self._idle.clear()
        if self._readers is not None:
            self._readers.close()
            self._readers = None
        self._stamps.close()

    def flow(self) -> tuple[int, int]:
        """Return how many exchanges are under way, and the stamp of the last byte of any response, comments left out; 0 where none came."""
        latest_ns = max((connection.arrived_ns for connection in self._busy), default=0)
        return len(self._busy), max(latest_ns, self._arrived_ns)

    def under_way(self) -> list[Capture]:
        """Return what the exchanges under way gave so far."""
        return [connection.capture for connection in self._busy if connection.capture is not None]

    def target(self, url: httpx.URL) -> bytes:
        """Return how the request line names a URL: a proxy wants the whole of it."""
        if self._proxy is None or url.scheme == "https":
            return url.raw_path
        return b"http://" + url.netloc + url.raw_path

    def proxy_headers(self, url: httpx.URL) -> list[tuple[bytes, bytes]]:
        """Return the headers that a request needs for the proxy."""
        if self._proxy is None or url.scheme == "https" or self._proxy.authorization is None:
            return []
        return [(b"proxy-authorization", self._proxy.authorization)]

    async def exchange(self, request: WireRequest) -> Capture:
        """Send one request and capture its whole response; failures of the wire are facts in the capture, not exceptions."""
        capture, _ = await self._perform(request, _until_end)
        return capture

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request of httpx; its body is read as it arrives.

        :raises httpx.TransportError: if the response does not begin.
        """
        body = b"".join([part async for part in request.stream])  # type: ignore[union-attr]
        watch = _Watch()
        capture, connection = await self._perform(self._prepared(request, body), watch.until_head, watch.changed.set)
        if capture.status is None:
            raise WireError(
                capture.error_class or "reset",
                capture.error_text or "the transport was closed",
                stage="exchange" if capture.conn_ns is not None else "connect",
            ).as_httpx(request)
        return httpx.Response(
            capture.status,
            headers=capture.headers,
            stream=_LiveBody(capture, connection, watch, request),
            extensions={"http_version": b"HTTP/1.1", "capture": capture},
            request=request,
        )

    def _prepared(self, request: httpx.Request, body: bytes) -> WireRequest:
        """Return a request of httpx as bytes."""
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _FRAMING_HEADERS]
        headers += self.proxy_headers(request.url)
        if body or request.method in {"POST", "PUT", "PATCH"}:
            headers.append((b"content-length", b"%d" % len(body)))
        method = request.method.encode("ascii")
        lines = [b"%b %b HTTP/1.1" % (method, self.target(request.url)), *(name + b": " + value for name, value in headers)]
        given = request.extensions.get("timeout", {})
        connect_s, read_s = given.get("connect"), given.get("read")
        return WireRequest(
            origin=Origin.of(request.url),
            method=method,
            head=b"\r\n".join([*lines, b"", b""]),
            body=body,
            limits=WireLimits(
                connect_s=self._limits.connect_s if connect_s is None else connect_s,
                first_byte_s=self._limits.first_byte_s if read_s is None else read_s,
                idle_s=self._limits.idle_s if read_s is None else read_s,
            ),
        )

    async def _perform(
        self,
        request: WireRequest,
        wait: Callable[[asyncio.Future[None], Capture], Awaitable[None]],
        listener: Callable[[], None] | None = None,
    ) -> tuple[Capture, Connection | None]:
        """Send a request, once more if its connection had died in idleness, and wait for what `wait` waits for."""
        capture = Capture(send_ns=self._clock.now_ns(), request_bytes=len(request.body))
        connection = await self._attempt(request, capture, wait, listener, fresh=False)
        if capture.died_idle:
            capture = Capture(send_ns=capture.send_ns, request_bytes=len(request.body), resent=True)
            connection = await self._attempt(request, capture, wait, listener, fresh=True)
        if not capture.close_ns:
            capture.close_ns = self._clock.now_ns()
        return capture, connection

    async def _attempt(
        self,
        request: WireRequest,
        capture: Capture,
        wait: Callable[[asyncio.Future[None], Capture], Awaitable[None]],
        listener: Callable[[], None] | None,
        *,
        fresh: bool,
    ) -> Connection | None:
        limit_s = request.whole_limit_s
        connection = None if fresh else self._take_idle(request.origin)
        if connection is not None:
            capture.reused = True
            capture.conn_ns = capture.send_ns
        else:
            try:
                connection = await self._open(request, capture)
            except WireError as error:
                capture.error_class, capture.error_text = error.error_class, str(error)
                return None
            capture.conn_ns = self._clock.now_ns()
        self._busy[connection] = None
        ended = connection.begin(capture, request.method, request.head, request.body, limits=request.limits, listener=listener)
        self._sweep_soon(request.limits)
        timer = None
        if limit_s is not None:
            left_s = self._left_s(limit_s, capture)
            loop = asyncio.get_running_loop()
            timer = loop.call_later(left_s, connection.fail, "timeout", f"no end within the request limit of {limit_s:g} s")
        try:
            await wait(ended, capture)
        except BaseException:
            connection.close()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return connection

    def _left_s(self, limit_s: float, capture: Capture) -> float:
        return max(limit_s - (self._clock.now_ns() - capture.send_ns) / NS_PER_S, 0.0)

    def _take_idle(self, origin: Origin) -> Connection | None:
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.alive():
                return connection
            connection.close()
        return None

    async def _open(self, request: WireRequest, capture: Capture) -> Connection:
        """Return a fresh connection.

        :raises WireError: if there is none in time.
        """
        if self._closed:
            raise WireError("connect", "the transport is closed", stage="connect")
        self._stamps.open()
        limit_s, whole_s = request.limits.connect_s, request.whole_limit_s
        if whole_s is None or (left_s := self._left_s(whole_s, capture)) > limit_s:
            opened = await self._opener.open(request.origin, limit_s)
        else:
            try:
                opened = await self._opener.open(request.origin, left_s)
            except WireError as error:
                if error.error_class != "timeout":
                    raise
                raise WireError("timeout", f"no end within the request limit of {whole_s:g} s", stage="connect") from None
        loop = asyncio.get_running_loop()
        if self._readers is None:
            self._readers = make_readers(loop, may_nap=self.stamps_by_kernel)
        return Connection(
            opened,
            origin=request.origin,
            clock=self._clock,
            stamps=self._stamps,
            readers=self._readers,
            loop=loop,
            when_free=self._free,
        )

    def _free(self, connection: Connection, reusable: bool) -> None:
        self._busy.pop(connection, None)
        self._arrived_ns = max(self._arrived_ns, connection.arrived_ns)
        if reusable and not self._closed:
            self._idle.setdefault(connection.origin, []).append(connection)
        elif reusable:
            connection.close()
        else:
            idle = self._idle.get(connection.origin)
            if idle and connection in idle:
                idle.remove(connection)

    def _sweep_soon(self, limits: WireLimits) -> None:
        """See to it that silent exchanges are found, however short their limits are."""
        interval_s = max(min(limits.first_byte_s, limits.idle_s) / _SWEEPS_A_LIMIT, _SHORTEST_SWEEP_S)
        if interval_s < self._interval_s:
            self._interval_s = interval_s
            if self._sweep is not None:
                self._sweep.cancel()
                self._sweep = None
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._interval_s, self._sweep_now)

    def _sweep_now(self) -> None:
        self._sweep = None
        now_ns = self._clock.now_ns()
        for connection in tuple(self._busy):
            connection.check(now_ns)
        if self._busy:
            self._sweep = asyncio.get_running_loop().call_later(self._interval_s, self._sweep_now)


async def _until_end(ended: asyncio.Future[None], capture: Capture) -> None:
    del capture
    await ended


class _Watch:
    """Lets a task follow a response as it arrives."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._ended: asyncio.Future[None] | None = None

    @property
    def ended(self) -> bool:
        return self._ended is not None and self._ended.done()

    async def until_head(self, ended: asyncio.Future[None], capture: Capture) -> None:
        """Wait until the head is there, or the exchange is over."""
        self._ended = ended
        ended.add_done_callback(lambda _: self.changed.set())
        while capture.status is None and not ended.done():
            await self.next_change()

    async def next_change(self) -> None:
        """Wait until something more has arrived."""
        if not self.ended:
            self.changed.clear()
            await self.changed.wait()


class _LiveBody(httpx.AsyncByteStream):
    """The body of a response, read as it arrives."""

    def __init__(self, capture: Capture, connection: Connection | None, watch: _Watch, request: httpx.Request) -> None:
        self._capture = capture
        self._connection = connection
        self._watch = watch
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        capture = self._capture
        position = 0
        while True:
            while position < len(capture.pieces):
                position += 1
                yield capture.pieces[position - 1]
            if self._watch.ended:
                break
            await self._watch.next_change()
        if not capture.complete:
            error = WireError(capture.error_class or "reset", capture.error_text or "the transport was closed")
            raise error.as_httpx(self._request)

    async def aclose(self) -> None:
        """Close the connection if the response has not ended; else it serves again."""
        if not self._watch.ended and self._connection is not None:
            self._connection.close()
