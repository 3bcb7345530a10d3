"""The keys of `[collectors.amd]`."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator

from ixbench.api.engine import OptionsModel

_FORM = "http://HOST:5000/metrics"
_PATH = "/metrics"


def _check_exporter(text: str) -> str:
    """Return the page's URL, the usual path filled in; raises `ValueError` where it is none."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"it is no URL: {error}; allowed: {_FORM}") from error
    if parts.scheme not in ("http", "https") or not host or re.search(r"\s", text) or parts.fragment:
        raise ValueError(f"it is no URL of a metrics page; allowed: {_FORM}")
    if "@" in parts.netloc:
        raise ValueError(f"it has a user in it, and the page is read without a login; allowed: {_FORM}")
    return urlunsplit(parts._replace(path=_PATH)) if parts.path in ("", "/") else text


class AmdOptions(OptionsModel):
    """Where the readings come from."""

    exporter: Annotated[str, AfterValidator(_check_exporter)] | None = None
    """Page of AMD's Device Metrics Exporter, to be read in place of amd-smi, for instance "http://127.0.0.1:5000/metrics".

    It may be on another machine, where the GPUs are; it is read directly, without a proxy.
    """
