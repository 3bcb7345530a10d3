"""The cost table: what a million tokens costs at the primary rung in every tier of the price book, on total, output and computed tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ixbench.frontier.cost import usd_per_mtok
from ixbench.frontier.format import format_rate
from ixbench.frontier.points import part
from ixbench.frontier.select import SelectStatus  # noqa: TC001 - pydantic resolves the annotations for the JSON Schema of cost.json
from ixbench.model.price import quotes_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.frontier.ladder_values import Ladder, LadderRung
    from ixbench.model.price import Quote
    from ixbench.model.result import Metrics
    from ixbench.model.run import RunView

TOTAL_ONLY = "Each column charges the whole bill to one class of tokens; they do not add up."


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTier:
    """One row: one tier of the price book."""

    tier: str
    """Its label."""
    tier_id: str
    """Id of the tier, for instance "hyperscaler"."""
    book: str
    """Id of the price book, or "custom"."""
    usd_per_gpu_hour: float
    """USD for an hour of one GPU."""
    usd_per_mtok: float
    """USD per million tokens of all kinds, input included: usd_per_gpu_hour / 3600 / tok_s_gpu x 10^6."""
    usd_per_mtok_output: float | None
    """USD per million output tokens, the whole bill on these; None where the points do not tell their output rate."""
    usd_per_mtok_computed: float | None
    """USD per million computed tokens (uncached input plus output), the whole bill on these; None where the server does not tell cached
    tokens."""
    as_of: str
    """ISO date of the price; empty for a custom one."""
    source: str
    """Where the price was seen; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTable:
    """Costs at one rung."""

    target: float
    """The primary rung in tok/s/user."""
    basis: str
    """Basis of `usd_per_mtok`."""
    basis_note: str
    """How the other columns come from the rate that was read."""
    status: SelectStatus
    """What became of the rung."""
    reason: str | None
    """Why the table is empty, one sentence; None where it is not."""
    tok_s_gpu: float | None
    """The rate that was read at the rung: all tokens per second and GPU; None where there is none."""
    engine: str | None
    """Name of the adapter of the engine that wins the rung."""
    precision: str | None
    """Precision of its weights."""
    points: tuple[str, ...]
    """Ids of the points that the rate rests on."""
    output_share: float | None
    """Output tokens as a share of all tokens at the rung; None where the points do not tell."""
    computed_share: float | None
    """Computed tokens, uncached input plus output, as a share of all tokens at the rung; None where the points do not tell."""
    cache_hit_share: float | None
    """Input tokens that came from the cache as a share of all input tokens, as answers told them; None where they did not."""
    tiers: tuple[CostTier, ...]
    """In the book's order; empty where the rung has no value or no price is known."""

    def to_json(self) -> dict[str, Any]:
        """Return the content of cost.json, in full precision."""
        return asdict(self)


def build_cost_table(runs: Sequence[RunView], ladder: Ladder) -> CostTable:
    """Price the ladder's primary rung.

    The total rate is the value read from the curve. The output and computed rates are that value times their shares of all
    tokens, which are taken from the points that the value rests on, between two points linearly in the speed. Dollars are
    always computed from rates and never interpolated. A rung without a value gives an empty table with the reason.

    :param runs: the runs that the ladder was built from.
    """
    rung = ladder.primary
    owners = {run.id: run for run in runs}
    points = [next(point for point in owners[evidence.run].points if point.id == evidence.run_point) for evidence in rung.evidence]
    metrics = [point.metrics for point in points]
    output = _between(rung, [_share(values, "output") for values in metrics])
    computed = _between(rung, [_share(values, "computed") for values in metrics])
    quotes = quotes_for(owners[rung.evidence[0].run].quotes, points[0].identity.hardware) if points else ()
    return CostTable(
        target=rung.target,
        basis="total",
        basis_note=_basis_note(rung),
        status=rung.status,
        reason=_reason(rung, quotes, ladder),
        tok_s_gpu=rung.tok_s_gpu,
        engine=rung.engine,
        precision=rung.precision,
        points=rung.points,
        output_share=output,
        computed_share=computed,
        cache_hit_share=_between(rung, [_cache_hits(values) for values in metrics]),
        tiers=tuple(_tier(quote, rung.tok_s_gpu, output, computed) for quote in quotes if rung.tok_s_gpu is not None),
    )


def _tier(quote: Quote, tok_s_gpu: float, output: float | None, computed: float | None) -> CostTier:
    price = quote.usd_per_gpu_hour
    return CostTier(
        tier=quote.label,
        tier_id=quote.tier,
        book=quote.book,
        usd_per_gpu_hour=price,
        usd_per_mtok=usd_per_mtok(price, tok_s_gpu),
        usd_per_mtok_output=usd_per_mtok(price, tok_s_gpu * output) if output else None,
        usd_per_mtok_computed=usd_per_mtok(price, tok_s_gpu * computed) if computed else None,
        as_of=quote.as_of,
        source=quote.source,
    )


def _share(metrics: Metrics, basis: str) -> float | None:
    rate, total = part(metrics, "throughput_tok_s_gpu", basis), part(metrics, "throughput_tok_s_gpu", "total")
    return None if rate is None or total is None else rate / total


def _cache_hits(metrics: Metrics) -> float | None:
    """Return the measured share; unlike a rate it may be zero."""
    value = metrics.get("cache_hit_share")
    share = value.get("measured") if isinstance(value, dict) else value
    return None if share is None else float(share)


def _between(rung: LadderRung, shares: list[float | None]) -> float | None:
    """Return the share at the rung: the one point's own, or between two points linear in the speed; None where a point does not tell.

    With repeats it is the mean of theirs.
    """
    if not shares or any(share is None for share in shares):
        return None
    by_repeat: dict[int, list[tuple[float, float]]] = {}
    for point, share in zip(rung.evidence, shares, strict=True):
        by_repeat.setdefault(point.repeat, []).append((point.tok_s_user, share or 0.0))
    found = [_at(rung.target, points) for points in by_repeat.values()]
    return sum(found) / len(found)


def _at(speed: float, points: list[tuple[float, float]]) -> float:
    """Return what one or two (speed, share) points say at a speed."""
    if len(points) == 1:
        return points[0][1]
    (slow, low), (fast, high) = points
    return low + (high - low) * (speed - slow) / (fast - slow)


def _basis_note(rung: LadderRung) -> str:
    if rung.status != "interpolated":
        return f"{TOTAL_ONLY} Output and computed rates are those of the point itself."
    return f"{TOTAL_ONLY} Output and computed rates are the rate read, times their shares between the two points, linear in the speed."


def _reason(rung: LadderRung, quotes: Sequence[Quote], ladder: Ladder) -> str | None:
    """Return why there is nothing to price."""
    target = f"{rung.target:g} tok/s/user"
    if rung.tok_s_gpu is not None:
        return None if quotes else "No price is known for this hardware."
    if not ladder.rates_known:
        return "No curve has a rate per GPU to price."
    if rung.status == "below_range":
        slowest = f"the slowest point of the frontier has {format_rate(rung.slowest_tok_s_user)} tok/s/user"
        return f"{target} lies below the range: {slowest}."
    if rung.status == "unreachable":
        return f"{target} is not reached: the fastest point has {format_rate(rung.fastest_tok_s_user)} tok/s/user."
    return "No curve competes under this policy and scope."
