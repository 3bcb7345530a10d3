"""How long an exchange may stay silent, and how large its parts may be. Each limit that is hit has a name in the error."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST_HEAD_BYTES = 64 * 1024
LARGEST_BODY_BYTES = 256 * 1024 * 1024
"""No answer is longer; reading on would only fill the memory."""
MOST_READS = 2 << 20
"""Reads of one body: the smallest take many times their size in memory."""
LARGEST_CHUNK_LINE_BYTES = 4096
"""The line before a chunk: its size, and extensions that nobody uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireLimits:
    """Time limits of one exchange, seconds. A prompt of a million tokens may wait in a queue and then compute for many minutes."""

    connect_s: float = 10.0
    """For addresses, connection, proxy and TLS together."""
    first_byte_s: float = 1800.0
    """From the last byte of the request, or the last that the server took, to the first byte of the response."""
    idle_s: float = 600.0
    """Between two reads of a response."""
