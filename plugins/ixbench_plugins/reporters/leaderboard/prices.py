"""Prices of a leaderboard: those of one book for all SKUs, since costs from different books are never compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ixbench.api.report import Fault, InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ixbench.api.report import Quote, RunView

CUSTOM = "custom"
"""The book of prices that a user gave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkuPrices:
    """One price for each SKU."""

    book: str | None
    """None = no run has any price."""
    tier: str | None
    by_sku: dict[str, Quote]
    disputed: tuple[str, ...]
    """SKUs for which runs say different prices: they have none here."""
    other_books: int
    """How many runs were made at prices of other books."""

    def quotes(self, sku: str | None) -> tuple[Quote, ...]:
        """Return the price of a SKU; empty where the book has none. One of a user's own may be for whatever the run has."""
        found = self.by_sku.get(sku or "") or self.by_sku.get("")
        return (found,) if found is not None else ()


def prices_of(runs: Sequence[RunView], book: str | None, tier: str | None) -> SkuPrices:
    """Return the prices of the book named, else of the newest one that a run was made at; a book counts before custom prices.

    :param tier: id of the tier; None = the first one of the book.
    :raises InputError: if no run was made at that book, or it has no such tier.
    """
    said = dict.fromkeys(quote for run in runs for quote in run.quotes)
    quotes = [quote for quote in said if math.isfinite(quote.usd_per_gpu_hour) and quote.usd_per_gpu_hour > 0]
    books = {quote.book: "" for quote in quotes}
    for quote in quotes:
        books[quote.book] = max(books[quote.book], quote.as_of)
    if book is not None and book not in books:
        raise _unknown("book", book, sorted(books), "no run was made at its prices")
    chosen = book or max(books, key=lambda name: (name != CUSTOM, books[name], name), default=None)
    mine = [quote for quote in quotes if quote.book == chosen]
    tiers = list(dict.fromkeys(quote.tier for quote in mine))
    if tier is not None and tier not in tiers:
        raise _unknown("tier", tier, tiers, f"book {chosen} has no such tier" if chosen else "no run has a price")
    in_use = tier or (tiers[0] if tiers else None)
    by_sku: dict[str, list[Quote]] = {}
    for quote in mine:
        if quote.tier == in_use:
            by_sku.setdefault(quote.sku, []).append(quote)
    agreed = {sku: found[0] for sku, found in by_sku.items() if len({quote.usd_per_gpu_hour for quote in found}) == 1}
    return SkuPrices(
        book=chosen,
        tier=in_use,
        by_sku=agreed,
        disputed=tuple(sorted(set(by_sku) - set(agreed))),
        other_books=sum(any(quote.book != chosen for quote in run.quotes) for run in runs),
    )


def _unknown(key: str, value: str, known: Sequence[str], why: str) -> InputError:
    hint = did_you_mean(value, known)
    return InputError(
        Fault(
            where=f"--set leaderboard.{key}",
            problem=f"found {value!r}: {why}",
            allowed="" if hint else ", ".join(known),
            advice=hint,
        )
    )
