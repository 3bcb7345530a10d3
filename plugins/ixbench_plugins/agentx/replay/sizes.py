"""Token counts as they are sent: as recorded, or scaled down so that a small server can hold them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Scales blocks as a whole, so that prompts share what they share in the recording."""

    block_size: int
    """Tokens of a recorded block."""
    block_tokens: int
    """Tokens of a block that is sent."""
    output_cap: int | None = None

    @classmethod
    def of(cls, block_size: int, *, scale: float = 1.0, output_cap: int | None = None) -> Sizes:
        """Return the sizes whose blocks come closest to the scale."""
        return cls(block_size=block_size, block_tokens=max(1, round(block_size * scale)), output_cap=output_cap)

    def scaled(self, tokens: int) -> int:
        """Return a number of tokens in the proportion of blocks."""
        return tokens if self.block_tokens == self.block_size else round(tokens * self.block_tokens / self.block_size)

    def prompt(self, tokens: int, blocks: int) -> tuple[int, int]:
        """Return the length of a prompt and of its tail, which no block covers."""
        tail = self.scaled(tokens - blocks * self.block_size)
        if not blocks and not tail:
            tail = 1
        return blocks * self.block_tokens + tail, tail

    def output(self, tokens: int) -> int:
        """Return the limit of an answer: at least one token, and no more than the cap."""
        wanted = max(1, self.scaled(tokens))
        return wanted if self.output_cap is None else min(wanted, self.output_cap)

    def context(self, tokens: int, blocks: int, output: int) -> int:
        """Return what a server must hold for a request, whatever the cap on answers."""
        return self.prompt(tokens, blocks)[0] + max(1, self.scaled(output))
