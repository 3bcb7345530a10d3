"""The prefix cache: which leading tokens of a prompt are still there, on the GPUs or in host memory.

It keeps, for each stream of requests, how many leading tokens of its last prompt are left, and drops the tail of the stream that was
used least recently. That costs the same for prompts of any length, where a block table would cost a thousand times more.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Prefixes = tuple[tuple["Hashable", int], ...]
"""(stream, leading tokens that equal those of the stream's last prompt)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What of a prompt need not be computed."""

    tokens: int
    host_tokens: int
    """Those among them that only host memory holds."""


NO_HIT = Hit(tokens=0, host_tokens=0)


class PrefixLru:
    """Leading tokens by stream, up to a limit."""

    def __init__(self, *, evicted: Callable[[Hashable, int], None] | None = None) -> None:
        """Begin empty.

        :param evicted: told of a stream and the tokens that it held, when it is about to lose some.
        """
        self._held: OrderedDict[Hashable, int] = OrderedDict()
        self._evicted = evicted
        self.total = 0

    def held(self, stream: Hashable) -> int:
        """Return the leading tokens of a stream that are here."""
        return self._held.get(stream, 0)

    def pop(self, stream: Hashable) -> int:
        """Take a stream out and return the tokens that it held."""
        tokens = self._held.pop(stream, 0)
        self.total -= tokens
        return tokens

    def touch(self, stream: Hashable) -> None:
        """Make a stream the one that was used last."""
        if stream in self._held:
            self._held.move_to_end(stream)

    def put(self, stream: Hashable, tokens: int) -> None:
        """Hold the leading tokens of a stream, which counts as used now."""
        self.pop(stream)
        if tokens > 0:
            self._held[stream] = tokens
            self.total += tokens

    def shrink(self, limit: int) -> None:
        """Drop what is over the limit, from the tails of the streams used least recently."""
        while self.total > limit and self._held:
            stream, tokens = next(iter(self._held.items()))
            if self._evicted is not None:
                self._evicted(stream, tokens)
            over = self.total - limit
            if tokens > over:
                self._held[stream] = tokens - over
                self.total -= over
            else:
                self.pop(stream)


class PrefixCache:
    """The prefix cache of one engine: room on the GPUs, which running requests take first, and a tier in host memory."""

    def __init__(self, *, gpu_tokens: int, host_tokens: int, granularity: int, write_through: bool, enabled: bool) -> None:
        """Begin empty.

        :param gpu_tokens: tokens of context that fit on the GPUs.
        :param host_tokens: the same in host memory; 0 = no such tier.
        :param granularity: hits are multiples of it.
        :param write_through: whether a prompt is copied to host memory when it is computed; else when it must leave the GPUs.
        :param enabled: False = nothing is ever reused.
        """
        self._gpu_tokens = gpu_tokens
        self._host_tokens = host_tokens
        self._granularity = granularity
        self._write_through = write_through
        self._enabled = enabled
        self._host = PrefixLru()
        self._gpu = PrefixLru(evicted=None if write_through else self._to_host)
        self._running: dict[Hashable, int] = {}
        self._pinned = 0

    def admit(self, stream: Hashable, prefixes: Prefixes, prompt_tokens: int, reserved_tokens: int) -> Hit | None:
        """Give a request its room on the GPUs and return what it finds there; None while others leave no room.

        :param prefixes: what its prompt shares with the last prompts of streams.
        :param reserved_tokens: room for prompt and output; only requests that fit on empty GPUs may be given.
        """
        if self._pinned + reserved_tokens > self._gpu_tokens:
            return None
        hit = self._find(prefixes, prompt_tokens) if self._enabled else NO_HIT
        self._pinned += reserved_tokens
        self._running[stream] = max(self._running.get(stream, 0), hit.tokens)
        self._gpu.pop(stream)
        self._gpu.shrink(self._gpu_tokens - self._pinned)
        return hit

    def computed(self, stream: Hashable, tokens: int) -> None:
        """Take note that the leading tokens of a running request are computed, and can be shared."""
        self._running[stream] = tokens
        if self._write_through:
            self._to_host(stream, tokens)

    def release(self, stream: Hashable, tokens: int, reserved_tokens: int) -> None:
        """Take the room of a request back; the leading tokens that it computed stay while there is room."""
        self._pinned -= reserved_tokens
        self._running.pop(stream, None)
        if self._enabled:
            self._gpu.put(stream, tokens)
            self._gpu.shrink(self._gpu_tokens - self._pinned)

    def _find(self, prefixes: Prefixes, prompt_tokens: int) -> Hit:
        gpu = host = 0
        for stream, tokens in prefixes:
            gpu = max(gpu, min(tokens, max(self._gpu.held(stream), self._running.get(stream, 0))))
            host = max(host, min(tokens, self._host.held(stream)))
            self._gpu.touch(stream)
        # The last token of a prompt is always computed: its output is the first token.
        usable = min(max(gpu, host), prompt_tokens - 1) // self._granularity * self._granularity
        return Hit(tokens=usable, host_tokens=max(0, usable - gpu // self._granularity * self._granularity))

    def _to_host(self, stream: Hashable, tokens: int) -> None:
        if self._host_tokens > 0 and self._enabled:
            self._host.put(stream, tokens)
            self._host.shrink(self._host_tokens)
