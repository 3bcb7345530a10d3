"""How long one step of the engine takes: what it must read from memory, what it must compute, and a fixed cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ixbench.api.engine import NS_PER_S

_NEGLIGIBLE = 1e-12
"""A share of experts that is too small to count as missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """The time of a step.

    With n tokens, A pairs of a prefilled token and a token that it attends to, and C tokens of context of decoding sequences it is
    fixed + max(weights(n), compute(n)) + attention x A + context x C, where weights(n) reads everything dense, and those experts that at
    least one of the n tokens is routed to.
    """

    fixed_s: float
    """Cost of any step: launches, collectives, sampling, drafting."""
    dense_weights_s: float
    """Reading all weights that every token needs."""
    expert_weights_s: float
    """Reading all routed experts."""
    expert_share: float
    """Share of the experts that one token is routed to."""
    token_s: float
    """Computing one token."""
    attention_s: float
    """Computing the attention of one prefilled token to one other."""
    context_s: float
    """Reading one token of context for a decoding sequence."""
    host_read_s: float
    """Reading one token of context back from host memory."""

    def step_ns(self, tokens: int, *, context: float, attention: float = 0.0, host_tokens: int = 0) -> int:
        """Return the length of a step in whole nanoseconds.

        :param tokens: n, drafted tokens included.
        :param context: C, tokens.
        :param attention: A, pairs of tokens.
        :param host_tokens: tokens of context that come back from host memory before the step.
        """
        covered = _covered(self.expert_share)
        coverage = covered[tokens] if tokens < len(covered) else 1.0
        work_s = max(self.dense_weights_s + self.expert_weights_s * coverage, self.token_s * tokens)
        rest_s = self.attention_s * attention + self.context_s * context + self.host_read_s * host_tokens
        return round((self.fixed_s + work_s + rest_s) * NS_PER_S)


@lru_cache(maxsize=8)
def _covered(share: float) -> tuple[float, ...]:
    """Return, by number of tokens, the share of experts that at least one is routed to, if each picks independently.

    By multiplication, since a power function may differ in its last digit between machines, and a closed loop amplifies it.
    """
    missed = [1.0]
    while missed[-1] > _NEGLIGIBLE and share > 0:
        missed.append(missed[-1] * (1 - share))
    return tuple(1 - left for left in missed)
