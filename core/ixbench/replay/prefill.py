"""How long an engine may be busy with the prompts that are under way, by the first tokens that it has given so far.

Sizes are bytes of request bodies: those are known of every prompt when it is sent, whoever counts its tokens. Nothing of a prompt under way
is taken for cached, and of those that gave their first token only what the engine did not have in its cache counts: a history of which
nearly all was cached tells little of a long prompt that is not. No engine takes more than the square of a prompt's length.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from ixbench.model.record import CONTENT_KINDS
from ixbench.model.units import NS_PER_S
from ixbench.replay.interpret import Interpreter
from ixbench.replay.sse import only_comments, split_events

if TYPE_CHECKING:
    from collections.abc import Collection

    from ixbench.host.contracts.engine import StreamQuirks
    from ixbench.model.exchange import Exchange
    from ixbench.replay.wire.capture import Capture

TRUSTED = 4.0
"""Of a prompt so many times as long as what was computed before, nothing is known."""
KEPT = 16
"""First tokens that count: the newest ones, so that those of a burst or of a compilation are forgotten."""
_FEW_PIECES = 8
_FEW_BYTES = 1 << 16
"""An answer of so many has begun: a role is less, and comments do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """What the first token of a request that ended well has shown."""

    ttft_s: float
    """From the send on, so waiting for other prompts is in it."""
    computed_bytes: float
    """Of the body, without the share that was cached."""


def first_token(exchange: Exchange, request_bytes: int) -> FirstToken | None:
    """Return what an exchange has shown; None of one that failed, or whose cached share is not known. Pure."""
    tokens, cached = exchange.usage_input, exchange.usage_cached
    if exchange.failure is not None or not tokens or cached is None:
        return None
    first_ns = next((chunk.ns for chunk in exchange.chunks if chunk.kind in CONTENT_KINDS), None)
    computed_bytes = request_bytes * (tokens - cached) / tokens
    if first_ns is None or computed_bytes < 1:
        return None
    return FirstToken(ttft_s=(first_ns - exchange.send_ns) / NS_PER_S, computed_bytes=computed_bytes)


def longest_prefill_s(shown: Collection[FirstToken], sizes: Collection[int]) -> float | None:
    """Return how many seconds prompts of these sizes take at most, one after the other; None where that is not known. Pure.

    :param shown: first tokens of prompts of about the same computed size.
    :param sizes: bytes of the bodies whose prompts are to be computed.
    """
    if not sizes:
        return 0.0
    if not shown:
        return None
    slowest_s = max(one.ttft_s for one in shown)
    computed_bytes = min(one.computed_bytes for one in shown)
    shares = [size / computed_bytes for size in sizes]
    if max(shares) > TRUSTED:
        return None
    return slowest_s * sum(max(share, share * share) for share in shares)


@dataclass(slots=True)
class PrefillTimes:
    """The newest first tokens of the largest prompts: small ones show what a request costs, not what a token does."""

    _shown: deque[FirstToken] = field(default_factory=lambda: deque(maxlen=KEPT))
    _power: int = 0
    """Their computed bytes lie below 2 to this power, and not below half of that."""

    def take(self, exchange: Exchange, request_bytes: int) -> None:
        """Take note of a request that ended."""
        found = first_token(exchange, request_bytes)
        if found is None:
            return
        power = int(found.computed_bytes).bit_length()
        if power > self._power:
            self._power = power
            self._shown.clear()
        if power == self._power:
            self._shown.append(found)

    def longest_s(self, sizes: Collection[int]) -> float | None:
        """Return how many seconds prompts of these sizes take at most; None where that is not known."""
        return longest_prefill_s(self._shown, sizes)


def has_begun(capture: Capture, quirks: StreamQuirks) -> bool:
    """Whether any content of the answer has arrived, so that its prompt has been computed. Pure."""
    said = list(islice((piece for piece in capture.pieces if not only_comments(piece)), _FEW_PIECES))
    if len(said) == _FEW_PIECES or capture.size > _FEW_BYTES:
        return True
    interpreter = Interpreter(quirks)
    interpreter.feed(split_events(b"".join(said)))
    return bool(interpreter.reading().content_events)
