"""Dated prices."""

from __future__ import annotations

from ixbench_plugins.prices.book import ShippedPrices

PRICES = (ShippedPrices(),)
