"""Opens connections: addresses, TCP or a Unix socket, a tunnel through a proxy, TLS. Not hot, so it reads like the steps it takes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import httpx

from ixbench.model.errors import Fault, InputError
from ixbench.model.secrets import redact_url
from ixbench.replay.wire.errors import WireError, reason, tls_text
from ixbench.replay.wire.framing import HeadReader
from ixbench.replay.wire.tls import TlsLayer

if TYPE_CHECKING:
    from ixbench.replay.wire.stamps import KernelStamps

_PORTS = {"http": 80, "https": 443}
_READ_BYTES = 65536
_Address = tuple[int, object]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a connection leads, whatever lies between."""

    tls: bool
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx.URL) -> Origin:
        """Return the origin of a URL with http or https and a host."""
        return cls(url.scheme == "https", url.host, url.port or _PORTS[url.scheme])

    @property
    def authority(self) -> str:
        """Host and port as a CONNECT request names them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy."""

    host: str
    port: int
    authorization: bytes | None = None

    @classmethod
    def of(cls, url: httpx.URL) -> Proxy:
        """Return the proxy at a URL.

        :raises InputError: if it is none that can be used.
        """
        if url.scheme != "http" or not url.host:
            problem = f"{redact_url(str(url))!r} cannot be used as a proxy"
            raise InputError(Fault(where="proxy", problem=problem, allowed="http://HOST:PORT"))
        pair = f"{url.username}:{url.password}".encode()
        return cls(host=url.host, port=url.port or _PORTS["http"], authorization=b"Basic " + b64encode(pair) if url.userinfo else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A connection that stands."""

    sock: socket.socket
    tls: TlsLayer | None


class Opener:
    """Opens connections, all in the same way."""

    def __init__(self, *, stamps: KernelStamps, ssl_context: ssl.SSLContext | None, proxy: Proxy | None, uds: str | None) -> None:
        """Keep the way.

        :param ssl_context: None = that of httpx.
        :param uds: path of a Unix socket that all connections go to.
        """
        self._stamps = stamps
        self._ssl = ssl_context
        self._proxy = proxy
        self._uds = uds
        self._addresses: dict[tuple[str, int], list[_Address]] = {}

    async def open(self, origin: Origin, limit_s: float) -> Opened:
        """Return a new connection.

        :raises WireError: if there is none within the limit.
        """
        try:
            with anyio.fail_after(limit_s):
                return await self._open(origin, anyio.current_time() + limit_s)
        except TimeoutError:
            raise WireError("timeout", f"no connection within {limit_s:g} s", stage="connect") from None

    async def _open(self, origin: Origin, deadline: float) -> Opened:
        if self._uds is not None:
            sock = await self._connect(socket.AF_UNIX, self._uds)
        elif self._proxy is not None:
            sock = await self._reach(self._proxy.host, self._proxy.port, deadline)
        else:
            sock = await self._reach(origin.host, origin.port, deadline)
        try:
            if self._proxy is not None and origin.tls:
                await self._tunnel(sock, origin, self._proxy)
            tls = await self._secure(sock, origin) if origin.tls else None
            return Opened(sock=sock, tls=tls)
        except BaseException:
            sock.close()
            raise

    async def _reach(self, host: str, port: int, deadline: float) -> socket.socket:
        """Return a socket that is connected to the first address that takes it; a silent one may use its share of the time only."""
        addresses = await self._resolve(host, port)
        error: WireError | None = None
        for position, (family, address) in enumerate(addresses):
            share_s = (deadline - anyio.current_time()) / (len(addresses) - position)
            try:
                with anyio.move_on_after(share_s):
                    return await self._connect(family, address)
            except WireError as refused:
                error = refused
        self._addresses.pop((host, port), None)
        if error is None:
            raise TimeoutError
        raise error

    async def _resolve(self, host: str, port: int) -> list[_Address]:
        known = self._addresses.get((host, port))
        if known is not None:
            return known
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise WireError("dns", f"the host {host} has no address ({error.strerror})", stage="connect") from None
        except UnicodeError:
            raise WireError("dns", f"{host!r} is not the name of a host", stage="connect") from None
        known = self._addresses[host, port] = [(family, address) for family, _, _, _, address in found]
        return known

    async def _connect(self, family: int, address: object) -> socket.socket:
        sock: socket.socket | None = None
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setblocking(False)
            if family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # Before the first packet, so that it is stamped too.
                self._stamps.enable(sock)
            await asyncio.get_running_loop().sock_connect(sock, address)  # type: ignore[arg-type]
        except OSError as error:
            if sock is not None:
                sock.close()
            raise WireError("connect", f"no connection ({reason(error)})", stage="connect") from None
        except BaseException:
            if sock is not None:
                sock.close()
            raise
        return sock

    async def _tunnel(self, sock: socket.socket, origin: Origin, proxy: Proxy) -> None:
        """Ask a proxy for a tunnel to the origin."""
        loop = asyncio.get_running_loop()
        name = origin.authority.encode("idna" if not origin.authority.isascii() else "ascii")
        lines = [b"CONNECT %b HTTP/1.1" % name, b"host: " + name]
        if proxy.authorization is not None:
            lines.append(b"proxy-authorization: " + proxy.authorization)
        reader = HeadReader(b"CONNECT")
        found = None
        try:
            await loop.sock_sendall(sock, b"\r\n".join([*lines, b"", b""]))
            while found is None:
                data = await loop.sock_recv(sock, _READ_BYTES)
                if not data:
                    raise WireError("connect", "the proxy closed the connection", stage="connect")
                found = reader.feed(data)
        except OSError as error:
            raise WireError("connect", f"the proxy broke the connection ({reason(error)})", stage="connect") from None
        if not 200 <= found[0].status < 300:  # noqa: PLR2004 - the statuses of success
            raise WireError("connect", f"the proxy opens no tunnel: status {found[0].status}", stage="connect")

    async def _secure(self, sock: socket.socket, origin: Origin) -> TlsLayer:
        """Speak TLS with the server."""
        if self._ssl is None:
            self._ssl = httpx.create_ssl_context()
        loop = asyncio.get_running_loop()
        tls = TlsLayer(self._ssl, origin.host)
        try:
            while True:
                done = tls.handshake()
                sending = tls.to_send()
                if sending:
                    await loop.sock_sendall(sock, sending)
                if done:
                    return tls
                tls.received(await loop.sock_recv(sock, _READ_BYTES))
        except ssl.SSLError as error:
            raise WireError("tls", tls_text(error), stage="connect") from None
        except OSError as error:
            raise WireError("tls", f"the connection broke during the TLS handshake ({reason(error)})", stage="connect") from None
