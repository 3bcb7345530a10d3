"""`ixbench hardware`: the SKUs that the hardware books know, and the accelerators of this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ixbench.host.contracts.command import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ixbench.host.host import Host

DESCRIPTION = """\
List the hardware that [hardware] sku can name, with what the books know of it (- is not known, never zero), and the accelerators
that this machine has, found without any vendor's tool.

JSON: {"skus": [{"sku", "name", "vendor", "hbm_gb", ...}], "detected": [{"index", "sku", "name", "memory_bytes", ...}]}."""

_COLUMNS = (("sku", "SKU"), ("name", "name"), ("vendor", "vendor"), ("arch", "architecture"), ("hbm_gb", "GB"), ("hbm_tb_s", "TB/s"))
_MORE = (("tdp_w", "W"), ("all_in_kw", "all-in kW"))


def hardware_json(host: Host) -> dict[str, Any]:
    """Return the JSON form; None stands for what is not known."""
    from dataclasses import asdict

    return {
        "skus": [asdict(sku) for book in host.hardware() for sku in book.skus()],
        "detected": [asdict(gpu) for gpu in host.detect()],
    }


def hardware_text(content: dict[str, Any]) -> str:
    """Return the form for people."""
    columns = (*_COLUMNS, *_MORE)
    rows = [[title for _, title in columns], *([_cell(sku[key]) for key, _ in columns] for sku in content["skus"])]
    lines = [*_aligned(rows), ""]
    detected = content["detected"]
    lines.append("on this machine:" if detected else "on this machine: no accelerator was found")
    lines += _aligned([[f"  {gpu['index']}", gpu["sku"] or "not in a book", gpu["name"], _memory(gpu), _split(gpu)] for gpu in detected])
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: object) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _memory(gpu: dict[str, Any]) -> str:
    size = gpu["memory_bytes"]
    return "-" if size is None else f"{size / 2**30:.0f} GiB"


def _split(gpu: dict[str, Any]) -> str:
    return f"split into {gpu['partitions']}" if gpu["partitions"] > 1 else ""


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON: skus and detected")


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.host.load import load_host
    from ixbench.model.printable import printable_lines

    content = hardware_json(load_host())
    print(json.dumps(content, indent=2) if arguments.json else printable_lines(hardware_text(content)))
    return 0


COMMAND = Command(
    name="hardware",
    summary="list the hardware that can be named, and what this machine has",
    description=DESCRIPTION,
    examples=("ixbench hardware", "ixbench hardware --json | jq '.detected'"),
    configure=_configure,
    run=_run,
)
