"""How long recorded requests took, and the gaps between them, in whole milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.corpus.laws import normal_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ixbench_plugins.agentx.corpus.compact import Ints
    from ixbench_plugins.agentx.corpus.draws import NamedDraws
    from ixbench_plugins.agentx.corpus.laws import Floats
    from ixbench_plugins.agentx.corpus.profile import CorpusProfile

MS_PER_S = 1000
_TTFT_DIGITS = 2
_LATEST_FIRST_TOKEN = 0.9
"""Share of a request's time by which its first token has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What was recorded of each request's time."""

    recorded: NDArray[np.bool_]
    busy_ms: Ints
    """How long each took; 0 where that was not recorded: such a request counts as an instant."""
    ttft_s: Floats
    """NaN where it was not recorded."""

    @property
    def api_time_s(self) -> Floats:
        """How long each took; NaN where that was not recorded."""
        return np.where(self.recorded, self.busy_ms / MS_PER_S, np.nan)


def draw_timing(profile: CorpusProfile, draws: NamedDraws, output_tokens: Ints, *, streamed: bool, always: Ints) -> Timing:
    """Return the times of requests with these answers.

    :param always: places of requests whose time is recorded in any case.
    """
    count = len(output_tokens)
    spread = profile.api_spread.value
    stretch = np.exp(spread * normal_at(draws.shares(count)) - spread * spread / 2) if spread else 1.0
    took_s = profile.api_base_s.value * stretch + profile.api_s_per_token.value * output_tokens
    recorded = np.ones(count, dtype=np.bool_)
    ttft_s = np.full(count, np.nan)
    if streamed:
        recorded = ~draws.chances(profile.unrecorded_share, count)
        recorded[always] = True
        first_s = np.minimum(profile.first_token.at(draws.shares(count)), _LATEST_FIRST_TOKEN * took_s)
        ttft_s = np.where(recorded, np.round(first_s, _TTFT_DIGITS), np.nan)
    return Timing(recorded=recorded, busy_ms=np.where(recorded, np.rint(took_s * MS_PER_S), 0).astype(np.int64), ttft_s=ttft_s)


def gaps_ms(profile: CorpusProfile, gaps_s: Floats) -> Ints:
    """Return gaps from a request's end to the next start, cut off and multiplied as the profile says."""
    return np.rint(np.minimum(gaps_s, profile.longest_gap_s.value) * profile.gap_factor.value * MS_PER_S).astype(np.int64)
