"""`ixbench prices`: what the price books say a GPU-hour costs, with source and date, and for which hardware they say nothing."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ixbench.host.host import Host

DESCRIPTION = """\
List the price books: USD per GPU-hour by SKU and tier, each with its date and source. The default is the newest book, which a
campaign takes unless [prices] says otherwise. Hardware without a price in a book is named: its costs are left out, never guessed.
A run keeps the prices that it was made with in its run.json, so a later book never changes an old result.

JSON: {"default", "books": [{"book", "default", "missing": [SKU], "quotes": [{"sku", "tier", "label", "usd_per_gpu_hour",
"as_of", "source"}]}]}."""


def prices_json(host: Host, *, books: Sequence[str] = (), skus: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON form.

    :param books: only these; empty = all.
    :param skus: only these; empty = all that the hardware books have.
    """
    from dataclasses import asdict

    from ixbench.campaign.settings import default_book

    default = default_book(host)
    known = [sku.sku for book in host.hardware() for sku in book.skus()]
    wanted = list(skus or known)
    found = []
    for giver in host.prices():
        for book in giver.books():
            if books and book not in books:
                continue
            by_sku = {sku: giver.quotes(sku, book) for sku in wanted}
            quotes = [{key: value for key, value in asdict(quote).items() if key != "book"} for each in by_sku.values() for quote in each]
            missing = [sku for sku, each in by_sku.items() if not each]
            found.append({"book": book, "default": book == default, "quotes": quotes, "missing": missing})
    return {"default": default, "books": found}


def prices_text(content: dict[str, Any]) -> str:
    """Return the form for people: a table a book."""
    return "\n".join(line for book in content["books"] for line in _book(book)).rstrip() or "no price book is installed"


def _book(book: dict[str, Any]) -> Iterator[str]:
    from ixbench.frontier.format import format_hourly

    yield f"{book['book']}{' (default)' if book['default'] else ''}: USD per GPU-hour"
    sources = list(dict.fromkeys(quote["source"] for quote in book["quotes"]))
    labels = [quote["label"] for quote in book["quotes"]]
    prices = [format_hourly(quote["usd_per_gpu_hour"]) for quote in book["quotes"]]
    skus, width = [quote["sku"] for quote in book["quotes"]], max(map(len, labels), default=0)
    for quote, price in zip(book["quotes"], prices, strict=True):
        mark = f"  [{sources.index(quote['source']) + 1}]" if len(sources) > 1 else ""
        name = f"{quote['sku']:<{max(map(len, skus))}}  {quote['label']:<{width}}"
        yield f"  {name}  {price:>{max(map(len, prices))}}  as of {quote['as_of'] or 'no date'}{mark}"
    if book["missing"]:
        yield from textwrap.wrap(f"  no price of {', '.join(book['missing'])}: no costs for them", 110, subsequent_indent="    ")
    for number, source in enumerate(sources, 1):
        yield from textwrap.wrap(f"  source{f' [{number}]' if len(sources) > 1 else ''}: {source}", 110, subsequent_indent="    ")
    yield ""


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON: all books with their quotes, and what is missing in each")
    parser.add_argument("--book", metavar="ID", action="append", default=[], help="only this book; repeatable")
    parser.add_argument("--sku", metavar="S", action="append", default=[], help="only this hardware; repeatable")


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.host.load import load_host
    from ixbench.model.errors import Fault, InputError, did_you_mean
    from ixbench.model.printable import printable_lines

    host = load_host()
    books = [book for giver in host.prices() for book in giver.books()]
    known = {"--book": books, "--sku": [sku.sku for book in host.hardware() for sku in book.skus()]}
    asked = {"--book": arguments.book, "--sku": arguments.sku}
    faults = [
        Fault(
            where=f"{flag} {name}",
            problem="there is none of this name",
            allowed=", ".join(known[flag]),
            advice=did_you_mean(name, known[flag]),
        )
        for flag, names in asked.items()
        for name in names
        if name not in known[flag]
    ]
    if faults:
        raise InputError(faults)
    content = prices_json(host, books=arguments.book, skus=arguments.sku)
    print(json.dumps(content, indent=2) if arguments.json else printable_lines(prices_text(content)))
    return 0


COMMAND = Command(
    name="prices",
    summary="list the price books: USD per GPU-hour with date and source",
    description=DESCRIPTION,
    examples=("ixbench prices", "ixbench prices --book 2026-09 --sku mi355x --json"),
    configure=_configure,
    run=_run,
)
