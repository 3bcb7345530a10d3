"""What a corpus is drawn from: every law and every number of a profile, each with its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ixbench_plugins.agentx.corpus.laws import CorpusNumber, Law


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsPerTurn:
    """Subagents are launched in groups, after any root turn with the same chance."""

    share: CorpusNumber
    """Of root turns that launch a group."""
    group: Law
    """Subagents of a group; they start together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsPerTrace:
    """Few traces have subagents, and these have several, each launched after any of the root turns."""

    share: CorpusNumber
    """Of traces that have any."""
    count: Law
    """Subagents of such a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusProfile:
    """A corpus as laws. Counts are rounded to whole numbers, times to milliseconds."""

    name: str
    summary: str

    root_turns: Law
    """Requests of a trace outside its subagents."""
    most_requests: CorpusNumber
    """Of a trace, with those of its subagents; subagents beyond are left out."""

    fresh_share: CorpusNumber
    """Of traces that record a session from its beginning; the others resume one with a history."""
    fresh_slope: CorpusNumber
    """What that share gains from the shortest trace to the longest; the mean stays."""
    fresh_input: Law
    """Tokens of the first request of a fresh session."""
    resumed_input: Law
    """Tokens of the first request of a resumed one."""
    tool_tokens: Law | None
    """Declared size of the tool definitions; None: traces declare none."""
    system_tokens: Law | None
    """Declared size of the system prompt."""
    prefix_tokens: CorpusNumber | None
    """What a compaction or a reset leaves of the context; None: the declared tools and system prompt."""

    output: Law
    """Tokens of an answer."""
    new_content: Law
    """Tokens that a turn adds beyond the answer before it, where it adds any."""
    shrinking_share: CorpusNumber
    """Of turns that add less than the answer before them."""
    shrinkage: Law
    """How many tokens less; the input still grows by one."""
    most_input: CorpusNumber
    """No input is larger."""

    large_window_share: CorpusNumber
    """Of traces with the large window."""
    large_window_where_needed: bool
    """Whether a trace that begins beyond the small window has the large one in any case; else its first input is cut to its window."""
    small_window: Law
    """Input beyond which a context is compacted."""
    large_window: Law
    compacted: Law
    """Tokens after a compaction, beyond the prefix."""
    edit_share: CorpusNumber
    """Of root turns that lose a few blocks at the end of the request before."""
    edit_blocks: Law
    """How many they lose."""
    reset_share: CorpusNumber
    """Of root turns that keep only the prefix while the input grows as usual."""

    agents: AgentsPerTurn | AgentsPerTrace
    agent_requests: Law
    """Requests of a subagent."""
    agent_input: Law
    """Tokens of its first request; drawn once for a trace where its subagents share a prefix."""
    agent_task: Law | None
    """Tokens of that first request that belong to the subagent alone; the rest is shared. None: nothing is shared."""
    agent_growth: Law
    """Tokens that a turn of a subagent adds."""
    agent_growth_beyond_output: bool
    """Whether that is beyond the answer before it, or in all."""
    agent_gate_share: CorpusNumber
    """Of subagents that the next root turn waits for; the others run in the background."""

    gap_after_tool: Law
    """Seconds from the end of a root request that called a tool to the next start."""
    gap_after_user: Law
    """The same after a request that ended the agent's turn."""
    agent_gap: Law
    """The same within a subagent."""
    longest_gap_s: CorpusNumber
    """Longer gaps are cut off here, before the factor."""
    gap_factor: CorpusNumber
    """All gaps are multiplied by this."""
    requests_per_user_turn: Law
    """Root requests until the agent's turn ends."""
    api_base_s: CorpusNumber
    """Recorded time of a request with an empty answer."""
    api_spread: CorpusNumber
    """Standard deviation of that base's logarithm; its mean stays."""
    api_s_per_token: CorpusNumber
    """What each token of the answer adds."""
    streamed_share: CorpusNumber
    """Of traces recorded as streams."""
    unrecorded_share: CorpusNumber
    """Of requests in those that lack stop reason, time and time to first token."""
    first_token: Law
    """Seconds to the first token, recorded where a stream's request has its time."""
