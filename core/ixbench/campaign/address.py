"""URLs of running servers: what is accepted, and the base form that the wire uses."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from ixbench.campaign.validate import ValueProblemError
from ixbench.model.secrets import redact_url

_FORM = "http:// or https:// with a host, such as http://127.0.0.1:8000"


def check_url(url: str) -> None:
    """Raise `ValueProblemError` if the text is no base URL of a server."""
    shown = redact_url(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueProblemError(f"{shown!r} is no URL: {error}", allowed=_FORM) from error
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url) or port == 0:
        raise ValueProblemError(f"{shown!r} is no URL of a server", allowed=_FORM)
    if parts.query or parts.fragment:
        raise ValueProblemError(
            f"{shown!r} has a query or a fragment", allowed="a base URL", advice="name the variable of a key in api_key_env"
        )


def base_url(url: str) -> str:
    """Return the URL without a slash or `/v1` at its end: paths such as `/v1/models` are put after it."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
