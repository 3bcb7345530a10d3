"""Whether two rates differ: by how much, between which bounds, on what that rests, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ixbench.frontier.student import FEWEST, compare, difference_bounds

if TYPE_CHECKING:
    from ixbench.frontier.side import SureRead

ComparisonVerdict = Literal["faster", "slower", "cannot be told apart", "vanished", "new", "not read"]
Basis = Literal["repeats", "within_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateDifference:
    """By how much a rate of B lies above that of A. Shares are of A's rate: 0.05 is 5 % more."""

    share: float | None
    """B's rate less A's, as a share of A's; None unless both have a value."""
    low_share: float | None = None
    """Lower end of its 95 % interval, as a share of A's rate; None = not known."""
    high_share: float | None = None
    """Upper end of its 95 % interval, as a share of A's rate; None = not known."""
    basis: Basis | None = None
    """What the interval rests on: repeats or replicas of both sides, or what varied within the single run of each; None: nothing is known
    of the spread."""
    verdict: ComparisonVerdict = "not read"
    """What B is beside A. "vanished": A has a value and B does not reach the rung; "new": the other way round; "not read": neither has one,
    or one of them begins above the rung."""
    reason: str = ""
    """Why the verdict is no clearer; empty where it is clear."""

    @property
    def outside(self) -> bool:
        """Whether its interval, as far as it is known, leaves out no difference at all."""
        return (self.low_share is not None and self.low_share > 0) or (self.high_share is not None and self.high_share < 0)

    @property
    def explained(self) -> bool:
        """Whether its interval is known and holds no difference at all."""
        return self.low_share is not None and self.high_share is not None and self.low_share <= 0 <= self.high_share


def difference_of(a: SureRead | None, b: SureRead | None) -> RateDifference:
    """Hold two rates against one another.

    B is called faster or slower only by Welch's test over the repeats or replicas of both, at 95 %. Single runs are never told apart: their
    intervals know nothing of what another run would change.
    """
    if a is None or b is None:
        verdict: ComparisonVerdict = "not read" if a is b else "new" if a is None else "vanished"
        return RateDifference(share=None, verdict=verdict)
    share = b.value / a.value - 1
    if min(len(a.draws), len(b.draws)) >= FEWEST:
        margin = compare(b.draws, a.draws).margin
        told = abs(b.value - a.value) > margin
        verdict = "cannot be told apart" if not told else "faster" if share > 0 else "slower"
        reason = "" if told else f"the {a.kind if a.kind == b.kind else 'runs'} scatter as much"
        width = margin / a.value
        return RateDifference(
            share=share, low_share=share - width, high_share=share + width, basis="repeats", verdict=verdict, reason=reason
        )
    low, high = (None if end is None else end / a.value for end in difference_bounds(b.value, b.within, a.value, a.within))
    basis: Basis | None = None if low is None and high is None else "within_run"
    found = RateDifference(share=share, low_share=low, high_share=high, basis=basis, verdict="cannot be told apart")
    return replace(found, reason=f"{_runs(a, b)}{_beyond(found)}")


def _runs(a: SureRead, b: SureRead) -> str:
    missing = [side.kind for side in (a, b) if side.kind is not None and not side.draws]
    if missing:
        return f"not all {missing[0]} reach it"
    counts = [f"{len(side.draws)} {side.kind}" if side.draws else "1 run" for side in (a, b)]
    return "1 run each" if counts[0] == counts[1] else " and ".join(counts)


def _beyond(found: RateDifference) -> str:
    """Return how the difference lies beside what varied within the runs, where that is known."""
    return ", more than varied within them" if found.outside else ", no more than varied within them" if found.explained else ""
