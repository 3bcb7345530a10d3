"""Draws the root of a trace: how its context grows, is edited, reset and compacted, and what lies between its requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ixbench_plugins.agentx.corpus.compact import BLOCK_SIZE, END_TURN, TOOL_USE
from ixbench_plugins.agentx.corpus.timing import gaps_ms

if TYPE_CHECKING:
    from ixbench_plugins.agentx.corpus.compact import Ints
    from ixbench_plugins.agentx.corpus.draws import NamedDraws
    from ixbench_plugins.agentx.corpus.laws import Floats
    from ixbench_plugins.agentx.corpus.profile import CorpusProfile

LONGEST_GAP_BEFORE_RESET_S = 3600.0
"""A context that comes back changed after longer is read as another agent's, and a generated root is one agent's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The root's requests before they have their place in time."""

    input_tokens: Ints
    output_tokens: Ints
    kept_blocks: Ints
    stops: Ints
    gaps_ms: Ints
    """From the end of each request to the next start; the last one leads nowhere."""
    tool_tokens: int
    system_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Where a root begins."""

    input_tokens: int
    tool_tokens: int = 0
    system_tokens: int = 0
    prefix_blocks: int
    """What compactions and resets leave."""


def draw_root(profile: CorpusProfile, draws: NamedDraws) -> Root:
    """Return a root."""
    length = draws.shares(1)
    count = int(np.rint(profile.root_turns.at(length))[0])
    start = _draw_start(profile, draws, float(length[0]))
    output_tokens = draws.whole(profile.output, count)
    growth = output_tokens + draws.whole(profile.new_content, count)
    shrunk = draws.chances(profile.shrinking_share, count)
    growth = np.maximum(np.where(shrunk, output_tokens - draws.whole(profile.shrinkage, count), growth), 1)
    input_tokens, kept_blocks = _contexts(profile, draws, start, growth)
    stops = np.full(count, TOOL_USE)
    stops[_ends(draws.whole(profile.requests_per_user_turn, count))] = END_TURN
    shares = draws.shares(count)
    gaps_s = np.where(stops == END_TURN, profile.gap_after_user.at(shares), profile.gap_after_tool.at(shares))
    return Root(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        kept_blocks=kept_blocks,
        stops=stops,
        gaps_ms=gaps_ms(profile, _before_resets(gaps_s, input_tokens, kept_blocks)),
        tool_tokens=start.tool_tokens,
        system_tokens=start.system_tokens,
    )


def _draw_start(profile: CorpusProfile, draws: NamedDraws, length: float) -> _Start:
    """Return the first input with its declared prefix; a fresh session holds little else, so the two are drawn together.

    :param length: share of traces that have fewer turns.
    """
    fresh = bool(draws.shares(1)[0] < profile.fresh_share.value + profile.fresh_slope.value * (length - 0.5))
    share, prefix_share = draws.shares(1), draws.shares(1)
    first = int((profile.fresh_input if fresh else profile.resumed_input).at(share)[0])
    if fresh:
        prefix_share = share
    tools = 0 if profile.tool_tokens is None else int(profile.tool_tokens.at(prefix_share)[0])
    system = 0 if profile.system_tokens is None else int(profile.system_tokens.at(prefix_share)[0])
    covered = first // BLOCK_SIZE * BLOCK_SIZE
    tools = min(tools, covered)
    system = min(system, covered - tools)
    prefix = tools + system if profile.prefix_tokens is None else int(profile.prefix_tokens.value)
    return _Start(
        input_tokens=first,
        tool_tokens=tools,
        system_tokens=system,
        prefix_blocks=max(1, min(-(-prefix // BLOCK_SIZE), first // BLOCK_SIZE)),
    )


def _contexts(profile: CorpusProfile, draws: NamedDraws, start: _Start, growth: Ints) -> tuple[Ints, Ints]:
    """Return each request's input and the blocks that it keeps of the one before.

    :param growth: tokens that come on top of each input for the next one.
    """
    count = len(growth)
    large = draws.chance(profile.large_window_share)
    shares = draws.shares(count)
    small, wide = profile.small_window.at(shares), profile.large_window.at(shares)
    needed = profile.large_window_where_needed and start.input_tokens > small[0]
    windows = (wide if large or needed else small).tolist()
    compacted = draws.whole(profile.compacted, count).tolist()
    edits = draws.whole(profile.edit_blocks, count).tolist()
    events = draws.shares(count).tolist()
    reset, edited = profile.reset_share.value, profile.reset_share.value + profile.edit_share.value
    prefix, compactions = start.prefix_blocks, 0
    tokens = int(min(start.input_tokens, windows[0]))
    inputs, kept = [tokens], [0]
    for grown, event, edit in zip(growth.tolist(), events[1:], edits[1:], strict=False):
        blocks = tokens // BLOCK_SIZE
        tokens += grown
        if tokens > windows[compactions]:
            tokens = prefix * BLOCK_SIZE + compacted[compactions]
            compactions += 1
            blocks = prefix
        elif event < reset:
            blocks = prefix
        elif event < edited:
            blocks = max(blocks - edit, 1)
        inputs.append(tokens)
        kept.append(blocks)
    return np.array(inputs), np.array(kept)


def _ends(runs: Ints) -> Ints:
    """Return the places of the last request of each user turn."""
    ends = np.cumsum(runs) - 1
    return ends[ends < len(runs)]


def _before_resets(gaps_s: Floats, input_tokens: Ints, kept_blocks: Ints) -> Floats:
    """Return the gaps with those cut off after which less than half of the context is kept."""
    limit_s = np.full(len(gaps_s), np.inf)
    limit_s[:-1][2 * kept_blocks[1:] < input_tokens[:-1] // BLOCK_SIZE] = LONGEST_GAP_BEFORE_RESET_S
    return np.asarray(np.minimum(gaps_s, limit_s))
