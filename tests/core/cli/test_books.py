"""`ixbench prices` and `ixbench hardware`, as they are typed."""

from __future__ import annotations

import json

from ixbench.cli.hardware import hardware_text
from ixbench.cli.main import main
from ixbench.cli.prices import prices_text


def test_prices_are_listed_with_date_and_source(capsys):
    assert main(["prices", "--book", "2026-09", "--sku", "mi355x"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "2026-09 (default): USD per GPU-hour",
        "  mi355x  Owning at Large Hyperscaler Volume  $1.50  as of 2026-09-10",
        "  mi355x  Retail                              $2.90  as of 2026-09-10",
    ]
    assert lines[3].startswith("  source: SemiAnalysis AI Cloud TCO model")


def test_prices_as_json_name_what_is_missing(capsys):
    assert main(["prices", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["default"] == "2026-09"
    assert [(book["book"], book["default"]) for book in content["books"]] == [("2026-04", False), ("2026-08", False), ("2026-09", True)]
    assert set(content["books"][0]["quotes"][0]) == {"sku", "tier", "label", "usd_per_gpu_hour", "as_of", "source"}
    assert "cpu" in content["books"][2]["missing"]
    assert not {quote["sku"] for quote in content["books"][2]["quotes"]} & set(content["books"][2]["missing"])


def test_a_missing_price_is_said(capsys):
    assert main(["prices", "--book", "2026-09", "--sku", "cpu"]) == 0
    assert "no price of cpu: no costs for them" in capsys.readouterr().out


def test_several_sources_are_numbered():
    quote = {"sku": "x1", "tier": "a", "label": "A", "usd_per_gpu_hour": 1.0, "as_of": "", "source": "one"}
    book = {"book": "b", "default": False, "quotes": [quote, quote | {"source": "two"}], "missing": []}
    text = prices_text({"books": [book]})
    assert "$1.00  as of no date  [2]" in text
    assert "  source [2]: two" in text
    assert prices_text({"books": []}) == "no price book is installed"


def test_prices_below_half_a_cent_and_above_ten_dollars_are_told():
    quote = {"tier": "a", "label": "A", "as_of": "2026-09-10", "source": "one"}
    quotes = [quote | {"sku": "x1", "usd_per_gpu_hour": 0.0042}, quote | {"sku": "x10", "usd_per_gpu_hour": 12.5}]
    lines = prices_text({"books": [{"book": "b", "default": False, "quotes": quotes, "missing": []}]}).splitlines()
    assert lines[1:3] == ["  x1   A  $0.0042  as of 2026-09-10", "  x10  A   $12.50  as of 2026-09-10"]


def test_unknown_books_and_skus_are_told_at_once(capsys):
    assert main(["prices", "--book", "2026-9", "--sku", "mi355"]) == 2
    book, sku = capsys.readouterr().err.splitlines()
    assert book == "ixbench: --book 2026-9: there is none of this name; allowed: 2026-04, 2026-08, 2026-09; did you mean '2026-09'?"
    assert sku.startswith("ixbench: --sku mi355: there is none of this name; allowed: h100, ")
    assert sku.endswith("; did you mean 'mi355x'?")


def test_hardware_tells_the_book_and_the_machine(capsys):
    assert main(["hardware"]) == 0
    text = capsys.readouterr().out
    assert "\nmi355x " in text
    assert "on this machine:" in text
    assert main(["hardware", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    by_sku = {row["sku"]: row for row in content["skus"]}
    assert (by_sku["mi355x"]["all_in_kw"], by_sku["cpu"]["hbm_gb"]) == (2.09, None)
    assert isinstance(content["detected"], list)


def test_what_was_found_is_named():
    gpu = {"index": 0, "sku": None, "name": "Unknown", "memory_bytes": 2**35, "gfx": None, "partitions": 8}
    text = hardware_text({"skus": [], "detected": [gpu, gpu | {"index": 1, "sku": "mi355x", "memory_bytes": None, "partitions": 1}]})
    assert text.splitlines()[-2:] == ["  0  not in a book  Unknown  32 GiB  split into 8", "  1  mi355x         Unknown  -"]
