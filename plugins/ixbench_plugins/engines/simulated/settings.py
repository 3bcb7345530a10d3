"""What of a deployment the simulated engine follows, in the terms of its scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSettings:
    """The settings of one simulated engine."""

    max_num_seqs: int
    """Sequences that run at once; others wait."""
    max_batched_tokens: int
    """Tokens of one step: decoding first, the rest for prefill."""
    long_prefill_tokens: int | None = None
    """Tokens of one step for one prompt; None = all that are free."""
    tensor_parallel: int
    """GPUs that share each weight."""
    context_shards: int = 1
    """GPUs that share one context (decode context parallelism)."""
    kv_bytes: int = 1
    """Bytes of a value in the KV cache."""
    tokens_per_step: int = 1
    """Tokens that a decoding sequence schedules a step: its own and the drafted ones."""
    accepted_per_step: Fraction = Fraction(1)
    """Tokens that it gains a step, on average; the schedule of steps is fixed, not random."""
    prefix_caching: bool = True
    hit_granularity: int = 1
    """Hits of the prefix cache are multiples of it."""
    gpu_tokens: int
    """Tokens of context that fit on the GPUs."""
    host_tokens: int = 0
    """Tokens of context that fit in host memory; 0 = no such tier."""
    write_through: bool = True
    """Whether host memory gets a prompt when it is computed; else when it must leave the GPUs."""
    max_model_len: int | None = None
    """Longest prompt with its output; None = whatever fits on the GPUs."""

    @property
    def longest(self) -> int:
        """Tokens that a request may have in all."""
        return self.gpu_tokens if self.max_model_len is None else min(self.max_model_len, self.gpu_tokens)
