"""Where the requests of a channel go, and in whose manner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ixbench.replay.wire.limits import WireLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.host.contracts.engine import EngineAdapter

Api = Literal["chat", "completions"]
_PATHS: dict[Api, str] = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTarget:
    """One server, one model, one API."""

    url: str
    """Base URL without /v1."""
    api: Api
    model: str
    """The served name that requests carry."""
    adapter: EngineAdapter[Any]
    """Makes payloads, and knows the quirks of the streams."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Extra request headers, an API key among them; their values never reach a message."""
    ca_file: str | None = None
    uds: str | None = None
    """The Unix socket that connections go to, whatever host the URL names."""
    proxy: str | None = None
    """URL of the HTTP proxy that connections go through; it may hold a password."""
    request_limit_s: float = 3600.0
    wire_limits: WireLimits = field(default_factory=WireLimits)
    """How long the server may be silent."""
    tokenizer: str | None = None
    """Path of a tokenizer.json for synthesis; None = learn from the server."""

    @property
    def endpoint(self) -> str:
        """The URL that requests are posted to."""
        return self.url.rstrip("/") + _PATHS[self.api]
