"""The shipped price books: USD per GPU-hour by SKU and tier, each with its source and the date on which it was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ixbench.api.engine import PriceBook, Quote
from ixbench_plugins.books import read_book

if TYPE_CHECKING:
    from collections.abc import Sequence


class ShippedPrices(PriceBook):
    """The books of this package."""

    name: ClassVar[str] = "book"
    summary: ClassVar[str] = "dated prices by SKU and tier"

    def books(self) -> Sequence[str]:
        """Return the ids of the books, oldest first and the default one last."""
        table = read_book("prices")
        default: str = table["default_book"]
        return (*(book["id"] for book in table["book"] if book["id"] != default), default)

    def quotes(self, sku: str, book: str) -> tuple[Quote, ...]:
        """Return the tiers of a SKU in a book, in the book's order; empty where it has no price."""
        return tuple(
            Quote(
                book=row["book"],
                sku=row["sku"],
                tier=row["tier"],
                label=row["label"],
                usd_per_gpu_hour=row["usd_per_gpu_hour"],
                as_of=row["as_of"].isoformat(),
                source=row["source"],
            )
            for row in read_book("prices")["price"]
            if row["book"] == book and row["sku"] == sku
        )
