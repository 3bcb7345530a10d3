"""Statistics of real corpora, to hold generated ones against, each with the distance that a generated corpus is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PERCENTS = (5, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedQuantiles:
    """A quantity of a real corpus."""

    observations: int
    quantiles: tuple[float, ...]
    """At `PERCENTS`."""
    allowed: float = 0.06
    """Largest distance between the two distributions at these quantiles."""
    why: str = ""
    """What keeps the distance from being small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedShare:
    """A count, mean or share of a real corpus."""

    value: float | None
    """None: not published for whole files."""
    low: float
    high: float
    """What a generated corpus may have."""
    why: str = ""


_FEW = "17 traces in all, with much in common"
_RESULT = "a result of the process, not drawn"

OPEN_QUANTILES: Mapping[str, PublishedQuantiles] = {
    "requests per trace": PublishedQuantiles(observations=710, quantiles=(4, 18, 46, 94, 157, 233, 341)),
    "first input, fresh session": PublishedQuantiles(observations=411, quantiles=(11_783, 16_846, 19_090, 21_216, 27_289, 37_820, 45_386)),
    "first input, resumed session": PublishedQuantiles(
        observations=299, quantiles=(61_963, 86_605, 120_651, 252_861, 415_683, 526_968, 799_478)
    ),
    "input growth per root turn": PublishedQuantiles(observations=37_985, quantiles=(154, 332, 661, 1_559, 3_658, 6_553, 16_485)),
    "new content per root turn": PublishedQuantiles(observations=37_985, quantiles=(-59, 43, 279, 969, 2_953, 5_854, 16_169)),
    "output tokens": PublishedQuantiles(observations=49_334, quantiles=(89, 137, 216, 426, 898, 1_554, 3_686)),
    "gap after tool use, s": PublishedQuantiles(observations=32_543, quantiles=(3.4, 5.3, 8.7, 19.7, 73.6, 156.0, 632.8)),
    "gap after end of turn, s": PublishedQuantiles(observations=1_851, quantiles=(3.4, 50.6, 179.7, 679.8, 1_987.0, 2_995.1, 9_086.3)),
    "gap before every root turn, s": PublishedQuantiles(observations=38_228, quantiles=(3.4, 5.7, 10.0, 24.2, 118.2, 278.1, 1_709.4)),
    "recorded time of a request, s": PublishedQuantiles(
        observations=45_022,
        quantiles=(2.97, 4.29, 6.08, 10.26, 18.35, 28.49, 60.69),
        allowed=0.08,
        why="drawn from the length of the answer",
    ),
    "requests per user turn": PublishedQuantiles(observations=1_851, quantiles=(1, 2, 5, 15, 38, 57, 90)),
    "blocks lost where any are": PublishedQuantiles(observations=2_467, quantiles=(1, 1, 1, 3, 1_728, 2_171, 2_668)),
    "input before a compaction": PublishedQuantiles(
        observations=155,
        quantiles=(100_087, 146_714, 153_453, 160_662, 164_374, 167_996, 240_051),
        allowed=0.2,
        why="one law for all sessions",
    ),
    "input after a compaction": PublishedQuantiles(
        observations=155, quantiles=(13_498, 28_088, 36_722, 60_490, 88_489, 97_135, 100_836), allowed=0.15, why="one law for all sessions"
    ),
    "declared tool tokens": PublishedQuantiles(observations=710, quantiles=(8_336, 10_659, 12_262, 12_589, 12_974, 13_136, 15_159)),
    "declared system tokens": PublishedQuantiles(observations=710, quantiles=(1_573, 2_324, 2_772, 3_003, 3_704, 4_313, 5_964)),
    "subagents per trace that has any": PublishedQuantiles(observations=17, quantiles=(1, 2, 3, 4, 7, 9, 11), allowed=0.25, why=_FEW),
    "requests per subagent": PublishedQuantiles(observations=63, quantiles=(4, 7, 11, 13, 17, 22, 24), allowed=0.15, why=_FEW),
    "first input of a subagent": PublishedQuantiles(
        observations=63, quantiles=(9_021, 9_847, 10_335, 11_695, 12_174, 13_365, 18_254), allowed=0.3, why=_FEW
    ),
    "input growth per subagent turn": PublishedQuantiles(observations=613, quantiles=(349, 926, 2_531, 5_751, 13_236, 22_275, 62_858)),
    "gap within a subagent, s": PublishedQuantiles(observations=613, quantiles=(1.9, 3.0, 3.9, 6.4, 29.0, 45.1, 74.6)),
    "span of a trace, s": PublishedQuantiles(
        observations=710,
        quantiles=(158, 1_339, 3_589, 7_337, 23_991, 53_056, 94_890),
        allowed=0.12,
        why="long gaps come together in few recordings, and anywhere in generated ones",
    ),
    "peak input and output of a trace": PublishedQuantiles(
        observations=710, quantiles=(48_809, 112_195, 148_473, 186_216, 341_042, 468_434, 791_262), allowed=0.1, why=_RESULT
    ),
    "hit share of a trace": PublishedQuantiles(
        observations=710, quantiles=(0.7447, 0.9189, 0.9548, 0.9716, 0.9793, 0.9829, 0.9893), allowed=0.08, why=_RESULT
    ),
}

OPEN_SHARES: Mapping[str, PublishedShare] = {
    "requests per trace, mean": PublishedShare(value=69.5, low=63, high=76),
    "requests of a trace, most": PublishedShare(value=561, low=400, high=561),
    "share of requests in subagents": PublishedShare(value=0.0137, low=0.009, high=0.020),
    "share of traces with subagents": PublishedShare(value=0.024, low=0.018, high=0.030),
    "share of traces that begin fresh": PublishedShare(value=0.579, low=0.55, high=0.61),
    "input tokens, mean": PublishedShare(value=122_400, low=115_000, high=145_000, why="short recordings have the long contexts"),
    "output tokens, mean": PublishedShare(value=440, low=425, high=465),
    "input share": PublishedShare(value=0.9964, low=0.9955, high=0.9972),
    "hit share": PublishedShare(value=0.9634, low=0.955, high=0.972),
    "hit share of a trace, mean": PublishedShare(value=0.929, low=0.91, high=0.94),
    "uncached tokens per request": PublishedShare(value=4_480, low=4_100, high=4_900),
    "share of requests that end the turn": PublishedShare(value=0.057, low=0.05, high=0.07),
    "share of requests without a record of time": PublishedShare(value=0.087, low=0.075, high=0.10),
    "share of root turns that lose blocks": PublishedShare(value=0.065, low=0.055, high=0.075),
    "share of root turns that are compactions": PublishedShare(
        value=0.0041, low=0.003, high=0.009, why="sessions grow past the window more often"
    ),
    "share of root turns after more than 10 s": PublishedShare(value=0.49, low=0.46, high=0.52),
    "share of root turns after more than 300 s": PublishedShare(value=0.048, low=0.04, high=0.065),
}

_HOUR = "the measured hour of a run is what must come out"

AGENTX_SHARES: Mapping[str, PublishedShare] = {
    "requests per trace, mean": PublishedShare(value=252, low=225, high=275),
    "requests of a trace, most": PublishedShare(value=3_050, low=1_500, high=3_050),
    "share of requests in subagents": PublishedShare(value=0.42, low=0.40, high=0.44),
    "input tokens, mean": PublishedShare(value=None, low=140_000, high=175_000, why=f"{_HOUR}: 103,000 to 152,000"),
    "input tokens, most": PublishedShare(value=990_016, low=900_000, high=990_016),
    "output tokens, mean": PublishedShare(value=None, low=960, high=1_040, why=f"{_HOUR}: 913 to 1,041"),
    "input share": PublishedShare(value=None, low=0.992, high=0.995, why=f"{_HOUR}: 99.2 %"),
    "hit share": PublishedShare(value=None, low=0.94, high=0.955, why=f"{_HOUR}: 93.7 %"),
}
