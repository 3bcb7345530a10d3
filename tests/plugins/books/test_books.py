"""The books say what they said when results were published with them."""

from __future__ import annotations

import pytest

from ixbench.model.fp4 import native_fp4
from ixbench_plugins.hardware import HARDWARE
from ixbench_plugins.prices import PRICES

(HARDWARE_BOOK,) = HARDWARE
(PRICE_BOOK,) = PRICES


def test_facts_of_the_mi355x_and_what_is_unknown_of_others():
    skus = {sku.sku: sku for sku in HARDWARE_BOOK.skus()}
    mi355x = skus["mi355x"]
    assert (mi355x.name, mi355x.vendor, mi355x.hbm_gb, mi355x.hbm_tb_s, mi355x.tdp_w, mi355x.all_in_kw, mi355x.gfx_target) == (
        "MI355X",
        "AMD",
        288,
        8.0,
        1400,
        2.09,
        "gfx950",
    )
    assert (skus["cpu"].all_in_kw, skus["cpu"].hbm_gb, skus["vr200"].hbm_gb) == (None, None, None)
    assert len(skus) == len(HARDWARE_BOOK.skus())


def test_which_skus_compute_in_fp4():
    native = {sku.sku for sku in HARDWARE_BOOK.skus() if native_fp4(gfx_target=sku.gfx_target, cuda_arch=sku.cuda_arch)}
    assert native == {"b200", "b300", "gb200", "gb300", "mi355x", "rtx6000pro"}


def test_books_with_the_default_one_last():
    assert tuple(PRICE_BOOK.books()) == ("2026-04", "2026-08", "2026-09")


def test_quotes_of_the_mi355x_in_the_order_of_the_book():
    quotes = PRICE_BOOK.quotes("mi355x", "2026-09")
    assert [(quote.tier, quote.label, quote.usd_per_gpu_hour) for quote in quotes] == [
        ("hyperscaler", "Owning at Large Hyperscaler Volume", 1.50),
        ("retail", "Retail", 2.90),
    ]
    assert {(quote.book, quote.sku, quote.as_of) for quote in quotes} == {("2026-09", "mi355x", "2026-09-10")}
    assert all("SemiAnalysis" in quote.source for quote in quotes)


@pytest.mark.parametrize(("sku", "book"), [("cpu", "2026-09"), ("mi355x", "2020-01"), ("unheard", "2026-09")])
def test_no_price_is_no_quote(sku, book):
    assert PRICE_BOOK.quotes(sku, book) == ()


def test_every_price_is_above_zero_dated_and_of_a_known_sku():
    known = [sku.sku for sku in HARDWARE_BOOK.skus()]
    quotes = [quote for book in PRICE_BOOK.books() for sku in known for quote in PRICE_BOOK.quotes(sku, book)]
    assert len(quotes) == 83
    assert all(quote.usd_per_gpu_hour > 0 and quote.as_of >= quote.book for quote in quotes)


def test_the_shipped_books_are_those_beside_the_checkout(shared):
    from importlib.resources import files

    for name in ("hardware.toml", "prices.toml"):
        assert files("ixbench_plugins.books").joinpath(name).read_bytes() == (shared / "data/books" / name).read_bytes()
