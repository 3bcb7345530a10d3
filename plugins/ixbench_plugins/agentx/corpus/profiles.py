"""The two profiles as data: `open` fitted to recorded sessions that anyone can read, `agentx` to what is known of the AgentX corpus."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.corpus.laws import (
    CorpusNumber,
    Gamma,
    LogLogistic,
    LogNormal,
    OneAndGeometric,
    OneAndPoisson,
    QuantileTable,
    Weibull,
)
from ixbench_plugins.agentx.corpus.profile import AgentsPerTrace, AgentsPerTurn, CorpusProfile

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUANTILES = "quantiles of 710 recorded sessions"
_FIT = "fit to 710 recorded sessions"
_COUNT = "counted in 710 recorded sessions"
_PUBLIC = "public figures of the corpus"
_WINDOW = "chosen, so that input share, hit share and mean lengths inside a measured hour come out as published"

_OUTPUT = QuantileTable(least=1, quantiles=(89, 137, 216, 426, 898, 1_554, 3_686), most=18_195, observations=49_334, source=_QUANTILES)
_TOOL_GAP = QuantileTable(
    least=1, quantiles=(3.4, 5.3, 8.7, 19.7, 73.6, 156.0, 632.8), most=27_009.9, observations=32_543, source=_QUANTILES
)
_USER_GAP = QuantileTable(
    least=1, quantiles=(3.4, 50.6, 179.7, 679.8, 1_987.0, 2_995.1, 9_086.3), most=31_792.6, observations=1_851, source=_QUANTILES
)
_ROOT_GAP = QuantileTable(
    least=1, quantiles=(3.4, 5.7, 10.0, 24.2, 118.2, 278.1, 1_709.4), most=31_792.6, observations=38_228, source=_QUANTILES
)
_AGENT_GAP = QuantileTable(least=1, quantiles=(1.9, 3.0, 3.9, 6.4, 29.0, 45.1, 74.6), most=133, observations=613, source=_QUANTILES)
_FRESH_INPUT = QuantileTable(
    least=8_000, quantiles=(11_783, 16_846, 19_090, 21_216, 27_289, 37_820, 45_386), most=49_848, observations=411, source=_QUANTILES
)
_RESUMED_INPUT = QuantileTable(
    least=50_000, quantiles=(61_963, 86_605, 120_651, 252_861, 415_683, 526_968, 799_478), most=851_858, observations=299, source=_QUANTILES
)
_TOOL_TOKENS = QuantileTable(
    least=7_000, quantiles=(8_336, 10_659, 12_262, 12_589, 12_974, 13_136, 15_159), most=17_261, observations=710, source=_QUANTILES
)
_SYSTEM_TOKENS = QuantileTable(
    least=700, quantiles=(1_573, 2_324, 2_772, 3_003, 3_704, 4_313, 5_964), most=7_462, observations=710, source=_QUANTILES
)
_USER_TURN = QuantileTable(least=1, quantiles=(1, 2, 5, 15, 38, 57, 90), most=164, observations=1_851, source=_QUANTILES)

OPEN = CorpusProfile(
    name="open",
    summary="the recorded sessions of kv-cache-tester (commit 94f6046, Apache-2.0), 710 of its 739 files",
    root_turns=Weibull(scale=69, shape=0.99, low=3, high=561, source=_FIT),
    most_requests=CorpusNumber(value=561, source="largest of 710 recorded sessions"),
    fresh_share=CorpusNumber(value=0.579, source=_COUNT),
    fresh_slope=CorpusNumber(value=0.5, source="chosen, so that the peaks of short traces come out"),
    fresh_input=_FRESH_INPUT,
    resumed_input=_RESUMED_INPUT,
    tool_tokens=_TOOL_TOKENS,
    system_tokens=_SYSTEM_TOKENS,
    prefix_tokens=None,
    output=_OUTPUT,
    new_content=LogNormal(median=math.exp(5.81), sigma=1.82, high=383_886, source=_FIT),
    shrinking_share=CorpusNumber(value=0.113, source=_COUNT),
    shrinkage=LogNormal(median=50, sigma=1.3, source="chosen, so that the 5th percentile of new content is -59"),
    most_input=CorpusNumber(value=890_000, source="largest of 710 recorded sessions"),
    large_window_share=CorpusNumber(value=0.2, source="chosen, so that peaks and hit shares come out"),
    large_window_where_needed=True,
    small_window=LogNormal(median=155_000, sigma=0.05, source=_FIT),
    large_window=LogNormal(median=850_000, sigma=0.12, high=890_000, source="chosen, as in the profile agentx"),
    compacted=LogNormal(median=25_000, sigma=0.6, high=90_000, source=_FIT),
    edit_share=CorpusNumber(value=0.0525, source=f"{_COUNT}: 6.5 % of root turns lose blocks, these without resets and compactions"),
    edit_blocks=LogNormal(median=0.55, sigma=1.19, low=1, source=_FIT),
    reset_share=CorpusNumber(value=0.0083, source=f"{_COUNT}: jumps to another context"),
    agents=AgentsPerTrace(
        share=CorpusNumber(value=0.024, source=_COUNT),
        count=OneAndGeometric(mean=2.7, source=_FIT),
    ),
    agent_requests=Gamma(shape=4.5, scale=2.4, low=1, source=_FIT),
    agent_input=LogNormal(median=math.exp(9.28), sigma=0.15, source=_FIT),
    agent_task=LogNormal(median=180, sigma=0.3, low=1, source="chosen: subagents of one recorded session share all but a few blocks"),
    agent_growth=LogNormal(median=math.exp(7.82), sigma=1.29, low=1, high=120_121, source=_FIT),
    agent_growth_beyond_output=False,
    agent_gate_share=CorpusNumber(value=0.9, source="chosen; 4 of 63 recorded ones were launched in the background"),
    gap_after_tool=_TOOL_GAP,
    gap_after_user=_USER_GAP,
    agent_gap=_AGENT_GAP,
    longest_gap_s=CorpusNumber(value=31_792.6, source="largest of 710 recorded sessions"),
    gap_factor=CorpusNumber(value=1, source="as recorded"),
    requests_per_user_turn=LogNormal(median=6.5, sigma=1.45, low=1, source="chosen, so that the finished turns of finite traces come out"),
    api_base_s=CorpusNumber(value=2.99, source=_FIT),
    api_spread=CorpusNumber(value=0.5, source="chosen, so that the lower quantiles come out"),
    api_s_per_token=CorpusNumber(value=0.0152, source=_FIT),
    streamed_share=CorpusNumber(value=0.172, source=_COUNT),
    unrecorded_share=CorpusNumber(value=0.51, source=f"{_COUNT}: 8.8 % of all requests"),
    first_token=LogLogistic(scale=2.71, shape=3.17, low=0.2, source=_FIT),
)

AGENTX = CorpusProfile(
    name="agentx",
    summary="the AgentX corpus as its public figures tell it: 393 traces, about 99,000 requests, 42 % of them in subagents",
    root_turns=LogNormal.of_mean(
        252 * 0.58, 0.9, low=4, high=2_900, source=f"{_PUBLIC}: mean 252 requests, 58 % outside subagents; spread chosen"
    ),
    most_requests=CorpusNumber(value=3_050, source=_PUBLIC),
    fresh_share=CorpusNumber(value=0.5, source=_WINDOW),
    fresh_slope=CorpusNumber(value=0, source="not known of this corpus"),
    fresh_input=LogNormal(median=30_000, sigma=0.35, low=1_024, source=_WINDOW),
    resumed_input=LogNormal(median=120_000, sigma=0.7, low=16_384, source=_WINDOW),
    tool_tokens=None,
    system_tokens=None,
    prefix_tokens=CorpusNumber(value=15_000, source="tools and system prompt of 710 recorded sessions"),
    output=LogLogistic(scale=500, shape=1.6, low=1, high=32_000, source=f"{_PUBLIC}: mean 913 to 1,041 in measured hours"),
    new_content=LogNormal(median=math.exp(5.81), sigma=1.82, high=150_000, source=_FIT),
    shrinking_share=CorpusNumber(value=0, source="not known of this corpus"),
    shrinkage=LogNormal(median=50, sigma=1.3, source="not used: shrinking_share is 0"),
    most_input=CorpusNumber(value=990_000, source=f"{_PUBLIC}: none above 990,016"),
    large_window_share=CorpusNumber(value=0.65, source=_WINDOW),
    large_window_where_needed=False,
    small_window=LogNormal(median=155_000, sigma=0.05, source=_FIT),
    large_window=LogNormal(median=850_000, sigma=0.12, high=990_000, source=_WINDOW),
    compacted=LogNormal(median=25_000, sigma=0.6, high=90_000, source=_FIT),
    edit_share=CorpusNumber(value=0.065, source=_COUNT),
    edit_blocks=QuantileTable(
        least=1, quantiles=(1, 1, 1, 1, 2, 3, 3), most=3, observations=2_467, source="65 % of such turns lose one, in 710 recorded sessions"
    ),
    reset_share=CorpusNumber(value=0.03, source="chosen, so that the hit share inside a measured hour comes out as published (93.7 %)"),
    agents=AgentsPerTurn(
        share=CorpusNumber(value=0.0335, source=f"{_PUBLIC}: 42 % of requests in subagents"),
        group=OneAndPoisson(mean=1, source="chosen"),
    ),
    agent_requests=Gamma(shape=4.5, scale=2.4, low=1, source=_FIT),
    agent_input=LogNormal(median=10_700, sigma=0.15, source=_FIT),
    agent_task=None,
    agent_growth=LogNormal(median=math.exp(7.3), sigma=1.29, low=1, high=150_000, source=_WINDOW),
    agent_growth_beyond_output=True,
    agent_gate_share=CorpusNumber(value=0.9, source="chosen"),
    gap_after_tool=_ROOT_GAP,
    gap_after_user=_ROOT_GAP,
    agent_gap=_AGENT_GAP,
    longest_gap_s=CorpusNumber(value=300, source="the idle cap of a session in the replay rules"),
    gap_factor=CorpusNumber(
        value=0.5, source="chosen, and declared: undivided gaps leave 20 sessions too idle to slow the engine below 33 tok/s/user"
    ),
    requests_per_user_turn=_USER_TURN,
    api_base_s=CorpusNumber(value=3, source=_FIT),
    api_spread=CorpusNumber(value=0, source="chosen"),
    api_s_per_token=CorpusNumber(value=0.0152, source=_FIT),
    streamed_share=CorpusNumber(value=0, source="not known of this corpus"),
    unrecorded_share=CorpusNumber(value=0, source="not known of this corpus"),
    first_token=LogLogistic(scale=2.71, shape=3.17, low=0.2, source="not used: streamed_share is 0"),
)

PROFILES: Mapping[str, CorpusProfile] = {profile.name: profile for profile in (AGENTX, OPEN)}
