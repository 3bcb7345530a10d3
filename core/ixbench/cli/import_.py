"""`ixbench import`: makes a run folder of result files that other tools wrote."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.host.contracts.command import Command
from ixbench.model.exit_codes import EXIT_NOTHING

if TYPE_CHECKING:
    from ixbench.host.contracts.importer import ImportContext
    from ixbench.host.host import Host
    from ixbench.model.price import Quote

_MOST_COUNTED = 10**9

DESCRIPTION = """\
Read result files of other tools (InferenceX, serving clients, AIPerf) and write their points as a run folder, for
`ixbench report` and `ixbench compare`. Imported points say so and stand on curves of their own. Of a folder all files in it
and below it are read that an importer knows.

Rows that cannot be taken are listed with their reasons on stderr and kept in run.json; if every row is refused nothing is
written and the exit code is 3. What files do not tell (raw client output knows no GPUs) can be said with the flags below,
which never overrule a file. See docs/import.md."""

EXAMPLES = (
    "ixbench import rows.json --out results/published",
    "ixbench import client-c8.json client-c16.json --sku mi355x --gpus 8 --precision fp8 --out results/ours",
    "ixbench import dump.json --only 'kimik3-*' --out results/kimi-k3",
    "ixbench import artifacts/ --engine vllm --sku mi355x --gpus 8 --out results/aiperf",
    "ixbench import profile_export.jsonl --engine vllm --sku mi355x --gpus 8 --out results/aiperf",
)


def _count(text: str) -> int:
    try:
        found = int(text)
    except ValueError:
        found = 0
    if not 1 <= found <= _MOST_COUNTED:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: a whole number from 1 to {_MOST_COUNTED:,}")
    return found


def _price(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not math.isfinite(found) or found <= 0:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: a number above 0")
    return found


def _date(text: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed: a date such as 2026-09-10") from None


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", nargs="+", type=Path, help="a result file that an importer knows, or a folder of such files"
    )
    parser.add_argument("--out", metavar="RUN", type=Path, required=True, help="the run folder to make")
    parser.add_argument("--only", metavar="GLOB", action="append", default=[], help="only points whose ids match; repeatable")
    parser.add_argument("--title", metavar="TEXT", help="title of the run (default: model on hardware, or the file's name)")
    said = parser.add_argument_group("what files do not tell")
    said.add_argument("--model", metavar="NAME", help="the model")
    said.add_argument("--precision", metavar="P", help="precision of the weights: fp4, fp8, bf16")
    said.add_argument("--sku", metavar="S", help="the kind of GPU, for instance mi355x")
    said.add_argument("--gpus", metavar="N", type=_count, help="GPUs behind each point; without them there are no rates per GPU")
    said.add_argument("--engine", metavar="NAME", help="the engine")
    said.add_argument("--input-tokens", metavar="N", type=_count, help="input length asked for")
    said.add_argument("--output-tokens", metavar="N", type=_count, help="output length asked for")
    said.add_argument("--concurrency", metavar="N", type=_count, help="users at once")
    said.add_argument("--date", metavar="DATE", type=_date, help="when it was measured, for instance 2026-09-10")
    prices = parser.add_mutually_exclusive_group()
    prices.add_argument("--book", metavar="ID", help="price book to keep with the points (default: the newest; see ixbench prices)")
    prices.add_argument("--usd-per-gpu-hour", metavar="X", type=_price, help="a price of your own instead of a book's")


def _run(arguments: argparse.Namespace) -> int:
    import sys
    from datetime import UTC, datetime

    from ixbench.host.load import load_host
    from ixbench.host.notes import missing_notes
    from ixbench.model.printable import printable
    from ixbench.report.import_run import files_report, import_files, priced, title_of, write_import
    from ixbench.store.folder import iso_utc

    host = load_host()
    context = _context(arguments, host)
    imported = import_files(arguments.path, host, context, arguments.only)
    for line in files_report(imported):
        print(line, file=sys.stderr)
    for note in missing_notes(host):
        print(f"note: {printable(note)}", file=sys.stderr)
    if not imported.points:
        print("ixbench: every row was refused, so nothing was written", file=sys.stderr)
        return EXIT_NOTHING
    quotes = priced(imported.points, host, book=arguments.book, custom=_custom(arguments))
    path = write_import(
        imported, arguments.out, host, title=arguments.title or title_of(imported), started=iso_utc(datetime.now(UTC)), quotes=quotes
    )
    print(printable(str(path)))
    return 0


def _context(arguments: argparse.Namespace, host: Host) -> ImportContext:
    """Return what the user says.

    :raises InputError: for a SKU or a price book that is not known.
    """
    from ixbench.host.contracts.importer import ImportContext
    from ixbench.model.errors import Fault, InputError, did_you_mean
    from ixbench.model.precision import precision_of
    from ixbench.report.foreign import known_skus

    skus = known_skus(host)
    books = [book for giver in host.prices() for book in giver.books()]
    faults = [
        Fault(
            where=flag,
            problem=f"unknown {noun} {value!r}",
            allowed=", ".join(known) or "none is installed",
            advice=did_you_mean(value, known),
        )
        for flag, noun, value, known in (("--sku", "SKU", arguments.sku, list(skus)), ("--book", "price book", arguments.book, books))
        if value is not None and value not in known
    ]
    if faults:
        raise InputError(faults)
    return ImportContext(
        skus=skus,
        model=arguments.model,
        precision=precision_of(arguments.precision) if arguments.precision is not None else None,
        hardware=arguments.sku,
        gpus=arguments.gpus,
        engine=arguments.engine,
        input_tokens=arguments.input_tokens,
        output_tokens=arguments.output_tokens,
        concurrency=arguments.concurrency,
        date=arguments.date or "",
    )


def _custom(arguments: argparse.Namespace) -> Quote | None:
    from ixbench.model.price import Quote

    price = arguments.usd_per_gpu_hour
    if price is None:
        return None
    return Quote(book="custom", sku="", tier="custom", label="custom", usd_per_gpu_hour=price, as_of="", source="--usd-per-gpu-hour")


COMMAND = Command(
    name="import",
    summary="make a run folder of result files that other tools wrote",
    description=DESCRIPTION,
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
