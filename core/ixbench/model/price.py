"""What a GPU-hour costs, always with its source and date: an undated dollar figure is worth nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

HOST_VENDOR = "any"
"""Vendor of the SKU that is the machine itself: it is always there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """One price of one SKU."""

    book: str
    """Id of the immutable price book, or "custom"."""
    sku: str
    """Empty for a user's own price of whatever hardware the run has."""
    tier: str
    """Id of the tier, for instance "hyperscaler"."""
    label: str
    """The tier in print."""
    usd_per_gpu_hour: float
    as_of: str
    """ISO date on which the value was seen; empty for a custom price."""
    source: str


def quotes_for(quotes: Iterable[Quote], sku: str | None) -> tuple[Quote, ...]:
    """Return the prices of a SKU, in order: a run that was imported may hold several SKUs, and prices of each."""
    return tuple(quote for quote in quotes if quote.sku in ("", sku))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sku:
    """One row of the hardware book; None means unknown, never zero."""

    sku: str
    name: str
    vendor: str
    arch: str | None = None
    hbm_gb: float | None = None
    hbm_tb_s: float | None = None
    tdp_w: float | None = None
    all_in_kw: float | None = None
    """Provisioned power a GPU with its share of host, network and cooling; dated by the book."""
    gfx_target: str | None = None
    cuda_arch: str | None = None
