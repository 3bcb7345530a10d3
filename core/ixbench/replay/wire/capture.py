"""One HTTP exchange, captured raw: facts of its head, then (stamp, bytes) of every read. Parsing comes after its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from ixbench.model.record import ErrorClass


@dataclass(slots=True, kw_only=True)
class Capture:
    """What one exchange gave, filled as it goes on, so that nothing is lost when it breaks off."""

    send_ns: int
    request_bytes: int = 0
    """Of the request's body."""
    conn_ns: int | None = None
    sent_ns: int | None = None
    """When the last byte of the request had been handed to the system."""
    headers_ns: int | None = None
    reused: bool = False
    status: int | None = None
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    stamps: list[int] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    """Bytes of the body that each read brought, HTTP framing taken off; as long as `stamps`."""
    size: int = 0
    """Bytes of the body so far, framing included."""
    close_ns: int = 0
    answered: bool = False
    """Whether any byte came back."""
    complete: bool = False
    """Whether the body ended in good order."""
    stamped_on_read: int = 0
    """Reads that the kernel did not stamp; their stamps tell when this process came to read."""
    error_class: ErrorClass | None = None
    error_text: str | None = None
    resent: bool = False

    @property
    def body(self) -> bytes:
        """All bytes of the body, HTTP framing taken off."""
        return b"".join(self.pieces)

    @property
    def died_idle(self) -> bool:
        """Whether a reused connection turned out to be dead: it broke before any byte of the response."""
        return self.reused and not self.answered and self.error_class == "reset"
