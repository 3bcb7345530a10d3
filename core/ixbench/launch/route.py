"""How requests reach a server: straight, over a Unix socket, or through the HTTP proxy of the environment.

Control requests and measured ones must go the same way, so both ask here.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.request import getproxies

import httpx

from ixbench.campaign.address import socket_path
from ixbench.launch.errors import EngineError
from ixbench.model.result import Failure
from ixbench.model.secrets import redact_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.model.launch import LaunchPlan

_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A way to a server."""

    url: str
    """Base URL in http or https, without /v1."""
    uds: str | None = None
    """The Unix socket that connections go to."""
    proxy: str | None = None
    """URL of the proxy that connections go through; it may hold a password."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the numbers must know: a proxy is part of all latencies."""
        if self.proxy is None:
            return ()
        return (f"requests go through the proxy {redact_url(self.proxy)} of the environment, whose time is part of all latencies",)


def route_to(plan: LaunchPlan, url: str) -> Route:
    """Return the way to a server; proxies are asked for only where we did not start it.

    :param url: its base URL, as a deployment gives it or as it was started.
    :raises EngineError: if there is a proxy that cannot be used.
    """
    path = socket_path(url)
    if path is not None:
        return Route(url="http://localhost", uds=path)
    proxy = environment_proxy(url, getproxies()) if plan.url is not None else None
    if proxy is not None and not _usable(proxy):
        raise EngineError(
            Failure(
                code="bad_proxy",
                cause=f"The environment names the proxy {redact_url(proxy)} for {redact_url(url)}, and only http://HOST:PORT can be used.",
                fix="Set HTTP_PROXY or HTTPS_PROXY to such a proxy, or put the server's host into NO_PROXY.",
            )
        )
    return Route(url=url, proxy=proxy)


def environment_proxy(url: str, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy for a URL, or None, as httpx chooses: its scheme's, else that for all, unless NO_PROXY names the host. Pure.

    Beyond httpx, NO_PROXY may hold networks (10.0.0.0/8) and `*.example.com`.

    :param proxies: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY by the keys http, https, all and no.
    """
    target = httpx.URL(url)
    entries = [entry.strip().lower() for entry in proxies.get("no", "").split(",")]
    if "*" in entries or any(entry and _names(entry, target) for entry in entries):
        return None
    found = proxies.get(target.scheme) or proxies.get("all")
    return found if not found or "://" in found else f"http://{found}"


def _names(entry: str, target: httpx.URL) -> bool:
    """Say whether an entry of NO_PROXY names the host of a URL: itself, its network, its domain, or as a URL of its own."""
    host = target.host
    if "://" in entry:
        try:
            own = httpx.URL(entry)
        except httpx.InvalidURL:
            return False
        same = own.scheme in {"all", target.scheme} and own.host in {"", host}
        return same and own.port in {None, target.port}
    try:
        address = ip_address(host)
    except ValueError:
        entry = entry.removeprefix("*")
        return host.endswith(entry) if entry.startswith(".") else host == entry or (entry != "localhost" and host.endswith(f".{entry}"))
    try:
        return address in ip_network(entry, strict=False)
    except ValueError:
        return False


def _usable(proxy: str) -> bool:
    try:
        url = httpx.URL(proxy)
    except httpx.InvalidURL:
        return False
    return url.scheme == "http" and bool(url.host) and (url.port or 0) <= _LARGEST_PORT
