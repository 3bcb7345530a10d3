"""How an exchange breaks off: a class of the closed list, and what happened in a few words; for httpx, its own exceptions."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING, Literal

import httpx

from ixbench.model.errors import IxbenchError

if TYPE_CHECKING:
    from ixbench.model.record import ErrorClass

Stage = Literal["connect", "exchange"]
CLOSED = "the server closed the connection"


class WireError(IxbenchError):
    """An exchange cannot begin or go on."""

    def __init__(self, error_class: ErrorClass, text: str, *, stage: Stage = "exchange") -> None:
        """Keep the class, and the text that a user reads.

        :param stage: whether a connection stood already.
        """
        super().__init__(text)
        self.error_class: ErrorClass = error_class
        self.stage: Stage = stage

    def as_httpx(self, request: httpx.Request) -> httpx.TransportError:
        """Return the exception that stands for this one in httpx."""
        text = str(self)
        match self.error_class, self.stage:
            case "timeout", "connect":
                return httpx.ConnectTimeout(text, request=request)
            case "timeout", _:
                return httpx.ReadTimeout(text, request=request)
            case _, "connect":
                return httpx.ConnectError(text, request=request)
            case "reset", _ if text != CLOSED:
                return httpx.ReadError(text, request=request)
            case _:
                return httpx.RemoteProtocolError(text, request=request)


def tls_text(error: ssl.SSLError) -> str:
    """Return what is wrong with the TLS of a server."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate cannot be trusted ({error.verify_message})"
    return f"no TLS could be spoken with the server ({error.reason or error})"


def broken_text(error: OSError) -> str:
    """Return how a connection broke."""
    return f"the connection broke ({reason(error)})"


def reason(error: OSError) -> str:
    """Return the system's words for an error; asyncio has its own."""
    return os.strerror(error.errno) if error.errno else str(error)
