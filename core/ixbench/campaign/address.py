"""URLs of running servers: what is accepted, the base form that the wire uses, and where a Unix socket lies."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit, urlunsplit

from ixbench.campaign.validate import ValueProblemError
from ixbench.model.secrets import redact_url

_FORM = "http:// or https:// with a host, such as http://127.0.0.1:8000"
_SOCKET = "http+unix"
_SOCKET_FORM = "http+unix:// and the absolute path of a Unix socket, such as http+unix:///run/engine.sock"
_LONGEST_SOCKET_BYTES = 107
"""Of Linux, and more than others allow."""
_ENDPOINTS = ("/chat/completions", "/completions", "/v1/models")
"""What is copied together with a base URL; the longer ones first."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def check_url(url: str) -> None:
    """Raise `ValueProblemError` if the text is no base URL of a server."""
    shown = redact_url(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueProblemError(f"{shown!r} is no URL: {error}", allowed=_FORM) from error
    if parts.scheme == _SOCKET:
        _check_socket(url, shown)
        return
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url) or port == 0:
        raise ValueProblemError(f"{shown!r} is no URL of a server", allowed=_FORM)
    if parts.query or parts.fragment:
        raise ValueProblemError(
            f"{shown!r} has a query or a fragment", allowed="a base URL", advice="name the variable of a key in api_key_env"
        )
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        if path.endswith(endpoint):
            base = base_url(urlunsplit((parts.scheme, parts.netloc, path.removesuffix(endpoint), "", "")))
            raise ValueProblemError(f"{shown!r} is one endpoint of a server", allowed=f"its base URL, {redact_url(base)}")


def _check_socket(url: str, shown: str) -> None:
    parts, path = urlsplit(url), socket_path(url) or ""
    if parts.netloc or parts.query or parts.fragment or not path.startswith("/") or path.endswith("/") or "\0" in path:
        raise ValueProblemError(f"{shown!r} is no URL of a Unix socket", allowed=_SOCKET_FORM)
    if (length := len(path.encode())) > _LONGEST_SOCKET_BYTES:
        raise ValueProblemError(
            f"{shown!r} has a path of {length} bytes, too long for a Unix socket", allowed=f"up to {_LONGEST_SOCKET_BYTES} bytes"
        )


def socket_path(url: str) -> str | None:
    """Return the path of the Unix socket that a URL names, or None if it names a host."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == _SOCKET else None


def is_local(url: str) -> bool:
    """Say whether a server surely runs on this machine."""
    return socket_path(url) is not None or (urlsplit(url).hostname or "") in _LOOPBACK


def base_url(url: str) -> str:
    """Return the URL without a slash or `/v1` at its end: paths such as `/v1/models` are put after it."""
    parts = urlsplit(url)
    if parts.scheme == _SOCKET:
        return url
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
