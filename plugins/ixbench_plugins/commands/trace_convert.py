"""`ixbench trace convert`: writes recorded traffic in another form, and says what that form cannot hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.hooks import Command
from ixbench_plugins.traces.formats import FORMATS

if TYPE_CHECKING:
    import argparse


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="IN", help="a Weka trace (.json, folder, .jsonl, hf:OWNER/NAME), a Mooncake trace (.jsonl) or an Azure one (.csv)"
    )
    parser.add_argument("--to", choices=FORMATS, required=True, help="the other form")
    parser.add_argument(
        "--out", metavar="FILE", type=Path, required=True, help="a new file: .jsonl (weka, mooncake), .json (weka), .csv (azure)"
    )


def _run(arguments: argparse.Namespace) -> int:
    from ixbench.api.workload import counted
    from ixbench_plugins.traces.convert import check_out, convert, write

    check_out(arguments.out, arguments.to)
    converted = convert(arguments.source, arguments.to, note=_note)
    size = write(converted, arguments.out, arguments.to)
    counts = [counted(converted.traces, "trace", ",")] if converted.traces else []
    counts.append(counted(converted.requests, "request", ","))
    print(f"{arguments.out}: {', '.join(counts)}, {size / 1e6:,.1f} MB")
    for note in converted.notes:
        _note(note)
    return 0


def _note(text: str) -> None:
    import sys

    print(f"ixbench: {text}", file=sys.stderr)


CONVERT = Command(
    name="convert",
    summary="write traces in another form",
    description=(
        "Write recorded traffic in another form. What the other form cannot hold is told, a sentence each. From Weka to Mooncake every\n"
        "request becomes a line with its time; from Mooncake to Weka conversations become traces, and a file of timed single requests\n"
        "one trace; Azure's requests have no prompts in common and are no sessions, so they become Mooncake lines alone."
    ),
    examples=(
        "ixbench trace convert traces/ --to mooncake --out all.jsonl",
        "ixbench trace convert AzureLLMInferenceTrace_code.csv --to mooncake --out code.jsonl",
    ),
    configure=_configure,
    run=_run,
)
