"""The wire: HTTP/1.1 exchanges stamped as their bytes arrive, captured raw, with no task woken before the response has ended."""

from __future__ import annotations

from ixbench.replay.wire.capture import Capture
from ixbench.replay.wire.limits import WireLimits
from ixbench.replay.wire.post import Wire
from ixbench.replay.wire.transport import ReplayTransport

__all__ = ["Capture", "ReplayTransport", "Wire", "WireLimits"]
